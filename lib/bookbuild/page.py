"""The page of a notebook: its executed copy with figures and numbers in place, plumbing folded, and what made it.

On the page of a figure the figure comes first, below the question; then what it shows and whether that holds, the code
that made it, and how to make another.

A cell tagged ``hide-input`` is plumbing: it is folded under its first line, a comment that says what it does. Folded
cells that follow one another become one. A value stands within the formula to which it belongs, so that no line breaks
between the two.
"""

import base64
import io
import re
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import xarray as xr
from nbformat import NotebookNode

from bookbuild import ledger, paths
from bookbuild.notebooks import RUN, TAG, Notebook, told
from bookbuild.texts import Refusal, clock, fill, printed
from sgdnoise.report import MIME
from sgdnoise.sweep.store import Store, put_in_place

WORDS_A_MINUTE = 200
FOLDED, REMOVED = "hide-input", "remove-cell"
FOUND = ":class: found\n"
OPTIONS = re.compile(r"^---\n.*?^---\n", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"^```\{glue:figure\} ([\w-]+)\n.*?\n```$", re.MULTILINE | re.DOTALL)
PAPER_FIGURE = re.compile(r"fig0(\d)_")
BOX = re.compile(r"^:::\{admonition\}.*?^:::$", re.MULTILINE | re.DOTALL)
MADE = "## How it was made"
# The place of a value, with the formula before it where that ends with an equals sign.
GLUED = re.compile(r"(?:\$([^$]*=)\$\s+)?\{glue:(?:text)?\}`([^`]+)`")
NUMBER = re.compile(r"-?\d+(\.\d+)?")
TABLE = "text/markdown"


def make(executed: NotebookNode, notebook: Notebook, parameters: Mapping[str, Any], folder: str) -> NotebookNode:
    """Return an executed notebook as its page; ``folder`` is where the files are that the page offers."""
    page, name = deepcopy(executed), f"{notebook.name}-{parameters['profile']}"
    if notebook.name.startswith("fig"):
        put_figure_first(page, notebook.name)
    place(page, notebook.name, folder, name)
    found = ledger.findings([page])
    if found:
        add_to_findings(page, ledger.listed(ledger.read_ledger(paths.LEDGER), found))
    typeset(page)
    for cell in page.cells:  # what notebooks report to the build is not for readers
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if MIME not in output.get("data", {})]
    fold(page)
    put_below_title(page, facts(page, name, parameters))
    page.cells.append(nbformat.v4.new_markdown_cell(ending(notebook, parameters, folder, name)))
    return page


def has_archive(label: str) -> bool:
    """Tell whether a page offers the results behind it; the live page has its curves within itself."""
    return not label.startswith("live-") and bool(Store(paths.RESULTS).uses(label))


def paper_figure(name: str) -> str | None:
    """Return the number that the figure of a notebook has in the paper.

    >>> paper_figure("fig02_persistent"), paper_figure("fig10_phases")
    ('2', None)
    """
    known = PAPER_FIGURE.match(name)
    return known and known[1]


def put_figure_first(executed: NotebookNode, name: str) -> None:
    """Put the figure below the question, then what it shows, then how it was made.

    The first cell has the question in a box. What the figure shows is in the text of its cell, and in all cells below.
    """
    first, *others = executed.cells
    at = next((i for i, cell in enumerate(others) if FIGURE.search(cell.source)), None)
    box = BOX.search(first.source)
    if box is None or at is None:
        raise Refusal(f"notebook {name} must begin with a box that asks its question, and show a figure further down")
    text = others[at].source
    figure = next(FIGURE.finditer(text))
    number = paper_figure(name)
    title, _, _ = first.source.partition("\n")
    if number:
        title = f"# Figure {number}: {title.removeprefix('# ')}"
    shown = text[: figure.start()] + text[figure.end() :]
    texts = [f"{title}\n\n{box[0]}", figure[0], first.source[box.end() :].strip(), shown.strip()]
    made = [nbformat.v4.new_markdown_cell(MADE), *others[:at]]
    executed.cells = [*map(nbformat.v4.new_markdown_cell, texts), *others[at + 1 :], *made]


