"""Figures of a notebook: kept for the page, and for people who want the picture or its numbers and not the page."""

import base64
import hashlib
import io
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from nbformat import NotebookNode

from bookbuild import paths
from bookbuild.check import GLUE_PREFIX
from bookbuild.refusal import Refusal
from bookbuild.source import read_executed

MIME = "application/vnd.sgdnoise.figure+json"
WORDS = ("panel", "title", "x_label", "y_label", "curve")
# A page of prose shows a figure of a notebook as an image of this name, made when the page is read.
BORROWED = re.compile(r"/_build/figures/(\w+)\.([\w-]+)\.svg")
ENDINGS = {"image/svg+xml": "svg", "image/png": "png"}


@dataclass(frozen=True)
class Drawing:
    """A figure that has been drawn already, as Jupyter shows it."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg


def publish(name: str, figure: Figure) -> None:
    """Keep a figure for ``{glue:figure} NAME`` of the page, with the files that the page offers for it."""
    import matplotlib.pyplot as plt
    from IPython.display import display
    from myst_nb import glue

    drawing = {kind: io.BytesIO() for kind in ("svg", "png")}
    for kind, file in drawing.items():
        # No date in the file: the same figure, the same bytes.
        figure.savefig(file, format=kind, bbox_inches="tight", metadata={"Date": None} if kind == "svg" else None)
    # The page shows the very file that it offers; drawing a figure takes longer than most other things on a page.
    glue(name, Drawing(drawing["svg"].getvalue().decode()), display=False)
    content = {"name": name, "csv": drawn(figure).to_csv(index=False, float_format="%.8g")}
    files = {"svg": drawing["svg"].getvalue(), "png": small(drawing["png"])}
    content |= {kind: base64.b64encode(file).decode() for kind, file in files.items()}
    display({MIME: content}, raw=True)  # type: ignore[no-untyped-call]
    plt.close(figure)


def small(png: io.BytesIO) -> bytes:
    """Return a picture with 256 colours, which no eye tells from the original, in half the bytes or less."""
    from PIL import Image

    out = io.BytesIO()
    with Image.open(png) as picture:
        picture.convert("RGB").quantize(256).save(out, "png", optimize=True, dpi=picture.info["dpi"])
    return out.getvalue()


def drawn(figure: Figure) -> pd.DataFrame:
    """Return every point of every curve of a figure, with the ends of its error bar, one row each.

    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> _ = axes.errorbar([1, 2], [5, 6], [0.5, 1], label="found")
    >>> drawn(figure)[["x", "y", "low", "high"]].values.tolist()
    [[1.0, 5.0, 4.5, 5.5], [2.0, 6.0, 5.0, 7.0]]
    """
    rows: list[pd.DataFrame] = []
    panels = [axes for outer in figure.axes for axes in (outer, *outer.child_axes) if isinstance(axes, Axes)]
    for number, axes in enumerate(panels, 1):
        about = {"panel": number, "title": axes.get_title(), "x_label": axes.get_xlabel(), "y_label": axes.get_ylabel()}
        for label, x, y, low, high in curves(axes):
            rows.append(pd.DataFrame({**about, "curve": label, "x": x, "y": y, "low": low, "high": high}))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=[*WORDS, "x", "y", "low", "high"])


def curves(axes: Axes) -> list[tuple[str, Any, Any, Any, Any]]:
    """List the label, coordinates and error bars of what is drawn in one panel."""
    found = []
    bars = {id(c.lines[0]): c for c in axes.containers if isinstance(c, ErrorbarContainer)}
    shapes = [shape for shape in axes.collections if isinstance(shape, PolyCollection)]
    bands = [np.asarray(shape.get_paths()[0].vertices, dtype=float) for shape in shapes]
    caps = {id(cap) for container in bars.values() for cap in container.lines[1]}
    for line in axes.lines:
        if id(line) in caps:
            continue
        x, y = (np.atleast_1d(np.asarray(values, dtype=float)) for values in line.get_data())
        if line.get_transform() == axes.get_xaxis_transform():  # upright, across the panel
            x, y = x[:1], y[:1] * np.nan
        elif line.get_transform() != axes.transData:  # level, across the panel
            x, y = x[:1] * np.nan, y[:1]
        low = high = np.full(len(y), np.nan)
        container = bars.get(id(line))
        if container is not None and container.has_yerr:
            ends = np.array([path.vertices for path in container.lines[2][-1].get_paths()]).reshape(-1, 2, 2)
            low, high = ends[:, 0, 1], ends[:, 1, 1]
        for band in bands:
            n = len(x)
            if len(band) == 2 * n + 3 and np.array_equal(band[1 : n + 1, 0], x):
                low, high = band[1 : n + 1, 1], band[n + 2 : 2 * n + 2, 1][::-1]
        found.append((curve_name(line, container), x, y, low, high))
    return found


def curve_name(line: Line2D, container: ErrorbarContainer | None) -> str:
    """Return the label of the legend (that of error bars is kept by their container), or else the line's own name."""
    label = str((container or line).get_label())
    return str(line.get_gid() or "") if label.startswith("_") else label


