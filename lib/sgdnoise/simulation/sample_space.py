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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._lanes import STRIP_BYTES, Floating, aligned, lane_sum, lanes, load_lanes, padded
from sgdnoise.losses import squared_hinge
from sgdnoise.simulation.batches import Bits, Limits, advance
from sgdnoise.simulation.guard import RUNNING, Guard, judge
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.rows import Rows, dot_strip, gaps, inner, inners, strip_of, sum_strip
from sgdnoise.simulation.threefry import Keys

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]

BLOCK, SLICE = 32, 8  # rows and columns of the Gram matrix that are made at once


class SampleSpace:
    """Pre-activations of all columns on one data set; parameters and methods as in the feature space."""

    def __init__(
        self, plan: Plan, A: Floating, start: Array, sampling: tuple[Keys, Limits], guard: Guard, probes: Array
    ) -> None:
        columns, samples, kind = len(plan.columns), A.shape[0], A.dtype
        self.problem, self.features, self.samples, self.guard = plan.problem, plan.features, samples, guard
        self.rates = guard.rates
        self.sampling = (*sampling, np.zeros((columns, samples), np.uint8), plan.neighbours)
        self.gram = gram_matrix(A, plan.features)
        width = padded(samples)

        def column_arrays(*shape: int) -> Floating:
            return aligned((*shape, width), kind)

        directions = np.concatenate([start[None], probes.reshape(-1, start.size)]).astype(kind)
        images = column_arrays(directions.shape[0])
        for direction, image in zip(directions, images, strict=True):
            _image(A, direction, image)
        self.h0, self.probe_images = images[0], images[1:]
        self.signal = np.zeros(width)
        self.signal[:samples] = A.sum(axis=1, dtype=np.float64)
        self.start_sum, self.start_square = float(start.sum()), inner(start, start)
        self.p = np.ones(columns)
        self.known = np.ones(columns, dtype=bool)  # h always holds the pre-activations of all samples
        self.h, self.u = column_arrays(columns), column_arrays(columns)
        self.h[:] = self.h0
        self.g, self.gram_g = column_arrays(columns), column_arrays(columns)
        times, self.per_time = probes.shape[:2]
        total = times * self.per_time
        self.tangent_p = np.ones((columns, total))
        self.tangent_h, self.tangent_u = column_arrays(columns, total), column_arrays(columns, total)
        self.tangent_g, self.tangent_gram_g = column_arrays(columns, total), column_arrays(columns, total)
        self.tangent_scratch = (
            np.zeros((total // 2, samples), np.int64),
            np.zeros(total // 2, np.int64),
            column_arrays(total),
        )
        self.live = np.zeros(columns, dtype=np.int64)
        self.mark_p = np.ones((columns, times))
        self.mark_h, self.mark_u = column_arrays(columns, times), column_arrays(columns, times)
        self.vectors = (self.p, self.h, self.u, self.g, self.gram_g, self.h0, self.start_square)
        even = columns + columns % 2
        # Of the rows that push: for every pair which and how many, for every column their coefficients.
        self.scratch = np.zeros((even // 2, samples), np.int64), np.zeros(even // 2, np.int64), column_arrays(even)
        self.fused = plan.problem.loss is squared_hinge

    def look(self, k: int) -> None:
        """Draw the batches of step ``k``, form ``K g``, and let the guard judge."""
        guard, problem = self.guard, self.problem
        alive, h = guard.alive(k), self.h[:, : self.samples]
        keys, limits, s, _ = self.sampling
        if self.fused:
            kappa = self.gram.dtype.type(problem.margin)
            seen, verdict, rule = guard.seen, guard.verdict, guard.rule
            _look(k, self.gram, self.vectors, self.scratch, self.sampling, seen, verdict, rule, kappa)
        else:
            advance(keys, limits, k, alive, s)
            self.g[alive, : self.samples] = problem.loss.slope(h[alive], problem.margin) * s[alive]
            guard.loss[alive] = np.sum(problem.loss.value(h[alive], problem.margin), axis=1, dtype=np.float64)
            _gram_pass(k, self.gram, self.g, np.flatnonzero(alive), self.scratch, self.gram_g)
            _measure(self.vectors, problem.ridge, self.features, guard.state, alive, guard.norm, guard.square)
            judge(k, guard.seen, guard.verdict, guard.rule)
        if not self.live.any():
            return
        for c in np.flatnonzero(alive & (self.live > 0)):
            n = self.live[c]
            curvature = problem.loss.curvature(h[c], problem.margin) * s[c]
            self.tangent_g[c, :n, : self.samples] = self.tangent_h[c, :n, : self.samples] * curvature
            _gram_pass(k, self.gram, self.tangent_g[c], np.arange(n), self.tangent_scratch, self.tangent_gram_g[c])

    def go(self, k: int, n: int, look: bool) -> None:
        """Take the step from ``k`` that was looked at, then ``n - 1`` more; ``look`` at where that ends."""
        guard, ridge = self.guard, self.problem.ridge
        if self.fused and look:
            kappa = self.gram.dtype.type(self.problem.margin)
            seen, verdict, rule = guard.seen, guard.verdict, guard.rule
            _go(k, k + n, self.rates, self.gram, self.vectors, self.scratch, self.sampling, seen, verdict, rule, kappa)
            return
        for j in range(k, k + n):
            _descend(j, self.vectors, self.rates, ridge, guard.state, guard.steps)
            for c in np.flatnonzero(guard.alive(j) & (self.live > 0)).tolist():
                self._descend_tangents(c)
            if j + 1 < k + n or look:
                self.look(j + 1)

    def _descend_tangents(self, c: int) -> None:
        live = slice(0, self.live[c])
        dt = self.rates[c]
        shrink = 1.0 - dt * self.problem.ridge
        self.tangent_h[c, live] = shrink * self.tangent_h[c, live] - dt * self.tangent_gram_g[c, live]
        self.tangent_u[c, live] = shrink * self.tangent_u[c, live] - dt * self.tangent_g[c, live]
        self.tangent_p[c, live] *= shrink

    def magnetization(self) -> Array:
        """Return ``v.w`` per feature of every column."""
        out = np.empty(self.p.size)
        inners(self.u, self.signal, out)
        return (self.p * self.start_sum + out) / self.features

    def square_distances(self) -> Array:
        """Return ``|w_c - w_d|^2`` per feature of every two neighbouring columns ``c, d``."""
        out = np.empty(self.p.size // 2)
        gaps(self.u, self.h, out)
        return np.maximum(out, 0.0) / self.features

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


def gram_matrix(A: Floating, features: int) -> Floating:
    """Return ``A A^T`` by strips, (strips, samples, length of a strip), with zeros where the last is not full."""
    samples, strip = A.shape[0], STRIP_BYTES // A.itemsize
    K = aligned((padded(samples) // strip, samples, strip), A.dtype)
    _gram(A, features, aligned((SLICE, BLOCK, lanes(A.dtype)), A.dtype), K)
    return K


@jit(nogil=True)
def _gram(A: Floating, features: int, P: Floating, K: Floating) -> None:
    """Lower triangle block by block, copied to the upper one."""
    M, strip = A.shape[0], strip_of(A)
    rows = np.arange(M)
    for start in range(0, M, BLOCK):
        n = min(BLOCK, M - start)
        for left in range(0, start + n, SLICE):
            width = min(SLICE, M - left)
            P[:] = 0
            for j in range(0, features, strip):
                for c in range(0, width, 2):
                    d = min(c + 1, width - 1)
                    dot_strip(A, rows[start:], n, j, A, left + c, left + d, P[c], P[c + 1])
            for c in range(width):
                for i in range(n):
                    x, mu, nu = lane_sum(load_lanes(P[c], i)), start + i, left + c
                    K[mu // strip, nu, mu % strip] = K[nu // strip, mu, nu % strip] = x


@jit(nogil=True)
def _image(A: Floating, w: Floating, out: Floating) -> None:
    """``A w``."""
    for mu in range(A.shape[0]):
        out[mu] = inner(w, A[mu])


@jit(nogil=True)
def _gram_pass(k: int, K: Floating, G: Floating, chosen: Rows, scratch: Any, out: Floating) -> None:
    """``out[c] = K G[c]`` for the chosen columns, two at a time, over the rows where ``G`` of either is not zero.

    All columns take a strip of ``K`` while it is in the cache. At odd steps ``k`` the strips are taken from the last to
    the first: those of the step before that are still in the cache come first.
    """
    rows, number, p = scratch
    many = chosen.size
    pairs = (many + 1) // 2
    for i in range(pairs):
        c, d = chosen[2 * i], chosen[min(2 * i + 1, many - 1)]
        out[c] = 0
        out[d] = 0
        n = 0
        for mu in range(K.shape[1]):
            x, y = G[c, mu], G[d, mu]
            rows[i, n], p[2 * i, n], p[2 * i + 1, n] = mu, x, y
            n += (x != 0) | (y != 0)
        number[i] = n
    for turn in range(K.shape[0]):
        j = K.shape[0] - 1 - turn if k % 2 else turn
        for i in range(pairs):
            c, d = chosen[2 * i], chosen[min(2 * i + 1, many - 1)]
            sum_strip(K[j], rows[i], number[i], 0, p[2 * i], p[2 * i + 1], out, c, d, j * K.shape[2])


@jit(nogil=True)
def _measure(
    vectors: Any, ridge: float, features: int, state: NDArray[np.int64], alive: Mask, norm: Array, square: Array
) -> None:
    r""":math:`|w|^2/N` of the running columns and :math:`|A^{\mathsf T} g + \lambda w|^2` of those with a gradient.

    With :math:`|A^{\mathsf T} g|^2 = g\cdot K g` and :math:`w\cdot A^{\mathsf T}g = h\cdot g`.
    """
    p, H, U, G, KG, h0, start_square = vectors
    for c in range(p.size):
        if state[c] != RUNNING:
            continue
        total = p[c] * p[c] * start_square + p[c] * inner(U[c], h0) + inner(U[c], H[c])
        norm[c] = total / features
        if alive[c]:
            square[c] = inner(G[c], KG[c])
            if ridge > 0:
                square[c] += ridge * (2 * inner(G[c], H[c]) + ridge * total)


@jit(nogil=True)
def _hinge_slopes(H: Floating, s: Bits, kappa: Any, alive: Mask, G: Floating, losses: Array) -> None:
    r"""``G`` = :math:`s_\mu (h_\mu-\kappa)\theta(\kappa-h_\mu)`, and the loss of the batch."""
    zero = H.dtype.type(0)
    for c in range(s.shape[0]):
        if alive[c]:
            for mu in range(s.shape[1]):
                slope = H[c, mu] - kappa
                G[c, mu] = slope if (slope < zero) & (s[c, mu] != 0) else zero
            losses[c] = 0.5 * inner(G[c], G[c])


@jit(nogil=True)
def _look(
    k: int, K: Floating, vectors: Any, scratch: Any, sampling: Any, seen: Any, verdict: Any, rule: Any, kappa: Any
) -> int:
    """Batches, ``K g`` and verdicts of step ``k``; return how many columns go on."""
    keys, limits, s, order = sampling
    norm, square, losses = seen
    steps, _, _, _, ridge, features, _ = rule
    alive, chosen, n = np.zeros(order.size, np.bool_), np.empty(order.size, np.int64), 0
    for c in order:
        if verdict[0][c] == RUNNING and k < steps[c]:
            alive[c] = True
            chosen[n] = c
            n += 1
    advance(keys, limits, k, alive, s)
    _hinge_slopes(vectors[1], s, kappa, alive, vectors[3], losses)
    _gram_pass(k, K, vectors[3], chosen[:n], scratch, vectors[4])
    _measure(vectors, ridge, features, verdict[0], alive, norm, square)
    return judge(k, seen, verdict, rule)


@jit(nogil=True)
def _go(
    k: int,
    last: int,
    rates: Array,
    K: Floating,
    vectors: Any,
    scratch: Any,
    sampling: Any,
    seen: Any,
    verdict: Any,
    rule: Any,
    kappa: Any,
) -> None:
    """Descend from step ``k``, where ``K g`` is at hand, and look, until step ``last`` has been looked at."""
    for j in range(k, last):
        _descend(j, vectors, rates, rule[4], verdict[0], rule[0])
        if _look(j + 1, K, vectors, scratch, sampling, seen, verdict, rule, kappa) == 0:
            break


@jit(fastmath={"contract"}, nogil=True)
def _descend(
    k: int, vectors: Any, rates: Array, ridge: float, state: NDArray[np.int64], steps: NDArray[np.int64]
) -> None:
    """``h = shrink h - dt K g``, ``u = shrink u - dt g`` and ``p = shrink p`` where columns are running."""
    p, H, U, G, KG, _, _ = vectors
    for c in range(p.size):
        if state[c] == RUNNING and k < steps[c]:
            dt = rates[c]
            shrink = 1.0 - dt * ridge
            for mu in range(H.shape[1]):
                H[c, mu] = shrink * H[c, mu] - dt * KG[c, mu]
                U[c, mu] = shrink * U[c, mu] - dt * G[c, mu]
            p[c] *= shrink
