r"""Training with the weights as the state: one pass over the data a step, shared by all columns.

A column is one run on the data set: an algorithm, a learning rate and a replica. A step needs
:math:`g = \sum_\mu s_\mu\,\ell'(h_\mu) A_\mu` with :math:`h_\mu = A_\mu\cdot w` (Eq. 2 of the paper). The data are
walked through in blocks that fit the second-level cache; while a block is there, every pair of columns takes its batch
rows by fours, forms their pre-activations and adds those that push to its gradient while they are in the first-level
cache. The tangent vectors of the response ride along:

.. math:: \delta w \leftarrow (1 - dt\,\lambda)\,\delta w
          - dt\sum_\mu s_\mu\,\ell''(h_\mu)\,A_\mu\,(A_\mu\cdot\delta w).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.losses import Loss, squared_hinge
from sgdnoise.simulation.batches import Bits, Limits, advance
from sgdnoise.simulation.guard import RUNNING, Guard, judge
from sgdnoise.simulation.normals import Floating, aligned
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.rows import Rows, dot4x2, dots2, gaps, inner, inners, sum4, sum4x2, sums, sums2
from sgdnoise.simulation.threefry import Keys

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]

BLOCK_BYTES = 160 * 1024  # of data; weights and gradients of the columns need the rest of the cache
STRETCH = 512  # features of a row, while tangent vectors are multiplied


class FeatureSpace:
    """Weights, gradients and tangent vectors of all columns on one data set.

    Parameters
    ----------
    plan
        Problem and columns.
    A, start
        Data, (samples, padded features), and weights at time zero, (padded features,).
    sampling
        Keys and thresholds of the batches of every column.
    guard
        Is told norm, gradient and loss at every step, and decides which columns go on.
    probes
        Random signs, (waiting times, probes, padded features), with an even number of probes (the last may be zero).
    """

    def __init__(
        self, plan: Plan, A: Floating, start: Array, sampling: tuple[Keys, Limits], guard: Guard, probes: Array
    ) -> None:
        columns, width, kind = len(plan.columns), A.shape[1], A.dtype
        self.problem, self.features, self.guard = plan.problem, plan.features, guard
        self.A, self.rates = A, guard.rates
        self.batches = np.array([run.chain.batch for run in plan.columns])
        # Replicas draw different batches, runs of one replica from the same numbers: neighbours have much in common.
        order = np.lexsort((self.batches, np.arange(columns) % plan.replicas))
        self.sampling = (*sampling, np.zeros((columns, A.shape[0]), np.uint8), order)
        self.weights = np.tile(start, (columns, 1))
        self.w = aligned((columns, width), kind)
        self.w[:] = self.weights
        self.gradient = aligned((columns, width), kind)
        self.h = aligned((columns, A.shape[0]), kind)
        self.fresh = np.zeros(columns, dtype=bool)
        self.probes = probes.reshape(-1, width)
        self.per_time = probes.shape[1]
        self.tangents = aligned((columns, self.probes.shape[0], width), kind)
        self.tangent_gradient = aligned(self.tangents.shape, kind)
        self.live = np.zeros(columns, dtype=np.int64)
        self.marks = np.zeros((columns, probes.shape[0], width))
        self.vectors = (self.weights, self.w, self.gradient, self.tangents, self.tangent_gradient, self.live, self.h)
        self.fused = plan.problem.loss is squared_hinge

    def look(self, k: int) -> None:
        """Draw the batches of step ``k``, form the gradients, and let the guard judge."""
        alive, guard = self.guard.alive(k), self.guard
        if self.fused:
            kappa, height = self.A.dtype.type(self.problem.margin), self._height(self._touched(alive))
            _look(k, self.A, self.vectors, self.sampling, guard.seen, guard.verdict, guard.rule, kappa, height)
        else:
            self._look_with_any_loss(k, alive)
        self.fresh = alive & (self.batches == 1.0) & self.fused

    def go(self, k: int, n: int) -> None:
        """Take the step from ``k`` that was looked at, then ``n - 1`` more."""
        guard, ridge = self.guard, self.problem.ridge
        self.fresh[:] = False
        if self.fused:
            kappa, height = self.A.dtype.type(self.problem.margin), self._height(self._touched(guard.alive(k)))
            seen, verdict, rule = guard.seen, guard.verdict, guard.rule
            _go(k, n, self.rates, self.A, self.vectors, self.sampling, seen, verdict, rule, kappa, height)
            return
        for j in range(k, k + n):
            if j > k:
                self.look(j)
            _descend(j, self.vectors, self.rates, ridge, guard.state, guard.steps)

    def _look_with_any_loss(self, k: int, alive: Mask) -> None:
        """Do what :func:`_look` does, column by column, with the loss as elementwise functions."""
        keys, limits, s, _ = self.sampling
        guard, problem = self.guard, self.problem
        advance(keys, limits, k, alive, s)
        for c in np.flatnonzero(alive):
            guard.loss[c] = _general_pass(
                self.A,
                self.w[c],
                self.gradient[c],
                self.tangents[c],
                self.tangent_gradient[c],
                self.live[c],
                np.flatnonzero(s[c]),
                problem.loss,
                problem.margin,
            )
        _measure(self.weights, self.gradient, problem.ridge, self.features, alive, guard.norm, guard.square)
        judge(k, guard.seen, guard.verdict, guard.rule)

    def preactivations(self, wanted: Mask) -> Floating:
        """Pre-activations of all samples, (columns, samples); rows that are not wanted hold anything."""
        _project(self.A, self.w, np.flatnonzero(wanted & ~self.fresh), self._height(1.0), self.h)
        return self.h

    def magnetization(self) -> Array:
        """Return ``v.w`` per feature of every column."""
        out = np.empty(self.weights.shape[0])
        inners(self.weights, np.ones(self.weights.shape[1]), out)
        return out / self.features

    def square_distances(self) -> Array:
        """Return ``|w_c - w_d|^2`` per feature of every two neighbouring columns ``c, d``."""
        out = np.empty(self.weights.shape[0] // 2)
        gaps(self.weights, self.weights, out)
        return out / self.features

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

    def _touched(self, alive: Mask) -> float:
        """Part of the rows that are in the batch of some column."""
        return 1.0 - float(np.prod(1.0 - self.batches[alive]))

    def _height(self, touched: float) -> int:
        """Rows in a block, such that the part of them that is touched fits :data:`BLOCK_BYTES`."""
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
    dots2(A, rows, rows.size, w, w, h, h)
    gradient[:] = 0
    sums(A, rows, rows.size, np.asarray(loss.slope(h, margin), dtype=A.dtype), gradient)
    if live:
        tangent_gradient[:live] = 0
        curvature = np.asarray(loss.curvature(h, margin), dtype=A.dtype)
        _tangent_rows(A, rows, rows.size, curvature, tangents, live, tangent_gradient)
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
) -> None:
    """Add these rows' part of the Hessian times each tangent vector, two vectors at a time.

    Features are taken in stretches, so that four rows and all tangent vectors stay in the first-level cache.
    """
    width = A.shape[1]
    P = np.zeros((live, n + 4), A.dtype)
    for start in range(0, width, STRETCH):
        stop = min(start + STRETCH, width)
        for i in range(0, n, 4):
            j1, j2, j3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
            x0, x1, x2, x3 = (
                A[rows[i], start:stop], A[rows[j1], start:stop], A[rows[j2], start:stop], A[rows[j3], start:stop],
            )  # fmt: skip
            for t in range(0, live, 2):
                s0, s1, s2, s3, t0, t1, t2, t3 = dot4x2(x0, x1, x2, x3, D[t, start:stop], D[t + 1, start:stop])
                p, q = P[t], P[t + 1]
                p[i], p[i + 1], p[i + 2], p[i + 3] = p[i] + s0, p[i + 1] + s1, p[i + 2] + s2, p[i + 3] + s3
                q[i], q[i + 1], q[i + 2], q[i + 3] = q[i] + t0, q[i + 1] + t1, q[i + 2] + t2, q[i + 3] + t3
    for t in range(live):
        for i in range(n):
            P[t, i] *= curvature[i]
    for start in range(0, width, STRETCH):
        stop = min(start + STRETCH, width)
        for t in range(0, live, 2):
            sums2(A, rows, n, start, P[t], P[t + 1], out[t, start:stop], out[t + 1, start:stop])


@jit(nogil=True)
def _slopes(h: tuple[Any, ...], first: int, s: Bits, rows: Rows, kappa: Any, many: int, p: Floating) -> float:
    r"""Slopes :math:`s_\mu (h_\mu-\kappa)\theta(\kappa-h_\mu)` of four rows (``many`` count), and their loss."""
    zero = p.dtype.type(0)
    h0, h1, h2, h3 = (h[0], h[1], h[2], h[3]) if first == 0 else (h[4], h[5], h[6], h[7])
    p[0] = min(h0 - kappa, zero) if s[rows[0]] else zero
    p[1] = min(h1 - kappa, zero) if s[rows[1]] and many > 1 else zero
    p[2] = min(h2 - kappa, zero) if s[rows[2]] and many > 2 else zero
    p[3] = min(h3 - kappa, zero) if s[rows[3]] and many > 3 else zero
    loss = 0.0
    for i in range(4):
        loss += 0.5 * np.float64(p[i]) * np.float64(p[i])
    return loss


@jit(nogil=True)
def _store(h: tuple[Any, ...], first: int, rows: Rows, H: Floating) -> None:
    """Keep four pre-activations; a row that fills up the last four is written twice."""
    h0, h1, h2, h3 = (h[0], h[1], h[2], h[3]) if first == 0 else (h[4], h[5], h[6], h[7])
    H[rows[0]], H[rows[1]], H[rows[2]], H[rows[3]] = h0, h1, h2, h3


@jit(nogil=True)
def _keep(p: Floating, rows: Rows, active: Rows, n: int) -> int:
    """Append the rows that push to ``active``; return how many there are then."""
    for i in range(4):
        active[n] = rows[i]
        n += p[i] != 0
    return n


@jit(nogil=True)
def _any(p: Floating) -> bool:
    return bool(p[0] != 0 or p[1] != 0 or p[2] != 0 or p[3] != 0)


@jit(nogil=True)
def _hinge_pass(
    A: Floating,
    W: Floating,
    G: Floating,
    D: Floating,
    E: Floating,
    live: NDArray[np.int64],
    s: Bits,
    order: Rows,
    kappa: Any,
    height: int,
    H: Floating,
    losses: Array,
) -> None:
    r"""Gradients :math:`\sum_\mu s_\mu (h_\mu-\kappa)\theta(\kappa-h_\mu) A_\mu` of the squared hinge.

    ``G`` and ``E`` receive the gradients and the tangents' gradients, ``H`` the pre-activations of the batch rows.
    Columns are taken as ``order`` says; two neighbours share the rows that are in the batch of either.
    """
    samples, many = s.shape[1], order.size
    half = (many + 1) // 2
    # A pair's rows of a block are taken by fours; what is left over waits for the next block.
    rows, left = np.empty((half, height + 8), np.int64), np.zeros(half, np.int64)
    active, number = np.empty((2, height + 8), np.int64), np.zeros(2, np.int64)
    p, q = np.empty(4, A.dtype), np.empty(4, A.dtype)
    ones = np.ones(height + 8, A.dtype)
    for i in range(many):
        c = order[i]
        losses[c] = 0.0
        G[c] = 0
        E[c, : live[c]] = 0
    for start in range(0, samples, height):
        stop = min(start + height, samples)
        for pair in range(half):
            c, d = order[2 * pair], order[min(2 * pair + 1, many - 1)]
            r, n = rows[pair], left[pair]
            for mu in range(start, stop):
                r[n] = mu
                n += s[c, mu] | s[d, mu]
            whole = n - n % 4
            if stop == samples and n > whole:
                r[n : whole + 4] = r[n - 1]
                whole += 4
            number[:] = 0
            for i in range(0, whole, 4):
                x0, x1, x2, x3 = A[r[i]], A[r[i + 1]], A[r[i + 2]], A[r[i + 3]]
                h = dot4x2(x0, x1, x2, x3, W[c], W[d])
                losses[c] += _slopes(h, 0, s[c], r[i:], kappa, n - i, p)
                _store(h, 0, r[i:], H[c])
                if live[c] > 0:
                    number[0] = _keep(p, r[i:], active[0], number[0])
                if d == c:
                    sum4(x0, x1, x2, x3, p, G[c])
                    continue
                losses[d] += _slopes(h, 4, s[d], r[i:], kappa, n - i, q)
                _store(h, 4, r[i:], H[d])
                if live[d] > 0:
                    number[1] = _keep(q, r[i:], active[1], number[1])
                if _any(p) and _any(q):
                    sum4x2(x0, x1, x2, x3, p, q, G[c], G[d])
                elif _any(p):
                    sum4(x0, x1, x2, x3, p, G[c])
                elif _any(q):
                    sum4(x0, x1, x2, x3, q, G[d])
            left[pair] = max(n - whole, 0)
            for i in range(left[pair]):
                r[i] = r[whole + i]
            if live[c] > 0:
                _tangent_rows(A, active[0], number[0], ones, D[c], live[c], E[c])
            if d != c and live[d] > 0:
                _tangent_rows(A, active[1], number[1], ones, D[d], live[d], E[d])


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
def _measure(weights: Array, G: Floating, ridge: float, features: int, alive: Mask, norm: Array, square: Array) -> None:
    r""":math:`|w|^2/N` of all columns, and :math:`|g + \lambda w|^2` of those that have a gradient."""
    for c in range(weights.shape[0]):
        q, total = 0.0, 0.0
        for j in range(weights.shape[1]):
            q += weights[c, j] * weights[c, j]
        norm[c] = q / features
        if alive[c]:
            for j in range(weights.shape[1]):
                total += (G[c, j] + ridge * weights[c, j]) ** 2
            square[c] = total


@jit(nogil=True)
def _look(
    k: int, A: Floating, vectors: Any, sampling: Any, seen: Any, verdict: Any, rule: Any, kappa: Any, height: int
) -> int:
    """Batches, gradients and verdicts of step ``k``; return how many columns go on."""
    weights, W, G, D, E, live, H = vectors
    keys, limits, s, order = sampling
    norm, square, losses = seen
    steps, _, _, _, ridge, features, _ = rule
    alive, chosen, n = np.zeros(order.size, np.bool_), np.empty(order.size, np.int64), 0
    for i in range(order.size):
        c = order[i]
        if verdict[0][c] == RUNNING and k < steps[c]:
            alive[c] = True
            chosen[n] = c
            n += 1
    advance(keys, limits, k, alive, s)
    if n > 0:
        _hinge_pass(A, W, G, D, E, live, s, chosen[:n], kappa, height, H, losses)
    _measure(weights, G, ridge, features, alive, norm, square)
    return judge(k, seen, verdict, rule)


@jit(nogil=True)
def _go(
    k: int,
    n: int,
    rates: Array,
    A: Floating,
    vectors: Any,
    sampling: Any,
    seen: Any,
    verdict: Any,
    rule: Any,
    kappa: Any,
    height: int,
) -> None:
    """Descend from step ``k``, where gradients are at hand; then look and descend ``n - 1`` times."""
    _descend(k, vectors, rates, rule[4], verdict[0], rule[0])
    for j in range(k + 1, k + n):
        if _look(j, A, vectors, sampling, seen, verdict, rule, kappa, height) == 0:
            break
        _descend(j, vectors, rates, rule[4], verdict[0], rule[0])


@jit(fastmath={"contract"}, nogil=True)
def _descend(
    k: int, vectors: Any, rates: Array, ridge: float, state: NDArray[np.int64], steps: NDArray[np.int64]
) -> None:
    """``w -= dt (g + ridge w)`` in double precision, and the same for tangent vectors, of the running columns."""
    weights, W, G, D, E, live, _ = vectors
    for c in range(weights.shape[0]):
        if state[c] == RUNNING and k < steps[c]:
            dt = rates[c]
            shrink = 1.0 - dt * ridge
            for j in range(weights.shape[1]):
                weights[c, j] = shrink * weights[c, j] - dt * G[c, j]
                W[c, j] = weights[c, j]
            for t in range(live[c]):
                for j in range(weights.shape[1]):
                    D[c, t, j] = shrink * D[c, t, j] - dt * E[c, t, j]
