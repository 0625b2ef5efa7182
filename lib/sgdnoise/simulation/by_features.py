r"""Training with the weights as coordinates: one pass over the data a step, shared by all columns.

A step needs :math:`g = \sum_\mu s_\mu\,\ell'(h_\mu) A_\mu` with :math:`h_\mu = A_\mu\cdot w` (Eq. 2 of the paper). The
data are walked through in blocks of rows that fit the second-level cache. One strip of a block fits the first-level
cache, where every pair of columns takes the rows of its batches from it: first for the pre-activations, strip after
strip, then for the gradient, to which only the rows with :math:`\ell'\ne0` are added. The tangent vectors of the
response ride along:

.. math:: g \leftarrow \sum_\mu s_\mu\,\ell''(h_\mu)\,A_\mu\,(A_\mu\cdot\delta w) .
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.algorithms import Update
from sgdnoise.parts import part
from sgdnoise.simulation.plan import TOGETHER, Plan
from sgdnoise.simulation.record import Log, write_loss
from sgdnoise.simulation.state import (
    Flags,
    Numbers,
    Objective,
    Rows,
    Start,
    Tangents,
    Vectors,
    clear_row,
    copy_row,
    descend,
    total_loss,
)
from sgdnoise.vectors.lanes import Floating, aligned, lane_sum, lanes, load_lanes, padded
from sgdnoise.vectors.rows import dot_strip, strip_of, sum_strip

BLOCK = 32  # rows that are in the batch of some column; a processor prefetches about this many streams


class Block(NamedTuple):
    """Memory for one block of rows."""

    rows: Rows  # rows that each pair of columns needs, and last those of tangent vectors, (pairs + 1, BLOCK)
    number: Rows  # how many of them
    products: Floating  # lane vectors of their products with each column, or tangent vector, (vectors, BLOCK, lanes)
    coefficients: Floating  # slopes of columns, products of tangent vectors, and last curvatures, (vectors + 1, BLOCK)
    some: NDArray[np.uint8]  # whether a row is in the batch of some column, (samples,)
    touched: Rows  # the rows that are, (samples + 1,)


class Later(NamedTuple):
    """Losses to be worked out in one pass over the data, for several columns and recorded steps."""

    waiting: Rows  # how many do, one number
    order: Rows  # their numbers, 0, 1, ...
    weights: Floating  # (waiting, padded features)
    h: Floating  # memory for their pre-activations, (waiting, rows of the data)
    place: Rows  # run, replica and recorded step of each, (waiting, 3)


@part
class FeatureSpace(NamedTuple):
    """The data, and what is needed to form gradients from them."""

    A: Floating  # samples, and last those of a test set, (rows, pitch of the rows)
    objective: Objective
    vectors: Vectors
    w: Floating  # weights in the precision of the data, (columns, padded features)
    h: Floating  # pre-activations of the samples in the batch, (columns, samples)
    known: Flags  # columns of which h holds the present pre-activations of all samples
    full: Flags  # columns with full batches
    block: Block
    later: Later

    def gradients(self, step: int, chosen: Rows, weight: Floating, tangents: Tangents | None) -> None:  # noqa: ARG002
        """Gradients of the chosen columns and of their tangent vectors."""
        A, block, many, strip = self.A, self.block, chosen.size, strip_of(self.A)
        gradient = self.vectors.x_gradient
        for c in chosen:
            clear_row(gradient, c)
            self.known[c] = self.full[c]
            if tangents is not None:
                first = c * tangents.x_probes.shape[0]
                for t in range(first, first + tangents.live[c]):
                    clear_row(tangents.vectors.x_gradient, t)
        touched = _touch(weight, chosen, block)
        for start in range(0, touched, BLOCK):
            for i in range((many + 1) // 2):
                _choose_rows(start, min(start + BLOCK, touched), _pair(chosen, i), weight, i, block)
            _multiply_block(A, self.w, chosen, block)
            for i in range((many + 1) // 2):
                _slopes_of_pair(i, chosen, self.objective, weight, self.h, block)
            for j in range(0, self.w.shape[1], strip):
                for i in range((many + 1) // 2):
                    first, second = block.coefficients[2 * i], block.coefficients[2 * i + 1]
                    sum_strip(A, block.rows[i, : block.number[i]], j, first, second, gradient, _pair(chosen, i), j)
            if tangents is not None:
                for i in range(many):
                    if tangents.live[chosen[i]] > 0:
                        n = _curvatures(i, self.objective, weight[chosen[i]], self.h[chosen[i]], block)
                        _add_hessian(A, chosen[i], n, tangents, block)

    def loss(self, c: int) -> float:
        """Loss of all samples, without ridge, of a column with full batches."""
        return total_loss(self.h[c], self.objective)

    def descend(self, c: int, update: Update, tangents: Tangents | None) -> None:
        """Take a step of column ``c`` and of its tangent vectors."""
        mine = self.vectors
        descend(mine.x[c], mine.x_velocity[c], mine.x_gradient[c], update)
        copy_row(mine.x, c, self.w, c)
        self.known[c] = False
        if tangents is not None:
            first, moved = c * tangents.x_probes.shape[0], tangents.vectors
            for t in range(first, first + tangents.live[c]):
                descend(moved.x[t], moved.x_velocity[t], moved.x_gradient[t], update)

    def record_loss(self, c: int, i: int, replica: int, at: int, log: Log) -> None:
        """Record the loss of a column now if all its pre-activations are known, else later with others."""
        if self.known[c] and self.h.shape[1] == self.A.shape[0]:
            write_loss(self.h[c], self.objective, i, replica, at, log)
            return
        later = self.later
        n = later.waiting[0]
        copy_row(self.w, c, later.weights, n)
        later.place[n, 0], later.place[n, 1], later.place[n, 2] = i, replica, at
        later.waiting[0] = n + 1
        if n + 1 == later.weights.shape[0]:
            _record_pending(self.A, self.objective, self.block, later, log)

    def record_pending(self, log: Log) -> None:
        """Record the pending losses."""
        if self.later.waiting[0] > 0:
            _record_pending(self.A, self.objective, self.block, self.later, log)


def feature_space(
    plan: Plan, A: Floating, start: Start, objective: Objective
) -> tuple[FeatureSpace, Tangents, Numbers]:
    """Return the space with the columns at time zero, their tangent vectors, and v and the directions."""
    columns, width, kind = len(plan.columns), padded(plan.features), A.dtype
    times, each = start.probes.shape[:2]
    tangents, many = times * each, max(columns, TOGETHER)

    def room(*shape: int) -> Floating:
        return aligned((*shape, width), kind)

    def twice(*arrays: Floating) -> Vectors:
        return Vectors(*(array for array in arrays for _ in range(2)))

    x, w = np.tile(start.weights, (columns, 1)), room(columns)
    w[:] = x
    probes = start.probes.reshape(tangents, width).astype(kind)
    return (
        FeatureSpace(
            A=A,
            objective=objective,
            vectors=twice(x, np.zeros_like(x), room(columns)),
            w=w,
            h=aligned((columns, plan.samples), kind),
            known=np.zeros(columns, np.bool_),
            full=np.array([run.full for run in plan.columns]),
            block=Block(
                rows=np.zeros(((many + 1) // 2 + 1, BLOCK), np.int64),
                number=np.zeros((many + 1) // 2, np.int64),
                products=aligned((max(many + many % 2, tangents), BLOCK, lanes(kind)), kind),
                coefficients=aligned((many + many % 2 + tangents + 1, BLOCK), kind),
                some=np.zeros(plan.samples, np.uint8),
                touched=np.zeros(plan.samples + 1, np.int64),
            ),
            later=Later(
                waiting=np.zeros(1, np.int64),
                order=np.arange(TOGETHER),
                weights=room(TOGETHER),
                h=aligned((TOGETHER, A.shape[0]), kind),
                place=np.zeros((TOGETHER, 3), np.int64),
            ),
        ),
        Tangents(
            vectors=twice(*(room(columns * tangents) for _ in range(3))),
            x_probes=probes,
            y_probes=probes,
            live=np.zeros(columns, np.int64),
            marks=np.zeros((columns * times, width)),
        ),
        np.pad(plan.signals, ((0, 0), (0, width - plan.features))),
    )


@jit(nogil=True)
def _pair(chosen: Rows, i: int) -> tuple[int, int]:
    """Columns of pair ``i``; the last may be its own partner."""
    return chosen[2 * i], chosen[min(2 * i + 1, chosen.size - 1)]


@jit(nogil=True)
def _touch(weight: Floating, chosen: Rows, block: Block) -> int:
    """Write the rows that are in the batch of some column; return their number."""
    samples, some, rows, n = weight.shape[1], block.some, block.touched, 0
    for sample in range(samples):
        some[sample] = 0
    for c in chosen:
        for sample in range(samples):
            some[sample] |= np.uint8(weight[c, sample] != 0)
    for sample in range(samples):
        rows[n] = sample
        n += some[sample]
    return n


@jit(nogil=True)
def _choose_rows(first: int, last: int, pair: tuple[int, int], weight: Floating, i: int, block: Block) -> None:
    """Of the touched rows from ``first`` to below ``last``, those in the batch of either column of pair ``i``."""
    rows, n = block.rows, 0
    for j in range(first, last):
        sample = block.touched[j]
        rows[i, n] = sample
        n += (weight[pair[0], sample] != 0) | (weight[pair[1], sample] != 0)
    block.number[i] = n


@jit(nogil=True)
def _multiply_block(A: Floating, W: Floating, chosen: Rows, block: Block) -> None:
    """Lane vectors of the products of every column with the rows of its pair."""
    pairs, products = (chosen.size + 1) // 2, block.products
    for i in range(pairs):
        for k in range(block.number[i]):
            clear_row(products[2 * i], k)
            clear_row(products[2 * i + 1], k)
    for j in range(0, W.shape[1], strip_of(A)):
        for i in range(pairs):
            rows = block.rows[i, : block.number[i]]
            dot_strip(A, rows, j, W, _pair(chosen, i), products[2 * i], products[2 * i + 1])


@jit(nogil=True)
def _slopes_of_pair(i: int, chosen: Rows, objective: Objective, weight: Floating, felt: Floating, block: Block) -> None:
    r"""Turn products of pair ``i`` into :math:`s_\mu\ell'(h_\mu)`, and keep rows where that is not zero in either."""
    loss, margin = objective.loss, objective.margin
    c, d = _pair(chosen, i)
    rows, coefficients, kept = block.rows, block.coefficients, 0
    products, others = block.products[2 * i], block.products[2 * i + 1]
    for j in range(block.number[i]):
        sample, h, g = rows[i, j], lane_sum(load_lanes(products, j)), lane_sum(load_lanes(others, j))
        felt[c, sample], felt[d, sample] = h, g
        first = second = weight[c, sample] * loss.slope(h, margin)
        if c != d:
            second = weight[d, sample] * loss.slope(g, margin)
        rows[i, kept], coefficients[2 * i, kept], coefficients[2 * i + 1, kept] = sample, first, second
        kept += (first != 0) | (second != 0)
    block.number[i] = kept


@jit(nogil=True)
def _curvatures(i: int, objective: Objective, s: Floating, h: Floating, block: Block) -> int:
    r"""Write curvatures :math:`s_\mu\ell''(h_\mu)` of one column and the rows where they are not zero; count them."""
    rows, curvature, n = block.rows[i // 2], block.coefficients[block.coefficients.shape[0] - 1], 0
    mine = block.rows[block.rows.shape[0] - 1]
    for j in range(block.number[i // 2]):
        sample = rows[j]
        mine[n], curvature[n] = sample, s[sample] * objective.loss.curvature(h[sample], objective.margin)
        n += curvature[n] != 0
    return n


@jit(nogil=True)
def _add_hessian(A: Floating, c: int, n: int, tangents: Tangents, block: Block) -> None:
    """Add the block's part of the Hessian times each live tangent vector of column ``c``, two at a time."""
    first, live = c * tangents.x_probes.shape[0], tangents.live[c]
    moved, gradient = tangents.vectors.x, tangents.vectors.x_gradient
    strip, products, felt, last = strip_of(A), block.products, block.coefficients, block.coefficients.shape[0] - 1
    rows = block.rows[block.rows.shape[0] - 1, :n]
    for t in range(live):
        for k in range(n):
            clear_row(products[t], k)
    for j in range(0, moved.shape[1], strip):
        for t in range(0, live, 2):
            dot_strip(A, rows, j, moved, (first + t, first + t + 1), products[t], products[t + 1])
    for t in range(live):
        for k in range(n):
            felt[last - live + t, k] = felt[last, k] * lane_sum(load_lanes(products[t], k))
    for j in range(0, moved.shape[1], strip):
        for t in range(0, live, 2):
            mine = last - live + t
            sum_strip(A, rows, j, felt[mine], felt[mine + 1], gradient, (first + t, first + t + 1), j)


@jit(nogil=True)
def _record_pending(A: Floating, objective: Objective, block: Block, later: Later, log: Log) -> None:
    """Compute the pending losses in one pass over the data, block by block."""
    rows, chosen, h = A.shape[0], later.order[: later.waiting[0]], later.h
    for first in range(0, rows, BLOCK):
        n = min(BLOCK, rows - first)
        for i in range((chosen.size + 1) // 2):
            for k in range(n):
                block.rows[i, k] = first + k
            block.number[i] = n
        _multiply_block(A, later.weights, chosen, block)
        for i in chosen:
            for k in range(n):
                h[i, first + k] = lane_sum(load_lanes(block.products[i], k))
    for i in chosen:
        write_loss(h[i], objective, later.place[i, 0], later.place[i, 1], later.place[i, 2], log)
    later.waiting[0] = 0
