"""Run many notebooks at once, one process a core, and show how far they are."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bookbuild import paths
from bookbuild.progress import Display, Task, load_timings, save_timings
from bookbuild.refusal import Refusal
from bookbuild.source import Notebook, Parameters, read_executed

STOP_SECONDS = 1.5
THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class Job:
    """A notebook with the parameters of this run and the place of its result."""

    notebook: Notebook
    parameters: Parameters
    process: subprocess.Popen[str] | None = None
    failure: str | None = None
    trace: str = ""

    @cached_property
    def output(self) -> Path:
        """Where the executed copy goes; a run checks in the end that what it is made from is still the same."""
        return self.notebook.executed(self.parameters)

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


def results_label(notebook: Notebook, parameters: Parameters) -> str:
    """Return the notebook's name and profile; a run with other parameters has a name of its own."""
    name = f"{notebook.name}-{parameters['profile']}"
    usual = parameters == notebook.parameters(parameters["profile"])
    return name if usual else f"{name}-{notebook.key(parameters)}"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(jobs: list[Job]) -> None:
    """Execute every job whose result is not there yet; raise one sentence if any of them fails.

    A failure does not stop the others: their results are kept, and the next run does only what is missing.
    """
    missing = [job for job in jobs if not job.done()]
    if not missing:
        say(f"All {len(jobs)} notebooks are up to date." if len(jobs) > 1 else "The notebook is up to date.")
        return
    known = load_timings()
    expected = {j.label: known.get(j.label) or j.notebook.expected_seconds(j.parameters["profile"]) for j in missing}
    # Longest first, so that the last one to end is a short one; those of unknown length count as long.
    missing.sort(key=lambda job: -(expected[job.label] or float("inf")))
    workers = min(cores(), len(missing))
    pool = _Pool(missing, [Task(j.notebook.name, expected[j.label], _progress_file(j)) for j in missing], workers)
    with _stopped_by_signal():
        pool.run()
    save_timings(
        {job.label: task.seconds for job, task in zip(missing, pool.tasks, strict=True) if task.state == "done"}
    )
    failed = [job for job in missing if job.failure]
    for job in failed:
        log = paths.BUILD / "logs" / f"{job.notebook.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{job.failure}\n\n{job.trace}\n", encoding="utf-8")
        say(f"Notebook {job.notebook.name} failed: {job.failure} (all of it: {os.path.relpath(log)})")
    if failed:
        raise Refusal(f"{len(failed)} of {len(missing)} notebooks failed; the results of the others are kept")


def _progress_file(job: Job) -> Path:
    """Where the sweeps of a notebook say how far they are."""
    return paths.SCRATCH / f"progress-{job.results_label}.json"


class _Pool:
    """The running processes and their events."""

    def __init__(self, jobs: list[Job], tasks: list[Task], workers: int) -> None:
        self.jobs, self.tasks, self.workers = jobs, tasks, workers
        self.events: queue.SimpleQueue[tuple[int, dict[str, Any] | None]] = queue.SimpleQueue()
        self.display = Display(tasks, workers)

    def run(self) -> None:
        waiting = list(range(len(self.jobs)))
        running: set[int] = set()
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    index = waiting.pop(0)
                    self._start(index)
                    running.add(index)
                self.display.update()
                try:
                    index, event = self.events.get(timeout=0.2)
                except queue.Empty:
                    continue
                if event is None:
                    self._finish(index)
                    running.discard(index)
                elif "cell" in event:
                    self.tasks[index].cell, self.tasks[index].cells = event["cell"], event["cells"]
                else:
                    self.jobs[index].failure, self.jobs[index].trace = event["failed"], event.get("trace", "")
            self.display.update(force=True)
        finally:
            self._stop([self.jobs[index].process for index in running])

    def _start(self, index: int) -> None:
        job, task = self.jobs[index], self.tasks[index]
        threads = str(max(1, cores() // self.workers))
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, threads)}
        environment |= {"SGDNOISE_STORE": str(paths.RESULTS), "SGDNOISE_WORKERS": threads}
        environment |= {"SGDNOISE_LABEL": job.results_label, "SGDNOISE_PROGRESS_FILE": str(task.file)}
        command = [sys.executable, "-m", "bookbuild.execute", job.notebook.name]
        command += [json.dumps(dict(job.parameters)), str(job.output)]
        # A session of its own: Ctrl-C reaches this process only, which then stops the others in order.
        job.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=paths.ROOT,
            start_new_session=True,
        )
        task.state, task.started = "running", time.monotonic()
        threading.Thread(target=self._listen, args=(index, job.process), daemon=True).start()

    def _listen(self, index: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        errors: list[str] = []
        drain = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
        drain.start()
        for line in process.stdout:
            with suppress(ValueError):  # a stray print of a library is not an event
                event = json.loads(line)
                if isinstance(event, dict):
                    self.events.put((index, event))
        process.wait()
        drain.join()
        if process.returncode != 0 and self.jobs[index].failure is None:
            reason = f"its process ended with status {process.returncode}"
            if process.returncode == -signal.SIGKILL:
                reason = "its process was killed, perhaps for lack of memory"
            self.events.put((index, {"failed": reason, "trace": "".join(errors)}))
        self.events.put((index, None))

    def _finish(self, index: int) -> None:
        job, task = self.jobs[index], self.tasks[index]
        task.seconds = task.elapsed(time.monotonic())
        if job.failure is None and not job.done():
            job.failure = "it ended without a result"
        task.state = "failed" if job.failure else "done"
        self.display.finished(task)
        self.display.update(force=self.display.live)

    def _stop(self, processes: list[subprocess.Popen[str] | None]) -> None:
        for process in processes:
            if process is not None:
                process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in processes:
            if process is None:
                continue
            try:
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _stopped_by_signal() -> Iterator[None]:
    """Treat a termination like Ctrl-C, so that the notebooks' processes are ended in order."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def say(sentence: str) -> None:
    """Print a line of progress at once."""
    print(sentence, file=sys.stderr, flush=True)
