"""A function over a grid of parameters: cached, parallel, resumable, and the same bits however it was run."""

import inspect
import itertools
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from sgdnoise import _checks
from sgdnoise._machine import cores
from sgdnoise.cluster import check_address, run_on_cluster
from sgdnoise.fingerprint import Function
from sgdnoise.points import Point
from sgdnoise.progress import bar
from sgdnoise.store import Store, StoreError
from sgdnoise.workers import Outcome, run_here, run_in_processes

WORKERS_VARIABLE, SCHEDULER_VARIABLE, LABEL_VARIABLE = "SGDNOISE_WORKERS", "SGDNOISE_SCHEDULER", "SGDNOISE_LABEL"
MOST_SEEDS = 1_000_000
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


class SweepError(RuntimeError):
    """Some points of a sweep failed; all others are in the store, and the next call computes only what is missing.

    Attributes
    ----------
    failures : list of (str, str, str)
        For each failed point: its parameters, the error, the traceback.
    """

    def __init__(self, failed: list[Outcome], total: int) -> None:
        self.failures = [(str(outcome.point), outcome.error or "", outcome.trace) for outcome in failed]
        lines = [f"  at {point}: {error}" for point, error, _ in self.failures[:10]]
        lines += [f"  and {len(failed) - 10} more"] if len(failed) > 10 else []
        kept = "the others are kept, and " if len(failed) < total else ""
        head = f"{len(failed)} of {total} points failed; {kept}the same call tries these again:"
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

    Each result is kept in a store, under a key made of the function, its parameters, the seed and the code behind it.
    A call computes what the store does not have: after an interruption it goes on where it was, with one more value
    in the grid it computes that one. The result does not depend on the number of workers nor on what was stored.

    Parameters
    ----------
    function
        Called as ``function(**point, **fixed, seed=seed)``; returns an :class:`xarray.Dataset`, a DataArray, a mapping
        of variables, or a number. Everything random in it must come from ``seed``.
    grid
        Lists of values by name, of which every combination is a point; or a list of points, each a mapping.
    seeds
        Number of seeds (0, 1, ...) or the seeds themselves, each computed and stored by itself along a dimension
        ``seed``; without it the function is called without a seed.
    fixed
        Parameters that are the same at every point.
    store
        Folder of the results; ``SGDNOISE_STORE``, or ``_build/results``, by default.
    workers
        Processes on this machine; as many as cores by default (``SGDNOISE_WORKERS``). With 1 there are none.
    scheduler
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, to use in place of processes on this machine.
    label
        Name in the progress line and in the export; the function's own by default.

    Raises
    ------
    SweepError
        When points failed, after all others were computed. It names each with its parameters.

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
    if not isinstance(store, str | os.PathLike | None):
        raise TypeError(f"store must be the path of a folder, got {store!r}")
    names, combinations = _combinations(grid, fixed or {})
    seed_list = _seeds(seeds)
    _check_call(function, [*names, *(fixed or {}), *(() if seeds is None else ("seed",))])
    scheduler = scheduler or os.environ.get(SCHEDULER_VARIABLE)
    if scheduler:
        check_address("scheduler", scheduler)
    if workers is not None:
        _checks.integer("workers", workers, at_least=1)
    label = label or os.environ.get(LABEL_VARIABLE) or str(getattr(function, "__name__", "sweep")).strip("<>")
    if not isinstance(label, str) or not re.fullmatch(r"[\w .-]+", label):
        raise ValueError(f"label must be made of letters, digits, dots and dashes, got {label!r}")
    place = Store(store)
    points = [Point.of(function, {**(fixed or {}), **values}, seed) for values in combinations for seed in seed_list]
    place.check_writable()
    _fill(place, points, label, workers, scheduler)
    place.remember_use(label, [point.key for point in points])
    results = [_stored(place, point) for point in points]
    return _combine(results, names, grid, combinations, None if seeds is None else seed_list)


