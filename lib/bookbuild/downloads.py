"""What a page offers to take away: its figures with their numbers, the means behind them, and itself, to be run.

All single realisations of all figures would be several times as large as the book: it offers means over realisations,
with their errors, and ``python -m sgdnoise store export`` hands on the rest.

The notebook is plain Markdown with the parameters and outputs of the run, and nothing of the machine that built it.
Its pictures have the size at which Jupyter shows them. MyST's roles and directives are for the book; Jupyter would show
them as they are written. A page that uses one which is not turned into plain text here stops the build.
"""

import base64
import io
import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import xarray as xr
from hatchling.builders.wheel import WheelBuilder
from nbformat import NotebookNode
from PIL import Image
from pybtex.database import parse_file
from pybtex.richtext import Text

from bookbuild import notebooks, page, paths
from bookbuild.notebooks import told
from bookbuild.texts import Refusal, read_yaml
from sgdnoise import __version__
from sgdnoise.report import ABOUT, MIME
from sgdnoise.sweep.entry import decode, encode
from sgdnoise.sweep.store import Store

OVER = "realisation"
DIGITS = 7  # of the numbers in a CSV; the netCDF file has all of them
HEADS = ("panel", "title", "x_label", "y_label", "curve")  # what is said of a curve, in each row of the CSV
NOTE = (
    "*A page of “{title}”, {about}. It runs where the Python package `sgdnoise` is installed. Numbers in the text are "
    "those of that build; a run shows its own.*"
)
BOX = re.compile(r"^:::\{admonition\} ([^\n]+)\n(?::\w+:[^\n]*\n)*(.*?)\n:::$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"^name: (\S+)$", re.MULTILINE)
LABEL = re.compile(r"^\$\$ \(([\w-]+)\)$", re.MULTILINE)
TITLES = {".py": re.compile(r"^# # (.+)$", re.MULTILINE), ".md": re.compile(r"^# (.+)$", re.MULTILINE)}
ROLE = re.compile(r"\{([\w:]+)\}`(?:([^`<]+) <)?([^`>]+)>?`")
LEFT = re.compile(r"\{[\w:]+\}`[^`]*`|^(?:```+|:::+)\{[\w:]+\}|^\([\w-]+\)=$", re.MULTILINE)


def write(profile: str, folder: Path) -> None:
    """Write the files of all pages."""
    store, title = Store(paths.RESULTS), read_yaml(paths.CONFIG)["title"]
    folder.mkdir()
    list(WheelBuilder(str(paths.ROOT)).build(directory=str(folder)))  # the library, which the notebooks need
    for notebook in notebooks.read_all():
        label = notebooks.results_label(notebook, notebook.parameters(profile))
        executed = notebook.copy(profile)
        write_figures(executed, folder, label)
        plain = convert(executed, title, f"version {__version__}, {profile} profile")
        nbformat.write(plain, folder / f"{label}.ipynb")
        if page.has_archive(label):
            store.write_zip(store.uses(label), folder / f"{label}.zip", shorten=summary)


def write_figures(executed: NotebookNode, folder: Path, prefix: str) -> None:
    """Write a picture of each figure and its numbers; the vectors are in the page itself."""
    for name, content in told(executed, "figure").items():
        path = folder / f"{prefix}-{name}"
        path.with_suffix(".png").write_bytes(base64.b64decode(content["image/png"]))
        numbers = page.table(content)
        if numbers is not None:
            path.with_suffix(".nc").write_bytes(by_curve(numbers).to_netcdf(engine="scipy"))
            rows = numbers[list(ABOUT)].to_dataframe()
            rows.to_csv(path.with_suffix(".csv"), index=False, float_format=f"%.{DIGITS}g")


def by_curve(numbers: xr.Dataset) -> xr.Dataset:
    """Return the numbers of a figure with what is said of a curve once, and the number of its curve for each point.

    In netCDF every text takes the room of the longest one: with its names, a point is three times as large.
    """
    about = numbers[list(HEADS)].to_dataframe()
    each = about.drop_duplicates(ignore_index=True)
    of = about.merge(each.reset_index(names="number"), on=list(HEADS), how="left").number.to_numpy(np.int32)
    heads = {name: ("curve_number", each[name].to_numpy(numbers[name].dtype), numbers[name].attrs) for name in HEADS}
    number = ("row", of, {"long_name": "number of the curve to which the point belongs"})
    return numbers.drop_vars(HEADS).assign(heads | {"of_curve": number})


def summary(entry: bytes) -> bytes:
    """Turn a stored result into another one that holds its means; what says how it was made is kept."""
    result, provenance = decode(entry)
    return encode(summarise(result), provenance)


def summarise(result: xr.Dataset) -> xr.Dataset:
    """Replace each variable that has realisations by mean, standard error and the number of those that are not NaN.

    The error of a single realisation is NaN. Means keep five digits and errors two, which is finer than any error is
    known. The response is left out where its integral is there, of which it is the difference from step to step.
    """
    kept: dict[str, xr.Variable] = {}
    result = result.drop_vars("response", errors="ignore") if "integrated_response" in result else result
    for name in map(str, result.data_vars):
        values = result.variables[name]  # without coordinates, which take most of the time to compare
        if OVER not in values.dims:
            kept[name] = values
            continue
        number = values.count(OVER)
        some, more = (number.where(number > least) for least in (0, 1))  # type: ignore[no-untyped-call]
        mean = values.sum(OVER) / some
        error = (((values - mean) ** 2).sum(OVER) / (more - 1) / number) ** 0.5
        what = values.attrs.get("long_name", name)
        about = {"standard_error": rounded(error, bits=8), "realisations": number.astype(np.int32)}
        kept[name] = rounded(mean, bits=17)
        kept[name].attrs = values.attrs
        for of, measure in zip(("standard error", "number of realisations"), about, strict=True):
            kept[f"{name}_{measure}"] = about[measure]
            about[measure].attrs = {"long_name": f"{of} of {what}"}
    return xr.Dataset(kept, coords=result.coords, attrs=result.attrs)


def rounded(values: xr.Variable, bits: int) -> xr.Variable:
    """Round to single precision with fewer bits of the mantissa; the others are zero, and take no room in an archive.

    >>> float(rounded(xr.Variable((), 1.0 + 2**-12 + 2**-20), bits=16)) == 1.0 + 2**-12
    True
    """
    spare = 23 - bits
    raw = values.values.astype(np.float32).view(np.int32) + (1 << (spare - 1))
    return values.copy(data=(raw >> spare << spare).view(np.float32))


def convert(executed: NotebookNode, title: str, about: str) -> NotebookNode:
    """Return an executed notebook as one to run; it says of which book and build it is a page."""
    notebook = deepcopy(executed)
    page.typeset(notebook)
    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    plain = Plain("\n".join(cell.source for cell in texts))
    for cell in texts:
        cell.source = plain.text(cell.source)
        if left := LEFT.search(cell.source):
            heading = texts[0].source.partition("\n")[0]
            raise Refusal(f"the page {heading!r} has {left[0]!r}, which a notebook that is offered to run cannot show")
    heading, _, rest = texts[0].source.partition("\n")
    texts[0].source = f"{heading}\n\n{NOTE.format(title=title, about=about)}\n{rest}"
    for cell in notebook.cells:
        kept = list(cell.metadata.get("tags", []))
        cell.metadata = NotebookNode({"tags": kept} if kept else {})
        for output in cell.get("outputs", []):
            output["metadata"] = {}
            plain_data(output.get("data", {}))
    notebook.metadata = NotebookNode({"kernelspec": notebook.metadata["kernelspec"]})
    return notebook


def plain_data(data: dict[str, str]) -> None:
    """Leave of an output what Jupyter shows: nothing for scripts of the book, and a picture once, half as wide."""
    data.pop(MIME, None)
    if data.get("text/html", "").startswith("<script"):
        del data["text/html"]
    if data.pop("image/svg+xml", None) is None:
        return
    out = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(data["image/png"]))) as picture:
        half = picture.convert("RGB").resize((picture.width // 2, picture.height // 2), Image.Resampling.LANCZOS)
        half.quantize(32).save(out, "png", optimize=True)
    data["image/png"] = base64.b64encode(out.getvalue()).decode()


class Plain:
    """MyST of one page turned into plain Markdown; its equations and figures are numbered."""

    def __init__(self, text: str) -> None:
        blocks = list(page.FIGURE.finditer(text))
        self.equations = {label: str(i) for i, label in enumerate(LABEL.findall(text), 1)}
        self.figures = {block[1]: f"Figure {i}" for i, block in enumerate(blocks, 1)}
        labels = {block[1]: NAME.search(block[0]) for block in blocks}
        self.labels = {label[1]: self.figures[name] for name, label in labels.items() if label}

    def text(self, text: str) -> str:
        """Return a part of the page."""
        text = page.FIGURE.sub(self.caption, text)
        text = LABEL.sub(lambda m: f"\\tag{{{self.equations[m[1]]}}}\n$$", text)
        text = BOX.sub(lambda m: quoted(f"**{m[1]}**\n\n{m[2]}"), text)
        return ROLE.sub(self.role, text)

    def caption(self, block: re.Match[str]) -> str:
        """Return what is said of a figure, which the cell before has shown."""
        words = page.OPTIONS.sub("", block[0]).partition("\n")[2].removesuffix("\n```")
        return f"**{self.figures[block[1]]}** (`{block[1]}`). {words}"

    def role(self, role: re.Match[str]) -> str:
        """Return the words that stand for a reference."""
        kind, words, target = role.groups()
        if kind == "doc":
            return f"*{words or page_title(target)}*"
        if kind == "cite:p":
            return f"({'; '.join(cited(key, '{}, {}') for key in target.split(','))})"
        if kind == "cite:t":
            return "; ".join(cited(key, "{} ({})") for key in target.split(","))
        if kind == "eq" and target in self.equations:
            return f"({self.equations[target]})"
        return self.labels.get(target, role[0]) if kind == "numref" else role[0]


def quoted(text: str) -> str:
    """Return a text as a block of quotation.

    >>> quoted("a\\n\\nb")
    '> a\\n>\\n> b'
    """
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def page_title(name: str) -> str:
    """Return the title of a page of the book."""
    for ending, pattern in TITLES.items():
        path = paths.ROOT / f"{name.lstrip('/')}{ending}"
        if path.is_file() and (title := pattern.search(path.read_text(encoding="utf-8"))):
            return title[1]
    raise Refusal(f"the text links to the page {name}, which is not there")


@cache
def bibliography() -> dict[str, tuple[str, str, str]]:
    """Return authors, year and address of every work that the book cites."""
    found = {}
    for key, entry in parse_file(paths.BIBLIOGRAPHY).entries.items():
        last = [str(Text.from_latex(" ".join(person.last_names))) for person in entry.persons["author"]]
        authors = last[0] if len(last) == 1 else " and ".join(last) if len(last) == 2 else f"{last[0]} et al."
        found[key] = authors, entry.fields["year"], entry.fields.get("doi", "")
    return found


def cited(key: str, form: str) -> str:
    """Return authors and year, with a link where the work has one."""
    authors, year, doi = bibliography()[key]
    return f"[{form.format(authors, year)}](https://doi.org/{doi})" if doi else form.format(authors, year)
