"""What a notebook's page says of itself below its title: how long it takes to read and to compute, and what made it."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from nbformat import NotebookNode

from bookbuild import paths
from bookbuild.progress import clock

WORDS_A_MINUTE = 200
FOUND = ":class: found\n"
OPTIONS = re.compile(r"^---$.*?^---$", re.MULTILINE | re.DOTALL)


@cache
def note(key: str) -> dict[str, Any] | None:
    """Return what a stored result says of how it was made, or None where there is none."""
    from sgdnoise.sweep.store import Store

    entry = Store(paths.RESULTS).read(key)
    return None if entry is None else entry[1]


def notes(label: str) -> list[dict[str, Any]]:
    """Return what the results behind a notebook say of how they were made."""
    from sgdnoise.sweep.store import Store

    return [found for found in map(note, Store(paths.RESULTS).uses(label)) if found is not None]


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
    """Write the line."""
    from sgdnoise import __version__

    reading = minutes(executed)
    parts = [
        f"{reading} {'minute' if reading == 1 else 'minutes'} to read",
        f"{clock(seconds(executed, notes(label)))} to compute",
        f"version {__version__}, {parameters['profile']} profile, seed {parameters['seed']}",
    ]
    return " · ".join(parts)


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
    from sgdnoise.sweep.store import Store

    store = Store(paths.RESULTS)
    labels = [path.stem for path in (store.folder / "used").glob(f"*-{profile}.json")]
    behind = {key: note(key) for label in labels for key in store.uses(label)}
    known = [found for found in behind.values() if found is not None]
    hours = sum(found["wall_time"] * int(found["threads"]) for found in known) / 3600
    return f"{len(known)} results, {hours:.2g} core-hours"
