r"""Training with the weights as the state: one pass over the data a step, shared by all columns.

A column is one run on the data set: an algorithm, a learning rate and a replica. A step needs
:math:`g = \sum_\mu s_\mu\,\ell'(h_\mu) A_\mu` with :math:`h_\mu = A_\mu\cdot w` (Eq. 2 of the paper). The data are
walked through in blocks that fit the second-level cache; while a block is there, every column takes its batch rows,
forms their pre-activations and adds those that push to its gradient. The tangent vectors of the response ride along:

.. math:: \delta w \leftarrow (1 - dt\,\lambda)\,\delta w
          - dt\sum_\mu s_\mu\,\ell''(h_\mu)\,A_\mu\,(A_\mu\cdot\delta w).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.losses import Loss, squared_hinge
from sgdnoise.problem import Problem
from sgdnoise.simulation.batches import Bits
from sgdnoise.simulation.normals import Floating, aligned
from sgdnoise.simulation.rows import Rows, dots, dots2, inner, sums, sums2

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]

BLOCK_BYTES = 160 * 1024  # of data; weights and gradients of the columns need the rest of the cache
DENSE_BATCH = 0.55  # above this batch fraction two columns share each row, below each gathers its own


class FeatureSpace:
    """Weights, gradients and tangent vectors of all columns on one data set.

    Parameters
    ----------
    problem
        Loss, margin and ridge.
    A, features
        Data, (samples, padded features), and how many features are not padding.
    start
        Weights at time zero, (padded features,).
    rates, batches
        Learning rate and batch fraction of every column.
    probes
        Random signs, (waiting times, probes, padded features), with an even number of probes (the last may be zero).
    """

    def __init__(  # noqa: D107
        self, problem: Problem, A: Floating, features: int, start: Array, rates: Array, batches: Array, probes: Array
    ) -> None:
        columns, width, kind = rates.size, A.shape[1], A.dtype
        self.loss, self.margin, self.ridge = problem.loss, problem.margin, problem.ridge
        self.A, self.features, self.rates, self.batches = A, features, rates, batches
        self.dense = batches > DENSE_BATCH
        self.weights = np.tile(start, (columns, 1))
        self.w = aligned((columns, width), kind)
        self.w[:] = self.weights
        self.gradient = aligned((columns, width), kind)
        self.h = aligned((columns, A.shape[0]), kind)
        self.fresh = np.zeros(columns, dtype=bool)
        self.probes = probes.reshape(-1, width)
        self.per_time = probes.shape[1]
        self.tangents = aligned((columns, self.probes.shape[0], width), kind)
        self.tangent_gradient = np.zeros_like(self.tangents)
        self.live = np.zeros(columns, dtype=np.int64)
        self.marks = np.zeros((columns, probes.shape[0], width))
        self.batch_loss = np.zeros(columns)
        self.square = np.zeros(columns)

    def pull(self, s: Bits, alive: Mask) -> None:
        """Form the gradients of the columns that are alive, with the loss of their batch and their squared length."""
        margin = self.A.dtype.type(self.margin)
        w, g, d, e, live = self.w, self.gradient, self.tangents, self.tangent_gradient, self.live
        if self.loss is squared_hinge:
            height = self._height(alive)
            _hinge_pass(self.A, w, g, d, e, live, s, alive, self.dense, margin, height, self.h, self.batch_loss)
            self.fresh = alive & self.dense
        else:
            for c in np.flatnonzero(alive):
                rows = np.flatnonzero(s[c])
                self.batch_loss[c] = _general_pass(
                    self.A, w[c], g[c], d[c], e[c], live[c], rows, self.loss, self.margin
                )
        _squares(self.weights, self.gradient, self.ridge, alive, self.square)

    def descend(self, moving: Mask) -> None:
        """Take the step of the columns that move."""
        arrays = (self.weights, self.w, self.gradient, self.tangents, self.tangent_gradient, self.live)
        _descend(*arrays, self.rates, self.ridge, moving)
        self.fresh &= ~moving

    def preactivations(self, wanted: Mask) -> Floating:
        """Pre-activations of all samples, (columns, samples); rows that are not wanted hold anything."""
        _project(self.A, self.w, np.flatnonzero(wanted & ~self.fresh), self._height(wanted, touched=1.0), self.h)
        return self.h

    def magnetization(self) -> Array:
        """Return ``v.w`` per feature of every column."""
        ones = np.ones(self.weights.shape[1])
        return np.array([inner(w, ones) for w in self.weights]) / self.features

    def norm(self) -> Array:
        """Return ``|w|^2`` per feature of every column."""
        return np.array([inner(w, w) for w in self.weights]) / self.features

    def square_distance(self, c: int, d: int) -> float:
        """Return ``|w_c - w_d|^2`` per feature."""
        gap = self.weights[c] - self.weights[d]
        return inner(gap, gap) / self.features

    def mark(self, c: int, i: int) -> None:
        """Remember the weights of column ``c`` as those at waiting time ``i``."""
        self.marks[c, i] = self.weights[c]

    def overlap(self, c: int, i: int) -> float:
        """Return ``w(t).w(t_w)`` per feature."""
        return inner(self.weights[c], self.marks[c, i]) / self.features

    def kick(self, c: int, i: int) -> None:
        """Start the tangent vectors of waiting time ``i``: the weights were displaced along the probes."""
        part = slice(i * self.per_time, (i + 1) * self.per_time)
        self.tangents[c, part] = self.probes[part]
        self.live[c] = part.stop

    def response(self, c: int, i: int, probes: int) -> float:
        """Return the mean over the probes of (probe . tangent) per feature."""
        first = i * self.per_time
        total = sum(inner(self.tangents[c, j], self.probes[j]) for j in range(first, first + probes))
        return total / (probes * self.features)

    def _height(self, alive: Mask, touched: float | None = None) -> int:
        """Rows in a block, such that those that any column touches fit :data:`BLOCK_BYTES`."""
        if touched is None:
            touched = 1.0 if (alive & self.dense).any() else 1.0 - float(np.prod(1.0 - self.batches[alive]))
        rows = BLOCK_BYTES / (self.A.strides[0] * max(touched, 0.02))
        return max(16, int(rows) // 4 * 4)


def _general_pass(
    A: Floating,
    w: Floating,
    gradient: Floating,
    tangents: Floating,
    tangent_gradient: Floating,
    live: int,
    rows: Rows,
    loss: Loss,
    margin: float,
) -> float:
    """Do for any loss, in one column, what :func:`_hinge_pass` does for the squared hinge; return the batch loss."""
    h = np.empty(rows.size, A.dtype)
    dots(A, rows, rows.size, w, h)
    gradient[:] = 0
    sums(A, rows, rows.size, np.asarray(loss.slope(h, margin), dtype=A.dtype), gradient)
    if live:
        tangent_gradient[:live] = 0
        curvature = np.asarray(loss.curvature(h, margin), dtype=A.dtype)
        buffers = np.empty_like(h), np.empty_like(h)
        _tangent_rows(A, rows, rows.size, curvature, tangents, live, tangent_gradient, *buffers)
    return float(np.sum(loss.value(h, margin), dtype=np.float64))


@jit(nogil=True)
def _tangent_rows(
    A: Floating,
    rows: Rows,
    n: int,
    curvature: Floating,
    D: Floating,
    live: int,
    out: Floating,
    p: Floating,
    q: Floating,
) -> None:
    """Add these rows' part of the Hessian times each tangent vector, two vectors at a time."""
    for t in range(0, live, 2):
        dots2(A, rows, n, D[t], D[t + 1], p, q)
        for i in range(n):
            p[i] *= curvature[i]
            q[i] *= curvature[i]
        sums2(A, rows, n, p, q, out[t], out[t + 1])


