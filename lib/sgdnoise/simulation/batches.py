r"""The batches: :math:`s_\mu(t)` of every column, one two-state chain a sample.

The state after step ``t`` is :math:`s_\mu(t) = [\,u_\mu(t) < p\,]`, where :math:`p` is the probability of being in the
batch given :math:`s_\mu(t-1)` and :math:`u_\mu(t)` a random number that depends on the key of the column, on
:math:`\mu` and on :math:`t` only. Probabilities are whole multiples of :math:`2^{-30}`.
"""

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.algorithms import Chain
from sgdnoise.simulation.threefry import Keys, words

UNIT = 2**30
Bits = NDArray[np.uint8]
Limits = NDArray[np.int32]


def thresholds(chain: Chain) -> Limits:
    """Probabilities of the chain as whole numbers: to start in the batch, to enter it, to stay in it."""
    return np.round(UNIT * np.array([chain.batch, chain.enter, 1.0 - chain.leave])).astype(np.int32)


@jit(nogil=True)
def _draw(u: NDArray[np.uint32], enter: np.int32, stay: np.int32, s: Bits) -> None:
    """Set ``s`` where the random word is below the threshold that belongs to the present ``s``."""
    for j in range(s.size):
        limit = np.int32(enter + np.int32(s[j]) * (stay - enter))
        s[j] = np.uint8(np.int32(u[j] >> np.uint32(2)) < limit)


@jit(nogil=True)
def advance(keys: Keys, limits: Limits, step: int, alive: NDArray[np.bool_], s: Bits) -> None:
    """Bring ``s[column]`` from step ``step - 1`` to ``step`` (or to its start, at step 0) where ``alive``."""
    half = (s.shape[1] + 1) // 2
    first, second = np.empty(half, np.uint32), np.empty(half, np.uint32)
    waiting = np.empty(s.shape[0], np.bool_)
    for c in range(s.shape[0]):
        full = limits[c, 0] == UNIT and limits[c, 2] == UNIT
        waiting[c] = alive[c] and not (full and step > 0)
    for c in range(s.shape[0]):
        if not waiting[c]:
            continue
        words(keys[c, 0], keys[c, 1], np.uint32(step), first, second)
        for d in range(c, s.shape[0]):  # columns of one replica have the same key, and with it the same words
            if waiting[d] and keys[d, 0] == keys[c, 0] and keys[d, 1] == keys[c, 1]:
                waiting[d] = False
                start, enter, stay = limits[d]
                if step == 0:
                    enter = stay = start
                _draw(first, enter, stay, s[d, :half])
                _draw(second, enter, stay, s[d, half:])
