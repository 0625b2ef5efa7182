"""Run notebooks by papermill, one process a core, and show how far they are.

The result is written next to its place and moved there at the very end, so that a killed run leaves nothing that looks
finished.
"""

import json
import os
import re
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bookbuild import notebooks, paths, work
from bookbuild import parameters as values
from bookbuild.notebooks import Notebook, Parameters, read_executed
from bookbuild.texts import Refusal, clock, say

# Settings of the user (start-up files of IPython, matplotlibrc) that are kept out of the figures of the book.
# Matplotlib's list of fonts, which takes long to make, is kept for all of them.
SETTINGS = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
# One small call of every engine in every precision, the longest to compile first.
CALLS: tuple[tuple[str, float, dict[str, Any]], ...] = (
    ("simulate", 2.0, {"features": 8, "realisations": 1, "precision": "single"}),
    ("simulate", 2.0, {"features": 8, "realisations": 1, "precision": "single", "waiting_times": (0.1,)}),
    ("simulate", 2.0, {"features": 8, "realisations": 1, "precision": "double"}),
    ("solve_dmft", 2.0, {"paths": 50, "replicas": 2, "realisations": 2}),
    ("simulate", 0.5, {"features": 8, "realisations": 1}),
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
        return notebooks.results_label(self.notebook, self.parameters)

    @property
    def progress_file(self) -> Path:
        """Where the sweeps of the notebook say how far they are."""
        return paths.SCRATCH / f"progress-{self.results_label}"

    def environment(self, threads: int) -> dict[str, str]:
        """Return what the run is told by its environment."""
        own = {"SGDNOISE_STORE": str(paths.RESULTS), "SGDNOISE_LABEL": self.results_label}
        return own | {"SGDNOISE_PROGRESS_FILE": str(self.progress_file), "SGDNOISE_WORKERS": str(threads)}

    def look(self, future: Future[Any]) -> None:
        """Note when the run began, when it ended, and why it failed if it did."""
        if self.started is None and not future.cancelled() and (future.running() or future.done()):
            self.started = time.monotonic()
        if self.started is None or self.seconds is not None or not future.done():
            return
        self.seconds = time.monotonic() - self.started
        problem = future.exception()
        if problem is not None:
            self.failure = " ".join(str(problem).split()) or type(problem).__name__
        elif not self.done():
            self.failure = "it ended without a result"
        else:
            self.log.unlink()

    def where(self) -> str:
        """Say in which cell the run is, and how far the sweep in it."""
        bars = [(self.log, r"cell \d+ of \d+"), (self.progress_file, r"[^\r\n]+")]
        return ", ".join([self.notebook.name, *(found for path, form in bars for found in _last(path, form))])


def _last(path: Path, form: str) -> list[str]:
    """Return what a bar has written last, if anything."""
    try:
        return re.findall(form, path.read_text(encoding="utf-8", errors="replace"))[-1:]
    except OSError:
        return []


def execute(notebook: Notebook, parameters: Parameters, output: Path) -> None:
    """Execute a notebook in this process and a kernel; move the result to ``output`` if all of it succeeded."""
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError

    output.parent.mkdir(parents=True, exist_ok=True)
    uses = paths.RESULTS / "used" / f"{os.environ.get('SGDNOISE_LABEL')}.json"
    uses.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.SCRATCH) as scratch:
        os.environ |= {**dict.fromkeys(SETTINGS, scratch), "MPLCONFIGDIR": str(paths.BUILD / "matplotlib")}
        start, end = Path(scratch) / "start.ipynb", Path(scratch) / "end.ipynb"
        node = notebook.convert()
        values.put(node, parameters, claims=notebook.tests_claims(parameters))
        node.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
        nbformat.write(node, start)
        try:
            bar = {"bar_format": "cell {n_fmt} of {total_fmt}"}
            options = {"kernel_name": "python3", "cwd": paths.ROOT, "progress_bar": bar, "log_output": False}
            papermill.execute_notebook(start, end, **options)
        except papermill.PapermillExecutionError as error:
            print(*error.traceback, sep="\n")
            raise Refusal(f"{error.ename}: {error.evalue}") from None
        except DeadKernelError as error:
            raise Refusal("its process died, perhaps for lack of memory") from error
        done = nbformat.read(end, as_version=4)
        done.metadata[notebooks.USED] = json.loads(uses.read_text(encoding="utf-8")) if uses.is_file() else []
        notebooks.seal(done)
        nbformat.write(done, end)
        if notebook.executed(parameters) != output:
            raise Refusal(f"the library changed while notebook {notebook.name} ran; run it again")
        os.replace(end, output)


