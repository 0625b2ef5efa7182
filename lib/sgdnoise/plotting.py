"""One matplotlib style for every figure of the book, and the one way in which a curve with its errors is drawn.

Colours are those of Okabe and Ito, told apart by colour-blind readers; line styles tell them apart in grey.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import matplotlib as mpl
import numpy as np
import xarray as xr
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

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


class Curve(NamedTuple):
    """The numbers of a curve: its points and the ends of their bars, NaN where it has none."""

    name: str
    x: Array
    y: Array
    low: Array
    high: Array
    x_low: Array
    x_high: Array


#: The numbers behind the lines that :func:`curve` has drawn; :func:`sgdnoise.report.publish` takes them from here.
DRAWN: WeakKeyDictionary[Line2D, Curve] = WeakKeyDictionary()
BAR = 2.0  # standard errors, in every figure


def curve(
    axes: Axes,
    x: ArrayLike | None,
    y: ArrayLike | None,
    error: ArrayLike | None = None,
    x_error: ArrayLike | None = None,
    fmt: str = "",
    *,
    band: bool = False,
    name: str = "",
    **style: Any,
) -> None:
    """Draw points or a line, with two standard errors either way, and keep the numbers with which it is published.

    Parameters
    ----------
    x, y
        Coordinates. Without x the line is a level across the panel, without y it is upright.
    error, x_error
        Standard errors of y and of x.
    fmt, style
        As for Matplotlib's ``plot`` and ``errorbar``.
    band
        Whether the errors of y are a band instead of bars.
    name
        What the numbers are called; the label of the legend unless given.
    """
    name = name or style.get("label", "")
    if not name:
        raise ValueError("a curve must have a label or a name, under which its numbers are published")
    given = {"x": x, "y": y, "error": error, "x_error": x_error}
    # Copies: what happens to the arrays later changes neither the line nor its numbers.
    arrays = {key: np.array(np.nan if v is None else v, dtype=float, ndmin=1) for key, v in given.items()}
    shape = (1,) if x is None or y is None else arrays["y"].shape
    for key, values in arrays.items():
        if given[key] is not None and (values.shape != shape or values.ndim > 1):
            raise ValueError(f"{key} of the curve {name!r} must have the shape ({shape[0]},), got {values.shape}")
    xs, ys, y_bar, x_bar = np.broadcast_arrays(*arrays.values())
    y_bar, x_bar = BAR * y_bar, BAR * x_bar
    if x is None or y is None:
        across = axes.axhline if x is None else axes.axvline
        line = across(float(ys[0] if x is None else xs[0]), **{"linestyle": fmt or "-"} | style)
    elif band or (error is None and x_error is None):
        (line,) = axes.plot(xs, ys, *([fmt] if fmt else []), **style)
    else:
        bars: dict[str, Any] = {"yerr": None if error is None else y_bar, "xerr": None if x_error is None else x_bar}
        line = axes.errorbar(xs, ys, fmt=fmt, **bars, **style).lines[0]
    if band:
        axes.fill_between(xs, ys - y_bar, ys + y_bar, color=line.get_color(), alpha=0.2, linewidth=0)
    DRAWN[line] = Curve(name, xs, ys, ys - y_bar, ys + y_bar, xs - x_bar, xs + x_bar)


def draw(axes: Axes, variable: xr.DataArray, *, band: bool = True, **style: Any) -> None:
    """Draw a variable against time: the mean over realisations, with a band or with bars of two standard errors."""
    curve(axes, variable.time, *mean_and_error(variable), band=band, **style)


def draw_fdt(axes: Axes, fdt: xr.Dataset, lags: Sequence[float] | None = None, **style: Any) -> None:
    """Draw an FDT plot, the mean over waiting times of a curve of :func:`sgdnoise.fdt_curve`.

    Without lags a line, the mean over realisations; with lags the points at these, with two standard errors both ways.
    """
    fdt = fdt.mean("waiting_time")
    axes.set(xlabel=r"$C(t,t_w)/C(t_w,t_w)$", ylabel=r"$\chi(t,t_w)/C(t_w,t_w)$")
    if lags is None:
        mean = fdt.mean("realisation")
        curve(axes, mean.normalised_correlation, mean.normalised_response, **style)
        return
    points = fdt.sel(lag=list(lags), method="nearest")
    x, x_error = mean_and_error(points.normalised_correlation)
    curve(
        axes,
        x,
        *mean_and_error(points.normalised_response),
        x_error,
        **{"markersize": 3, "elinewidth": 0.7} | style,
    )


def ordered(count: int) -> list[str]:
    """Return colours for a family in order, from light to dark.

    >>> ordered(3)
    ['#86d549', '#297a8e', '#440154']
    """
    places = np.linspace(0.82, 0.0, count) if count > 1 else [0.4]
    return [to_hex(mpl.colormaps["viridis"](place)) for place in places]


def name_curve(axes: Axes, x: float, y: float, words: str, color: str, offset: tuple[float, float] = (4, 0)) -> None:
    """Write the name of a curve beside one of its points, in its colour; the offset is in points."""
    place: dict[str, Any] = {"xytext": offset, "textcoords": "offset points", "va": "center", "fontsize": 8}
    axes.annotate(words, (x, y), color=color, ha="left" if offset[0] >= 0 else "right", annotation_clip=False, **place)


def plain_ticks(axis: Axis, values: Sequence[float]) -> None:
    """Put ticks of a logarithmic axis at these values and write them as plain numbers."""
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
