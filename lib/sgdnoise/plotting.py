"""One matplotlib style for every figure of the book, and how a variable with its error is drawn.

Colours are those of Okabe and Ito, told apart by colour-blind readers; line styles tell them apart in grey.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

COLORS = {
    "black": "#000000",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "blue": "#0072b2",
    "red": "#d55e00",
    "pink": "#cc79a7",
}

#: Colours of the curves of one family, in order.
SERIES = [COLORS[name] for name in ("blue", "red", "green", "pink", "orange", "sky", "black")]

STYLE: dict[str, Any] = {
    "figure.figsize": (7.0, 2.6),
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(
        color=SERIES,
        linestyle=["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1))],
    ),
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "svg.fonttype": "path",  # the page then needs no font of the figure
    "svg.hashsalt": "sgdnoise",  # the same figure, the same bytes
    "savefig.dpi": 200,
}


def use_style() -> None:
    """Use the style of the book for every figure that follows, drawn as vectors in a notebook."""
    for name, value in STYLE.items():
        mpl.rcParams[name] = value  # type: ignore[index]
    try:
        from IPython.core.getipython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # a plain script: nothing is shown inline
        return
    if get_ipython() is not None:
        # No date in the file: the same figure, the same bytes.
        set_matplotlib_formats("svg", metadata={"Date": None})


def mean_and_error(variable: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean over realisations and its standard error.

    >>> mean, error = mean_and_error(xr.DataArray([1.0, 3.0], dims="realisation"))
    >>> float(mean), float(error)
    (2.0, 1.0)
    """
    count = variable.sizes["realisation"]
    if count < 2:
        raise ValueError(f"realisations must be at least 2 for an error bar, got {count}")
    return variable.mean("realisation"), variable.std("realisation", ddof=1) / np.sqrt(count)


def draw(axes: Axes, variable: xr.DataArray, **style: Any) -> None:
    """Draw a variable against time: a line for the mean over realisations, a band of two standard errors."""
    mean, error = mean_and_error(variable)
    (line,) = axes.plot(variable.time, mean, **style)
    axes.fill_between(variable.time, mean - 2 * error, mean + 2 * error, color=line.get_color(), alpha=0.2, linewidth=0)


def draw_fdt(axes: Axes, curve: xr.Dataset, lags: Sequence[float] | None = None, **style: Any) -> None:
    """Draw an FDT plot, the mean over waiting times of a curve of :func:`sgdnoise.fdt_curve`.

    Without lags a line, the mean over realisations; with lags the points at these, with two standard errors both ways.
    """
    curve = curve.mean("waiting_time")
    axes.set(xlabel=r"$C(t,t_w)/C(t_w,t_w)$", ylabel=r"$\chi(t,t_w)/C(t_w,t_w)$")
    if lags is None:
        mean = curve.mean("realisation")
        axes.plot(mean.normalised_correlation, mean.normalised_response, **style)
        return
    points = curve.sel(lag=list(lags), method="nearest")
    x, x_error = mean_and_error(points.normalised_correlation)
    y, y_error = mean_and_error(points.normalised_response)
    axes.errorbar(x, y, 2 * y_error, 2 * x_error, **{"markersize": 3, "elinewidth": 0.7} | style)


def plain_ticks(axis: Axis, values: Sequence[float]) -> None:
    """Put ticks of a logarithmic axis at these values and write them as plain numbers."""
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
