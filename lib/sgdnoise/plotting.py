"""One matplotlib style for every figure of the book, and the one way in which a curve with its errors is drawn.

Colours of different things are those of Okabe and Ito, told apart by colour-blind readers; line styles tell them apart
in grey. The values of an ordered quantity (learning rates, batch fractions) have the colours of a scale,
:func:`ordered`. Colour stands for the parameter; lines are theory and symbols are networks.

A figure is :data:`WIDTH` inches wide, the width of the page; no text is set below :data:`SMALLEST` points.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import matplotlib as mpl
import numpy as np
import xarray as xr
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Value = TypeVar("Value")

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

WIDTH = 7.4  # inches; the page shows it a little larger
SMALLEST = 8.0  # points; at the width of the page more than 11 pixels

STYLE: dict[str, Any] = {
    "figure.figsize": (WIDTH, 2.9),
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 9.5,
    "axes.labelsize": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(
        color=SERIES,
        linestyle=["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1))],
    ),
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
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


def ordered(values: Iterable[Value]) -> dict[Value, str]:
    """Return a colour for each value of an ordered quantity, from dark to light in the order given.

    >>> ordered([0.1, 0.2])[0.1]
    '#440154'
    """
    values = list(dict.fromkeys(values))
    places = np.linspace(0.0, 0.66, max(len(values), 2))
    scale = mpl.colormaps["viridis"]
    return {value: to_hex(scale(place)) for value, place in zip(values, places, strict=False)}


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
    visible: bool = True,
    **style: Any,
) -> Line2D:
    """Draw points or a line, with two standard errors either way, and keep the numbers with which it is published.

    Returns the line, for :func:`label`.

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
    visible
        Whether it is seen; otherwise its numbers are published and nothing else.
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
        drawn = axes.errorbar(xs, ys, fmt=fmt, **bars, **style)
        line = drawn.lines[0]
        for part in drawn.get_children():
            part.set_visible(visible)
    line.set_visible(visible)
    if band and visible:
        axes.fill_between(xs, ys - y_bar, ys + y_bar, color=line.get_color(), alpha=0.2, linewidth=0)
    DRAWN[line] = Curve(name, xs, ys, ys - y_bar, ys + y_bar, xs - x_bar, xs + x_bar)
    return line


def label(line: Line2D, words: str, at: int = -1, offset: tuple[float, float] = (4.0, 0.0), **style: Any) -> None:
    """Write words beside a point of a line, in its colour made darker, which letters need.

    Parameters
    ----------
    line
        What :func:`curve`, :func:`draw` or :func:`draw_fdt` returned.
    at
        Number of the point; the last one unless given.
    offset
        From the point to the words, in points of print. Words to the right of their point begin there, words to the
        left end there, words above or below are centred.
    style
        As for Matplotlib's ``annotate``.
    """
    right, up = offset
    place = {"ha": "left" if right > 0 else "right" if right < 0 else "center"}
    place["va"] = "center" if right else "bottom" if up > 0 else "top"
    color = darker(line.get_color())
    halo = [withStroke(linewidth=2.5, foreground="white")]
    point = (np.ravel(line.get_xdata())[at], np.ravel(line.get_ydata())[at])
    text: dict[str, Any] = {"color": color, "path_effects": halo, "annotation_clip": False} | place | style
    assert isinstance(line.axes, Axes)
    line.axes.annotate(words, point, offset, xycoords=line.get_transform(), textcoords="offset points", **text)


def darker(color: Any) -> str:
    """Return a colour with three quarters of its light: letters of it are read on white."""
    red, green, blue = to_rgb(color)
    return to_hex((0.75 * red, 0.75 * green, 0.75 * blue))


def quoted(axes: Axes, x: ArrayLike | None, y: ArrayLike | None, words: str, **style: Any) -> Line2D:
    """Draw what the paper says: a level or an upright line, or points, in the one look that is kept for it."""
    look: dict[str, Any] = {"color": COLORS["pink"], "zorder": 1.5, "linewidth": 1.2, "label": words}
    look |= {"fmt": "--"} if x is None or y is None else {"fmt": "*", "markersize": 10, "linewidth": 0}
    return curve(axes, x, y, **look | style)


def draw(axes: Axes, variable: xr.DataArray, *, band: bool = True, **style: Any) -> Line2D:
    """Draw a variable against time: the mean over realisations, with a band or with bars of two standard errors."""
    return curve(axes, variable.time, *mean_and_error(variable), band=band, **style)


def draw_fdt(axes: Axes, fdt: xr.Dataset, lags: Sequence[float] | None = None, **style: Any) -> Line2D:
    """Draw an FDT plot, the mean over waiting times of a curve of :func:`sgdnoise.fdt_curve`.

    Without lags a line, the mean over realisations; with lags the points at these, with two standard errors both ways.
    """
    fdt = fdt.mean("waiting_time")
    axes.set(xlabel=r"$C(t,t_w)/C(t_w,t_w)$", ylabel=r"$\chi(t,t_w)/C(t_w,t_w)$")
    if lags is None:
        mean = fdt.mean("realisation")
        return curve(axes, mean.normalised_correlation, mean.normalised_response, **style)
    points = fdt.sel(lag=list(lags), method="nearest")
    x, x_error = mean_and_error(points.normalised_correlation)
    return curve(
        axes,
        x,
        *mean_and_error(points.normalised_response),
        x_error,
        **{"markersize": 3, "elinewidth": 0.7} | style,
    )


def plain_ticks(axis: Axis, values: Sequence[float]) -> None:
    """Put ticks of a logarithmic axis at these values and write them as plain numbers."""
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
