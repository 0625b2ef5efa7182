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

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._lanes import STRIP_BYTES, Floating, aligned, lanes, padded
from sgdnoise.losses import squared_hinge
from sgdnoise.simulation.batches import Bits, Limits, advance
from sgdnoise.simulation.guard import RUNNING, Guard, judge
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.rows import Rows, gap, gaps, inner, inners, square_of_products, strip_of, sum_strip
from sgdnoise.simulation.sheet import Sheet, hinge_totals, take_turns, write
from sgdnoise.simulation.threefry import Keys

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]

BLOCK = 32  # rows of the data that are in the second-level cache while the Gram matrix is made


class SampleSpace:
    """Pre-activations of all columns on one data set; parameters and methods as in the feature space.

    Where ``fused``, and without waiting times, :meth:`go` itself writes down on its ``sheet`` what is due on the way.
    """

    sheet: Sheet

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
        guard.norm[:] = self.start_square / plan.features
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
        self.kappa = kind.type(plan.problem.margin)
        self.view = (self.signal, self.start_sum, samples, float(plan.problem.margin))

    def look(self, k: int) -> None:
        """Draw the batches of step ``k``, form ``K g``, and let the guard judge."""
        guard, problem = self.guard, self.problem
        alive, h = guard.alive(k), self.h[:, : self.samples]
        keys, limits, s, _ = self.sampling
        if self.fused:
            seen, verdict, rule = guard.seen, guard.verdict, guard.rule
            _look(k, self.gram, self.vectors, self.scratch, self.sampling, seen, verdict, rule, self.kappa)
        else:
            advance(keys, limits, k, alive, s)
            self.g[alive, : self.samples] = problem.loss.slope(h[alive], problem.margin) * s[alive]
            guard.loss[alive] = np.sum(problem.loss.value(h[alive], problem.margin), axis=1, dtype=np.float64)
            _gram_pass(k, self.gram, self.g, np.flatnonzero(alive), self.scratch, self.gram_g)
            _square_gradients(self.vectors, problem.ridge, self.features, alive, guard.norm, guard.square)
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
            _go(
                k,
                k + n,
                self.gram,
                self.vectors,
                self.scratch,
                self.sampling,
                guard.seen,
                guard.verdict,
                guard.rule,
                self.kappa,
                self.rates,
                self.view,
                self.sheet,
            )
            return
        for j in range(k, k + n):
            for c in np.flatnonzero(guard.alive(j)).tolist():
                _descend(c, self.vectors, self.rates[c], ridge, self.features, guard.norm)
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

    def write_down(self) -> None:
        """Write the runs whose turn it is on the sheet."""
        _write_down(self.vectors, self.guard.seen, self.guard.rule, self.view, self.sheet)

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
    _gram(A, features, aligned((1, lanes(A.dtype)), A.dtype), K)
    return K


@jit(nogil=True)
def _gram(A: Floating, features: int, zero: Floating, K: Floating) -> None:
    """Lower triangle by squares of four, copied to the upper one."""
    M, strip = A.shape[0], strip_of(A)
    P = np.empty((4, 4), A.dtype)
    for start in range(0, M, BLOCK):
        for left in range(0, min(start + BLOCK, M), 4):
            for top in range(max(start, left), min(start + BLOCK, M), 4):
                square_of_products(A, top, left, features, zero, P)
                for mu in range(top, min(top + 4, M)):
                    for nu in range(left, min(left + 4, M)):
                        x = P[mu - top, nu - left]
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
def _square_gradients(vectors: Any, ridge: float, features: int, alive: Mask, norm: Array, square: Array) -> None:
    r""":math:`|A^{\mathsf T} g + \lambda w|^2`, with :math:`|A^{\mathsf T} g|^2 = g\cdot K g` and
    :math:`w\cdot A^{\mathsf T}g = h\cdot g`.
    """
    _, H, _, G, KG, _, _ = vectors
    for c in range(alive.size):
        if alive[c]:
            square[c] = inner(G[c], KG[c])
            if ridge > 0:
                square[c] += ridge * (2 * inner(G[c], H[c]) + ridge * norm[c] * features)


