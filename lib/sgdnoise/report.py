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
PHONE = 327.0  # pixels, the width of a figure on a screen of 375
READABLE = 11.3  # pixels, the least height of letters there
LARGEST = 11.0  # points, to which letters are made larger for a phone
NARROW, NARROW_LETTERS = 3.3, 9.6  # inches and points: width and least letters of a drawing for it
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
    give_numbers(figure)
    enlarge(figure, SMALLEST * 72 * float(figure.get_figwidth()) / COLUMN)
    figure.draw_without_rendering()  # panels are where their letters leave room
    widest = max((float(part.split()[2]) for part in filter(None, panels(figure).split(","))), default=0.0)
    enlarge(figure, min(READABLE * widest / PHONE, LARGEST) or NARROW_LETTERS)
    drawing, png = drawn(figure), io.BytesIO()
    figure.set_layout_engine("none")  # the picture has the layout of the drawing, which need not be found again
    figure.savefig(png, format="png", bbox_inches="tight")
    least, smallest, parts = letters(figure), points(figure), panels(figure)
    if not parts and PHONE * smallest < READABLE * 72 * figure.get_tightbbox().width:
        drawing, parts = with_narrow(drawing, figure)
    vectors = drawing.replace("<svg ", f'<svg data-panels="{parts}" data-letters="{smallest:.2f}" ', 1)
    shown = {"image/svg+xml": vectors, "image/png": base64.b64encode(small(png)).decode()}
    netcdf = base64.b64encode(table.to_netcdf(engine="scipy")).decode() if table.sizes["row"] else ""
    tell("figure", name, f"Figure {name!r}", shown, netcdf=netcdf, letters=least)
    plt.close(figure)  # otherwise Jupyter would show it again


def drawn(figure: Figure) -> str:
    """Return a figure as vectors: the same figure, the same bytes; without a ground, which is that of the page."""
    svg = io.BytesIO()
    figure.savefig(svg, format="svg", bbox_inches="tight", metadata={"Date": None}, transparent=True)
    return compact(svg.getvalue().decode())


def give_numbers(figure: Figure) -> None:
    """Give every panel numbers and name of its y axis, also where it shares them: on a phone it stands alone."""
    for axes in figure.axes:
        shared = axes.get_shared_y_axes().get_siblings(axes)
        if len(shared) > 1 and axes.yaxis.get_ticks_position() != "right":
            axes.tick_params("y", labelleft=True)
            axes.set_ylabel(axes.get_ylabel() or next(filter(None, (other.get_ylabel() for other in shared)), ""))


def with_narrow(drawing: str, figure: Figure) -> tuple[str, str]:
    """Draw a figure that cannot be cut once more for a phone, in the same file, below what a page shows of it.

    Returns the file and the part of it for a phone, as :func:`panels` does. The letters are there once.
    """
    below = 20 + figure.get_tightbbox().height * 72
    figure.set_layout_engine("constrained")
    figure.set_size_inches(NARROW, figure.get_figheight())
    known = set(re.findall(r'<path id="([^"]+)"', drawing))
    narrow = re.sub(r'<path id="([^"]+)"[^>]*/>\n?', lambda path: "" if path[1] in known else path[0], drawn(figure))
    narrow = narrow[narrow.index("<svg ") :].replace("<svg ", f'<svg y="{below:.0f}" ', 1)
    narrow = re.sub(r'( (?:width|height)="[\d.]+)pt"', r'\1"', narrow, count=2)  # in the units of the whole drawing
    box = figure.get_tightbbox()
    pad = 2 * float(mpl.rcParams["savefig.pad_inches"])
    part = f"0 {below:.0f} {72 * (box.width + pad):.0f} {72 * (box.height + pad):.0f}"
    return drawing.replace("</svg>", f"{narrow}</svg>"), part


