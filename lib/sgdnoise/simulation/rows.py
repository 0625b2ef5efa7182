r"""Dot products with, and sums of, chosen rows of a matrix: the two operations that all of the work is made of.

They run on four rows and two vectors at a time: a number of a row is loaded once for both vectors, one of a vector
once for four rows. (Alone, a vector is its own partner: reading the row is what takes the time.) Two rules make the
result of a row the same whatever is computed beside it, and with that a run the same whatever data set, block or pass
it shares:

- a dot product always goes through the same four-by-two loop; where rows are missing the last one is repeated;
- a sum of rows is accumulated strictly in the order of the rows, where a coefficient of zero changes nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.simulation.normals import Floating

Rows = NDArray[np.int64]

# The compiler may reorder the sum of one dot product into lanes; it always does so in the same way.
DOT = {"reassoc", "contract"}
SUM = {"contract"}


@jit(fastmath=DOT, nogil=True)
def dot4x2(a: Floating, b: Floating, c: Floating, d: Floating, w: Floating, v: Floating) -> tuple[Any, ...]:
    """Dot products of four rows with ``w``, then with ``v``."""
    zero = w.dtype.type(0)
    s0, s1, s2, s3 = zero, zero, zero, zero
    t0, t1, t2, t3 = zero, zero, zero, zero
    for j in range(w.size):
        x, y = w[j], v[j]
        s0 += a[j] * x
        s1 += b[j] * x
        s2 += c[j] * x
        s3 += d[j] * x
        t0 += a[j] * y
        t1 += b[j] * y
        t2 += c[j] * y
        t3 += d[j] * y
    return s0, s1, s2, s3, t0, t1, t2, t3


@jit(fastmath=SUM, nogil=True)
def sum4(a: Floating, b: Floating, c: Floating, d: Floating, p: Floating, out: Floating) -> None:
    """``out += p0 a + p1 b + p2 c + p3 d``, in this order."""
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    for j in range(out.size):
        x = out[j] + p0 * a[j]
        x += p1 * b[j]
        x += p2 * c[j]
        x += p3 * d[j]
        out[j] = x


@jit(fastmath=SUM, nogil=True)
def sum4x2(
    a: Floating, b: Floating, c: Floating, d: Floating, p: Floating, q: Floating, out: Floating, other: Floating
) -> None:
    """``out += p0 a + p1 b + p2 c + p3 d`` and the same for ``other`` with ``q``, in this order."""
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    for j in range(out.size):
        x = out[j] + p0 * a[j]
        y = other[j] + q0 * a[j]
        x += p1 * b[j]
        y += q1 * b[j]
        x += p2 * c[j]
        y += q2 * c[j]
        x += p3 * d[j]
        y += q3 * d[j]
        out[j] = x
        other[j] = y


@jit(nogil=True)
def dots2(A: Floating, rows: Rows, n: int, w: Floating, v: Floating, h: Floating, g: Floating) -> None:
    """``h[i] = A[rows[i]] . w`` and ``g[i] = A[rows[i]] . v`` for the first ``n`` rows."""
    for i in range(0, n, 4):
        j1, j2, j3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        s0, s1, s2, s3, t0, t1, t2, t3 = dot4x2(A[rows[i]], A[rows[j1]], A[rows[j2]], A[rows[j3]], w, v)
        h[j3], h[j2], h[j1], h[i] = s3, s2, s1, s0
        g[j3], g[j2], g[j1], g[i] = t3, t2, t1, t0


@jit(fastmath=SUM, nogil=True)
def _sum8(A: Floating, rows: Rows, p: Floating, out: Floating) -> None:
    """``out += p0 A[rows[0]] + ... + p7 A[rows[7]]``, in this order: eight rows for one pass over ``out``."""
    a, b, c, d, e, f, g, h = (
        A[rows[0]], A[rows[1]], A[rows[2]], A[rows[3]], A[rows[4]], A[rows[5]], A[rows[6]], A[rows[7]],
    )  # fmt: skip
    p0, p1, p2, p3, p4, p5, p6, p7 = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
    for j in range(out.size):
        x = out[j] + p0 * a[j]
        x += p1 * b[j]
        x += p2 * c[j]
        x += p3 * d[j]
        x += p4 * e[j]
        x += p5 * f[j]
        x += p6 * g[j]
        x += p7 * h[j]
        out[j] = x


@jit(fastmath=SUM, nogil=True)
def sums(A: Floating, rows: Rows, n: int, p: Floating, out: Floating) -> None:
    """``out += sum_i p[i] A[rows[i]]`` over the first ``n`` rows, in this order."""
    whole = n - n % 8
    for i in range(0, whole, 8):
        _sum8(A, rows[i:], p[i:], out)
    for i in range(whole, n):
        a, p0 = A[rows[i]], p[i]
        for j in range(out.size):
            out[j] += p0 * a[j]


@jit(fastmath=SUM, nogil=True)
def sums2(
    A: Floating, rows: Rows, n: int, start: int, p: Floating, q: Floating, out: Floating, other: Floating
) -> None:
    """``out += sum_i p[i] A[rows[i]]`` and ``other += sum_i q[i] A[rows[i]]``, each in the order of the rows.

    Of every row, the stretch from ``start`` on that is as long as ``out``.
    """
    whole, stop = n - n % 4, start + out.size
    for i in range(0, whole, 4):
        a, b = A[rows[i], start:stop], A[rows[i + 1], start:stop]
        c, d = A[rows[i + 2], start:stop], A[rows[i + 3], start:stop]
        sum4x2(a, b, c, d, p[i:], q[i:], out, other)
    for i in range(whole, n):
        a, p0, q0 = A[rows[i], start:stop], p[i], q[i]
        for j in range(out.size):
            out[j] += p0 * a[j]
            other[j] += q0 * a[j]


@jit(fastmath=DOT, nogil=True)
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


@jit(fastmath=DOT, nogil=True)
def gaps(X: Floating, Y: Floating, out: NDArray[np.float64]) -> None:
    """``out[i] = (X[2i] - X[2i+1]) . (Y[2i] - Y[2i+1])``: of two replicas that are neighbours."""
    for i in range(out.size):
        total = 0.0
        for j in range(X.shape[1]):
            x = np.float64(X[2 * i, j]) - np.float64(X[2 * i + 1, j])
            total += x * (np.float64(Y[2 * i, j]) - np.float64(Y[2 * i + 1, j]))
        out[i] = total