@jit(nogil=True)
def _hinge_slopes(h: Floating, s: Bits, kappa: Any, g: Floating) -> float:
    r"""``g`` = :math:`s_\mu (h_\mu-\kappa)\theta(\kappa-h_\mu)` of one column; return the loss of the batch."""
    zero = h.dtype.type(0)
    for mu in range(s.size):
        slope = h[mu] - kappa
        g[mu] = slope if (slope < zero) & (s[mu] != 0) else zero
    return float(0.5 * inner(g, g))


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def _descend(c: int, vectors: Any, dt: float, ridge: float, features: int, norm: Array) -> None:
    """``h = shrink h - dt K g``, ``u = shrink u - dt g`` and ``p = shrink p`` of column ``c``; ``|w|^2/N`` after it."""
    p, H, U, G, KG, h0, start_square = vectors
    shrink, total = 1.0 - dt * ridge, 0.0
    p[c] *= shrink
    h, u, g, kg, start = H[c], U[c], G[c], KG[c], p[c]
    for mu in range(h.size):
        h[mu] = shrink * h[mu] - dt * kg[mu]
        u[mu] = shrink * u[mu] - dt * g[mu]
        total += np.float64(u[mu]) * (start * np.float64(h0[mu]) + np.float64(h[mu]))
    norm[c] = (start * start * start_square + total) / features


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
    for c in chosen[:n]:
        losses[c] = _hinge_slopes(vectors[1][c], s[c], kappa, vectors[3][c])
    _gram_pass(k, K, vectors[3], chosen[:n], scratch, vectors[4])
    _square_gradients(vectors, ridge, features, alive, norm, square)
    return judge(k, seen, verdict, rule)


@jit(nogil=True)
def _go(
    k: int,
    last: int,
    K: Floating,
    vectors: Any,
    scratch: Any,
    sampling: Any,
    seen: Any,
    verdict: Any,
    rule: Any,
    kappa: Any,
    rates: Array,
    view: Any,
    sheet: Sheet,
) -> None:
    """Descend from step ``k``, where ``K g`` is at hand, and look, until step ``last`` has been looked at.

    What is due before ``last`` is written down.
    """
    steps, _, _, _, ridge, features, _ = rule
    for j in range(k + 1, last + 1):
        for c in range(steps.size):
            if verdict[0][c] == RUNNING and j <= steps[c]:
                _descend(c, vectors, rates[c], ridge, features, seen[0])
        going = _look(j, K, vectors, scratch, sampling, seen, verdict, rule, kappa)
        if going == 0:
            break
        if j < last and take_turns(j, False, verdict[0], sheet):
            _write_down(vectors, seen, rule, view, sheet)


@jit(nogil=True)
def _write_down(vectors: Any, seen: Any, rule: Any, view: Any, sheet: Sheet) -> None:
    """Work out the observables of the runs whose turn it is, and write them on the sheet."""
    p, H, U, _, _, _, _ = vectors
    _, _, _, _, ridge, features, _ = rule
    signal, start_sum, samples, kappa = view
    values, replicas = sheet.values, sheet.values.shape[2]
    for i in range(sheet.due.size):
        if not sheet.turns[0, i]:
            continue
        for r in range(replicas):
            c = i * replicas + r
            values[0, i, r] = (p[c] * start_sum + inner(U[c], signal)) / features
            values[1, i, r] = seen[0][c]
            values[2, i, r] = values[3, i, r] = np.nan
            if sheet.turns[2, i]:
                loss, below = hinge_totals(H[c, :samples], kappa)
                values[2, i, r] = loss / features + 0.5 * ridge * seen[0][c]
                values[3, i, r] = below / samples
        if replicas == 2:
            values[4, i, :] = math.sqrt(max(gap(U, H, 2 * i), 0.0) / features)
    write(sheet)
