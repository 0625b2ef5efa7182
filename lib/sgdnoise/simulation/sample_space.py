r"""Training with the pre-activations as the state: cheap when there are no more samples than features.

The weights never leave :math:`w(t) = p(t)\,w_0 + A^{\mathsf T}u(t)`. With the Gram matrix :math:`K = A A^{\mathsf T}`
the update of Eq. 2 of the paper is, for :math:`g_\mu = s_\mu\,\ell'(h_\mu)`,

.. math:: h \leftarrow (1-dt\,\lambda)\,h - dt\,K g,\qquad u \leftarrow (1-dt\,\lambda)\,u - dt\,g,\qquad
          p \leftarrow (1-dt\,\lambda)\,p,

and every observable is a sum over samples, since :math:`K u = h - p\,h_0`:

.. math:: v\cdot w = p\,v\cdot w_0 + u\cdot Av,\quad w\cdot w' = p p'|w_0|^2 + p\,u'\cdot h_0 + u\cdot h',\quad
          |w_1-w_2|^2 = (u_1-u_2)\cdot(h_1-h_2).

A tangent vector is :math:`\delta w = p\,\xi + A^{\mathsf T}\delta u` with the same recursions.
"""

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.problem import Problem
from sgdnoise.simulation.batches import Bits
from sgdnoise.simulation.normals import Floating, aligned, padded
from sgdnoise.simulation.rows import dots2, inner, sums

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]

BLOCK_BYTES = 160 * 1024


