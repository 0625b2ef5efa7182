"""Which paths are in the batch at each step, drawn plainly or with exact numbers.

With exact numbers, as many paths enter and leave the batch at every step as are expected to, rounded up or down by
chance; who they are is drawn anew each time. A path alone still switches with exactly the probabilities of the chain,
independently of its past.
"""

import numpy as np
from numpy.typing import NDArray

from sgdnoise.algorithms import Chain, next_batch, start_batch

Batch = NDArray[np.bool_]


def draw_batches(chain: Chain, shape: tuple[int, int, int], exact: bool, rng: np.random.Generator) -> Batch:
    """Draw the batches of a population, shape (steps, replicas, paths); replicas are independent."""
    batches = np.empty(shape, dtype=bool)
    start, follow = (_exact_start, _exact_next) if exact else (start_batch, next_batch)
    for a in range(shape[1]):
        batches[0, a] = start(chain, shape[2], rng)
        for t in range(1, shape[0]):
            batches[t, a] = follow(chain, batches[t - 1, a], rng)
    return batches


def chance_of_batch(chain: Chain, before: Batch | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Probability of each path to be in the batch, given whether it was at the step before (None: no such step)."""
    return np.full(shape, chain.batch) if before is None else np.where(before, 1.0 - chain.leave, chain.enter)


def _exact_start(chain: Chain, size: int, rng: np.random.Generator) -> Batch:
    batch = np.zeros(size, dtype=bool)
    batch[_choose(np.arange(size), chain.batch, rng)] = True
    return batch


def _exact_next(chain: Chain, batch: Batch, rng: np.random.Generator) -> Batch:
    after = batch.copy()
    after[_choose(np.flatnonzero(batch), chain.leave, rng)] = False
    after[_choose(np.flatnonzero(~batch), chain.enter, rng)] = True
    return after


def _choose(group: NDArray[np.intp], chance: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose members of a group, each with the same chance, and as many as expected to within rounding."""
    size = min(int(group.size * chance + rng.random()), group.size)
    return rng.permutation(group)[:size]
