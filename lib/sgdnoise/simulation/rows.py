r"""Dot products with, and sums of, chosen rows of a matrix: the two operations that all of the work is made of.

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
from sgdnoise._lanes import STRIP_BYTES, Floating, add_multiple, add_product, lane_sum, load, load_lanes, store

Rows = NDArray[np.int64]


@jit(nogil=True)
def strip_of(X: Floating) -> int:
    """Numbers in a strip."""
    return int(STRIP_BYTES // X.itemsize)


@jit(nogil=True)
def dot_strip(A: Floating, rows: Rows, n: int, j: int, W: Floating, c: int, d: int, P: Floating, Q: Floating) -> None:
    """Add the part of the strip at ``j`` to the products of the first ``n`` rows with ``W[c]`` and ``W[d]``.

    ``P[i]`` and ``Q[i]`` are lane vectors, the :func:`lane_sum` of which is the product.
    """
    w, v = load(W, c, j), load(W, d, j)
    for i in range(n):
        x = load(A, rows[i], j)
        store(P, i, 0, add_product(load_lanes(P, i), x, w))
        store(Q, i, 0, add_product(load_lanes(Q, i), x, v))


@jit(nogil=True)
def sum_strip(
    A: Floating, rows: Rows, n: int, j: int, p: Floating, q: Floating, G: Floating, c: int, d: int, place: int
) -> None:
    """Add ``p[i]`` and ``q[i]`` times the strip at ``j`` of the first ``n`` rows to ``G[c]`` and ``G[d]``.

    It goes to the strip at ``place`` of ``G``. If ``c`` is ``d``, then ``p`` must be ``q``.
    """
    a, b = load(G, c, place), load(G, d, place)
    for i in range(n):
        x = load(A, rows[i], j)
        a = add_multiple(a, p[i], x)
        b = add_multiple(b, q[i], x)
    store(G, c, place, a)
    store(G, d, place, b)


@jit(nogil=True)
def products(
    A: Floating, rows: Rows, n: int, W: Floating, c: int, d: int, P: Floating, h: Floating, g: Floating
) -> None:
    """``h[i] = A[rows[i]] . W[c]`` and ``g[i] = A[rows[i]] . W[d]`` for the first ``n`` rows; ``P`` is for scratch."""
    most, strip = P.shape[1], strip_of(A)
    for start in range(0, n, most):
        chunk, size = rows[start:], min(most, n - start)
        P[:2, :size] = 0
        for j in range(0, W.shape[1], strip):
            dot_strip(A, chunk, size, j, W, c, d, P[0], P[1])
        for i in range(size):
            h[start + i] = lane_sum(load_lanes(P[0], i))
            g[start + i] = lane_sum(load_lanes(P[1], i))


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def inner(a: Floating, b: Floating) -> float:
    """``a . b``, accumulated in double precision."""
    total = 0.0
    for j in range(a.size):
        total += np.float64(a[j]) * np.float64(b[j])
    return total


@jit(nogil=True)
def inners(X: Floating, y: Floating, out: NDArray[np.float64]) -> None:
    """``out[c] = X[c] . y``."""
    for c in range(out.size):
        out[c] = inner(X[c], y)


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def gaps(X: Floating, Y: Floating, out: NDArray[np.float64]) -> None:
    """``out[i] = (X[2i] - X[2i+1]) . (Y[2i] - Y[2i+1])``: of two replicas that are neighbours."""
    for i in range(out.size):
        total = 0.0
        for j in range(X.shape[1]):
            x = np.float64(X[2 * i, j]) - np.float64(X[2 * i + 1, j])
            total += x * (np.float64(Y[2 * i, j]) - np.float64(Y[2 * i + 1, j]))
        out[i] = total
