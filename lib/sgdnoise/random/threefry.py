"""Counter-based random bits: Threefry-2x32 with 20 rounds (Salmon et al., SC11).

Such a generator has no state. Its numbers are a function of a key, which identifies the stream, and of a counter,
which identifies the position in it. The batch of any step and the data of any row can therefore be generated in any
order and by any thread, with the same result. It is also fast: additions, rotations and exclusive ors, eight lanes at
a time.
"""

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit

PARITY = np.uint32(0x1BD11BDA)
Keys = NDArray[np.uint32]


def stream_key(stream: np.random.SeedSequence) -> Keys:
    """Key of the stream that belongs to a seed: two words of 32 bits."""
    return stream.generate_state(2, np.uint32).astype(np.uint32)


@jit()
def _mix(a: np.uint32, b: np.uint32, turn: np.uint32) -> tuple[np.uint32, np.uint32]:
    """One round: add, rotate by ``turn``, exclusive or. The casts keep every word in a 32-bit lane."""
    a = np.uint32(a + b)
    b = np.uint32(np.uint32(b << turn) | np.uint32(b >> np.uint32(np.uint32(32) - turn)))
    return a, np.uint32(b ^ a)


@jit()
def _even(a: np.uint32, b: np.uint32) -> tuple[np.uint32, np.uint32]:
    """Four rounds."""
    a, b = _mix(a, b, np.uint32(13))
    a, b = _mix(a, b, np.uint32(15))
    a, b = _mix(a, b, np.uint32(26))
    return _mix(a, b, np.uint32(6))


@jit()
def _odd(a: np.uint32, b: np.uint32) -> tuple[np.uint32, np.uint32]:
    """The next four."""
    a, b = _mix(a, b, np.uint32(17))
    a, b = _mix(a, b, np.uint32(29))
    a, b = _mix(a, b, np.uint32(16))
    return _mix(a, b, np.uint32(24))


@jit()
def threefry(k0: np.uint32, k1: np.uint32, c0: np.uint32, c1: np.uint32) -> tuple[np.uint32, np.uint32]:
    """Two random words for the key ``(k0, k1)`` and the counter ``(c0, c1)``; the key is mixed in every four rounds."""
    k2 = np.uint32(PARITY ^ k0 ^ k1)
    a, b = _even(np.uint32(c0 + k0), np.uint32(c1 + k1))
    a, b = _odd(np.uint32(a + k1), np.uint32(b + k2 + np.uint32(1)))
    a, b = _even(np.uint32(a + k2), np.uint32(b + k0 + np.uint32(2)))
    a, b = _odd(np.uint32(a + k0), np.uint32(b + k1 + np.uint32(3)))
    a, b = _even(np.uint32(a + k1), np.uint32(b + k2 + np.uint32(4)))
    return np.uint32(a + k2), np.uint32(b + k0 + np.uint32(5))


@jit(nogil=True)
def words(k0: np.uint32, k1: np.uint32, c1: np.uint32, first: NDArray[np.uint32], second: NDArray[np.uint32]) -> None:
    """Fill two buffers with the random words of the counters ``(0, c1), (1, c1), ...``."""
    for j in range(first.size):
        a, b = threefry(k0, k1, np.uint32(j), c1)
        first[j] = a
        second[j] = b
