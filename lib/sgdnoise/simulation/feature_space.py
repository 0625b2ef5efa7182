r"""Training with the weights as the state: one pass over the data a step, shared by all columns.

A column is one run on the data set: an algorithm, a learning rate and a replica. A step needs
:math:`g = \sum_\mu s_\mu\,\ell'(h_\mu) A_\mu` with :math:`h_\mu = A_\mu\cdot w` (Eq. 2 of the paper). The data are
walked through in blocks of rows that fit the second-level cache. One strip of a block fits the first-level cache, where
every pair of columns takes the rows of its batches from it: first for the pre-activations, strip after strip, then for
the gradient, to which only the rows below the margin are added. The tangent vectors of the response ride along:

.. math:: \delta w \leftarrow (1 - dt\,\lambda)\,\delta w
          - dt\sum_\mu s_\mu\,\ell''(h_\mu)\,A_\mu\,(A_\mu\cdot\delta w).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._lanes import Floating, aligned, lane_sum, lanes, load_lanes, padded
from sgdnoise.losses import squared_hinge
from sgdnoise.simulation.batches import Bits, Limits, advance
from sgdnoise.simulation.guard import RUNNING, Guard, judge
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.rows import Rows, dot_strip, gaps, inner, inners, products, strip_of, sum_strip
from sgdnoise.simulation.threefry import Keys

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]

BLOCK = 32  # rows that are in the batch of some column, as many streams as a processor follows on its own


class FeatureSpace:
    """Weights, gradients and tangent vectors of all columns on one data set.

    Parameters
    ----------
    plan
        Problem and columns.
    A, start
        Data, (samples, pitch of the rows), and weights at time zero, (padded features,).
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
        columns, width, kind = len(plan.columns), padded(plan.features), A.dtype
        self.problem, self.features, self.guard = plan.problem, plan.features, guard
        self.A, self.rates = A, guard.rates
        self.batches = np.array([run.chain.batch for run in plan.columns])
        self.sampling = (*sampling, np.zeros((columns, A.shape[0]), np.uint8), plan.neighbours)
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
        even, vectors = columns + columns % 2, self.probes.shape[0]
        # Of a block: rows of every pair, their number, lane vectors of columns (then of tangent vectors), coefficients.
        self.scratch = (
            np.zeros((even // 2, BLOCK), np.int64),
            np.zeros(even // 2, np.int64),
            aligned((max(even, vectors), BLOCK, lanes(kind)), kind),
            aligned((even + vectors, BLOCK), kind),
        )
        self.kappa = kind.type(plan.problem.margin)
        self.fused = plan.problem.loss is squared_hinge

    def look(self, k: int) -> None:
        """Draw the batches of step ``k``, form the gradients, and let the guard judge."""
        alive, guard = self.guard.alive(k), self.guard
        if self.fused:
            seen, verdict, rule = guard.seen, guard.verdict, guard.rule
            _look(k, self.A, self.vectors, self.scratch, self.sampling, seen, verdict, rule, self.kappa)
        else:
            self._look_with_any_loss(k, alive)
        self._note_fresh(k)

    def go(self, k: int, n: int, look: bool) -> None:
        """Take the step from ``k`` that was looked at, then ``n - 1`` more; ``look`` at where that ends."""
        guard, ridge = self.guard, self.problem.ridge
        if self.fused and look:
            seen, verdict, rule, end = guard.seen, guard.verdict, guard.rule, k + n
            _go(k, end, self.rates, self.A, self.vectors, self.scratch, self.sampling, seen, verdict, rule, self.kappa)
            self._note_fresh(end)
            return
        for j in range(k, k + n):
            _descend(j, self.vectors, self.rates, ridge, guard.state, guard.steps)
            self.fresh[:] = False
            if j + 1 < k + n or look:
                self.look(j + 1)

    def _note_fresh(self, k: int) -> None:
        """Full batches of step ``k`` leave the pre-activations of every sample behind."""
        self.fresh = (self.guard.when == k) & (k < self.guard.steps) & (self.batches == 1.0) & self.fused

    def _look_with_any_loss(self, k: int, alive: Mask) -> None:
        """Do what :func:`_look` does, column by column, with the loss as elementwise functions."""
        keys, limits, s, _ = self.sampling
        guard, problem = self.guard, self.problem
        advance(keys, limits, k, alive, s)
        for c in np.flatnonzero(alive).tolist():
            guard.loss[c] = self._general_pass(c, np.flatnonzero(s[c]))
        _measure(self.weights, self.gradient, problem.ridge, self.features, alive, guard.norm, guard.square)
        judge(k, guard.seen, guard.verdict, guard.rule)

    def _general_pass(self, c: int, rows: Rows) -> float:
        """Do for any loss, in column ``c``, what :func:`_hinge_pass` does for the hinge; return the batch loss."""
        A, loss, margin, live = self.A, self.problem.loss, self.problem.margin, self.live[c]
        _, _, P, coefficients = self.scratch
        h = np.empty(rows.size, A.dtype)
        products(A, rows, rows.size, self.w, c, c, P, h, h)
        self.gradient[c] = 0
        _add_rows(A, rows, np.asarray(loss.slope(h, margin), dtype=A.dtype), self.gradient, c)
        self.tangent_gradient[c, :live] = 0
        curvature = np.asarray(loss.curvature(h, margin), dtype=A.dtype)
        _tangent_rows(A, rows, curvature, self.tangents[c], live, self.tangent_gradient[c], P, coefficients)
        return float(np.sum(loss.value(h, margin), dtype=np.float64))

    @property
    def known(self) -> Mask:
        """Columns of which ``h`` holds the pre-activations of all samples."""
        return self.fresh

    def weights_of(self, columns: Rows) -> Floating:
        """Return a copy of the weights of these columns, as they enter pre-activations."""
        return np.asarray(self.w[columns])

    def project(self, weights: Floating) -> Floating:
        """Pre-activations of all samples for any weights, (vectors, padded features): one pass over the data."""
        vectors, kind = weights.shape[0], self.A.dtype
        even = vectors + vectors % 2
        scratch = (
            np.zeros((even // 2, BLOCK), np.int64),
            np.zeros(even // 2, np.int64),
            aligned((even, BLOCK, lanes(kind)), kind),
            self.scratch[3],
        )
        H = np.empty((vectors, self.A.shape[0]), kind)
        _project(self.A, weights, scratch, H)
        return H

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


@jit(nogil=True)
def _add_rows(A: Floating, rows: Rows, p: Floating, G: Floating, c: int) -> None:
    """Add ``p[i] A[rows[i]]`` to ``G[c]``."""
    for j in range(0, G.shape[1], strip_of(A)):
        sum_strip(A, rows, rows.size, j, p, p, G, c, c, j)


@jit(nogil=True)
def _tangent_rows(
    A: Floating, rows: Rows, curvature: Floating, D: Floating, live: int, E: Floating, P: Floating, p: Floating
) -> None:
    """Add these rows' part of the Hessian times each of the first ``live`` tangent vectors, two at a time, to ``E``."""
    most, strip = P.shape[1], strip_of(A)
    for start in range(0, rows.size, most):
        chunk, n = rows[start:], min(most, rows.size - start)
        P[:live, :n] = 0
        for j in range(0, D.shape[1], strip):
            for t in range(0, live, 2):
                dot_strip(A, chunk, n, j, D, t, t + 1, P[t], P[t + 1])
        for t in range(live):
            for i in range(n):
                p[t, i] = curvature[start + i] * lane_sum(load_lanes(P[t], i))
        for j in range(0, D.shape[1], strip):
            for t in range(0, live, 2):
                sum_strip(A, chunk, n, j, p[t], p[t + 1], E, t, t + 1, j)


@jit(nogil=True)
def _hinge_slopes(
    rows: Rows, n: int, P: Floating, Q: Floating, s: Bits, r: Bits, kappa: Any, H: Floating, K: Floating,
    p: Floating, q: Floating, losses: Array, c: int, d: int,
) -> int:  # fmt: skip
    r"""Slopes :math:`s_\mu (h_\mu-\kappa)\theta(\kappa-h_\mu)` of two columns; keep the rows that push in either.

    Batches are ``s`` and ``r``; pre-activations are written to ``H`` and ``K``, slopes to ``p`` and ``q``, and their
    share of the losses of the columns ``c`` and ``d``. Return how many rows are kept.
    """
    zero = p.dtype.type(0)
    kept, first, second = 0, 0.0, 0.0
    for i in range(n):
        mu = rows[i]
        h, k = lane_sum(load_lanes(P, i)), lane_sum(load_lanes(Q, i))
        H[mu], K[mu] = h, k
        x = min(h - kappa, zero) if s[mu] else zero
        y = min(k - kappa, zero) if r[mu] else zero
        first += np.float64(x) * np.float64(x)
        second += np.float64(y) * np.float64(y)
        rows[kept], p[kept], q[kept] = mu, x, y
        kept += int((x < zero) | (y < zero))
    losses[c] += 0.5 * first
    if d != c:
        losses[d] += 0.5 * second
    return kept


@jit(nogil=True)
def _dot_block(A: Floating, W: Floating, order: Rows, scratch: Any) -> None:
    """Lane vectors of the products of every column with the rows of its pair."""
    rows, number, P, _ = scratch
    many = order.size
    for i in range((many + 1) // 2):
        P[2 * i : 2 * i + 2, : number[i]] = 0
    for j in range(0, W.shape[1], strip_of(A)):
        for i in range((many + 1) // 2):
            c, d = order[2 * i], order[min(2 * i + 1, many - 1)]
            dot_strip(A, rows[i], number[i], j, W, c, d, P[2 * i], P[2 * i + 1])


@jit(nogil=True)
def _hinge_pass(A: Floating, vectors: Any, scratch: Any, s: Bits, order: Rows, kappa: Any, losses: Array) -> None:
    r"""Gradients :math:`\sum_\mu s_\mu (h_\mu-\kappa)\theta(\kappa-h_\mu) A_\mu` of the squared hinge.

    Columns are taken as ``order`` says; two neighbours share the rows that are in the batch of either.
    """
    _, W, G, D, E, live, H = vectors
    rows, number, P, p = scratch
    many, strip = order.size, strip_of(A)
    pairs = (many + 1) // 2
    mine, ones = np.empty(BLOCK, np.int64), np.ones(BLOCK, A.dtype)
    for c in order:
        losses[c] = 0.0
        G[c] = 0
        E[c, : live[c]] = 0
    touched = _touched(s, order)
    for start in range(0, touched.size, BLOCK):
        for i in range(pairs):
            c, d = order[2 * i], order[min(2 * i + 1, many - 1)]
            n = 0
            for mu in touched[start : start + BLOCK]:
                rows[i, n] = mu
                n += s[c, mu] | s[d, mu]
            number[i] = n
        _dot_block(A, W, order, scratch)
        for i in range(pairs):
            c, d = order[2 * i], order[min(2 * i + 1, many - 1)]
            number[i] = _hinge_slopes(
                rows[i], number[i], P[2 * i], P[2 * i + 1], s[c], s[d], kappa, H[c], H[d],
                p[2 * i], p[2 * i + 1], losses, c, d,
            )  # fmt: skip
        for j in range(0, W.shape[1], strip):
            for i in range(pairs):
                c, d = order[2 * i], order[min(2 * i + 1, many - 1)]
                sum_strip(A, rows[i], number[i], j, p[2 * i], p[2 * i + 1], G, c, d, j)
        for i in range(many):
            if live[order[i]] > 0:
                n = 0
                for k in range(number[i // 2]):
                    mine[n] = rows[i // 2, k]
                    n += p[i, k] < 0
                c = order[i]
                _tangent_rows(A, mine[:n], ones, D[c], live[c], E[c], P, p[2 * rows.shape[0] :])


@jit(nogil=True)
def _touched(s: Bits, order: Rows) -> Rows:
    """Rows that are in the batch of some column."""
    some, rows, n = np.zeros(s.shape[1], np.uint8), np.empty(s.shape[1] + 1, np.int64), 0
    for c in order:
        some |= s[c]
    for mu in range(some.size):
        rows[n] = mu
        n += some[mu]
    return rows[:n]


@jit(nogil=True)
def _project(A: Floating, W: Floating, scratch: Any, H: Floating) -> None:
    """``H[c] = A W[c]``, block by block."""
    rows, number, P, _ = scratch
    everything, chosen = np.arange(A.shape[0]), np.arange(W.shape[0])
    for start in range(0, A.shape[0], BLOCK):
        block = everything[start : start + BLOCK]
        for i in range(number.size):
            rows[i, : block.size] = block
            number[i] = block.size
        _dot_block(A, W, chosen, scratch)
        for c in chosen:
            for k in range(block.size):
                H[c, start + k] = lane_sum(load_lanes(P[c], k))


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
    k: int,
    A: Floating,
    vectors: Any,
    scratch: Any,
    sampling: Any,
    seen: Any,
    verdict: Any,
    rule: Any,
    kappa: Any,
) -> int:
    """Batches, gradients and verdicts of step ``k``; return how many columns go on."""
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
        _hinge_pass(A, vectors, scratch, s, chosen[:n], kappa, losses)
    _measure(vectors[0], vectors[2], ridge, features, alive, norm, square)
    return judge(k, seen, verdict, rule)


@jit(nogil=True)
def _go(
    k: int,
    last: int,
    rates: Array,
    A: Floating,
    vectors: Any,
    scratch: Any,
    sampling: Any,
    seen: Any,
    verdict: Any,
    rule: Any,
    kappa: Any,
) -> None:
    """Descend from step ``k``, where gradients are at hand, and look, until step ``last`` has been looked at."""
    for j in range(k, last):
        _descend(j, vectors, rates, rule[4], verdict[0], rule[0])
        if _look(j + 1, A, vectors, scratch, sampling, seen, verdict, rule, kappa) == 0:
            break


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
