"""Where work is done: in this process, in others on this machine, or on a Dask cluster.

Each is a :class:`concurrent.futures.Executor` with a ``width``: how many tasks should be under way at once. If the
process of a task dies, by a signal or for lack of memory, the task is tried once more; if that process dies too, its
future raises :class:`WorkerDiedError`. No other task is touched.
"""

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from loky.process_executor import BrokenProcessPool, ProcessPoolExecutor
from tqdm import tqdm

from sgdnoise._machine import cores

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
CONNECT_SECONDS = 15.0
WORKERLESS_SECONDS = 10.0


class WorkerDiedError(RuntimeError):
    """The process that did a task died, and so did a second one."""


class Here(Executor):
    """This very process: a task is done when it is submitted."""

    width = 1

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do a task; an interrupt is not kept for later."""
        future: Future[Any] = Future()
        try:
            future.set_result(task(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(ThreadPoolExecutor):
    """Worker processes on this machine. Each has one task at a time, so the task that kills a process is known.

    They are spawned, not forked, and do not run the main script, which needs no guard; functions of a notebook work
    too. Environment variables for numbers of threads divide the cores among them.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers, thread_name_prefix="sgdnoise-worker")
        self.width = workers
        self._threads_each = str(max(1, cores() // workers))
        self._own = threading.local()
        self._running: set[ProcessPoolExecutor] = set()
        self._ended = False

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do a task, which must be a function of a module, in one of the processes."""
        return super().submit(self._attempt, task, args, kwargs)

    def _attempt(self, task: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        died: BaseException | None = None
        _leave_interrupts("SIG_BLOCK")  # until the process, which inherits it, ignores them
        for _ in range(2):
            process = self._process()
            try:
                return process.submit(task, *args, **kwargs).result()
            except BrokenProcessPool as error:
                self._running.discard(process)
                self._own.process, died = None, error
        raise WorkerDiedError(f"its process {_how(str(died))}") from died

    def _process(self) -> ProcessPoolExecutor:
        """Return the process of the thread that asks."""
        process: ProcessPoolExecutor | None = getattr(self._own, "process", None)
        if process is None:
            environment = dict.fromkeys(THREAD_VARIABLES, self._threads_each)
            process = self._own.process = ProcessPoolExecutor(
                1, initializer=_settle, initargs=(os.getpid(),), env=environment
            )
            self._running.add(process)
        if self._ended:
            process.shutdown(kill_workers=True)
            raise WorkerDiedError("its process was stopped")
        return process

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; those of tasks under way are killed if futures are to be cancelled."""
        super().shutdown(wait=wait and not cancel_futures, cancel_futures=cancel_futures)
        self._ended = True
        for process in list(self._running):
            process.shutdown(wait=True, kill_workers=cancel_futures)


def _how(said: str) -> str:
    """Say how a process ended for the second time.

    >>> _how("... The exit codes of the workers are {SIGKILL(-9)}")
    'was killed twice by SIGKILL, perhaps for lack of memory'
    """
    code = re.search(r"\{(SIG\w+|EXIT)\((-?\d+)\)", said)
    if code is None:
        return "ended twice"
    if code[1] == "EXIT":
        return f"ended twice with status {code[2]}"
    return f"was killed twice by {code[1]}" + (", perhaps for lack of memory" if code[1] == "SIGKILL" else "")


def _settle(parent: int) -> None:
    """Leave Ctrl-C to the process that started this one, and end with it, however it ends.

    It may have ended already: that is why it says who it is.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_interrupts("SIG_UNBLOCK")
    tqdm.set_lock(threading.RLock())  # in place of a semaphore, which this process would leave behind if killed

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _leave_interrupts(how: str) -> None:
    """Keep Ctrl-C from this thread and from the processes that it starts, or no longer."""
    if hasattr(signal, "pthread_sigmask"):  # Windows has none
        signal.pthread_sigmask(getattr(signal, how), {signal.SIGINT})


class Cluster(Executor):
    """The workers of a Dask scheduler, which gives the task of a dead worker to another one."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError("scheduler needs the cluster extra: pip install 'sgdnoise[cluster]'") from error
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            sentence = f"scheduler must be the address of a running Dask scheduler, got {address!r}"
            raise ConnectionError(sentence) from error
        self._executor = self._client.get_executor(pure=False)
        self._address, self._seen = address, time.monotonic()

    @property
    def width(self) -> int:
        """Twice the threads of all workers, so that none waits for the client; raise where there has been no worker."""
        threads = sum(self._client.nthreads().values())
        self._seen = time.monotonic() if threads else self._seen
        if time.monotonic() - self._seen > WORKERLESS_SECONDS:
            raise ConnectionError(
                f"scheduler must have workers, and {self._address} has had none for {WORKERLESS_SECONDS:g} seconds; "
                f"start some with: dask worker {self._address}"
            )
        return 2 * threads or 1

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do a task on some worker."""
        future: Future[Any] = self._executor.submit(task, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect from the scheduler, which goes on running."""
        with contextlib.suppress(Exception):  # the scheduler may be gone already
            self._executor.shutdown(wait=wait and not cancel_futures)
            self._client.close()


def check_address(name: str, address: object) -> None:
    """Refuse what cannot be the address of a scheduler.

    >>> check_address("scheduler", "foo")
    Traceback (most recent call last):
    ValueError: scheduler must be an address such as tcp://host:8786, got 'foo'
    """
    if not isinstance(address, str) or not re.fullmatch(r"\w+://\S+|[^\s:/]+:\d+", address):
        raise ValueError(f"{name} must be an address such as tcp://host:8786, got {address!r}")


def sentence(error: BaseException) -> str:
    """Say why a task has no result."""
    if isinstance(error, WorkerDiedError):
        return str(error)
    if type(error).__name__ == "KilledWorker":
        return "its worker died, and so did all others that tried, perhaps for lack of memory"
    return f"{type(error).__name__}: {error}"
