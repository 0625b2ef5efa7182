"""Figures of an executed notebook: their place on the page, and the files that the page offers for each."""

import base64
import io
import os
import re
import tempfile
from pathlib import Path

import nbformat
import xarray as xr
from nbformat import NotebookNode

from bookbuild import paths
from bookbuild.refusal import Refusal
from bookbuild.source import told
from sgdnoise.report import ABOUT

# A page of prose shows a figure of a notebook as an image of this name, made when the page is read.
BORROWED = re.compile(r"/_build/figures/(\w+)\.([\w-]+)\.svg")
FILES = {"csv": "CSV", "nc": "netCDF"}
PLACE = re.compile(r"^```\{glue:figure\} ([\w-]+)\n.*?\n```$", re.MULTILINE | re.DOTALL)


def table(content: dict[str, str]) -> xr.Dataset | None:
    """Return the numbers of a published figure; a diagram has none."""
    if not content["netcdf"]:
        return None
    return xr.load_dataset(io.BytesIO(base64.b64decode(content["netcdf"])), engine="scipy")


def extract(executed: Path) -> list[Path]:
    """Write every figure of an executed notebook beside it, and return the files."""
    written = []
    for name, content in told(nbformat.read(executed, as_version=4), "figure").items():
        written.append(executed.with_name(f"{executed.stem}-{name}.svg"))
        written[-1].write_text(content["image/svg+xml"], encoding="utf-8")
    return written


def write_downloads(executed: NotebookNode, folder: Path, prefix: str) -> None:
    """Write the files that a page offers for its figures, a picture and the numbers; the vectors it shows itself."""
    for name, content in told(executed, "figure").items():
        path = folder / f"{prefix}-{name}"
        path.with_suffix(".png").write_bytes(base64.b64decode(content["image/png"]))
        numbers = table(content)
        if numbers is not None:
            path.with_suffix(".nc").write_bytes(base64.b64decode(content["netcdf"]))
            numbers[list(ABOUT)].to_dataframe().to_csv(path.with_suffix(".csv"), index=False)


def place(executed: NotebookNode, notebook: str, folder: str, prefix: str) -> None:
    """Put each published figure where the text of its page asks for it, with links to its files below."""
    figures = told(executed, "figure")

    def put(block: re.Match[str]) -> str:
        name = block[1]
        shown = lend(executed, notebook, name)
        opening = block[0].replace(f"{{glue:figure}} {name}", f"{{figure}} /_build/figures/{shown.name}")
        file = f"{prefix}-{name}"
        link = '<a href="{}" download="{}">{}</a>'.format
        words = "This figure: " + link(f"../_images/{shown.name}", f"{file}.svg", "SVG")
        words += ", " + link(f"{folder}/{file}.png", f"{file}.png", "PNG")
        numbers = table(figures[name])
        if numbers is not None:
            bars = ", with the ends of the bars" if numbers.low.notnull().any() else ""
            files = (link(f"{folder}/{file}.{end}", f"{file}.{end}", text) for end, text in FILES.items())
            words += f"; its numbers{bars}: {', '.join(files)}"
        return f'{opening}\n\n<p class="downloads">{words}.</p>\n'

    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell.source = PLACE.sub(put, cell.source)


def lend(executed: NotebookNode, name: str, figure: str) -> Path:
    """Write a figure of an executed notebook where pages look for it."""
    kept = told(executed, "figure")
    if figure not in kept:
        raise Refusal(f"notebook {name} has the figures {', '.join(kept) or 'none'}, and no {figure!r}")
    paths.FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=paths.FIGURES, delete=False) as part:
        part.write(kept[figure]["image/svg+xml"].encode())
    place = paths.FIGURES / f"{name}.{figure}.svg"
    os.replace(part.name, place)
    return place
