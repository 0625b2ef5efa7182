"""Worker processes on this machine, each computing one point at a time and writing it to the store.

They are plain Python processes of their own, so that a script needs no guard around its main part and a
notebook can sweep over a function defined in it. A worker that dies, by a signal or for lack of memory, takes down one
point, which is then known, and nothing else.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import cloudpickle

from sgdnoise._machine import cores
from sgdnoise.points import Point, compute
from sgdnoise.store import Store, StoreError

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
BUSY_SECONDS = 0.2  # between two looks at a point that another process is computing


@dataclass(frozen=True)
class Outcome:
    """How the computation of a point ended: no error, or one sentence and a traceback."""

    point: Point
    error: str | None = None
    trace: str = ""
    fatal: bool = False  # not the point's fault: the store cannot be written


def compute_into(store: Store, point: Point) -> Outcome | None:
    """Compute a point unless it is there; return None while another process is at it."""
    try:
        with store.claim(point.key) as mine:
            if not mine:
                return None
            if not store.has(point.key):
                store.write(point.key, compute(point))
    except StoreError as error:
        return Outcome(point, str(error), fatal=True)
    except MemoryError as error:
        return Outcome(point, f"MemoryError: {str(error) or 'out of memory'}", traceback.format_exc())
    except Exception as error:  # whatever the function raises is reported with its point
        return Outcome(point, f"{type(error).__name__}: {error}", traceback.format_exc())
    return Outcome(point)


def run_here(store: Store, points: list[Point]) -> Iterator[Outcome]:
    """Compute points one after the other in this process."""
    waiting = deque(points)
    while waiting:
        point = waiting.popleft()
        outcome = compute_into(store, point)
        if outcome is None:
            waiting.append(point)
            time.sleep(BUSY_SECONDS)
        else:
            yield outcome


def run_in_processes(store: Store, points: list[Point], workers: int) -> Iterator[Outcome]:
    """Compute points in several processes, in whatever order they end."""
    waiting = deque(points)
    pool: dict[Connection, _Worker] = {}
    try:
        while waiting or pool:
            while waiting and len(pool) < workers:
                worker = _Worker(store, threads=max(1, cores() // workers))
                pool[worker.channel] = worker
                worker.send(waiting.popleft())
            for channel in wait(list(pool), timeout=1.0):
                worker = pool[channel]  # type: ignore[index]
                point, answer = worker.point, worker.receive()
                if answer == "busy":
                    waiting.append(point)
                else:
                    yield Outcome(point, *answer)
                if not worker.alive() or not waiting:
                    worker.stop()
                    del pool[worker.channel]
                else:
                    worker.send(waiting.popleft())
    finally:
        for worker in pool.values():
            worker.stop(kill=True)


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, store: Store, threads: int) -> None:
        self.channel, theirs = Pipe()
        call = f"from sgdnoise.workers import serve; serve({theirs.fileno()}, {str(store.folder.resolve())!r})"
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        # A session of its own: Ctrl-C reaches the sweep only, which then ends its workers.
        self.process = subprocess.Popen(
            [sys.executable, "-c", call], pass_fds=[theirs.fileno()], env=environment, start_new_session=True
        )
        theirs.close()
        self.point: Point = None  # type: ignore[assignment]

    def send(self, point: Point) -> None:
        self.point = point
        with contextlib.suppress(BrokenPipeError):  # it died; receiving will tell
            self.channel.send_bytes(cloudpickle.dumps(point))

    def receive(self) -> Any:
        """Return "busy", or the error, trace and fatal flag of an outcome; a death is an error."""
        try:
            return self.channel.recv()
        except (EOFError, ConnectionError, OSError):
            code = self.process.wait()
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
            hint = ", perhaps for lack of memory" if code == -signal.SIGKILL else ""
            return f"its process {how}{hint}", "", False

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self, kill: bool = False) -> None:
        self.channel.close()  # an idle worker ends when its pipe does
        if kill:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def stop_with_parent() -> None:
    """End this process when the sweep that started it is killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def serve(descriptor: int, folder: str) -> None:
    """Compute whatever points come down the pipe until it closes."""
    stop_with_parent()
    store = Store(folder)
    with Connection(descriptor) as channel:
        while True:
            try:
                point = cloudpickle.loads(channel.recv_bytes())
            except (EOFError, ConnectionError):
                return
            except Exception as error:
                channel.send((f"the function cannot be loaded: {type(error).__name__}: {error}", "", False))
                continue
            outcome = compute_into(store, point)
            if outcome is None:
                time.sleep(BUSY_SECONDS)
                channel.send("busy")
            else:
                channel.send((outcome.error, outcome.trace, outcome.fatal))
