"""The results behind a figure as the book offers them: means over realisations, with their errors.

All single realisations of all figures would be several times as large as the book. Whoever has built it has them, and
``python -m sgdnoise store export`` hands them on.
"""

import numpy as np
import xarray as xr

from sgdnoise.sweep.entry import decode, encode

OVER = "realisation"
ERROR, NUMBER = "_standard_error", "_realisations"


def summary(entry: bytes) -> bytes:
    """Turn a stored result into another one that holds its means; what says how it was made is kept."""
    result, provenance = decode(entry)
    return encode(summarise(result), provenance)


def summarise(result: xr.Dataset) -> xr.Dataset:
    """Replace each variable that has realisations by mean, standard error and the number of those that are not NaN.

    The error of a single realisation is NaN. Single precision is far finer than any of the errors.
    """
    kept: dict[str, xr.DataArray] = {}
    for name, values in result.data_vars.items():
        if OVER not in values.dims:
            kept[str(name)] = values
            continue
        number = values.notnull().sum(OVER)
        mean = values.sum(OVER) / number.where(number > 0)
        variance = ((values - mean) ** 2).sum(OVER) / (number - 1).where(number > 1)
        error = (variance / number) ** 0.5
        what = values.attrs.get("long_name", name)
        kept[str(name)] = mean.astype(np.float32).assign_attrs(values.attrs)
        kept[f"{name}{ERROR}"] = error.astype(np.float32).assign_attrs(long_name=f"standard error of {what}")
        kept[f"{name}{NUMBER}"] = number.astype(np.int32).assign_attrs(long_name=f"number of realisations of {what}")
    return xr.Dataset(kept, coords=result.coords, attrs=result.attrs)
