"""What a notebook tells the book and shows to whoever runs it: figures with their numbers, claims, values for the text.

Each is an output of the notebook: what Jupyter shows, and beside it the content for the book.
"""

import base64
import io
import itertools
import re
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from sgdnoise.estimates import MANY, Estimate
from sgdnoise.plotting import DRAWN

COLUMN = 768.0  # pixels, the width of a figure in the book on a screen of 1280
SMALLEST = 11.3  # pixels, the height of the smallest letters there
MIME = "application/vnd.sgdnoise+json"
ABOUT = {
    "panel": "number of the panel, from left to right and from top to bottom",
    "title": "title of the panel",
    "x_label": "label of its x axis",
    "y_label": "label of its y axis",
    "curve": "name of the curve",
    "x": "x; missing where a level crosses the panel",
    "y": "y; missing where an upright line crosses the panel",
    "low": "y less two standard errors",
    "high": "y and two standard errors",
    "x_low": "x less two standard errors",
    "x_high": "x and two standard errors",
}


def publish(name: str, figure: Figure) -> None:
    """Show a figure, and give it to the book with the numbers of its curves.

    The place of the figure is ``{glue:figure} NAME`` in the text. Its curves must be drawn with
    :func:`sgdnoise.plotting.curve`, or with what uses it.
    """
    import matplotlib.pyplot as plt

    table = numbers(name, figure)
    enlarge(figure)
    svg, png = io.BytesIO(), io.BytesIO()
    # The same figure, the same bytes; without a ground, which is that of the page, light or dark.
    figure.savefig(svg, format="svg", bbox_inches="tight", metadata={"Date": None}, transparent=True)
    figure.set_layout_engine("none")  # the picture has the layout of the drawing, which need not be found again
    figure.savefig(png, format="png", bbox_inches="tight")
    vectors = compact(svg.getvalue().decode()).replace("<svg ", f'<svg data-panels="{panels(figure)}" ', 1)
    shown = {"image/svg+xml": vectors, "image/png": base64.b64encode(small(png)).decode()}
    netcdf = base64.b64encode(table.to_netcdf(engine="scipy")).decode() if table.sizes["row"] else ""
    tell("figure", name, f"Figure {name!r}", shown, netcdf=netcdf, letters=letters(figure))
    plt.close(figure)  # otherwise Jupyter would show it again


def enlarge(figure: Figure) -> None:
    """Make letters larger that would be too small where the figure is as wide as a page."""
    least = SMALLEST * 72 * float(figure.get_figwidth()) / COLUMN
    for axes in (axes for outer in figure.axes for axes in (outer, *outer.child_axes) if isinstance(axes, Axes)):
        for which, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            if any(float(tick.label1.get_fontsize()) < least for tick in axis.get_major_ticks()):
                axes.tick_params(which, which="both", labelsize=least)  # type: ignore[arg-type]
    for text in figure.findobj(Text):
        if isinstance(text, Text) and float(text.get_fontsize()) < least:
            text.set_fontsize(least)


def letters(figure: Figure) -> float:
    """Return the height of the smallest letters of a figure, in pixels, where it is as wide as a page."""
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    shown = COLUMN / (72 * figure.get_tightbbox().width)
    return round(min((float(text.get_fontsize()) for text in texts), default=COLUMN) * shown, 2)


def panels(figure: Figure) -> str:
    """Return the parts of a drawing that a narrow page shows one below the other: x, y, width and height of each.

    The drawing is cut where nothing is, into rows and these into columns. Panels stay together where one has the
    numbers of both axes, and with their scale of colours.
    """
    whole, inch = figure.get_tightbbox(), figure.dpi
    pad = float(mpl.rcParams["savefig.pad_inches"])
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    groups = {axes: axes for axes in drawn}  # each panel, and the first one of those that it stays with
    for one, other in itertools.combinations(drawn, 2):
        here, there = one.get_position(), other.get_position()
        lent = [
            one.get_shared_x_axes().joined(one, other)
            and np.isclose(here.x0, there.x0)
            and _bare(one.xaxis, other.xaxis),
            one.get_shared_y_axes().joined(one, other)
            and np.isclose(here.y0, there.y0)
            and _bare(one.yaxis, other.yaxis),
        ]
        if any(lent) or any(getattr(axes, "_colorbar", None) for axes in (one, other)):
            groups |= {axes: groups[one] for axes in drawn if groups[axes] is groups[other]}
    parts: list[list[Artist]] = [
        [axes for axes in drawn if groups[axes] is first] for first in dict.fromkeys(groups.values())
    ]
    parts += [[artist] for artist in (*figure.legends, *figure.texts)]
    boxes = [Bbox.union([box for a in part if (box := a.get_tightbbox()) is not None]) for part in parts]
    cells = cut([Bbox(box.get_points() / inch) for box in boxes])
    if len(cells) < 2:
        return ""
    corner = (whole.x0 - pad, whole.y1 + pad)
    rows = [(box.x0 - corner[0], corner[1] - box.y1, box.width, box.height) for box in cells]
    return ", ".join(f"{72 * x - 4:.0f} {72 * y - 4:.0f} {72 * w + 8:.0f} {72 * h + 8:.0f}" for x, y, w, h in rows)


