"""Run many notebooks at once, one process a core, and show how far they are."""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from bookbuild import paths, processes
from bookbuild.progress import Line, clock, load_timings, remaining_seconds, save_timings
from bookbuild.refusal import Refusal, say
from bookbuild.source import Notebook, Parameters, read_executed

FAILED = "failed: "  # begins the last line of a notebook's log where it did

# One small call of every engine in every precision, the longest to compile first.
CALLS = (
    "sn.simulate(sn.Problem(alpha=2.0), sn.SGD(0.5), 0.1, 0.2, features=8, realisations=1, precision='single')",
    "sn.simulate(sn.Problem(alpha=2.0), sn.SGD(0.5), 0.1, 0.2, features=8, realisations=1, precision='single', "
    "waiting_times=(0.1,))",
    "sn.simulate(sn.Problem(alpha=2.0), sn.SGD(0.5), 0.1, 0.2, features=8, realisations=1, precision='double')",
    "sn.solve_dmft(sn.Problem(alpha=2.0), sn.SGD(0.5), 0.1, 0.2, paths=50, replicas=2, realisations=2)",
    "sn.simulate(sn.Problem(alpha=0.5), sn.SGD(0.5), 0.1, 0.2, features=8, realisations=1)",
)


@dataclass
class Job:
    """A notebook with the parameters of this run, the place of its result, and how far it is."""

    notebook: Notebook
    parameters: Parameters
    expected: float | None = None
    started: float | None = None
    seconds: float | None = None
    failure: str | None = None

    @cached_property
    def output(self) -> Path:
        """Where the executed copy goes; a run checks in the end that what it is made from is still the same."""
        return self.notebook.executed(self.parameters)

    @property
    def log(self) -> Path:
        """Where everything goes that is said during the run; it stays there if the run fails."""
        return paths.LOGS / f"{self.notebook.name}.log"

    def done(self) -> bool:
        """Tell whether the executed copy is there, and undamaged."""
        return read_executed(self.output) is not None

    @property
    def label(self) -> str:
        """Name under which durations are remembered."""
        return f"{self.notebook.name}/{self.parameters['profile']}"

    @property
    def results_label(self) -> str:
        """Name under which the store remembers what this run has used."""
        return results_label(self.notebook, self.parameters)

    @property
    def progress_file(self) -> Path:
        """Where the sweeps of the notebook say how far they are."""
        return paths.SCRATCH / f"progress-{self.results_label}"

    def run(self, threads: int, start: processes.Start) -> None:
        """Execute the notebook in a process of its own; a failure is noted."""
        environment = dict.fromkeys((*processes.THREAD_VARIABLES, "SGDNOISE_WORKERS"), str(threads))
        environment |= {"SGDNOISE_STORE": str(paths.RESULTS), "SGDNOISE_LABEL": self.results_label}
        environment |= {"SGDNOISE_PROGRESS_FILE": str(self.progress_file)}
        command = [sys.executable, "-m", "bookbuild.execute", self.notebook.name]
        self.started = time.monotonic()
        process = start([*command, json.dumps(dict(self.parameters)), str(self.output)], self.log, **environment)
        status = process.wait()
        last = _last_line(self.log)
        if status == -signal.SIGKILL:
            self.failure = "its process was killed, perhaps for lack of memory"
        elif status != 0:
            known = last.startswith(FAILED)
            self.failure = last.removeprefix(FAILED) if known else f"its process ended with status {status}"
        elif not self.done():
            self.failure = "it ended without a result"
        else:
            self.log.unlink()
        self.seconds = time.monotonic() - self.started

    def where(self) -> str:
        """Say in which cell the run is, and how far the sweep in it."""
        words = [self.notebook.name, _last_line(self.log), _last_line(self.progress_file)]
        return ", ".join(filter(None, words))