@jit(nogil=True)
def _push(rows: Rows, n: int, h: Floating, kappa: Any, active: Rows, p: Floating) -> tuple[int, float]:
    """Collect the rows inside the margin with their slope; return their number and their loss."""
    k, loss = 0, 0.0
    for i in range(n):
        slope = h[i] - kappa
        active[k] = rows[i]
        p[k] = slope
        if slope < 0:
            k += 1
            loss += 0.5 * np.float64(slope) * np.float64(slope)
    return k, loss


@jit(nogil=True)
def _masked_push(h: Floating, s: Bits, kappa: Any, p: Floating, copy: Floating) -> float:
    """Slopes of the batch rows inside the margin, zero elsewhere, and a copy of ``h``; return their loss."""
    loss = 0.0
    for i in range(h.size):
        copy[i] = h[i]
        slope = h[i] - kappa if s[i] else p.dtype.type(0)
        p[i] = slope if slope < 0 else p.dtype.type(0)
        loss += 0.5 * np.float64(p[i]) * np.float64(p[i])
    return loss


@jit(nogil=True)
def _compress(start: int, n: int, p: Floating, q: Floating, active: Rows) -> int:
    """Keep the rows where ``p`` or ``q`` is not zero; return their number."""
    k = 0
    for i in range(n):
        p[k], q[k], active[k] = p[i], q[i], start + i
        if p[i] != 0 or q[i] != 0:
            k += 1
    return k


