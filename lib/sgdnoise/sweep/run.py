"""A function over a grid of parameters: cached, parallel, resumable, and the same bits however it was run."""

import os
import re
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

import xarray as xr

from sgdnoise import _checks
from sgdnoise._machine import cores
from sgdnoise.progress import bar
from sgdnoise.sweep.executors import Cluster, Here, Processes, check_address, sentence
from sgdnoise.sweep.grid import Grid, check_call, combinations, combine, seed_list
from sgdnoise.sweep.keys import Function
from sgdnoise.sweep.point import Failure, Point, compute, compute_packed
from sgdnoise.sweep.store import Store, StoreError

WORKERS_VARIABLE, SCHEDULER_VARIABLE, LABEL_VARIABLE = "SGDNOISE_WORKERS", "SGDNOISE_SCHEDULER", "SGDNOISE_LABEL"
BUSY_SECONDS = 0.2  # between two looks at a point that another process is computing


class SweepError(RuntimeError):
    """Some points of a sweep failed; all others are in the store, and the next call computes only what is missing.

    Attributes
    ----------
    failures : list of (str, str, str)
        For each failed point: its parameters, the error, the traceback.
    results : list
        What points returned that no store can keep. After the first such result no further point is begun.
    """

    def __init__(self, failed: list[tuple[Point, Failure]], total: int, untried: int = 0) -> None:
        self.results = [failure.result for _, failure in failed if failure.refused]
        self.failures = [(str(point), failure.error, failure.trace) for point, failure in failed]
        lines = [f"  at {point}: {error}" for point, error, _ in self.failures[:10]]
        lines += [f"  and {len(failed) - 10} more"] if len(failed) > 10 else []
        kept = "the others are kept, and " if len(failed) < total else ""
        head = f"{len(failed)} of {total} points failed; {kept}the same call tries these again:"
        if self.results:
            head = f"a result cannot be kept, so that {untried} of {total} points were not computed:"
        super().__init__("\n".join([head, *lines]))


def sweep(
    function: Function,
    grid: Grid,
    seeds: int | Sequence[int] | None = None,
    *,
    fixed: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    label: str | None = None,
) -> xr.Dataset:
    """Call a function at every point of a grid and put the results together, with the parameters as coordinates.

    Each result is kept in a store, under a key made of the function, its parameters, the seed and the code behind it. A
    call computes what the store does not have: after an interruption it resumes, and for a new value in the grid it
    computes only the new points. The result does not depend on the number of workers nor on what was stored.

    Parameters
    ----------
    function
        Called as ``function(**point, **fixed, seed=seed)``; returns an :class:`xarray.Dataset`, a DataArray, an array,
        a list, a number, a string, or a mapping of these. Everything random in it must come from ``seed``. A variable
        that has the name of a parameter is called ``NAME_result`` in the whole.
    grid
        Lists of values by name, of which every combination is a point; or a list of points, each a mapping.
    seeds
        Number of seeds (0, 1, ...) or the seeds themselves, each computed and stored by itself along a dimension
        ``seed``; without it the function is called without a seed.
    fixed
        Parameters that are the same at every point.
    store
        Folder of the results; ``SGDNOISE_STORE``, or ``_build/results``, by default. It may be read-only if complete.
    workers
        Processes on this machine; as many as cores by default (``SGDNOISE_WORKERS``). With 1 there are none.
    scheduler
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, to use in place of processes on this machine.
    label
        Name in the progress line and in the export; the function's own by default.

    Raises
    ------
    SweepError
        When points failed, after all others were computed; or when a result is of a kind that cannot be kept, after
        the points that were under way then. It names each with its parameters.

    Examples
    --------
    >>> import tempfile, sgdnoise as sn
    >>> def area(width, height):
    ...     return width * height
    >>> grid = {"width": [1, 2, 3], "height": [0.5, 1.5]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = sn.sweep(area, grid, store=folder, workers=1)
    >>> result.value.sel(width=3, height=1.5).item()
    4.5
    """
    if not callable(function):
        raise TypeError(f"function must be a function, got {function!r}")
    if not isinstance(fixed, Mapping | None):
        raise TypeError(f"fixed must be values by name, got {fixed!r}")
    place = Store(store)
    names, swept = combinations(grid, fixed or {})
    seeds_of_all = seed_list(seeds)
    check_call(function, [*names, *(fixed or {}), *(() if seeds is None else ("seed",))])
    if scheduler is None:
        scheduler = os.environ.get(SCHEDULER_VARIABLE) or None
    if scheduler is not None:
        check_address("scheduler", scheduler)
    workers = _workers(workers)
    if label is None:
        label = os.environ.get(LABEL_VARIABLE) or str(getattr(function, "__name__", "sweep")).strip("<>")
    if not isinstance(label, str) or not re.fullmatch(r"[\w .-]{1,60}", label):
        raise ValueError(f"label must be made of at most 60 letters, digits, dots and dashes, got {label!r}")
    points = [Point.of(function, {**(fixed or {}), **values}, seed) for values in swept for seed in seeds_of_all]
    _fill(place, {point.key: point for point in points}, label, workers, scheduler)
    results = [_stored(place, point) for point in points]
    return combine(results, names, grid, swept, None if seeds is None else seeds_of_all)