class SampleSpace:
    """Pre-activations of all columns on one data set; parameters and methods as in the feature space."""

    def __init__(  # noqa: D107
        self, problem: Problem, A: Floating, features: int, start: Array, rates: Array, batches: Array, probes: Array
    ) -> None:
        columns, samples, kind = rates.size, A.shape[0], A.dtype
        self.loss, self.margin, self.ridge = problem.loss, problem.margin, problem.ridge
        self.features, self.samples, self.rates, self.batches = features, samples, rates, batches
        self.gram = gram_matrix(A)
        width = self.gram.shape[1]

        def column_arrays(*shape: int) -> Floating:
            return aligned((*shape, width), kind)

        directions = np.concatenate([start[None], probes.reshape(-1, A.shape[1])]).astype(kind)
        images = column_arrays(directions.shape[0])
        for direction, image in zip(directions, images, strict=True):
            _image(A, direction, image)
        self.h0, self.probe_images = images[0], images[1:]
        self.signal = np.zeros(width)
        self.signal[:samples] = A.sum(axis=1, dtype=np.float64)
        self.start_sum, self.start_square = float(start.sum()), inner(start, start)
        self.p = np.ones(columns)
        self.h, self.u = column_arrays(columns), column_arrays(columns)
        self.h[:] = self.h0
        self.g, self.gram_g = column_arrays(columns), column_arrays(columns)
        times, self.per_time = probes.shape[:2]
        total = times * self.per_time
        self.tangent_p = np.ones((columns, total))
        self.tangent_h, self.tangent_u = column_arrays(columns, total), column_arrays(columns, total)
        self.tangent_g, self.tangent_gram_g = column_arrays(columns, total), column_arrays(columns, total)
        self.live = np.zeros(columns, dtype=np.int64)
        self.mark_p = np.ones((columns, times))
        self.mark_h, self.mark_u = column_arrays(columns, times), column_arrays(columns, times)
        self.batch_loss = np.zeros(columns)
        self.square = np.zeros(columns)

    def pull(self, s: Bits, alive: Mask) -> None:
        """Form ``K g`` of the columns that are alive, with the loss of their batch and the squared gradient."""
        M = self.samples
        h = self.h[:, :M]
        self.g[alive, :M] = self.loss.slope(h[alive], self.margin) * s[alive]
        _gram_pass(self.gram, self.g, alive, self._height(), self.gram_g)
        full = alive & (self.batches == 1.0)
        if full.any():
            self.batch_loss[full] = np.sum(self.loss.value(h[full], self.margin), axis=1, dtype=np.float64)
        _squares(self.g, self.gram_g, alive, self.square)
        if self.ridge > 0:
            self._add_ridge_square(alive)
        for c in np.flatnonzero(alive & (self.live > 0)):
            n = self.live[c]
            self.tangent_g[c, :n, :M] = self.tangent_h[c, :n, :M] * (self.loss.curvature(h[c], self.margin) * s[c])
            _gram_pass(self.gram, self.tangent_g[c, :n], np.ones(n, bool), self._height(), self.tangent_gram_g[c, :n])

    def _add_ridge_square(self, alive: Mask) -> None:
        """Add the ridge to the squared gradient: ``|A^T g + ridge w|^2``."""
        norm = self.features * self.norm()
        for c in np.flatnonzero(alive):
            cross = inner(self.g[c], self.h[c])
            self.square[c] += self.ridge * (2 * cross + self.ridge * norm[c])

    def descend(self, moving: Mask) -> None:
        """Take the step of the columns that move."""
        shrink = 1.0 - self.rates * self.ridge
        _descend(self.h, self.u, self.g, self.gram_g, self.rates, shrink, moving)
        self.p[moving] *= shrink[moving]
        for c in np.flatnonzero(moving & (self.live > 0)):
            n = self.live[c]
            h, u = self.tangent_h[c, :n], self.tangent_u[c, :n]
            g, gram_g = self.tangent_g[c, :n], self.tangent_gram_g[c, :n]
            _descend(h, u, g, gram_g, np.full(n, self.rates[c]), np.full(n, shrink[c]), np.ones(n, bool))
            self.tangent_p[c, :n] *= shrink[c]

    def preactivations(self, wanted: Mask) -> Floating:  # noqa: ARG002
        """Pre-activations of all samples, (columns, samples)."""
        return self.h[:, : self.samples]

    def magnetization(self) -> Array:
        """Return ``v.w`` per feature of every column."""
        return np.array([p * self.start_sum + inner(u, self.signal) for p, u in zip(self.p, self.u, strict=True)]) / (
            self.features
        )

    def norm(self) -> Array:
        """Return ``|w|^2`` per feature of every column."""
        out = np.empty(self.p.size)
        _norms(self.p, self.u, self.h, self.h0, self.start_square, out)
        return out / self.features

    def square_distance(self, c: int, d: int) -> float:
        """Return ``|w_c - w_d|^2`` per feature."""
        return max(inner(self.u[c] - self.u[d], self.h[c] - self.h[d]), 0.0) / self.features

    def mark(self, c: int, i: int) -> None:
        """Remember the weights of column ``c`` as those at waiting time ``i``."""
        self.mark_p[c, i], self.mark_u[c, i], self.mark_h[c, i] = self.p[c], self.u[c], self.h[c]

    def overlap(self, c: int, i: int) -> float:
        """Return ``w(t).w(t_w)`` per feature."""
        constant = self.p[c] * (self.mark_p[c, i] * self.start_square + inner(self.mark_u[c, i], self.h0))
        return float(constant + inner(self.u[c], self.mark_h[c, i])) / self.features

    def kick(self, c: int, i: int) -> None:
        """Start the tangent vectors of waiting time ``i``: the weights were displaced along the probes."""
        part = slice(i * self.per_time, (i + 1) * self.per_time)
        self.tangent_h[c, part] = self.probe_images[part]
        self.live[c] = part.stop

    def response(self, c: int, i: int, probes: int) -> float:
        """Return the mean over the probes of (probe . tangent) per feature."""
        chosen = range(i * self.per_time, i * self.per_time + probes)
        total = sum(
            self.tangent_p[c, j] * self.features + inner(self.tangent_u[c, j], self.probe_images[j]) for j in chosen
        )
        return float(total) / (probes * self.features)

    def _height(self) -> int:
        return max(16, BLOCK_BYTES // self.gram.strides[0] // 4 * 4)


def gram_matrix(A: Floating) -> Floating:
    """Return ``A A^T`` with rows padded by zeros."""
    K = aligned((A.shape[0], padded(A.shape[0])), A.dtype)
    _gram(A, max(16, BLOCK_BYTES // A.strides[0] // 4 * 4), K)
    return K


@jit(nogil=True)
def _gram(A: Floating, height: int, K: Floating) -> None:
    """Lower triangle block by block, copied to the upper one."""
    M = A.shape[0]
    rows = np.empty(height, np.int64)
    p, q = np.empty(height, A.dtype), np.empty(height, A.dtype)
    for start in range(0, M, height):
        n = min(height, M - start)
        for i in range(n):
            rows[i] = start + i
        for c in range(0, start + n, 2):
            d = min(c + 1, M - 1)
            dots2(A, rows, n, A[c], A[d], p, q)
            for i in range(n):
                if start + i >= c:
                    K[start + i, c] = K[c, start + i] = p[i]
                if start + i >= d:
                    K[start + i, d] = K[d, start + i] = q[i]


@jit(nogil=True)
def _image(A: Floating, w: Floating, out: Floating) -> None:
    """``A w``."""
    for mu in range(A.shape[0]):
        out[mu] = inner(A[mu], w)


@jit(nogil=True)
def _gram_pass(K: Floating, G: Floating, alive: Mask, height: int, out: Floating) -> None:
    """``out[c] = K G[c]``, over the rows where ``G[c]`` is not zero, while a block of ``K`` is in the cache."""
    M = K.shape[0]
    rows, p = np.empty(height + 1, np.int64), np.empty(height + 1, K.dtype)
    for c in range(G.shape[0]):
        if alive[c]:
            out[c] = 0
    for start in range(0, M, height):
        stop = min(start + height, M)
        for c in range(G.shape[0]):
            if not alive[c]:
                continue
            n = 0
            for mu in range(start, stop):
                rows[n] = mu
                p[n] = G[c, mu]
                n += G[c, mu] != 0
            sums(K, rows, n, p, out[c])


@jit(nogil=True)
def _squares(G: Floating, KG: Floating, alive: Mask, out: Array) -> None:
    r"""Squared length of the data part of the gradient, :math:`|A^{\mathsf T} g|^2 = g\cdot K g`."""
    for c in range(G.shape[0]):
        if alive[c]:
            out[c] = inner(G[c], KG[c])


@jit(nogil=True)
def _norms(p: Array, U: Floating, H: Floating, h0: Floating, square: float, out: Array) -> None:
    r"""``|w|^2`` from :math:`p^2|w_0|^2 + p\,u\cdot h_0 + u\cdot h`."""
    for c in range(p.size):
        out[c] = p[c] * p[c] * square + p[c] * inner(U[c], h0) + inner(U[c], H[c])


@jit(fastmath={"contract"}, nogil=True)
def _descend(H: Floating, U: Floating, G: Floating, KG: Floating, rates: Array, shrink: Array, moving: Mask) -> None:
    """``h = shrink h - dt K g`` and ``u = shrink u - dt g``."""
    for c in range(H.shape[0]):
        if moving[c]:
            for mu in range(H.shape[1]):
                H[c, mu] = shrink[c] * H[c, mu] - rates[c] * KG[c, mu]
                U[c, mu] = shrink[c] * U[c, mu] - rates[c] * G[c, mu]
