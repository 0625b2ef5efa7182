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
from sgdnoise._lanes import STRIP_BYTES, add_multiple, load, store
from sgdnoise._threads import share_out

Array = NDArray[np.float64]
Single = NDArray[np.float32]

#: Exact moments use up at most one in this many dimensions of the space of paths, so that the frame stays generic.
SHARE = 8

STRIP = STRIP_BYTES // 8  # numbers of a row that the products take at once
_BLOCK = 64  # rows that stay in cache while all columns are worked out; the order of sums depends on it


def draw_normals(paths: int, times: int, replicas: int, exact: bool, rng: np.random.Generator) -> tuple[Array, Single]:
    r"""Draw :math:`h_0`, shape (paths,), and white noises :math:`\xi`, shape (replicas, paths, times).

    With ``exact`` moments the earliest noises, as many as :data:`SHARE` allows, form an orthonormal frame with the
    constant and :math:`h_0`; the later ones have unit variance and are uncorrelated with those in the frame.

    The noises are in single precision: reading them again and again is what limits the speed of long runs.
    """
    X = rng.standard_normal((paths, 2 + times * replicas))
    if exact:
        X[:, 0] = 1.0
        X = orthogonalise(X, min(X.shape[1], max(2, paths // SHARE)))
    layers = X[:, 2:].reshape(paths, times, replicas).transpose(2, 0, 1)
    return X[:, 1].copy(), np.ascontiguousarray(layers, dtype=np.float32)


def orthogonalise(X: Array, frame: int) -> Array:
    r"""Make the first ``frame`` columns of ``X`` orthonormal in the mean over rows, the others orthogonal to them.

    With :math:`X=[X_1, X_2]`, :math:`X_1^TX_1/P=U^TU` and :math:`V=U^{-T}X_1^TX_2/P`, this is one product,
    :math:`X_1\leftarrow X_1U^{-1}` and :math:`X_2\leftarrow X_2-X_1U^{-1}V`, after which :math:`X_2` is rescaled.
    """
    paths, columns = X.shape
    wide = np.zeros((paths, -(-columns // STRIP) * STRIP))
    wide[:, :columns] = X
    pairs = -(-frame // 2)
    reduced = np.zeros((2 * pairs, wide.shape[1]))
    share_out(_products, pairs, wide, reduced)
    reduced = reduced[:frame] / paths
    _eliminate(reduced)
    factors = np.zeros_like(reduced)
    _substitute(reduced, factors)
    share_out(_combine, -(-paths // _BLOCK), wide, factors)
    for j in range(frame, columns):
        wide[:, j] /= math.sqrt(np.mean(wide[:, j] ** 2))
    return wide[:, :columns]


@jit(nogil=True)
def _products(first: int, every: int, pairs: int, X: Array, out: Array) -> None:
    r"""Add the upper triangle of :math:`X_1^TX` to zeros, two of its rows at a time, their strips in registers."""
    rows, columns = X.shape
    for top in range(0, rows, _BLOCK):
        bottom = min(top + _BLOCK, rows)
        for pair in range(first, pairs, every):
            i, j = 2 * pair, 2 * pair + 1
            for left in range(i // STRIP * STRIP, columns, STRIP):
                one, two = load(out, i, left), load(out, j, left)
                for p in range(top, bottom):
                    x = load(X, p, left)
                    one, two = add_multiple(one, X[p, i], x), add_multiple(two, X[p, j], x)
                store(out, i, left, one)
                store(out, j, left, two)


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


@jit(nogil=True)
def _combine(first: int, every: int, blocks: int, X: Array, B: Array) -> None:
    r"""Replace :math:`[X_1, X_2]` by :math:`X_1B+[0, X_2]`, two rows of a block at a time, strips in registers."""
    frame, columns = B.shape
    for block in range(first, blocks, every):
        top, bottom = block * _BLOCK, min((block + 1) * _BLOCK, X.shape[0])
        old = X[top:bottom, :frame].copy()
        X[top:bottom, :frame] = 0.0
        for left in range(0, columns, STRIP):
            filled = min(left + STRIP, frame)  # B is zero below its diagonal
            for p in range(0, bottom - top, 2):
                q = min(p + 1, bottom - top - 1)  # an odd row is its own partner
                one, two = load(X, top + p, left), load(X, top + q, left)
                for i in range(filled):
                    b = load(B, i, left)
                    one, two = add_multiple(one, old[p, i], b), add_multiple(two, old[q, i], b)
                store(X, top + p, left, one)
                store(X, top + q, left, two)
