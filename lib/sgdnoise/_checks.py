"""Checks of user input: one clear sentence that names the parameter, the value and what is allowed.

A wrong type is a :class:`TypeError`, a wrong value a :class:`ValueError`; both are raised before any work starts.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from sgdnoise._machine import available_memory

MAX_STEPS = 100_000_000
MAX_SEED = 2**63 - 1  # what a file of results can hold
MAX_WHOLE = 10**12  # far beyond any use, and far enough from the largest integer that products stay exact


def real(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> float:
    """Return ``value`` as a float if it is a finite real number within the bounds.

    >>> real("alpha", 6, above=0)
    6.0
    >>> real("batch", 1.5, above=0, at_most=1)
    Traceback (most recent call last):
    ValueError: batch must be greater than 0 and at most 1, got 1.5
    """
    allowed = _describe(above, at_least, at_most, below)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number{' ' + allowed if allowed else ''}, got {_show(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number{' ' + allowed if allowed else ''}, got {_show(value)}")
    if number <= above or number < at_least or number > at_most or number >= below:
        raise ValueError(f"{name} must be {allowed}, got {_show(value)}")
    return number


def integer(name: str, value: object, *, at_least: int, at_most: int = MAX_WHOLE) -> int:
    """Return ``value`` as an int if it is a whole number within the bounds (``8.0`` is not: it is a float).

    >>> integer("realisations", 0, at_least=1)
    Traceback (most recent call last):
    ValueError: realisations must be a whole number of at least 1, got 0
    """
    beyond = isinstance(value, Integral) and int(value) > MAX_WHOLE
    upper = "" if at_most == MAX_WHOLE and not beyond else f" and at most {at_most}"
    sentence = f"{name} must be a whole number of at least {at_least}{upper}, got {_show(value)}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(sentence)
    number = int(value)
    if number < at_least or number > at_most:
        raise ValueError(sentence)
    return number


def seed(name: str, value: object) -> int:
    """Return ``value`` as an int if it can be the seed of a run.

    >>> seed("seed", 2**63)
    Traceback (most recent call last):
    ValueError: seed must be a whole number of at least 0 and at most 9223372036854775807, got 9223372036854775808
    """
    return integer(name, value, at_least=0, at_most=MAX_SEED)


def several(name: str, values: Any) -> Any:
    """Return ``values`` if it is a list, a tuple or a one-dimensional array.

    >>> several("waiting_times", None)
    Traceback (most recent call last):
    TypeError: waiting_times must be a list, got None
    """
    if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim == 1):
        return values
    raise TypeError(f"{name} must be a list, got {_show(values)}")


def array(name: str, values: Any, kinds: str = "biuf") -> Any:
    """Return ``values`` as an array if they are finite numbers; with ``kinds="biufc"`` complex ones too.

    >>> array("eigenvalue", [1.0, None])
    Traceback (most recent call last):
    ValueError: eigenvalue must be made of finite numbers, got [1.0, None]
    """
    try:
        found = np.asarray(values)
    except ValueError:  # of rows of different lengths
        found = np.array(None)
    if found.dtype.kind not in kinds or not np.isfinite(found).all():
        raise ValueError(f"{name} must be made of finite numbers, got {_show(values)}")
    return found


def flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False.

    >>> flag("symmetric", 1)
    Traceback (most recent call last):
    TypeError: symmetric must be True or False, got 1
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {_show(value)}")
    return bool(value)


def choice(name: str, value: object, options: Sequence[str]) -> str:
    """Return ``value`` if it is one of the named options.

    >>> choice("embedding", "eular", ("euler", "exact"))
    Traceback (most recent call last):
    ValueError: embedding must be 'euler' or 'exact', got 'eular'
    """
    sentence = f"{name} must be {' or '.join(map(repr, options))}, got {_show(value)}"
    if not isinstance(value, str):
        raise TypeError(sentence)
    if value not in options:
        raise ValueError(sentence)
    return value


def steps(learning_rate: float, duration: float, name: str = "duration") -> int:
    """Return how many steps of ``learning_rate`` make up ``duration``, which must be a whole number of them.

    >>> steps(0.1, 20.0)
    200
    >>> steps(0.3, 1.0)
    Traceback (most recent call last):
    ValueError: duration must be a multiple of learning_rate=0.3, got 1.0 (0.9 or 1.2 would do)
    """
    ratio = duration / learning_rate
    if ratio > MAX_STEPS:
        raise ValueError(
            f"{name} must be at most {MAX_STEPS} steps of learning_rate={learning_rate:g}, got {duration} "
            f"({ratio:.3g} steps)"
        )
    count = round(ratio)
    if abs(ratio - count) > 1e-6 * max(1.0, ratio):
        low, high = math.floor(ratio) * learning_rate, math.ceil(ratio) * learning_rate
        near = f"{low:g} or {high:g}" if low > 0 else f"{high:g}"
        raise ValueError(
            f"{name} must be a multiple of learning_rate={learning_rate:g}, got {duration} ({near} would do)"
        )
    return count


def memory(needed: float, what: str) -> None:
    """Refuse work that needs more memory (in bytes) than the machine has available."""
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"{what} must fit in memory: {needed / 1e9:.3g} GB are needed and {available / 1e9:.3g} GB are available"
        )


def _describe(above: float, at_least: float, at_most: float, below: float = math.inf) -> str:
    words = {"greater than": above, "at least": at_least, "at most": at_most, "less than": below}
    return " and ".join(f"{word} {bound:g}" for word, bound in words.items() if math.isfinite(bound))


def _show(value: object) -> str:
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 60 else text[:57] + "..."
