"""How far a sweep is: one line in a terminal or a notebook, a file for the book's own display, little in a log."""

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

FILE_VARIABLE = "SGDNOISE_PROGRESS_FILE"
LOG_SECONDS = 30.0


class Progress:
    """Counts points and says how many are done and how long the rest will take.

    The estimate is the mean pace of this very run, and is given only once every worker has finished a point.
    """

    def __init__(self, label: str, total: int, stored: int, workers: int) -> None:
        self.label, self.total, self.stored, self.workers = label, total, stored, workers
        self.done = stored
        self.began = time.monotonic()
        self.show, self.close = _display()
        self.update(0)

    def update(self, more: int = 1) -> None:
        """Count points as done and show it."""
        self.done += more
        self.show(self.text(), {"done": self.done, "total": self.total})

    def text(self) -> str:
        """Say where the sweep is, in one line."""
        spent = time.monotonic() - self.began
        computed = self.done - self.stored
        line = f"{self.label}: {self.done} of {self.total} points"
        line += f" ({self.stored} from the store)" if self.stored else ""
        line += f", {timedelta(seconds=round(spent))}"
        if self.done < self.total and computed >= self.workers:
            left = spent / computed * (self.total - self.done)
            line += f", about {timedelta(seconds=round(left))} left"
        return line


def _display() -> tuple[Callable[[str, Any], None], Callable[[], None]]:
    """Choose how to show a line, and how to take it away at the end, by where we are."""
    path = os.environ.get(FILE_VARIABLE)
    if path:
        return _to_file(Path(path))
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return _to_notebook()
    return _to_terminal() if sys.stderr.isatty() else _to_log()


def _to_file(path: Path) -> tuple[Callable[[str, Any], None], Callable[[], None]]:
    def show(_: str, counts: Any) -> None:
        part = path.with_suffix(".part")
        part.write_text(json.dumps(counts), encoding="utf-8")
        os.replace(part, path)

    return show, lambda: path.unlink(missing_ok=True)


def _to_notebook() -> tuple[Callable[[str, Any], None], Callable[[], None]]:
    from IPython.display import display

    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def show(text: str, _: Any) -> None:
        handle.update({"text/plain": text}, raw=True)

    return show, lambda: None


def _to_terminal() -> tuple[Callable[[str, Any], None], Callable[[], None]]:
    def show(text: str, _: Any) -> None:
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)

    return show, lambda: print(file=sys.stderr, flush=True)


def _to_log() -> tuple[Callable[[str, Any], None], Callable[[], None]]:
    last = time.monotonic()

    def show(text: str, counts: Any) -> None:
        nonlocal last
        if time.monotonic() - last > LOG_SECONDS or counts["done"] == counts["total"]:
            last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    return show, lambda: None