def _workers(workers: int | None) -> int:
    """Return the number of processes, as given, by the environment, or one a core."""
    if workers is not None:
        return _checks.integer("workers", workers, at_least=1)
    text = os.environ.get(WORKERS_VARIABLE) or str(cores())
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{WORKERS_VARIABLE} must be a whole number of at least 1, got {text!r}")
    return int(text)


def _fill(store: Store, points: dict[str, Point], label: str, workers: int, scheduler: str | None) -> None:
    """Compute what the store does not have; finish all that can be finished before complaining."""
    missing = [point for key, point in points.items() if not store.has(key)]
    done, failed = len(points) - len(missing), []
    if missing:
        store.check_writable()
    try:
        with bar(len(points), label, unit="point", done=done) as shown:
            for point, failure in _computed(store, missing, workers, scheduler):
                failed += [(point, failure)] if failure else []
                done += 1
                shown.update()
    except KeyboardInterrupt:
        where = f"{label}: {done} of {len(points)} points"
        print(f"\nInterrupted: {where}. The same call goes on from there.", file=sys.stderr, flush=True)
        raise
    try:
        store.remember_use(label, list(points))
    except OSError:
        if missing:  # a store that is complete may be read-only
            raise
    if failed:
        raise SweepError(failed, len(points), len(points) - done)


def _computed(
    store: Store, points: list[Point], workers: int, scheduler: str | None
) -> Iterator[tuple[Point, Failure | None]]:
    """Compute points, in whatever order they end, and write each to the store as soon as it is there.

    A point that another process is computing, for a sweep of its own, is looked for later.
    """
    if not points:
        return
    workers = min(workers, len(points))
    executor = Cluster(scheduler) if scheduler else Here() if workers == 1 else Processes(workers)
    waiting, running, ended = deque(points), dict[Future[Any], tuple[Point, Any]](), False
    try:
        while waiting or running:
            room = executor.width - len(running)
            for point in [waiting.popleft() for _ in range(min(room, len(waiting)))]:
                claim = store.claim(point.key)
                if claim is None:
                    waiting.append(point)
                elif store.has(point.key):
                    store.release(claim)
                    yield point, None
                elif isinstance(executor, Here):
                    running[executor.submit(compute, point)] = point, claim
                else:
                    running[executor.submit(compute_packed, point.packed())] = point, claim
            if waiting and not running:
                time.sleep(BUSY_SECONDS)
            for future in wait(running, BUSY_SECONDS, FIRST_COMPLETED).done:
                point, claim = running.pop(future)
                failure = _kept(store, point, future)
                store.release(claim)
                if failure and failure.refused:  # the others would return the same kind
                    waiting.clear()
                yield point, failure
        ended = True
    finally:
        for pair in running.values():
            store.release(pair[1])
        executor.shutdown(cancel_futures=not ended)


def _kept(store: Store, point: Point, future: "Future[bytes | Failure]") -> Failure | None:
    """Write a result to the store, or return why there is none."""
    try:
        result = future.result()
    except Exception as error:
        return Failure(sentence(error))
    if isinstance(result, bytes):
        store.write(point.key, result)
        return None
    return result


def _stored(store: Store, point: Point) -> xr.Dataset:
    entry = store.read(point.key)
    if entry is None:
        raise StoreError(f"entry {point.key} vanished from store {store.folder} during the sweep; call again")
    return entry[0]