def _bare(*pair: Axis) -> bool:
    """Tell whether one of two axes has no numbers of its own."""
    return not all(any(tick.label1.get_visible() for tick in axis.get_major_ticks()) for axis in pair)


def cut(boxes: list[Bbox], rows: bool = True, again: bool = True) -> list[Bbox]:
    """Cut between boxes, where nothing is, into rows from above, these into columns, and so on.

    >>> parts = cut([Bbox([[0, 0], [1, 1]]), Bbox([[2, 0], [3, 2]]), Bbox([[0, 3], [3, 4]])])
    >>> [box.bounds == found for box, found in zip(parts, [(0, 3, 3, 1), (0, 0, 1, 1), (2, 0, 1, 2)], strict=True)]
    [True, True, True]
    """
    bands: list[list[Bbox]] = []
    end = -np.inf
    for box in sorted(boxes, key=lambda box: -box.y1 if rows else box.x0):
        first, last = (-box.y1, -box.y0) if rows else (box.x0, box.x1)
        bands, end = ([*bands, [box]], last) if first > end else ([*bands[:-1], [*bands[-1], box]], max(end, last))
    if len(bands) > 1:
        return [part for band in bands for part in cut(band, not rows)]
    return cut(boxes, not rows, again=False) if again else [Bbox.union(boxes)]


def numbers(name: str, figure: Figure) -> xr.Dataset:
    """Return the points of all curves of a figure, one a row, as they were given to be drawn."""
    rows: list[tuple[Any, ...]] = []
    panels = [axes for outer in figure.axes for axes in (outer, *outer.child_axes) if isinstance(axes, Axes)]
    for number, axes in enumerate(panels, 1):
        about = (number, axes.get_title(), axes.get_xlabel(), axes.get_ylabel())
        for line in axes.lines:
            if line in DRAWN:
                curve = DRAWN[line]
                rows += [(*about, curve.name, *point) for point in zip(*curve[1:], strict=True)]
            elif np.size(line.get_xdata()):  # one without points is an entry of the legend
                raise ValueError(
                    f"the line {line.get_label()!r} of figure {name!r} must be drawn with sgdnoise.plotting.curve, "
                    "which keeps its numbers"
                )
    columns = zip(*rows, strict=True) if rows else ([] for _ in ABOUT)
    table = {key: ("row", list(column), {"long_name": ABOUT[key]}) for key, column in zip(ABOUT, columns, strict=True)}
    return xr.Dataset(table, attrs={"figure": name})


def compact(svg: str) -> str:
    r"""Return a drawing without indentation, and with coordinates to a hundredth of a point, which no eye resolves.

    >>> compact('<g>\n  <path d="M 1.23456 2 \nL 3.10049 4"/>\n</g>')
    '<g>\n<path d="M 1.23 2 L 3.1 4"/>\n</g>'
    """

    def shorter(coordinates: re.Match[str]) -> str:
        numbers = re.sub(r"\d+\.\d{3,}", lambda number: f"{round(float(number[0]), 2):g}", coordinates[0])
        return " ".join(numbers.split())

    return re.sub(r"\n\s+", "\n", re.sub(r'(?<= [dxy]=")[^"]*', shorter, svg))


def small(png: io.BytesIO) -> bytes:
    """Return a picture reduced to 256 colours, visually the same, in at most half the bytes."""
    from PIL import Image

    out = io.BytesIO()
    with Image.open(png) as picture:
        picture.convert("RGB").quantize(256).save(out, "png", optimize=True, dpi=picture.info["dpi"])
    return out.getvalue()


def claim(name: str, found: str, *measured: Estimate | Mapping[str, Estimate]) -> None:
    """Say what was found about a claim; the test, with its margin, is in ``book/claims.yml``.

    Parameters
    ----------
    name
        Name of the claim in ``book/claims.yml``.
    found
        What was found, with its error, for the table.
    measured
        For each test of the claim, in their order, what was measured: a number, or several by name of which the
        statement must hold for all.
    """
    families = [{"": family} if isinstance(family, Estimate) else family for family in measured]
    # Notebooks are JSON, which has numbers only for finite ones.
    numbers = [
        {
            label: [float(v) if np.isfinite(v) else None for v in (e.value, e.error, min(e.freedom, MANY))]
            + [float(f"{part:.4g}") for part in e.parts if np.isfinite(e.error)]
            for label, e in family.items()
        }
        for family in families
    ]
    tell("claim", name, f"Claim {name!r}: {found}", found=found, measured=numbers)


def glue(name: str, value: object) -> None:
    """Give a number or a few words to the text, where ``{glue:text}`NAME``` is their place."""
    tell("value", name, f"{name} = {value}", text=str(value))


def tell(kind: str, name: str, words: str, shown: dict[str, str] | None = None, **content: Any) -> None:
    """Put out what the book takes, with what Jupyter shows; outside of Jupyter say it in words."""
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        raise ImportError("sgdnoise.report needs IPython, which Jupyter brings; install it, or ipykernel") from None
    if get_ipython() is None:
        print(words)
        return
    data = {MIME: {"kind": kind, "name": name, **content}, "text/plain": words, **(shown or {})}
    display(data, raw=True)  # type: ignore[no-untyped-call]
