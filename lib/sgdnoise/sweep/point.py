"""One point of a sweep: a function with the parameters of one call, and how it becomes an entry of the store."""

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import cloudpickle
import numpy as np
import xarray as xr

from sgdnoise.sweep import keys, store
from sgdnoise.sweep.entry import encode


@dataclass(frozen=True)
class Point:
    """What is to be computed."""

    function: keys.Function
    parameters: Mapping[str, Any]
    seed: int | None
    key: str

    @classmethod
    def of(cls, function: keys.Function, parameters: Mapping[str, Any], seed: int | None) -> "Point":
        """Make a point and compute its key."""
        return cls(function, parameters, seed, keys.key_of(function, parameters, seed))

    def __str__(self) -> str:
        words = [f"{name}={value!r}" for name, value in self.parameters.items()]
        return ", ".join(words + ([] if self.seed is None else [f"seed={self.seed}"]))

    def packed(self) -> bytes:
        """Return all that another process needs to compute it, and to tell whether it runs the same code."""
        return bytes(cloudpickle.dumps((self, keys.ingredients(self.function, self.parameters, self.seed))))


@dataclass(frozen=True)
class Failure:
    """Why a point has no result: one sentence and a traceback; or a result of a kind that no store can keep."""

    error: str
    trace: str = ""
    refused: bool = False
    result: Any = None


def compute_packed(packed: bytes) -> bytes | Failure:
    """Compute a point in another process, if the code there is the same."""
    try:
        point, wanted = cloudpickle.loads(packed)
        found = keys.ingredients(point.function, point.parameters, point.seed)
    except Exception as error:
        return Failure(f"the function cannot be loaded: {type(error).__name__}: {error}", traceback.format_exc())
    differs = [name for name, value in wanted.items() if found[name] != value]
    if differs:
        return Failure(f"its worker has another version of {', '.join(differs)}; start Python, or the workers, again")
    outcome = compute(point)
    if isinstance(outcome, Failure):
        try:
            cloudpickle.dumps(outcome)
        except Exception:  # a result that cannot travel; the sentence can
            return replace(outcome, result=None)
    return outcome


def compute(point: Point) -> bytes | Failure:
    """Call the function and return the bytes of the entry, or what went wrong."""
    began = time.perf_counter()
    arguments = dict(point.parameters) if point.seed is None else {**point.parameters, "seed": point.seed}
    try:
        result = point.function(**arguments)
    except (Exception, SystemExit) as error:  # whatever the function raises is reported with its point
        return _failure(error)
    try:
        note = store.provenance(time.perf_counter() - began)
        note |= {"key": point.key, "function": getattr(point.function, "__qualname__", "function")}
        return encode(as_dataset(result), note | {"point": str(point), "library": keys.LIBRARY})
    except Exception as error:
        return replace(_failure(error), refused=True, result=result)


def _failure(error: BaseException) -> Failure:
    said = str(error) or ("out of memory" if isinstance(error, MemoryError) else "")
    return Failure(f"{type(error).__name__}: {said}", traceback.format_exc())


def as_dataset(result: Any) -> xr.Dataset:
    """Accept a dataset, a labelled array, a mapping of arrays, lists, strings or numbers, or a single one of these.

    >>> as_dataset({"q": np.zeros((2, 3))}).q.dims
    ('q_0', 'q_1')
    """
    if isinstance(result, xr.Dataset):
        return result
    if isinstance(result, xr.DataArray):
        return result.to_dataset(name=result.name or "value")
    if isinstance(result, Mapping):
        return xr.Dataset({name: _labelled(name, value) for name, value in result.items()})
    if isinstance(result, Number | np.generic | np.ndarray | str | list | tuple):
        return xr.Dataset({"value": _labelled("value", np.asarray(result))})
    raise TypeError(
        "function must return an xarray.Dataset, a DataArray, an array, a list, a number, a string or a mapping of "
        f"these, got {result!r}"
    )


def _labelled(name: str, value: Any) -> Any:
    """Name the dimensions of an array that has no names for them."""
    if isinstance(value, xr.DataArray | xr.Variable | tuple):
        return value
    array = np.asarray(value)
    return [f"{name}_{axis}" for axis in range(array.ndim)], array
