r"""The batches: the weight :math:`s_\mu(t)` of every sample in the gradient, drawn by a sampling process.

A sampling process is a record (see :mod:`sgdnoise.parts`) with scalar methods, applied to every sample alone:

``draw(step, state, u)``
    The weight of the sample at this step and its next state, from its state (a whole number; -1 before the first step)
    and a random number ``u``, uniform from 0 to below 1.
``expected(step, state)``
    The mean of that weight over ``u``.
``random(step)``
    Whether this step needs random numbers at all; if not, ``u`` is 0. By default it does.
``partition()``
    Whether samples of one state share the unit interval equally (below) instead of drawing ``u`` independently. By
    default they do not.
``covariance``
    Optional property: the autocovariance of the weight, a :class:`Covariance`. The engines do not need it, but
    :func:`~sgdnoise.linear_response` does.

Random numbers are a function of the key of a column, the sample and the step, so they can be drawn in any order and by
any thread. Where samples of one state *share* the unit interval, their random numbers are :math:`u_i=(\pi(i)+v)/n` with
a random permutation :math:`\pi` of the :math:`n` samples and one uniform :math:`v`. Each :math:`u_i` alone is uniform,
but any event happens to the expected number of samples, rounded up or down. That is how an epoch is split into equal
batches, and how the theory draws populations with less noise.
"""

from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from sgdnoise import parts
from sgdnoise._jit import jit
from sgdnoise.random.threefry import Keys, stream_key, threefry, words
from sgdnoise.vectors.lanes import Floating

T = TypeVar("T", bound=type)
Array = NDArray[np.float64]
States = NDArray[np.int32]

UNIT = 2.0**-30  # random numbers are whole multiples of this


class Covariance(NamedTuple):
    """Autocovariance of the weight of a sample: ``values`` at lags 0, 1, ..., then shrinking by ``ratio`` a step."""

    values: Array
    ratio: float

    @property
    def total(self) -> float:
        """Sum over all lags of either sign: the power at frequency zero."""
        tail = self.values[-1] * self.ratio / (1 - self.ratio)
        return float(self.values[0] + 2 * (self.values[1:].sum() + tail))


class Sampling(Protocol):
    """What a sampling process must have; ``random`` and ``partition`` are supplied where a class has none."""

    def draw(self, step: int, state: int, u: float) -> tuple[float, int]:
        """Return the weight of a sample at this step, and its next state."""

    def expected(self, step: int, state: int) -> float:
        """Return the mean of the weight over the random number."""

    def random(self, step: int) -> bool:
        """Whether this step needs random numbers."""

    def partition(self) -> bool:
        """Whether samples of one state share the unit interval."""


def sampling(cls: T) -> T:
    """Decorate a NamedTuple with scalar methods ``draw`` and ``expected`` to make it a sampling process."""
    missing = [name for name in ("draw", "expected") if not callable(vars(cls).get(name))]
    if missing or not hasattr(cls, "_fields"):
        what = f"has no {missing[0]}" if missing else "is no NamedTuple"
        raise TypeError(f"a sampling process must be a NamedTuple with methods draw and expected, and {cls!r} {what}")
    for name, default in (("random", _always), ("partition", _never)):
        if name not in vars(cls):
            setattr(cls, name, default)
    return parts.part(cls)


def _always(self: Any, step: int) -> bool:  # noqa: ARG001
    return True


def _never(self: Any) -> bool:  # noqa: ARG001
    return False


class Batches(NamedTuple):
    """The batches of some columns, and what draws them.

    Attributes
    ----------
    process : any record of the sampling process, which tells its class
    table : fields of the record of each column, (columns, fields)
    keys : of the random numbers of each column; columns with the same key see the same numbers, (columns, 2)
    order : memory for a permutation where samples of one state share the unit interval, else None
    state : of every sample, (columns, samples)
    places : where the weights of each column are written
    word : memory for the random words of a column, (2, half of the samples)
    """

    process: Sampling
    table: Array
    keys: Keys
    order: NDArray[np.int64] | None
    state: States
    places: NDArray[np.int64]
    word: NDArray[np.uint32]


