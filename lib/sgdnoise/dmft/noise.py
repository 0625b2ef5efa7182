r"""Standard normal numbers for a population of paths, plain or with exact second moments.

With exact moments, :math:`h_0` and the white noises behind the Gaussian fields are *exactly* uncorrelated over the
population, with mean zero and variance one. Together they form a uniformly random orthogonal frame, in which a single
path is still standard normal, up to terms of order one over the number of paths. What is linear in the fields then has
no sampling error; with the square loss and gradient descent this is the whole theory.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._threads import Share, share_out
from sgdnoise.random.normals import fill_normal
from sgdnoise.random.threefry import stream_key
from sgdnoise.vectors.lanes import STRIP_BYTES, add_multiple, load, pitch, store

Array = NDArray[np.float64]
Single = NDArray[np.float32]

#: Exact moments use up at most one in this many dimensions of the space of paths, so that the frame stays generic.
SHARE = 8

STRIP = STRIP_BYTES // 8  # numbers of a row that the products take at once
AT_ONCE = 10**9  # multiplications of one compiled call: nothing can interrupt it
_BLOCK = 64  # rows that stay in cache while all columns are worked out; the order of sums depends on it


def draw_normals(
    paths: int, times: int, replicas: int, exact: bool, seed: np.random.SeedSequence
) -> tuple[Array, Single]:
    r"""Draw :math:`h_0`, shape (paths,), and white noises :math:`\xi`, shape (replicas, paths, times).

    With ``exact`` moments the earliest noises, as many as :data:`SHARE` allows, form an orthonormal frame with the
    constant and :math:`h_0`; the later ones have unit variance and are uncorrelated with those in the frame.

    The noises are in single precision, because reading them repeatedly limits the speed of long runs.
    """
    columns = 2 + times * replicas
    X = np.zeros((paths, pitch(columns, np.float64)))
    fill_normal(stream_key(seed), columns, X)
    if exact:
        X[:, 0] = 1.0
        orthogonalise(X, columns, min(columns, max(2, paths // SHARE)))
    layers = X[:, 2:columns].reshape(paths, times, replicas).transpose(2, 0, 1)
    return X[:, 1].copy(), np.ascontiguousarray(layers, dtype=np.float32)


def orthogonalise(X: Array, columns: int, frame: int) -> None:
    r"""Make the first ``frame`` columns of ``X`` orthonormal in the mean over rows, the others orthogonal to them.

    From ``columns`` on all columns must be zeros, as many as a whole number of strips needs.

    With :math:`X=[X_1, X_2]`, :math:`X_1^TX_1/n=U^TU` and :math:`V=U^{-T}X_1^TX_2/n` for n paths, this is one product,
    :math:`X_1\leftarrow X_1U^{-1}` and :math:`X_2\leftarrow X_2-X_1U^{-1}V`, after which :math:`X_2` is rescaled.
    """
    paths, width = X.shape
    quads = -(-frame // 4)
    reduced = np.zeros((4 * quads, width))
    rows = max(1, AT_ONCE // (_BLOCK * frame * width)) * _BLOCK
    pieces = [X[top : top + rows] for top in range(0, paths, rows)]
    for piece in pieces:
        share_out(_products, quads, piece, reduced)
    reduced = reduced[:frame] / paths
    _eliminate(reduced)
    factors = np.zeros_like(reduced)
    _substitute(reduced, factors)
    for piece in pieces:
        share_out(_combine, -(-len(piece) // _BLOCK), piece, factors)
    for j in range(frame, columns):
        X[:, j] /= math.sqrt(np.mean(X[:, j] ** 2))


@jit(nogil=True)
def _products(share: Share, X: Array, out: Array) -> None:
    r"""Add the upper triangle of :math:`X_1^TX` to zeros, four of its rows at a time, their strips in registers."""
    rows, columns = X.shape
    for top in range(0, rows, _BLOCK):
        bottom = min(top + _BLOCK, rows)
        for quad in range(share.first, share.parts, share.every):
            i = 4 * quad
            for left in range(i // STRIP * STRIP, columns, STRIP):
                a, b, c, d = load(out, i, left), load(out, i + 1, left), load(out, i + 2, left), load(out, i + 3, left)
                for p in range(top, bottom):
                    x = load(X, p, left)
                    a, b = add_multiple(a, X[p, i], x), add_multiple(b, X[p, i + 1], x)
                    c, d = add_multiple(c, X[p, i + 2], x), add_multiple(d, X[p, i + 3], x)
                store(out, i, left, a)
                store(out, i + 1, left, b)
                store(out, i + 2, left, c)
                store(out, i + 3, left, d)


@jit()
def _eliminate(reduced: Array) -> None:
    r"""Turn :math:`[X_1^TX_1, X_1^TX_2]/n` into :math:`[U, V]` in place (Cholesky; the lower triangle is not read)."""
    frame, columns = reduced.shape
    for k in range(frame):
        for left in range(k // STRIP * STRIP, columns, STRIP):
            row = load(reduced, k, left)
            for i in range(k):
                row = add_multiple(row, -reduced[i, k], load(reduced, i, left))
            store(reduced, k, left, row)
        pivot = math.sqrt(reduced[k, k])
        for j in range(k, columns):
            reduced[k, j] /= pivot


@jit()
def _substitute(reduced: Array, factors: Array) -> None:
    r"""From :math:`[U, V]` write :math:`U^{-1}[I,-V]`, upper trapezoidal, into zeros."""
    frame, columns = reduced.shape
    for i in range(frame - 1, -1, -1):
        factors[i, i] = 1.0
        for j in range(frame, columns):
            factors[i, j] = -reduced[i, j]
        for left in range(i // STRIP * STRIP, columns, STRIP):
            row = load(factors, i, left)
            for k in range(i + 1, min(left + STRIP, frame)):  # zero below its diagonal
                row = add_multiple(row, -reduced[i, k], load(factors, k, left))
            store(factors, i, left, row)
        for j in range(i, columns):
            factors[i, j] /= reduced[i, i]


@jit(allocates=True, nogil=True)
def _combine(share: Share, X: Array, factors: Array) -> None:
    r"""Replace :math:`[X_1, X_2]` by :math:`X_1F+[0, X_2]`, with the factors F.

    Four rows of a block are taken at a time, their strips in registers.
    """
    frame, columns = factors.shape
    for block in range(share.first, share.parts, share.every):
        top = block * _BLOCK
        rows = min(_BLOCK, X.shape[0] - top)
        old, new = X[top : top + rows, :frame].copy(), X[top : top + rows]
        new[:, :frame] = 0.0
        for left in range(0, columns, STRIP):
            filled = min(left + STRIP, frame)  # zero below its diagonal
            for p in range(0, rows, 4):
                p1, p2, p3 = min(p + 1, rows - 1), min(p + 2, rows - 1), min(p + 3, rows - 1)  # the last may come again
                a, b, c, d = load(new, p, left), load(new, p1, left), load(new, p2, left), load(new, p3, left)
                for i in range(filled):
                    x = load(factors, i, left)
                    a, b = add_multiple(a, old[p, i], x), add_multiple(b, old[p1, i], x)
                    c, d = add_multiple(c, old[p2, i], x), add_multiple(d, old[p3, i], x)
                store(new, p, left, a)
                store(new, p1, left, b)
                store(new, p2, left, c)
                store(new, p3, left, d)