@jit(nogil=True)
def _hinge_pass(
    A: Floating,
    W: Floating,
    G: Floating,
    D: Floating,
    E: Floating,
    live: NDArray[np.int64],
    s: Bits,
    alive: Mask,
    dense: Mask,
    kappa: Any,
    height: int,
    H: Floating,
    losses: Array,
) -> None:
    r"""Gradients of the squared hinge, :math:`\sum_\mu s_\mu (h_\mu-\kappa)\theta(\kappa-h_\mu) A_\mu`, of all columns.

    ``G`` and ``E`` receive the gradients and the tangents' gradients, ``H`` the pre-activations of dense columns.
    """
    columns, samples = s.shape
    rows, active = np.empty(height + 4, np.int64), np.empty(height + 4, np.int64)
    h, p = np.empty(height + 4, A.dtype), np.empty(height + 4, A.dtype)
    g, q = np.empty(height + 4, A.dtype), np.empty(height + 4, A.dtype)
    ones = np.ones(height + 4, A.dtype)
    # A column's rows of a block are taken by fours; what is left over waits for the next block.
    left, waiting = np.zeros(columns, np.int64), np.empty((columns, 4), np.int64)
    pairs, many = np.empty(columns, np.int64), 0
    for c in range(columns):
        if alive[c]:
            losses[c] = 0.0
            G[c] = 0
            E[c, : live[c]] = 0
            pairs[many] = c
            many += dense[c]
    for start in range(0, samples, height):
        stop = min(start + height, samples)
        for c in range(columns):
            if not alive[c] or dense[c]:
                continue
            n = left[c]
            for i in range(n):
                rows[i] = waiting[c, i]
            for mu in range(start, stop):
                rows[n] = mu
                n += s[c, mu]
            left[c] = n % 4 if stop < samples else 0
            n -= left[c]
            for i in range(left[c]):
                waiting[c, i] = rows[n + i]
            dots(A, rows, n, W[c], h)
            k, loss = _push(rows, n, h, kappa, active, p)
            losses[c] += loss
            sums(A, active, k, p, G[c])
            _tangent_rows(A, active, k, ones, D[c], live[c], E[c], p, q)
        n = stop - start
        for i in range(n):
            rows[i] = start + i
        for j in range(0, many, 2):
            c, d = pairs[j], pairs[min(j + 1, many - 1)]
            dots2(A, rows, n, W[c], W[d], h, g)
            losses[c] += _masked_push(h[:n], s[c, start:stop], kappa, p, H[c, start:stop])
            if d == c:
                k = _compress(start, n, p, p, active)
                sums(A, active, k, p, G[c])
            else:
                losses[d] += _masked_push(g[:n], s[d, start:stop], kappa, q, H[d, start:stop])
                k = _compress(start, n, p, q, active)
                sums2(A, active, k, p, q, G[c], G[d])
        for j in range(many):
            c = pairs[j]
            if live[c] > 0:
                _masked_push(H[c, start:stop], s[c, start:stop], kappa, p, h)
                k = _compress(start, n, p, p, active)
                _tangent_rows(A, active, k, ones, D[c], live[c], E[c], p, q)


@jit(nogil=True)
def _project(A: Floating, W: Floating, chosen: Rows, height: int, H: Floating) -> None:
    """``H[c] = A W[c]`` for the chosen columns, two at a time, block by block."""
    rows = np.empty(height, np.int64)
    for start in range(0, A.shape[0], height):
        n = min(height, A.shape[0] - start)
        for i in range(n):
            rows[i] = start + i
        for j in range(0, chosen.size, 2):
            c, d = chosen[j], chosen[min(j + 1, chosen.size - 1)]
            dots2(A, rows, n, W[c], W[d], H[c, start:], H[d, start:])


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def _squares(weights: Array, G: Floating, ridge: float, alive: Mask, out: Array) -> None:
    r"""Squared length of the full gradient, :math:`|g + \lambda w|^2`."""
    for c in range(weights.shape[0]):
        if alive[c]:
            total = 0.0
            for j in range(weights.shape[1]):
                total += (G[c, j] + ridge * weights[c, j]) ** 2
            out[c] = total


@jit(fastmath={"contract"}, nogil=True)
def _descend(
    weights: Array,
    W: Floating,
    G: Floating,
    D: Floating,
    E: Floating,
    live: NDArray[np.int64],
    rates: Array,
    ridge: float,
    moving: Mask,
) -> None:
    r"""``w -= dt (g + ridge w)`` in double precision, and the same for the tangent vectors."""
    for c in range(weights.shape[0]):
        if moving[c]:
            dt = rates[c]
            shrink = 1.0 - dt * ridge
            for j in range(weights.shape[1]):
                weights[c, j] = shrink * weights[c, j] - dt * G[c, j]
                W[c, j] = weights[c, j]
            for t in range(live[c]):
                for j in range(weights.shape[1]):
                    D[c, t, j] = shrink * D[c, t, j] - dt * E[c, t, j]