def published(executed: NotebookNode) -> dict[str, dict[str, str]]:
    """Return what :func:`publish` kept in an executed notebook, by the name of the figure."""
    outputs = (output for cell in executed.cells for output in cell.get("outputs", []))
    kept = [output["data"][MIME] for output in outputs if MIME in output.get("data", {})]
    return {content["name"]: content for content in kept}


def pictures(executed: NotebookNode) -> list[tuple[str, bytes]]:
    """Return the pictures of an executed notebook, each with the ending of its file."""
    found = []
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            data = {kind.removeprefix(GLUE_PREFIX): value for kind, value in output.get("data", {}).items()}
            kind = next((kind for kind in ENDINGS if kind in data), None)
            if kind is not None:
                text = data[kind]
                found.append((ENDINGS[kind], text.encode() if ENDINGS[kind] == "svg" else base64.b64decode(text)))
    return found


def extract(executed: Path) -> list[Path]:
    """Write every picture of an executed notebook beside it, and return the files."""
    written: list[Path] = []
    for ending, content in pictures(nbformat.read(executed, as_version=4)):
        path = executed.with_name(f"{executed.stem}-{len(written) + 1}.{ending}")
        path.write_bytes(content)
        written.append(path)
    return written


def write_downloads(executed: NotebookNode, folder: Path, prefix: str) -> None:
    """Write the files that a page offers for its figures, a picture and the numbers; the vectors it shows itself."""
    for name, content in published(executed).items():
        path = folder / f"{prefix}-{name}"
        path.with_suffix(".png").write_bytes(base64.b64decode(content["png"]))
        if not has_numbers(content):
            continue
        path.with_suffix(".csv").write_text(content["csv"], encoding="utf-8")
        table = pd.read_csv(io.StringIO(content["csv"]), converters=dict.fromkeys(WORDS[1:], str))
        table.rename_axis("row").to_xarray().to_netcdf(path.with_suffix(".nc"), engine="scipy")


def has_numbers(content: dict[str, str]) -> bool:
    """Tell a plot from a diagram: whether the table of its curves has any row below the headings."""
    return len(content["csv"].splitlines()) > 1


def has_bars(content: dict[str, str]) -> bool:
    """Tell whether any curve of a plot has error bars or a band."""
    return bool(pd.read_csv(io.StringIO(content["csv"])).low.notna().any())


def shown_name(content: dict[str, str]) -> str:
    """Return the name under which MyST-NB keeps the picture that the page shows: by its bytes."""
    text = os.linesep.join(base64.b64decode(content["svg"]).decode().splitlines())
    return f"{hashlib.sha256(text.encode()).hexdigest()}.svg"


def link_downloads(executed: NotebookNode, folder: str, prefix: str) -> None:
    """Put links to its files below each figure of a page."""
    names = published(executed)
    for cell in executed.cells:
        for name in names:
            opening = f"```{{glue:figure}} {name}\n"
            if cell.cell_type == "markdown" and opening in cell.source:
                start = cell.source.index(opening)
                end = cell.source.index("\n```", start + len(opening)) + len("\n```")
                file = f"{prefix}-{name}"
                links = [f'<a href="../_images/{shown_name(names[name])}" download="{file}.svg">SVG</a>']
                links += [
                    f'<a href="{folder}/{file}.{ending}" download>{words}</a>'
                    for ending, words in (("png", "PNG"), ("csv", "CSV"), ("nc", "netCDF"))
                ]
                words = f"This figure: {', '.join(links[:2])}"
                if has_numbers(names[name]):
                    bars = ", with the ends of the bars" if has_bars(names[name]) else ""
                    words += f"; its numbers{bars}: {', '.join(links[2:])}"
                line = f'<p class="downloads">{words}.</p>'
                cell.source = f"{cell.source[:end]}\n\n{line}\n{cell.source[end:]}"


def lend(executed: Path, name: str, figure: str) -> Path:
    """Write a figure of an executed notebook where a page of prose looks for it."""
    notebook = read_executed(executed)
    kept = {} if notebook is None else published(notebook)
    if figure not in kept:
        raise Refusal(f"notebook {name} has the figures {', '.join(kept) or 'none'}, and no {figure!r}")
    paths.FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=paths.FIGURES, delete=False) as part:
        part.write(base64.b64decode(kept[figure]["svg"]))
    place = paths.FIGURES / f"{name}.{figure}.svg"
    os.replace(part.name, place)
    return place
