"""Child processes: as many at once as there are cores, and none that outlives us, however we end."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path

from bookbuild import paths

STOP_SECONDS = 1.5
POLL_SECONDS = 0.2
THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Process = subprocess.Popen[bytes]
Start = Callable[..., Process]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def children() -> Iterator[Start]:
    """Give a function that starts processes, which end with the block: ``start(command, log, **environment)``.

    Each has a session of its own: Ctrl-C reaches this process only, which then stops the others in order.
    """
    started: list[Process] = []

    def start(command: Sequence[str], log: Path, **environment: str) -> Process:
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "wb") as file:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                cwd=paths.ROOT,
                start_new_session=True,
            )
        started.append(process)
        return process

    try:
        yield start
    finally:
        running = [process for process in started if process.poll() is None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in running:
            try:
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def in_parallel(tasks: Sequence[Callable[[Start], None]], workers: int, watch: Callable[[], None]) -> None:
    """Run tasks, each of which starts a process and waits for it, some at a time; call ``watch`` again and again."""
    with ThreadPoolExecutor(workers) as pool, children() as start:
        futures = [pool.submit(task, start) for task in tasks]
        try:
            while wait(futures, timeout=POLL_SECONDS).not_done:
                watch()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for future in futures:
        future.result()


def stop_with_parent() -> None:
    """End this process when its parent is gone, even if that was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def interrupt_on_termination() -> None:
    """Treat a termination like Ctrl-C, so that the processes are ended in order."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