def run_all(jobs: Sequence[Job], later: float = 0.0) -> None:
    """Execute every job whose result is not there yet; raise one sentence if any of them fails.

    A failure does not stop the others: their results are kept, and the next run does only what is missing. ``later``
    is what comes after them, in seconds, for the estimate.
    """
    missing = [job for job in jobs if not job.done()]
    if not missing:
        say(f"All {len(jobs)} notebooks are up to date." if len(jobs) > 1 else "The notebook is up to date.")
        return
    from sgdnoise._machine import cores

    known = work.load_timings()
    for job in missing:
        job.expected = known.get(job.label) or job.notebook.expected_seconds(job.parameters["profile"])
    # Longest first, so that the last one to end is a short one; those of unknown length count as long.
    missing.sort(key=lambda job: -(job.expected or float("inf")))
    workers = min(cores(), len(missing))
    with work.pool(workers) as processes:
        futures = []
        for job in missing:
            task = (job.log, job.environment(max(1, cores() // workers)), execute)
            futures.append(processes.submit(work.logged, *task, job.notebook, job.parameters, job.output))
        display = Display(missing, futures, workers, later)
        work.watch(futures, display.line, display.update)
    work.save_timings({job.label: job.seconds for job in missing if job.seconds is not None and not job.failure})
    failed = [job for job in missing if job.failure]
    for job in failed:
        say(f"Notebook {job.notebook.name} failed: {job.failure} (all of it: {os.path.relpath(job.log)})")
    if failed:
        raise Refusal(f"{len(failed)} of {len(missing)} notebooks failed; the results of the others are kept")


class Display:
    """A line for each notebook that has ended, and one for the whole."""

    def __init__(self, jobs: Sequence[Job], futures: Sequence[Future[Any]], workers: int, later: float) -> None:
        self.jobs, self.futures, self.workers, self.later = jobs, futures, workers, later
        self.ended: list[Job] = []
        self.line = work.Line(len(jobs), "[{bar:24}] {n_fmt} of {total_fmt} notebooks, {elapsed}{postfix}")

    def update(self) -> None:
        """Draw it anew."""
        for job, future in zip(self.jobs, self.futures, strict=True):
            job.look(future)
            if job.seconds is not None and job not in self.ended:
                self.ended.append(job)
                width = max(len(other.notebook.name) for other in self.jobs)
                self.line.bar.clear()
                say(
                    f"  {job.notebook.name:<{width}}  {'failed' if job.failure else 'done':<8} {clock(job.seconds):>12}"
                )
        left = work.remaining_seconds(self.jobs, self.workers, time.monotonic(), self.later)
        text = "time left unknown (a first run)" if left is None else f"about {clock(left)} left"
        running = [job.where() for job in self.jobs if job.started is not None and job.seconds is None]
        self.line.show(len(self.ended), "; ".join([text, *running]))


def call(number: int) -> Any:
    """Make one of the calls that between them compile the library."""
    import sgdnoise as sn

    engine, alpha, sizes = CALLS[number]
    return getattr(sn, engine)(sn.Problem(alpha=alpha), sn.SGD(0.5), 0.1, 0.2, **sizes)


def compile_all() -> None:
    """Compile the library, a process a core, before several notebooks need it at once; not twice for one source."""
    from sgdnoise._jit import cache_folder
    from sgdnoise._machine import cores

    folder = cache_folder()
    if folder is None or (folder / "compiled").exists():
        return
    say("Compiling the library (once).")
    line = work.Line(len(CALLS), "Compiling [{bar:24}] {elapsed}")
    with work.pool(cores()) as processes:
        logs = [paths.LOGS / f"compile-{number}.log" for number in range(len(CALLS))]
        futures = [processes.submit(work.logged, log, {}, call, number) for number, log in enumerate(logs)]
        work.watch(futures, line, lambda: line.show(sum(future.done() for future in futures)))
    if all(future.exception() is None for future in futures):  # what goes wrong is met again where the library is used
        (folder / "compiled").touch()
