"""The grid of a sweep: which points there are, and how their results become one dataset."""

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from sgdnoise import _checks
from sgdnoise.sweep.keys import Function

MOST_SEEDS = 1_000_000
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


def check_call(function: Function, names: Sequence[str]) -> None:
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


def seed_list(seeds: int | Sequence[int] | None) -> list[int | None]:
    """Return the seeds of every point; without any, the one seed None."""
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


def combinations(grid: Grid, fixed: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
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


def combine(
    results: list[xr.Dataset],
    names: list[str],
    grid: Grid,
    points: list[dict[str, Any]],
    seeds: list[int | None] | None,
) -> xr.Dataset:
    """Join the results of all points along the dimensions of the grid."""
    axes: dict[str, Any] = {"point": np.arange(len(points))}
    if isinstance(grid, Mapping):
        axes = {name: _labels(list(grid[name])) for name in names}
    if seeds is not None:
        axes["seed"] = np.array(seeds)
    joined = [_without(result, {*axes, *names}) for result in results]
    for name, labels in reversed(axes.items()):
        groups = [joined[start : start + len(labels)] for start in range(0, len(joined), len(labels))]
        options: dict[str, Any] = {"data_vars": "all", "coords": "different", "compat": "equals", "join": "outer"}
        options["combine_attrs"] = "drop_conflicts"
        joined = [xr.concat(group, dim=name, **options).assign_coords({name: labels}) for group in groups]
    (whole,) = joined
    if not isinstance(grid, Mapping):
        columns = {name: ("point", _labels([point[name] for point in points])) for name in names}
        whole = whole.assign_coords(columns)
    return whole


def _without(result: xr.Dataset, taken: set[str]) -> xr.Dataset:
    """Rename what a result calls by the name of a parameter; a mere label, as `sel` leaves it, gives way."""
    result = result.drop_vars([name for name in taken & set(result.coords) if result[name].ndim == 0])
    return result.rename({name: f"{name}_result" for name in taken & {*result.variables, *result.dims}})


def _labels(values: list[Any]) -> np.ndarray[Any, Any]:
    """Return coordinates: numbers as they are, anything else by how it is written."""
    if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in values):
        return np.array(values)
    return np.array([value if isinstance(value, str) else repr(value) for value in values])
