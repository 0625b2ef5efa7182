"""How far a build is, drawn by tqdm, and how long the rest takes, estimated from measured times."""

import io
import json
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from tqdm import tqdm

from bookbuild import paths
from bookbuild.processes import POLL_SECONDS, Process
from bookbuild.refusal import say

QUIET_SECONDS = 20.0  # between two lines where lines cannot be drawn over


class Timed(Protocol):
    """Something that takes time: how long is expected, when it began, how long it took once it has ended."""

    expected: float | None
    started: float | None
    seconds: float | None


def remaining_seconds(tasks: Iterable[Timed], workers: int, now: float, later: float = 0.0) -> float | None:
    """Estimate the time until all is done, or None while there is nothing to base it on.

    Expected durations (of an earlier run, else what the notebook says) are scaled by how this machine has done so
    far, and dealt to the workers, longest first. ``later`` is what comes after the tasks.
    """
    finished, running, waiting = [], [], []
    for task in tasks:
        if task.seconds is not None:
            finished += [(task.seconds, task.expected)] if task.expected else []
        elif task.expected is None:
            return None
        elif task.started is not None:
            running.append((now - task.started, task.expected))
        else:
            waiting.append(task.expected)
    pace = sum(took for took, _ in finished) / sum(expected for _, expected in finished) if finished else 1.0
    loads = [0.0] * workers
    for slot, (spent, expected) in enumerate(running):
        # One that overruns is taken to need a tenth of its time again: it is not about to end just because it is late.
        loads[slot % workers] += max(pace * expected - spent, 0.1 * spent)
    for expected in sorted(waiting, reverse=True):
        loads[loads.index(min(loads))] += pace * expected
    return max(loads) + pace * later


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


class Line:
    """One line that is drawn over in a terminal, and printed sparingly in a log."""

    def __init__(self, total: float, form: str) -> None:
        self.live = sys.stderr.isatty()
        file = sys.stderr if self.live else io.StringIO()
        self.bar = tqdm(total=total, bar_format=form, file=file, ascii=".#", dynamic_ncols=self.live, leave=False)
        self.last = time.monotonic()

    def show(self, done: float, text: str) -> None:
        """Draw the line."""
        self.bar.n = done
        self.bar.set_postfix_str(text)
        if not self.live and time.monotonic() - self.last > QUIET_SECONDS:
            self.last = time.monotonic()
            say(str(self.bar))

    def close(self) -> None:
        """Take the line away."""
        self.bar.close()


def watch(process: Process, label: str, name: str) -> int:
    """Wait for a process, show that it is alive, and remember under a name how long it took; return its status."""
    usual = load_timings().get(name)
    say(f"{label}{f' (the last time it took {clock(usual)})' if usual else ''}.")
    line, began = Line(usual or 1.0, label + (" [{bar:24}]" if usual else "") + " {elapsed}"), time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            line.show(min(time.monotonic() - began, usual or 1.0), "")
    finally:
        line.close()
    if process.returncode == 0:
        save_timings({name: time.monotonic() - began})
    return process.returncode


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
