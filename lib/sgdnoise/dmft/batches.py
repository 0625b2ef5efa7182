"""Which paths are in the batch at each step, drawn plainly or with exact numbers.

With exact numbers, as many paths enter and leave the batch at every step as are expected to, rounded up or down by
chance; who they are is drawn anew each time. A path alone still switches with exactly the probabilities of the chain,
independently of its past.
"""

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.algorithms import Chain, next_batch, start_batch

Batch = NDArray[np.bool_]


def draw_batches(chain: Chain, shape: tuple[int, int, int], exact: bool, rng: np.random.Generator) -> Batch:
    """Draw the batches of a population, shape (steps, replicas, paths); replicas are independent."""
    batches = np.zeros(shape, dtype=bool)
    for a in range(shape[1]):
        if exact:
            _draw_exact(chain, batches[:, a], rng)
            continue
        batches[0, a] = start_batch(chain, shape[2], rng)
        for t in range(1, shape[0]):
            batches[t, a] = next_batch(chain, batches[t - 1, a], rng)
    return batches


def chance_of_batch(chain: Chain, before: Batch | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Probability of each path to be in the batch, given whether it was at the step before (None: no such step)."""
    return np.full(shape, chain.batch) if before is None else np.where(before, 1.0 - chain.leave, chain.enter)


def _draw_exact(chain: Chain, batches: Batch, rng: np.random.Generator) -> None:
    """Fill one replica with batches, (steps, paths), that start as zeros."""
    outside = np.arange(batches.shape[1])
    n = _number(outside.size, chain.batch, rng)
    _to_front(outside, rng.random(n))
    inside, outside = outside[:n], outside[n:]
    for row in batches:
        row[inside] = True
        leaving, entering = _number(inside.size, chain.leave, rng), _number(outside.size, chain.enter, rng)
        _to_front(inside, rng.random(leaving))
        _to_front(outside, rng.random(entering))
        inside, outside = (
            np.concatenate([outside[:entering], inside[leaving:]]),
            np.concatenate([inside[:leaving], outside[entering:]]),
        )


def _number(size: int, chance: float, rng: np.random.Generator) -> int:
    """Return how many of a group switch: as many as expected, rounded up or down by chance."""
    return min(int(size * chance + rng.random()), size)


@jit()
def _to_front(group: NDArray[np.intp], u: NDArray[np.float64]) -> None:
    """Bring members to the front, one for each of the uniform random numbers (the shuffle of Fisher and Yates)."""
    for i in range(u.size):
        left = group.size - i
        j = i + min(int(u[i] * left), left - 1)  # the product may round up
        group[i], group[j] = group[j], group[i]