def ending(notebook: Notebook, parameters: Mapping[str, Any], folder: str, label: str) -> str:
    """Say how the page is made with other parameters, and what it offers to take away."""
    physics = notebook.name.startswith("fig") or len(parameters) > len(RUN)
    example = notebook.example() if physics else ""
    others = [f"`{name}`" for name in parameters if name not in ("profile", example.partition(" ")[0])]
    known = {"example": example, "others": others, "folder": folder, "label": label, "results": has_archive(label)}
    return fill("page_end.md", notebook=notebook.name, **known)


def table(content: dict[str, str]) -> xr.Dataset | None:
    """Return the numbers of a published figure; a diagram has none."""
    if not content["netcdf"]:
        return None
    return xr.load_dataset(io.BytesIO(base64.b64decode(content["netcdf"])), engine="scipy")


def place(executed: NotebookNode, notebook: str, folder: str, prefix: str) -> None:
    """Put each published figure where the text of its page asks for it, with links to its files below."""
    figures, answers = told(executed, "figure"), told(executed, "interactive")

    def put(block: re.Match[str]) -> str:
        name, svg = block[1], lend(executed, notebook, block[1]).name
        figure = block[0].replace(f"{{glue:figure}} {name}", f"{{figure}} /_build/figures/{svg}")
        about = {"numbers": table(figures[name]), "answer": answers.get(name), "folder": folder}
        return fill("figure.md", figure=figure, svg=svg, file=f"{prefix}-{name}", **about)

    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell.source = FIGURE.sub(put, cell.source)


def lend(executed: NotebookNode, name: str, figure: str) -> Path:
    """Write a figure of an executed notebook where pages look for it."""
    kept = told(executed, "figure")
    if figure not in kept:
        raise Refusal(f"notebook {name} has the figures {', '.join(kept) or 'none'}, and no {figure!r}")
    paths.FIGURES.mkdir(parents=True, exist_ok=True)
    place = paths.FIGURES / f"{name}.{figure}.svg"
    with put_in_place(place) as part:
        part.write_text(kept[figure]["image/svg+xml"], encoding="utf-8")
    return place


def values(executed: NotebookNode) -> dict[str, str]:
    """Return what a notebook reports for the text, by name."""
    return {name: content["text"] for name, content in told(executed, "value").items()}


def typeset(executed: NotebookNode) -> None:
    """Put the values that a notebook reports into its text, and write all its numbers as they are printed."""
    known = values(executed)
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell.source = filled(cell.source, known)
        for output in cell.get("outputs", []):
            if TABLE in output.get("data", {}):
                output["data"][TABLE] = printed(output["data"][TABLE])


def filled(text: str, known: Mapping[str, str]) -> str:
    """Put values where a text asks for them, within the formula before if that ends with an equals sign.

    >>> filled("$N=$ {glue:}`n` samples of {glue:text}`what`, $x=$ {glue:}`y`", {"n": "9", "what": "-1", "y": "2, 3"})
    '$N=9$ samples of −1, $x=$ 2, 3'
    """

    def put(place: re.Match[str]) -> str:
        formula, name = place.groups()
        if name not in known:
            raise Refusal(f"the text asks for the value {name!r}, which its notebook does not report")
        if formula and NUMBER.fullmatch(known[name]):
            return f"${formula}{known[name]}$"
        return (f"${formula}$ " if formula else "") + printed(known[name])

    return GLUED.sub(put, text)


