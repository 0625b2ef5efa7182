"""Long work in processes of their own: notebooks, the compilation of kernels, rendering, printing.

The processes are those of the library's sweeps: one that dies is replaced once, and none outlives us. What is said
during a task goes to its log, one line shows how far all tasks are, and measured durations are kept for the next
estimate. The result of a notebook is written next to its place and moved there at the very end, so that a killed run
leaves nothing that looks finished.
"""

import io
import json
import math
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bookbuild import notebooks, paths
from bookbuild.notebooks import Notebook, Parameters, read_executed
from bookbuild.texts import Refusal, clock, say
from sgdnoise import _jit
from sgdnoise._machine import cores
from sgdnoise.sweep.executors import Processes
from sgdnoise.sweep.store import put_in_place

POLL_SECONDS = 0.2
QUIET_SECONDS = 20.0  # between two lines where lines cannot be drawn over
START_SECONDS = 600  # that a kernel may take to start on a busy machine; papermill allows a minute
USUAL_SECONDS = 25.0  # of rendering, of printing, of a kernel, before they were measured here
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


class Task:
    """Work for a process: a function of a module and its arguments, what it is called, and how far it is."""

    expected = USUAL_SECONDS
    started: float | None = None
    seconds: float | None = None
    failure: str | None = None

    def __init__(self, name: str, timed: str, function: Callable[..., Any], *words: Any, **environment: str) -> None:
        self.name, self.timed, self.environment = name, timed, environment
        self.call = function, *words

    @property
    def log(self) -> Path:
        """Where everything goes that is said during the work."""
        return paths.LOGS / f"{self.name}.log"

    def look(self, future: Future[Any]) -> bool:
        """Note when the work began, when it ended, and why it failed if it did; tell whether it has just ended."""
        if self.started is None and (future.running() or future.done()):
            self.started = time.monotonic()
        if self.started is None or self.seconds is not None or not future.done():
            return False
        self.seconds = time.monotonic() - self.started
        if problem := future.exception():
            self.failure = " ".join(str(problem).split()) or type(problem).__name__
        return True


class Job(Task):
    """A notebook with the parameters of this run, and the place of its result."""

    def __init__(self, notebook: Notebook, parameters: Parameters) -> None:
        self.notebook, self.parameters = notebook, parameters
        self.output = notebook.executed(parameters)  # a run checks in the end that this is still its place
        self.results_label = notebooks.results_label(notebook, parameters)
        self.progress_file = paths.SCRATCH / f"progress-{self.results_label}"
        timed = f"{notebook.name}/{parameters['profile']}"
        super().__init__(notebook.name, timed, execute, notebook, parameters, self.output)
        self.environment = {"SGDNOISE_STORE": str(paths.RESULTS), "SGDNOISE_LABEL": self.results_label}
        self.environment |= {"SGDNOISE_PROGRESS_FILE": str(self.progress_file)}

    def done(self) -> bool:
        """Tell whether the executed copy is there, and undamaged."""
        return read_executed(self.output) is not None

    def where(self) -> str:
        """Say in which cell the run is, and how far the sweep in it."""
        found = [self.name]
        for path, form in ((self.log, r"cell \d+ of \d+"), (self.progress_file, r"[^\r\n]+")):
            with suppress(FileNotFoundError):  # not there yet, or no longer
                found += re.findall(form, path.read_text(encoding="utf-8", errors="replace"))[-1:]
        return ", ".join(found)


class Pool(Processes):
    """The processes; they end with the block, at once if it is left by an exception or an interrupt."""

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.shutdown(cancel_futures=kind is not None)


def logged(log: Path, environment: Mapping[str, str], function: Callable[..., Any], *words: Any) -> Any:
    """Do the work of a process, with what it and its own processes say in a log; what goes wrong is said there too."""
    os.environ.update(environment)
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        return function(*words)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()


