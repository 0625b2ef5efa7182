"""Progress of a build: a line for each notebook, one overall bar, and an estimate of the time that is left."""

import json
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bookbuild import paths

BAR_WIDTH = 24
QUIET_SECONDS = 20.0  # between two lines about the whole where lines cannot be drawn over


@dataclass
class Task:
    """One notebook of the build and how far it is."""

    name: str
    expected: float | None
    file: Path | None = None
    state: str = "waiting"
    started: float | None = None
    seconds: float = 0.0
    cell: int = 0
    cells: int = 0

    def elapsed(self, now: float) -> float:
        """Return the seconds since it started."""
        return now - self.started if self.state == "running" and self.started is not None else self.seconds

    def points(self) -> str:
        """Say how far the sweep is that the notebook is in, if it is in one."""
        try:
            line = self.file.read_text(encoding="utf-8").rstrip().rpartition("\n")[2] if self.file else ""
        except (OSError, ValueError):
            line = ""
        return f", {line}" if line else ""


def remaining_seconds(tasks: list[Task], workers: int, now: float) -> float | None:
    """Estimate the time until the last task ends, or None while there is nothing to base it on.

    Expected durations (of an earlier run, else what the notebook says) are scaled by how this machine has done so
    far, and dealt to the workers, longest first.
    """
    if any(task.expected is None for task in tasks if task.state in ("waiting", "running")):
        return None
    finished = [task for task in tasks if task.state == "done" and task.expected]
    expected = sum(task.expected or 0.0 for task in finished)
    pace = sum(task.seconds for task in finished) / expected if expected > 0 else 1.0
    loads = [0.0] * workers
    running = [task for task in tasks if task.state == "running"]
    for slot, task in enumerate(running):
        whole = pace * (task.expected or 0.0)
        # One that overruns is taken to need a tenth of its time again: it is not about to end just because it is late.
        loads[slot % workers] += max(whole - task.elapsed(now), 0.1 * task.elapsed(now))
    waiting = sorted((pace * (task.expected or 0.0) for task in tasks if task.state == "waiting"), reverse=True)
    for duration in waiting:
        loads[loads.index(min(loads))] += duration
    return max(loads)


def clock(seconds: float) -> str:
    """Write a duration for people.

    >>> clock(3.2), clock(75), clock(7322)
    ('3 s', '1 min 15 s', '2 h 02 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Display:
    """Draws the tasks: over and over in a terminal, sparingly in a log."""

    def __init__(self, tasks: list[Task], workers: int, stream: TextIO = sys.stderr) -> None:
        self.tasks, self.workers, self.stream = tasks, workers, stream
        self.live = stream.isatty()
        self.drawn = 0
        self.last = 0.0
        self.began = time.monotonic()

    def finished(self, task: Task) -> None:
        """Say that a task has ended; in a log this is its one line."""
        if not self.live:
            print(self._line(task, time.monotonic()), file=self.stream, flush=True)

    def update(self, force: bool = False) -> None:
        """Draw the present state, not more often than is useful."""
        now = time.monotonic()
        if not force and now - self.last < (0.2 if self.live else QUIET_SECONDS):
            return
        if not self.live:
            # The first line of a log would say nothing yet.
            if self.last or force:
                print(self._overall(now), file=self.stream, flush=True)
            self.last = now
            return
        self.last = now
        width = shutil.get_terminal_size().columns - 1
        lines = [self._line(task, now)[:width] for task in self.tasks] + [self._overall(now)[:width]]
        up = f"\x1b[{self.drawn}A" if self.drawn else ""
        self.stream.write(up + "".join(f"\x1b[2K{line}\n" for line in lines))
        self.stream.flush()
        self.drawn = len(lines)

    def _line(self, task: Task, now: float) -> str:
        width = max(len(t.name) for t in self.tasks)
        cells = f"cell {task.cell}/{task.cells}{task.points()}" if task.state == "running" and task.cells else ""
        spent = clock(task.elapsed(now)) if task.started is not None else ""
        return f"  {task.name:<{width}}  {task.state:<8} {spent:>12}  {cells}".rstrip()

    def _overall(self, now: float) -> str:
        ended = sum(task.state in ("done", "failed") for task in self.tasks)
        part = (ended + sum(t.cell / t.cells for t in self.tasks if t.state == "running" and t.cells)) / len(self.tasks)
        filled = round(BAR_WIDTH * part)
        left = remaining_seconds(self.tasks, self.workers, now)
        if ended == len(self.tasks):
            rest = ""
        elif left is None:
            rest = ", time left unknown (a first run)"
        else:
            rest = f", about {clock(left)} left"
        bar = "#" * filled + "." * (BAR_WIDTH - filled)
        return f"[{bar}] {ended} of {len(self.tasks)} notebooks, {clock(now - self.began)}{rest}"


def load_timings() -> dict[str, float]:
    """Return the measured durations of earlier runs; a damaged file counts as none."""
    try:
        stored = json.loads(paths.TIMINGS.read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in stored.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def save_timings(measured: Mapping[str, float]) -> None:
    """Remember durations for the next estimate."""
    part = paths.TIMINGS.with_suffix(".part")
    part.write_text(json.dumps({**load_timings(), **measured}, indent=1, sort_keys=True), encoding="utf-8")
    part.replace(paths.TIMINGS)
