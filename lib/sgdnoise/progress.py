"""One progress bar for everything that takes long: a thin wrapper of tqdm."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sgdnoise import _checks
from sgdnoise._machine import PROGRESS_FILE, someone_watches

QUIET_SECONDS = 3.0  # short work says nothing


class _Bar(tqdm):  # type: ignore[misc]
    """A bar that several threads may move, and that needs no thread of its own."""

    monitor_interval = 0

    def update(self, n: float = 1) -> Any:
        with self.get_lock():
            return super().update(n)


# The lock of tqdm's own is one for processes: a semaphore, which a process that is killed leaves behind.
_Bar.set_lock(threading.RLock())


@contextmanager
def bar(total: int, label: str, *, show: bool | None = None, unit: str = "step", done: int = 0) -> Iterator[Any]:
    """Show how far some work is: ``with bar(100, "simulating") as shown: shown.update(n)``, from any thread.

    Parameters
    ----------
    total, done
        Amount of work, and how much of it was done before.
    label, unit
        What is being done, and what is counted.
    show
        Whether to draw it; ``None`` draws it on a terminal or in a notebook where the work takes more than a few
        seconds. A bar within a bar, or in a worker process, is then not drawn.
    """
    if show is not None:
        _checks.flag("progress", show)
    options = {"total": total, "initial": done, "desc": label, "unit": unit, "unit_scale": total >= 10_000}
    options |= {"miniters": 1, "mininterval": 0.2, "dynamic_ncols": True, "leave": False}
    inner = bool(getattr(tqdm, "_instances", ())) or multiprocessing.parent_process() is not None
    path = os.environ.get(PROGRESS_FILE)
    if path and show is not False and not inner:
        line = "{desc}: {n_fmt} of {total_fmt} {unit}s"
        try:
            with open(path, "w", encoding="utf-8") as file, _Bar(file=file, bar_format=line, **options) as shown:
                yield shown
        finally:
            Path(path).unlink(missing_ok=True)
        return
    if show is None:
        show = not inner and someone_watches()
        options["delay"] = QUIET_SECONDS
    with _Bar(disable=not show or bool(path), **options) as shown:
        yield shown