def do(tasks: Iterable[Task], label: str, later: float = 0.0) -> bool:
    """Do tasks, one process a core, and show how far they are; tell whether all succeeded.

    Each task then has its duration, and why it failed if it did. ``later`` is what comes after them, in seconds, for
    the estimate.
    """
    # Longest first, so that the last one to end is a short one; those of unknown length count as long.
    known, order = known_durations(), list(tasks)
    for task in order:
        task.expected = known.get(task.timed, task.expected)
    order.sort(key=lambda task: -task.expected)
    workers = min(cores(), len(order))
    say(f"{label}.")
    share = {"SGDNOISE_WORKERS": str(max(1, cores() // workers))}
    display = Display(order, workers, label, later)
    with Pool(workers) as processes, display.bar:
        futures = [processes.submit(logged, task.log, share | task.environment, *task.call) for task in order]
        while wait(futures, timeout=POLL_SECONDS).not_done:
            display.update(futures)
        display.update(futures)
    save_timings({task.timed: task.seconds for task in order if task.seconds is not None and not task.failure})
    return not any(task.failure for task in order)


def remaining_seconds(tasks: Sequence[Task], workers: int, now: float, later: float = 0.0) -> float:
    """Estimate the time until all is done; it is infinite while there is nothing to base it on.

    Expected durations (of an earlier run, else what the notebook says) are scaled by how this machine has done so
    far, and dealt to the workers, longest first. ``later`` is what comes after the tasks.
    """
    running = [(now - t.started, t.expected) for t in tasks if t.started is not None and t.seconds is None]
    known = [(t.seconds, t.expected) for t in tasks if t.seconds is not None and math.isfinite(t.expected)]
    known += [(spent, expected) for spent, expected in running if spent > expected]  # at least
    pace = sum(took for took, _ in known) / sum(expected for _, expected in known) if known else 1.0
    # One that overruns is taken to need a tenth of its time again: it is not about to end just because it is late.
    loads = [max(pace * expected - spent, 0.1 * spent) for spent, expected in running]
    loads += [0.0] * (workers - len(loads))
    for expected in sorted((t.expected for t in tasks if t.started is t.seconds is None), reverse=True):
        loads[loads.index(min(loads))] += pace * expected
    return max(loads) + pace * later


class Display:
    """A line for each notebook that has ended, and one for the whole: drawn over in a terminal, sparse in a log."""

    def __init__(self, tasks: Sequence[Task], workers: int, label: str, later: float) -> None:
        self.tasks, self.workers, self.later, self.live = tasks, workers, later, sys.stderr.isatty()
        self.began = self.last = time.monotonic()
        file, form = sys.stderr if self.live else io.StringIO(), "{desc} [{bar:24}] {elapsed}{postfix}"
        options = {"ascii": ".#", "dynamic_ncols": self.live, "leave": False}
        self.bar = tqdm(total=1.0, desc=label, bar_format=form, file=file, **options)

    def update(self, futures: Iterable[Future[Any]]) -> None:
        """Draw it anew."""
        for task, future in zip(self.tasks, futures, strict=True):
            if task.look(future) and isinstance(task, Job):
                width = max(len(other.name) for other in self.tasks)
                self.bar.clear()
                say(f"  {task.name:<{width}}  {'failed' if task.failure else 'done':<8} {clock(task.seconds or 0):>12}")
        now = time.monotonic()
        left, later = (remaining_seconds(self.tasks, self.workers, now, more) for more in (0.0, self.later))
        text = f"about {clock(later)} left" if math.isfinite(later) else "time left unknown (a first run)"
        self.bar.n = (now - self.began) / (now - self.began + left) if left else 1.0
        if len(self.tasks) > 1:
            text = f"{sum(task.seconds is not None for task in self.tasks)} of {len(self.tasks)}, {text}"
        running = [t.where() for t in self.tasks if isinstance(t, Job) and t.started is not None and t.seconds is None]
        self.bar.set_postfix_str("; ".join([text, *running]))
        if not self.live and now - self.last > QUIET_SECONDS:
            self.last = now
            say(str(self.bar))


def known_durations() -> dict[str, float]:
    """Return measured durations: those of earlier runs in this folder, else those that the project keeps."""
    return load_timings(paths.COSTS) | load_timings(paths.TIMINGS)


def load_timings(path: Path) -> dict[str, float]:
    """Return the durations in a file; a damaged file counts as none."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in stored.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def save_timings(measured: Mapping[str, float]) -> None:
    """Remember durations for the next estimate."""
    with put_in_place(paths.TIMINGS) as part:
        part.write_text(json.dumps({**load_timings(paths.TIMINGS), **measured}, indent=1, sort_keys=True), "utf-8")


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
        notebooks.put_values(node, parameters, claims=notebook.tests_claims(parameters))
        node.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
        nbformat.write(node, start)
        try:
            bar = {"bar_format": "cell {n_fmt} of {total_fmt}"}
            options = {"kernel_name": "python3", "cwd": paths.ROOT, "progress_bar": bar, "log_output": False}
            options["start_timeout"] = START_SECONDS
            done = papermill.execute_notebook(start, end, **options)
        except papermill.PapermillExecutionError as error:
            print(*error.traceback, sep="\n")
            raise Refusal(f"{error.ename}: {error.evalue}") from None
        except DeadKernelError as error:
            raise Refusal("its process died, perhaps for lack of memory") from error
        done.metadata[notebooks.USED] = json.loads(uses.read_text(encoding="utf-8")) if uses.is_file() else []
        notebooks.seal(done)
        nbformat.write(done, end)
        if notebook.executed(parameters) != output:
            raise Refusal(f"the library changed while notebook {notebook.name} ran; run it again")
        os.replace(end, output)


def run_all(jobs: Sequence[Job], later: float = 0.0) -> None:
    """Execute every job whose result is not there yet; raise one sentence if any of them fails.

    A failure does not stop the others: their results are kept, and the next run does only what is missing.
    """
    missing = [job for job in jobs if not job.done()]
    if not missing:
        say(f"All {len(jobs)} notebooks are up to date." if len(jobs) > 1 else "The notebook is up to date.")
        return
    for job in missing:
        job.expected = job.notebook.expected_seconds(job.parameters["profile"])
    do(missing, f"Running {len(missing)} notebook{'s' if len(missing) > 1 else ''}", later)
    for job in missing:
        if job.failure is None and not job.done():
            job.failure = "it ended without a result"
        if job.failure is None:
            job.log.unlink()
        else:
            say(f"Notebook {job.name} failed: {job.failure} (all of it: {os.path.relpath(job.log)})")
    if failed := sum(job.failure is not None for job in missing):
        raise Refusal(f"{failed} of {len(missing)} notebooks failed; the results of the others are kept")


def call(number: int) -> Any:
    """Make one of the calls that between them compile the library."""
    import sgdnoise as sn

    engine, alpha, sizes = CALLS[number]
    return getattr(sn, engine)(sn.Problem(alpha=alpha), sn.SGD(0.5), 0.1, 0.2, **sizes)


def compile_all() -> None:
    """Compile the library, a process a core, before several notebooks need it at once; not twice for one source."""
    folder = _jit.cache_folder()
    if folder is None or (folder / "compiled").exists():
        return
    tasks = [Task(f"compile-{number}", f"compile/{number}", call, number) for number in range(len(CALLS))]
    if do(tasks, "Compiling the library (once)"):  # what goes wrong is met again where the library is used
        (folder / "compiled").touch()