def _last_line(path: Path) -> str:
    """Return what a bar or a program has written last."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").rstrip().rpartition("\n")[2]
    except OSError:
        return ""


def results_label(notebook: Notebook, parameters: Parameters) -> str:
    """Return the notebook's name and profile; a run with other parameters has a name of its own."""
    name = f"{notebook.name}-{parameters['profile']}"
    usual = parameters == notebook.parameters(parameters["profile"])
    return name if usual else f"{name}-{notebook.key(parameters)}"


def run_all(jobs: Sequence[Job], later: float = 0.0) -> None:
    """Execute every job whose result is not there yet; raise one sentence if any of them fails.

    A failure does not stop the others: their results are kept, and the next run does only what is missing. ``later``
    is what comes after them, in seconds, for the estimate.
    """
    missing = [job for job in jobs if not job.done()]
    if not missing:
        say(f"All {len(jobs)} notebooks are up to date." if len(jobs) > 1 else "The notebook is up to date.")
        return
    known = load_timings()
    for job in missing:
        job.expected = known.get(job.label) or job.notebook.expected_seconds(job.parameters["profile"])
    # Longest first, so that the last one to end is a short one; those of unknown length count as long.
    missing.sort(key=lambda job: -(job.expected or float("inf")))
    workers = min(processes.cores(), len(missing))
    display = _Display(missing, workers, later)
    try:
        tasks = [partial(job.run, max(1, processes.cores() // workers)) for job in missing]
        processes.in_parallel(tasks, workers, display.update)
        display.update()
    finally:
        display.line.close()
    save_timings({job.label: job.seconds for job in missing if job.seconds is not None and not job.failure})
    failed = [job for job in missing if job.failure]
    for job in failed:
        say(f"Notebook {job.notebook.name} failed: {job.failure} (all of it: {os.path.relpath(job.log)})")
    if failed:
        raise Refusal(f"{len(failed)} of {len(missing)} notebooks failed; the results of the others are kept")


class _Display:
    """A line for each notebook that has ended, and one for the whole."""

    def __init__(self, jobs: Sequence[Job], workers: int, later: float) -> None:
        self.jobs, self.workers, self.later = jobs, workers, later
        self.ended: list[Job] = []
        self.line = Line(len(jobs), "[{bar:24}] {n_fmt} of {total_fmt} notebooks, {elapsed}{postfix}")

    def update(self) -> None:
        for job in self.jobs:
            if job.seconds is not None and job not in self.ended:
                self.ended.append(job)
                width = max(len(other.notebook.name) for other in self.jobs)
                state = "failed" if job.failure else "done"
                self.line.bar.clear()
                say(f"  {job.notebook.name:<{width}}  {state:<8} {clock(job.seconds):>12}")
        left = remaining_seconds(self.jobs, self.workers, time.monotonic(), self.later)
        text = "time left unknown (a first run)" if left is None else f"about {clock(left)} left"
        running = [job.where() for job in self.jobs if job.started is not None and job.seconds is None]
        self.line.show(len(self.ended), "; ".join([text, *running]))


def compile_all() -> None:
    """Compile the library, a process a core, before several notebooks need it at once; not twice for one source."""
    from sgdnoise._jit import cache_folder

    folder = cache_folder()
    if folder is None or (folder / "compiled").exists():
        return
    say("Compiling the library (once).")
    status: list[int] = []
    line = Line(len(CALLS), "Compiling [{bar:24}] {elapsed}")

    def compiled(call: str, start: processes.Start) -> None:
        log = paths.LOGS / f"compile-{CALLS.index(call)}.log"
        threads = dict.fromkeys(processes.THREAD_VARIABLES, "1")
        status.append(start([sys.executable, "-c", f"import sgdnoise as sn; {call}"], log, **threads).wait())

    try:
        tasks = [partial(compiled, call) for call in CALLS]
        processes.in_parallel(tasks, processes.cores(), lambda: line.show(len(status), ""))
    finally:
        line.close()
    if not any(status):  # what goes wrong here is met again, and told, where the library is used
        (folder / "compiled").touch()