def new_batches(
    processes: list[Any], keys: Keys, samples: int, places: list[int] | None = None, shared: bool = False
) -> Batches:
    """Return batches before the first step, one column for each process; all are of one class.

    Their weights go to these ``places``, or to 0, 1, ... ``shared``: samples of one state share the unit interval,
    whatever the process says.
    """
    table = np.array([list(process) for process in processes], dtype=np.float64).reshape(len(processes), -1)
    state = np.full((len(processes), samples), -1, np.int32)
    order = np.arange(samples) if shared or processes[0].partition() else None
    word = np.empty((2, (samples + 1) // 2), np.uint32)
    return Batches(processes[0], table, keys, order, state, np.array(places or range(len(processes))), word)


@jit(nogil=True)
def draw_batches(step: int, chosen: NDArray[np.int64], batches: Batches, out: Floating) -> None:
    """Write the weights of a step of the chosen columns, those with equal keys in a row, and the states after it."""
    samples = batches.state.shape[1]
    word, drawn = batches.word, -1
    for c in chosen:
        process, state = parts.pick(batches.process, batches.table, c), batches.state[c]
        weight = out[batches.places[c]]
        if not process.random(step):
            for i in range(samples):
                weight[i], state[i] = process.draw(step, state[i], 0.0)
            continue
        key = batches.keys[c]
        if drawn < 0 or batches.keys[drawn, 0] != key[0] or batches.keys[drawn, 1] != key[1]:
            words(key[0], key[1], np.uint32(step), word[0], word[1])
            drawn = c
        _draw(process, step, key, word, batches.order, state, weight)


@jit(nogil=True)
def _draw(
    process: Sampling,
    step: int,
    key: Keys,
    word: NDArray[np.uint32],
    order: NDArray[np.int64] | None,
    state: States,
    weight: Floating,
) -> None:
    """Draw the weights of one column; without an ``order``, samples are independent."""
    half = word.shape[1]
    if order is not None:
        _share(process, step, key, word, order, state, weight)
        return
    _draw_part(process, step, word[0], state[:half], weight[:half])
    _draw_part(process, step, word[1], state[half:], weight[half:])


@jit(nogil=True)
def _draw_part(process: Sampling, step: int, word: NDArray[np.uint32], state: States, weight: Floating) -> None:
    """Draw the weights of some samples: a loop over whole arrays from their start on, which becomes one on vectors."""
    for i in range(state.size):
        weight[i], state[i] = process.draw(step, state[i], np.float64(np.int32(word[i] >> np.uint32(2))) * UNIT)


@jit(allocates=True, nogil=True)
def _share(
    process: Sampling,
    step: int,
    key: Keys,
    word: NDArray[np.uint32],
    order: NDArray[np.int64],
    state: States,
    weight: Floating,
) -> None:
    """Draw the weights of one column, in which samples of one state share the unit interval."""
    half, most = word.shape[1], np.int32(0)
    for i in range(state.size):
        order[i] = i
        most = max(most, state[i])
    for i in range(state.size - 1):  # Fisher and Yates
        one = word[i // half, i % half]
        j = i + np.int64((np.uint64(one) * np.uint64(state.size - i)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]
    size, place = np.zeros(most + 2, np.int64), np.empty(most + 2)
    for i in range(state.size):
        size[state[i] + 1] += 1
    for group in range(most + 2):  # counters that no sample uses
        one = threefry(key[0], key[1], np.uint32(half + group), np.uint32(step))[0]
        place[group] = np.float64(np.int32(one >> np.uint32(2))) * UNIT
    for i in order:
        group = state[i] + 1
        u = place[group] / size[group]
        place[group] += 1.0
        weight[i], state[i] = process.draw(step, state[i], u)


def sample_weights(process: Sampling, samples: int, steps: int, seed: np.random.SeedSequence) -> Array:
    """Return the weights of independent samples at the first steps, (steps, samples)."""
    batches, out = new_batches([process], stream_key(seed)[None], samples), np.empty((steps, samples))
    with np.errstate(over="ignore"):  # words of the generator wrap around
        for step in range(steps):
            draw_batches(step, np.zeros(1, np.int64), batches, out[step : step + 1])
    return out


@jit(nogil=True)
def expected_weights(step: int, batches: Batches, out: Array) -> None:
    """Write the means of the weights of a step, before it is drawn, (columns, samples)."""
    for c in range(out.shape[0]):
        process = parts.pick(batches.process, batches.table, c)
        for i in range(out.shape[1]):
            out[c, i] = process.expected(step, batches.state[c, i])


def check(process: Any) -> None:
    """Refuse anything but a sampling process whose functions are consistent with each other."""
    kind = parts.name_of(process)
    if not parts.is_part(process) or not hasattr(process, "draw"):
        raise TypeError(f"sampling must return a sampling process (see sgdnoise.sampling), got {process!r}")
    if type(process).__module__.split(".")[0] == "sgdnoise":
        return
    parts.check_fields(process)
    grid = 2000
    trial = new_batches([process], np.zeros((1, 2), np.uint32), grid, shared=True)
    weight, mean = np.empty((2, 1, grid))
    for step in range(8):
        try:
            expected_weights(step, trial, mean)
            with np.errstate(over="ignore"):
                draw_batches(step, np.zeros(1, np.int64), trial, weight)
        except NumbaError as error:
            first = next((line for line in str(error).splitlines() if line.strip()), "")
            raise TypeError(f"draw or expected of {kind} must compile to functions of numbers: {first}") from None
        except Exception as error:
            raise ValueError(
                f"draw or expected of {kind} must not raise, got {type(error).__name__}: {error}"
            ) from None
        if not (np.isfinite(weight).all() and np.isfinite(mean).all()):
            raise ValueError(f"draw and expected of {kind} must return finite weights, and do not at step {step}")
        if trial.state.min() < 0:
            raise ValueError(f"draw of {kind} must return states of at least 0, got {trial.state.min()} at step {step}")
        # Samples of one state share the unit interval, so that their mean weight is exact but for one sample a state.
        states = len(np.unique(trial.state)) + 1
        allowed = 4 * states / grid * np.max(np.abs(weight), initial=1.0)
        if abs(weight.mean() - mean.mean()) > allowed:
            raise ValueError(
                f"expected of {kind} must be the mean of what draw returns, and is {mean.mean():.4g} where draw gives "
                f"{weight.mean():.4g} at step {step}"
            )
