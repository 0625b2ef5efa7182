"""Work in processes of their own, those of the library's sweeps: a log for each task, how far it is, how long it took.

Notebooks, the compilation of kernels, rendering and printing are all done there. A process that dies is replaced once;
none outlives us, however we end.
"""

import io
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bookbuild import paths
from bookbuild.texts import clock, say

POLL_SECONDS = 0.2
QUIET_SECONDS = 20.0  # between two lines where lines cannot be drawn over


@contextmanager
def pool(workers: int) -> Iterator[Executor]:
    """Give the processes; they end with the block, at once if it is left by an exception or an interrupt."""
    from sgdnoise.sweep.executors import Processes

    executor = Processes(workers)
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


def logged(log: Path, environment: Mapping[str, str], task: Callable[..., Any], *words: Any) -> Any:
    """Do a task of a process, with what it and its own processes say in a log; what goes wrong is said there too."""
    os.environ.update(environment)
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    try:
        return task(*words)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()


def remaining_seconds(tasks: Iterable[Any], workers: int, now: float, later: float = 0.0) -> float | None:
    """Estimate the time until all is done, or None while there is nothing to base it on.

    Expected durations (of an earlier run, else what the notebook says) are scaled by how this machine has done so
    far, and dealt to the workers, longest first. ``later`` is what comes after the tasks. A task has ``expected``
    seconds, and knows when it has ``started`` and in how many ``seconds`` it was done.
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


class Line:
    """One line that is drawn over in a terminal, and printed sparingly in a log."""

    def __init__(self, total: float, form: str) -> None:
        from tqdm import tqdm

        self.live = sys.stderr.isatty()
        file = sys.stderr if self.live else io.StringIO()
        self.bar = tqdm(total=total, bar_format=form, file=file, ascii=".#", dynamic_ncols=self.live, leave=False)
        self.last = time.monotonic()

    def show(self, done: float, text: str = "") -> None:
        """Draw the line."""
        self.bar.n = done
        self.bar.set_postfix_str(text)
        if not self.live and time.monotonic() - self.last > QUIET_SECONDS:
            self.last = time.monotonic()
            say(str(self.bar))


def watch(futures: Iterable[Future[Any]], line: Line, update: Callable[[], None]) -> None:
    """Wait for all tasks, and keep a line up to date."""
    waiting = list(futures)
    try:
        while wait(waiting, timeout=POLL_SECONDS).not_done:
            update()
        update()
    finally:
        line.bar.close()


def alone(
    label: str, name: str, log: Path, environment: Mapping[str, str], task: Callable[..., Any], *words: Any
) -> bool:
    """Do one long task, show that it is alive, remember how long it took under a name; tell whether it succeeded."""
    usual, began = load_timings().get(name), time.monotonic()
    say(f"{label}{f' (the last time it took {clock(usual)})' if usual else ''}.")
    line = Line(usual or 1.0, label + (" [{bar:24}]" if usual else "") + " {elapsed}")
    with pool(1) as processes:
        future = processes.submit(logged, log, environment, task, *words)
        watch([future], line, lambda: line.show(min(time.monotonic() - began, usual or 1.0)))
    if future.exception() is None:
        save_timings({name: time.monotonic() - began})
    return future.exception() is None


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