def fold(executed: NotebookNode) -> None:
    """Fold the plumbing of an executed notebook, the parameters of the run with it."""
    cells: list[NotebookNode] = []
    above: NotebookNode | None = None  # the folded cell that the next one would join
    for cell in executed.cells:
        tags = cell.metadata.get("tags", [])
        folded = cell.cell_type == "code" and (FOLDED in tags or TAG in tags)
        if folded and REMOVED not in tags:
            words = title(cell)
            if above is not None:
                above.source += f"\n\n{cell.source}"
                above.outputs += cell.outputs
                words, cell = f"{above.metadata['mystnb']['code_prompt_show'].removeprefix('Code: ')}; {words}", above
            cell.metadata["tags"] = sorted({FOLDED, *cell.metadata.get("tags", [])})
            cell.metadata["mystnb"] = {"code_prompt_show": f"Code: {words}", "code_prompt_hide": f"Hide: {words}"}
        if cell is not above:
            cells.append(cell)
        if REMOVED not in tags:
            above = cell if folded else None
    executed.cells = cells


def title(cell: NotebookNode) -> str:
    """Return what a folded cell says of itself in its first line.

    >>> from nbformat.v4 import new_code_cell
    >>> title(new_code_cell("# Draw the figure.\\nplot()"))
    'draw the figure'
    """
    if TAG in cell.metadata.get("tags", []):
        return "parameters"
    line = cell.source.lstrip().partition("\n")[0]
    words = line.removeprefix("#").strip().rstrip(".") if line.startswith("#") else "source"
    return words[:1].lower() + words[1:]


@cache
def note(key: str) -> dict[str, Any] | None:
    """Return what a stored result says of how it was made, or None where there is none."""
    entry = Store(paths.RESULTS).read(key)
    return None if entry is None else entry[1]


def notes(*labels: str) -> list[dict[str, Any]]:
    """Return what the results behind some notebooks say of how they were made, each once."""
    keys = dict.fromkeys(key for label in labels for key in Store(paths.RESULTS).uses(label))
    return [found for found in map(note, keys) if found is not None]


def minutes(executed: NotebookNode) -> int:
    """Return how long the prose takes to read; code, and what figures say to those who do not see them, aside."""
    prose = (OPTIONS.sub("", cell.source) for cell in executed.cells if cell.cell_type == "markdown")
    return max(1, round(sum(len(text.split()) for text in prose) / WORDS_A_MINUTE))


def seconds(executed: NotebookNode, behind: list[dict[str, Any]]) -> float:
    """Return what the page takes to compute: its own run, and the results that it found in the store.

    A result that was stored after the run began was computed in it, and is not counted twice.
    """
    run = executed.metadata["papermill"]
    began = datetime.fromisoformat(run["start_time"])
    began = began.replace(microsecond=0, tzinfo=began.tzinfo or UTC)  # results note their second
    found = (n for n in behind if datetime.fromisoformat(n["created"]) < began)
    return float(run["duration"] + sum(n["wall_time"] for n in found))


def facts(executed: NotebookNode, label: str, parameters: Mapping[str, Any]) -> str:
    """Write what a page says of itself below its title: how long it takes, and what made it."""
    from sgdnoise import __version__

    reading = f"{minutes(executed)} minute{'s' if minutes(executed) > 1 else ''} to read"
    made = f"version {__version__}, {parameters['profile']} profile, seed {parameters['seed']}"
    return f"{reading} · {clock(seconds(executed, notes(label)))} to compute · {made}"


def put_below_title(executed: NotebookNode, line: str) -> None:
    """Put a line below the title of a page."""
    first = executed.cells[0]
    title, _, rest = first.source.partition("\n")
    first.source = f"{title}\n\n```{{container}} page-facts\n{line}\n```\n{rest}"


def add_to_findings(executed: NotebookNode, text: str) -> None:
    """Put text at the end of the box that closes a page with what was found."""
    for cell in executed.cells:
        if cell.cell_type == "markdown" and FOUND in cell.source:
            end = cell.source.index("\n:::", cell.source.index(FOUND))
            cell.source = f"{cell.source[:end]}\n\n{text}{cell.source[end:]}"


def cost(profile: str) -> str:
    """Say what the stored results behind the book cost to compute."""
    known = notes(*(path.stem for path in (paths.RESULTS / "used").glob(f"*-{profile}.json")))
    hours = sum(found["wall_time"] * int(found["threads"]) for found in known) / 3600
    return f"{len(known)} results, {hours:.2g} core-hours"