def enlarge(figure: Figure, least: float) -> None:
    """Make letters larger that are below a height, in points."""
    for axes in (axes for outer in figure.axes for axes in (outer, *outer.child_axes) if isinstance(axes, Axes)):
        for which, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            if any(float(tick.label1.get_fontsize()) < least for tick in axis.get_major_ticks()):
                axes.tick_params(which, which="both", labelsize=least)  # type: ignore[arg-type]
    for text in figure.findobj(Text):
        if isinstance(text, Text) and float(text.get_fontsize()) < least:
            text.set_fontsize(least)


def points(figure: Figure) -> float:
    """Return the height of the smallest letters of a figure, in points."""
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return min((float(text.get_fontsize()) for text in texts), default=COLUMN)


def letters(figure: Figure) -> float:
    """Return the height of the smallest letters of a figure, in pixels, where it is as wide as a page."""
    return round(points(figure) * COLUMN / (72 * figure.get_tightbbox().width), 2)


def panels(figure: Figure) -> str:
    """Return the parts of a drawing that a narrow page shows one below the other: x, y, width and height of each.

    The drawing is cut where nothing is, into rows and these into columns. Panels stay together where the lower one has
    the numbers of both, and a scale of colours with the panel beside it.
    """
    whole, inch = figure.get_tightbbox(), figure.dpi
    pad = float(mpl.rcParams["savefig.pad_inches"])
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    groups = {axes: axes for axes in drawn}  # each panel, and the first one of those that it stays with
    for one, other in itertools.combinations(drawn, 2):
        shared = one.get_shared_x_axes().joined(one, other) and _bare(one.xaxis, other.xaxis)
        below = shared and np.isclose(one.get_position().x0, other.get_position().x0)
        if below or _scale_of(other) is one:
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
    return ", ".join(
        f"{72 * x - 4:.0f} {72 * y - 4:.0f} {72 * wide + 8:.0f} {72 * high + 8:.0f}" for x, y, wide, high in rows
    )


def _scale_of(axes: Axes) -> Axes | None:
    """Return the panel beside a scale of colours: of those to which it belongs, the last one."""
    parents = getattr(axes, "_colorbar_info", {}).get("parents", [None])
    return parents[-1]  # type: ignore[no-any-return]


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

    >>> compact('<g>\n  <path d="M 1.23456 2 \nL 3.10049 4.5 L 3 4 z" x="0.1234"/>\n</g>')
    '<g>\n<path d="M1.23 2l1.87 2.5-.1-.5z" x="0.12"/>\n</g>'
    """
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: relative(path[0]), svg)
    svg = re.sub(r'(?<= [xy]=")\d+\.\d{3,}', lambda number: f"{round(float(number[0]), 2):g}", svg)
    return re.sub(r"\n\s+", "\n", svg)


def relative(path: str) -> str:
    """Return a path of SVG with each step from the end of the last one, in hundredths."""
    parts, before, here, start = [], "", [0, 0], [0, 0]
    for command, arguments in re.findall(r"([MLQCz])([^MLQCz]*)", path):
        ends = [round(100 * float(number)) for number in arguments.split()]
        if command == "z":
            here = start
        steps = ends if command == "M" else [end - here[i % 2] for i, end in enumerate(ends)]
        words = "".join(f"{'' if step < 0 else ' '}{_hundredths(step)}" for step in steps)
        letter = command if command in "Mz" else command.lower()
        parts.append(words if letter == before != "M" else letter + words.removeprefix(" "))
        here, before = ends[-2:] or here, letter
        start = here if command == "M" else start
    return "".join(parts)


def _hundredths(number: int) -> str:
    text = f"{number / 100:.9g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def small(png: io.BytesIO) -> bytes:
    """Return a picture reduced to 128 colours, visually the same, in at most half the bytes."""
    from PIL import Image

    out = io.BytesIO()
    with Image.open(png) as picture:
        picture.convert("RGB").quantize(128).save(out, "png", optimize=True, dpi=picture.info["dpi"])
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