def _fill(store: Store, points: list[Point], label: str, workers: int | None, scheduler: str | None) -> None:
    """Compute what the store does not have; finish all that can be finished before complaining."""
    missing = list({point.key: point for point in points if not store.has(point.key)}.values())
    if not missing:
        return
    count = _checks.integer("workers", workers or int(os.environ.get(WORKERS_VARIABLE, cores())), at_least=1)
    if scheduler:
        outcomes = run_on_cluster(store, missing, scheduler)
    elif min(count, len(missing)) == 1:
        outcomes = run_here(store, missing)
    else:
        outcomes = run_in_processes(store, missing, min(count, len(missing)))
    unique = len({point.key for point in points})
    done, failed = unique - len(missing), []
    try:
        with bar(unique, label, unit="point", done=done) as shown:
            for outcome in outcomes:
                if outcome.fatal:
                    raise StoreError(outcome.error)
                failed += [outcome] if outcome.error else []
                done += 1
                shown.update()
    except KeyboardInterrupt:
        print(
            f"\nInterrupted: {label}: {done} of {unique} points. The same call goes on from there.",
            file=sys.stderr,
            flush=True,
        )
        raise
    finally:
        outcomes.close()  # type: ignore[attr-defined]
    if failed:
        raise SweepError(failed, unique)


def _stored(store: Store, point: Point) -> xr.Dataset:
    entry = store.read(point.key)
    if entry is None:
        raise StoreError(f"entry {point.key} vanished from store {store.folder} during the sweep; call again")
    return entry[0]


def _check_call(function: Function, names: Sequence[str]) -> None:
    """Refuse parameters that the function does not take, or lacks, before any point is computed."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C do not tell
        return
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        raise TypeError(
            f"grid, fixed and seeds must name the parameters of the function, got {names}: {error}"
        ) from None


def _seeds(seeds: int | Sequence[int] | None) -> list[int | None]:
    if seeds is None:
        return [None]
    if not isinstance(seeds, int | Sequence | np.ndarray) or isinstance(seeds, str):
        raise TypeError(f"seeds must be a number or a list of different whole numbers, got {seeds!r}")
    if isinstance(seeds, int):
        return list(range(_checks.integer("seeds", seeds, at_least=1, at_most=MOST_SEEDS)))
    checked = [_checks.seed("seeds", seed) for seed in seeds]
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"seeds must be a number or a list of different whole numbers, got {seeds!r}")
    return list(checked)


def _combinations(grid: Grid, fixed: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of the swept parameters and the points, in order."""
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or len(values) == 0:
                raise ValueError(f"grid must have a list of at least one value for {name!r}, got {values!r}")
        names = list(grid)
        if not names:
            raise ValueError(f"grid must name at least one parameter, got {grid!r}")
        points = [dict(zip(names, values, strict=True)) for values in itertools.product(*grid.values())]
    elif isinstance(grid, Sequence) and grid and all(isinstance(point, Mapping) for point in grid):
        names = list(grid[0])
        points = [dict(point) for point in grid]
        for point in points:
            if set(point) != set(names):
                raise ValueError(f"grid must have the same names at every point ({', '.join(names)}), got {point!r}")
    else:
        raise TypeError(f"grid must be lists of values by name or a list of points, got {grid!r}")
    for name in names:
        if not isinstance(name, str) or name in fixed or name == "seed":
            raise ValueError(f"grid must name parameters that are neither fixed nor the seed, got {name!r}")
    return names, points


def _combine(
    results: list[xr.Dataset],
    names: list[str],
    grid: Grid,
    points: list[dict[str, Any]],
    seeds: list[int | None] | None,
) -> xr.Dataset:
    """Join the results of all points along the dimensions of the grid."""
    cartesian = isinstance(grid, Mapping)
    axes = {name: _labels(list(grid[name])) for name in names} if isinstance(grid, Mapping) else {}
    if not cartesian:
        axes = {"point": np.arange(len(points))}
    if seeds is not None:
        axes["seed"] = np.array(seeds)
    joined = results
    for name, labels in reversed(axes.items()):
        size = len(labels)
        groups = [joined[start : start + size] for start in range(0, len(joined), size)]
        joined = [
            xr.concat(
                group,
                dim=name,
                data_vars="all",
                coords="different",
                compat="equals",
                join="outer",
                combine_attrs="drop_conflicts",
            ).assign_coords({name: labels})
            for group in groups
        ]
    (whole,) = joined
    if not cartesian:
        for name in names:
            whole = whole.assign_coords({name: ("point", _labels([point[name] for point in points]))})
    return whole


def _labels(values: list[Any]) -> np.ndarray[Any, Any]:
    """Return coordinates: numbers as they are, anything else by how it is written."""
    if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else repr(value) for value in values])
