r"""Dot products with chosen rows of a matrix, and sums of such rows: the two operations behind all of the work.

Both take one strip of the rows at a time and two vectors, whose strips stay in registers while the rows go by: a number
of a row is loaded once for both. (Alone, a vector is its own partner: both results are then the same.) Two rules make
the result of a row the same whatever is computed beside it, and with that a run the same whatever data set, block or
pass it shares:

- a dot product is accumulated strip after strip in one lane vector of its own, whatever other rows are at hand;
- a sum of rows is accumulated strictly in the order of the rows, where a coefficient of zero changes nothing.
"""

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.vectors.lanes import STRIP_BYTES, Floating, add_multiple, add_product, lane_sum, load, load_lanes, store

Rows = NDArray[np.int64]
Pair = tuple[int, int]


@jit(nogil=True)
def strip_of(X: Floating) -> int:
    """Numbers in a strip."""
    return int(STRIP_BYTES // X.itemsize)


@jit(nogil=True)
def dot_strip(A: Floating, rows: Rows, j: int, W: Floating, pair: Pair, first: Floating, second: Floating) -> None:
    """Add the part of the strip at ``j`` to the products of some rows with a pair of rows of ``W``.

    ``first[i]`` and ``second[i]`` are lane vectors, the :func:`lane_sum` of which is the product.
    """
    w, v = load(W, pair[0], j), load(W, pair[1], j)
    for i in range(rows.size):
        x = load(A, rows[i], j)
        store(first, i, 0, add_product(load_lanes(first, i), x, w))
        store(second, i, 0, add_product(load_lanes(second, i), x, v))


@jit(nogil=True)
def square_of_products(
    A: Floating, top: int, other: Floating, left: int, features: int, zero: Floating, out: Floating
) -> None:
    """``out[i, j] = A[top + i] . other[left + j]`` for four rows each; the last row stands for what is past it.

    Two rows at a time, whose eight sums stay in registers. ``zero`` holds a lane vector of zeros.
    """
    strip, last, end = strip_of(A), A.shape[0] - 1, other.shape[0] - 1
    left1, left2, left3 = min(left + 1, end), min(left + 2, end), min(left + 3, end)
    for i in range(0, 4, 2):
        top0, top1 = min(top + i, last), min(top + i + 1, last)
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = load_lanes(zero, 0)
        for j in range(0, features, strip):
            x, y = load(A, top0, j), load(A, top1, j)
            w = load(other, left, j)
            a0, b0 = add_product(a0, x, w), add_product(b0, y, w)
            w = load(other, left1, j)
            a1, b1 = add_product(a1, x, w), add_product(b1, y, w)
            w = load(other, left2, j)
            a2, b2 = add_product(a2, x, w), add_product(b2, y, w)
            w = load(other, left3, j)
            a3, b3 = add_product(a3, x, w), add_product(b3, y, w)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = lane_sum(a0), lane_sum(a1), lane_sum(a2), lane_sum(a3)
        out[i + 1, 0], out[i + 1, 1], out[i + 1, 2], out[i + 1, 3] = (
            lane_sum(b0),
            lane_sum(b1),
            lane_sum(b2),
            lane_sum(b3),
        )


@jit(nogil=True)
def sum_strip(
    A: Floating, rows: Rows, j: int, first: Floating, second: Floating, out: Floating, pair: Pair, place: int
) -> None:
    """Add ``first[i]`` and ``second[i]`` times the strip at ``j`` of some rows to a pair of rows of ``out``.

    It goes to the strip at ``place``. If both rows of the pair are the same, so must be the coefficients.
    """
    a, b = load(out, pair[0], place), load(out, pair[1], place)
    for i in range(rows.size):
        x = load(A, rows[i], j)
        a = add_multiple(a, first[i], x)
        b = add_multiple(b, second[i], x)
    store(out, pair[0], place, a)
    store(out, pair[1], place, b)


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def inner(a: Floating, b: Floating) -> float:
    """``a . b``, accumulated in double precision."""
    total = 0.0
    for j in range(a.size):
        total += np.float64(a[j]) * np.float64(b[j])
    return total
