r"""Standard normal numbers for a population of paths, plain or with exact second moments.

With exact moments, :math:`h_0` and the white noises behind the Gaussian fields are *exactly* uncorrelated over the
population, with mean zero and variance one. Together they are a uniformly random orthogonal frame, in which a path
alone is still standard normal, up to terms of order one over the number of paths. What is linear in the fields then
has no sampling error at all: with the square loss and gradient descent, the whole theory.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._threads import share_out

Array = NDArray[np.float64]
Single = NDArray[np.float32]

#: Exact moments use up at most one in this many dimensions of the space of paths, so that the frame stays generic.
SHARE = 8

_TILE = 32  # columns whose products are summed together; a tile is one task, whatever the number of threads
_LANES = 4  # rows taken at once, so that a sum is loaded and stored once for several products


def draw_normals(paths: int, times: int, replicas: int, exact: bool, rng: np.random.Generator) -> tuple[Array, Single]:
    r"""Draw :math:`h_0`, shape (paths,), and white noises :math:`\xi`, shape (replicas, paths, times).

    With ``exact`` moments the earliest noises, as many as :data:`SHARE` allows, form an orthonormal frame with the
    constant and :math:`h_0`; the later ones have unit variance and are uncorrelated with those in the frame.

    The noises are in single precision: reading them again and again is what limits the speed of long runs.
    """
    X = rng.standard_normal((paths, 2 + times * replicas))
    if exact:
        X[:, 0] = 1.0
        orthogonalise(X, min(X.shape[1], max(2, paths // SHARE)))
    layers = X[:, 2:].reshape(paths, times, replicas).transpose(2, 0, 1)
    return X[:, 1].copy(), np.ascontiguousarray(layers, dtype=np.float32)


def orthogonalise(X: Array, frame: int) -> None:
    r"""Make the first ``frame`` columns of ``X`` orthonormal in the mean over rows, the others orthogonal to them.

    With :math:`X=[X_1, X_2]`, :math:`X_1^TX_1/P=U^TU` and :math:`V=U^{-T}X_1^TX_2/P`, this is one product,
    :math:`X_1\leftarrow X_1U^{-1}` and :math:`X_2\leftarrow X_2-X_1U^{-1}V`, after which :math:`X_2` is rescaled.
    """
    reduced = np.zeros((frame, X.shape[1]))
    tiles = math.ceil(X.shape[1] / _TILE) * math.ceil(frame / _TILE)
    share_out(_products, tiles, X, reduced)
    _eliminate(reduced)
    factors = np.zeros_like(reduced)
    _substitute(reduced, factors)
    share_out(_combine, math.ceil(X.shape[0] / _TILE), X, factors)
    for j in range(frame, X.shape[1]):
        X[:, j] /= math.sqrt(np.mean(X[:, j] ** 2))


@jit(nogil=True, fastmath={"contract"})
def _products(first: int, every: int, tiles: int, X: Array, out: Array) -> None:
    r"""Write the upper triangle of :math:`X_1^TX/P`: tile by tile, rows always in the same order."""
    rows, columns = X.shape
    frame = out.shape[0]
    across = (columns + _TILE - 1) // _TILE
    for tile in range(first, tiles, every):
        top, left = tile // across * _TILE, tile % across * _TILE
        if left < top:
            continue
        high, wide = min(_TILE, frame - top), min(_TILE, columns - left)
        total = np.zeros((_TILE, _TILE))
        for p in range(0, rows - rows % _LANES, _LANES):
            for i in range(high):
                a, b, c, d = X[p, top + i], X[p + 1, top + i], X[p + 2, top + i], X[p + 3, top + i]
                for j in range(wide):
                    k = left + j
                    total[i, j] += a * X[p, k] + b * X[p + 1, k] + c * X[p + 2, k] + d * X[p + 3, k]
        for p in range(rows - rows % _LANES, rows):
            for i in range(high):
                for j in range(wide):
                    total[i, j] += X[p, top + i] * X[p, left + j]
        for i in range(high):
            for j in range(wide):
                out[top + i, left + j] = total[i, j] / rows


@jit(fastmath={"contract"})
def _eliminate(A: Array) -> None:
    r"""Turn :math:`[X_1^TX_1, X_1^TX_2]/P` into :math:`[U, V]` in place (Cholesky; the lower triangle is not read)."""
    frame, columns = A.shape
    for i in range(frame):
        pivot = math.sqrt(A[i, i])
        for j in range(i, columns):
            A[i, j] /= pivot
        for k in range(i + 1, frame):
            factor = A[i, k]
            for j in range(k, columns):
                A[k, j] -= factor * A[i, j]


@jit(fastmath={"contract"})
def _substitute(A: Array, B: Array) -> None:
    r"""From :math:`A=[U, V]` write :math:`B=U^{-1}[I,-V]`, upper trapezoidal, into zeros."""
    frame, columns = A.shape
    for i in range(frame - 1, -1, -1):
        B[i, i] = 1.0
        for j in range(frame, columns):
            B[i, j] = -A[i, j]
        for k in range(i + 1, frame):
            factor = A[i, k]
            for j in range(k, columns):
                B[i, j] -= factor * B[k, j]
        for j in range(i, columns):
            B[i, j] /= A[i, i]


@jit(nogil=True, fastmath={"contract"})
def _combine(first: int, every: int, blocks: int, X: Array, B: Array) -> None:
    r"""Replace :math:`[X_1, X_2]` by :math:`X_1B+[0, X_2]`, a block of rows after the other."""
    frame, columns = B.shape
    for block in range(first, blocks, every):
        top, bottom = block * _TILE, min((block + 1) * _TILE, X.shape[0])
        old = X[top:bottom, :frame].copy()
        X[top:bottom, :frame] = 0.0
        for i in range(0, frame - frame % _LANES, _LANES):
            for p in range(bottom - top):
                a, b, c, d = old[p, i], old[p, i + 1], old[p, i + 2], old[p, i + 3]
                for j in range(i, columns):
                    X[top + p, j] += a * B[i, j] + b * B[i + 1, j] + c * B[i + 2, j] + d * B[i + 3, j]
        for i in range(frame - frame % _LANES, frame):
            for p in range(bottom - top):
                for j in range(i, columns):
                    X[top + p, j] += old[p, i] * B[i, j]
