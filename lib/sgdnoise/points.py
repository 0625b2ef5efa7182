"""One point of a sweep: what is to be computed, and how it becomes an entry of the store."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from sgdnoise import fingerprint, store


@dataclass(frozen=True)
class Point:
    """A function with the parameters of one call."""

    function: fingerprint.Function
    parameters: Mapping[str, Any]
    seed: int | None
    key: str

    @classmethod
    def of(cls, function: fingerprint.Function, parameters: Mapping[str, Any], seed: int | None) -> "Point":
        """Make a point and compute its key."""
        return cls(function, parameters, seed, fingerprint.key_of(function, parameters, seed))

    def __str__(self) -> str:
        words = [f"{name}={value!r}" for name, value in self.parameters.items()]
        return ", ".join(words + ([] if self.seed is None else [f"seed={self.seed}"]))


def compute(point: Point) -> bytes:
    """Call the function and return the bytes of the entry."""
    began = time.perf_counter()
    arguments = dict(point.parameters) if point.seed is None else {**point.parameters, "seed": point.seed}
    result = as_dataset(point.function(**arguments))
    note = store.provenance(time.perf_counter() - began)
    note |= {"key": point.key, "function": getattr(point.function, "__qualname__", "function"), "point": str(point)}
    note["modules"] = fingerprint.used_modules(point.function, point.parameters)
    return store.encode(result, note)


def as_dataset(result: Any) -> xr.Dataset:
    """Accept a dataset, a labelled array, a dictionary of either, or a number."""
    if isinstance(result, xr.Dataset):
        return result
    if isinstance(result, xr.DataArray):
        return result.to_dataset(name=result.name or "value")
    if isinstance(result, Mapping):
        return xr.Dataset(dict(result))
    if isinstance(result, (int, float)):
        return xr.Dataset({"value": float(result)})
    raise TypeError(f"function must return an xarray.Dataset, a DataArray, a mapping or a number, got {result!r}")
