r"""Training with samples as coordinates: cheap when there are no more samples than features.

Gradients are combinations of the rows :math:`A_\mu` of the data, so that the weights never leave the span of these rows
and of their start :math:`w_0`; a displacement starts along a probe :math:`\xi`. Let :math:`S` be the data with the
samples of a test set, :math:`w_0` and all probes as further rows. Then :math:`w = S^{\mathsf T}x`, and with the Gram
matrix :math:`K = S S^{\mathsf T}` the other coordinate :math:`y = Kx = Sw` begins with the pre-activations :math:`h =
Aw`. A gradient :math:`A^{\mathsf T}g` with :math:`g_\mu = s_\mu\,\ell'(h_\mu)` (Eq. 2 of the paper) is :math:`(g, Kg)`.
"""

from typing import NamedTuple

import numpy as np

from sgdnoise._jit import jit
from sgdnoise.algorithms import Update
from sgdnoise.parts import part
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.record import Log, write_loss
from sgdnoise.simulation.state import Numbers, Objective, Rows, Start, Tangents, Vectors, clear_row, descend, total_loss
from sgdnoise.vectors.lanes import STRIP_BYTES, Floating, aligned, lanes, padded
from sgdnoise.vectors.rows import square_of_products, strip_of, sum_strip

BLOCK = 32  # rows of the data that are in the second-level cache while the Gram matrix is made


class Active(NamedTuple):
    """Samples with a gradient that is not zero: which, how many of each pair of vectors, their gradients."""

    rows: Rows  # (pairs, samples)
    number: Rows
    coefficients: Floating  # (vectors, padded samples)
    tangents: Rows  # numbers of the tangent vectors, 0, 1, ...


@part
class SampleSpace(NamedTuple):
    """The Gram matrix, and what is needed to multiply with it."""

    gram: Floating  # by strips, (strips, rows, length of a strip)
    objective: Objective
    samples: int
    rows: int  # samples, and those of a test set
    vectors: Vectors
    active: Active

    def gradients(self, step: int, chosen: Rows, weight: Floating, tangents: Tangents | None) -> None:
        """Gradients of the chosen columns and of their tangent vectors."""
        loss, margin, vectors = self.objective.loss, self.objective.margin, self.vectors
        for c in chosen:
            for sample in range(self.samples):
                vectors.x_gradient[c, sample] = weight[c, sample] * loss.slope(vectors.y[c, sample], margin)
        _multiply(step, self.gram, vectors.x_gradient, chosen, self.active, vectors.y_gradient)
        if tangents is not None:
            each, moved = tangents.x_probes.shape[0], tangents.vectors
            for c in chosen:
                live = self.active.tangents[c * each : c * each + tangents.live[c]]
                for sample in range(self.samples):
                    curvature = weight[c, sample] * loss.curvature(vectors.y[c, sample], margin)
                    for j in live:
                        moved.x_gradient[j, sample] = curvature * moved.y[j, sample]
                _multiply(step, self.gram, moved.x_gradient, live, self.active, moved.y_gradient)

    def loss(self, c: int) -> float:
        """Loss of all samples, without ridge."""
        return total_loss(self.vectors.y[c, : self.samples], self.objective)

    def descend(self, c: int, update: Update, tangents: Tangents | None) -> None:
        """Take a step of column ``c`` and of its tangent vectors."""
        _descend(c, update, self.vectors)
        if tangents is not None:
            first = c * tangents.x_probes.shape[0]
            for t in range(first, first + tangents.live[c]):
                _descend(t, update, tangents.vectors)

    def record_loss(self, c: int, i: int, replica: int, at: int, log: Log) -> None:
        """Record the loss of a column; its pre-activations are always known."""
        write_loss(self.vectors.y[c, : self.rows], self.objective, i, replica, at, log)

    def record_pending(self, log: Log) -> None:
        """No losses are pending."""


def sample_space(plan: Plan, A: Floating, start: Start, objective: Objective) -> tuple[SampleSpace, Tangents, Numbers]:
    """Return the space with the columns at time zero, their tangent vectors, and ``y`` of v and the directions."""
    columns, samples, rows, kind = len(plan.columns), plan.samples, A.shape[0], A.dtype
    times, each = start.probes.shape[:2]
    tangents, width = times * each, start.weights.size
    E = aligned((1 + tangents, A.shape[1]), kind)  # the rows of S below those of A, which are not copied
    E[0, :width], E[1:, :width] = start.weights, start.probes.reshape(tangents, width)
    gram = gram_matrix(A, E, plan.features)
    images = gram[:, rows:].transpose(1, 0, 2).reshape(1 + tangents, -1)  # y of the rows of E
    signals = [np.einsum("ij,kj->ik", plan.signals, part[:, : plan.features]) for part in (A, E)]

    def room(vectors: int) -> Floating:
        return aligned((vectors, images.shape[1]), kind)

    vectors, x_probes, many = Vectors(*(room(columns) for _ in range(6))), room(tangents), max(columns + 1, tangents)
    vectors.x[:, rows], vectors.y[:] = 1.0, images[0]
    x_probes[np.arange(tangents), rows + 1 + np.arange(tangents)] = 1.0
    active = Active(
        rows=np.zeros((many // 2, samples), np.int64),
        number=np.zeros(many // 2, np.int64),
        coefficients=room(2 * (many // 2)),
        tangents=np.arange(columns * tangents),
    )
    return (
        SampleSpace(gram, objective, samples, rows, vectors, active),
        Tangents(
            vectors=Vectors(*(room(columns * tangents) for _ in range(6))),
            x_probes=x_probes,
            y_probes=np.ascontiguousarray(images[1:]),
            live=np.zeros(columns, np.int64),
            marks=room(columns * times),
        ),
        np.pad(np.concatenate(signals, axis=1), ((0, 0), (0, images.shape[1] - gram.shape[1]))),
    )


def gram_matrix(A: Floating, E: Floating, features: int) -> Floating:
    """Return ``S S^T`` for the rows of A and then of E, by strips, (strips, rows, length of a strip).

    The last strip has zeros where it is not full.
    """
    rows, strip = len(A) + len(E), STRIP_BYTES // A.itemsize
    gram = aligned((padded(rows) // strip, rows, strip), A.dtype)
    zero, square = aligned((1, lanes(A.dtype)), A.dtype), np.empty((4, 4), A.dtype)
    for X, first, Y, second in ((A, 0, A, 0), (E, len(A), A, 0), (E, len(A), E, len(A))):
        _products(X, first, Y, second, features, zero, square, gram)
    return gram


@jit(nogil=True)
def _products(
    X: Floating, first: int, Y: Floating, second: int, features: int, zero: Floating, square: Floating, gram: Floating
) -> None:
    """Products of rows by squares of four, each written twice: of one matrix with itself the lower triangle."""
    n, strip = X.shape[0], strip_of(X)
    for start in range(0, n, BLOCK):
        last = min(start + BLOCK, n)
        for left in range(0, last if first == second else Y.shape[0], 4):
            for top in range(max(start, left) if first == second else start, last, 4):
                square_of_products(X, top, Y, left, features, zero, square)
                for i in range(top, min(top + 4, n)):
                    for j in range(left, min(left + 4, Y.shape[0])):
                        row, column, x = first + i, second + j, square[i - top, j - left]
                        gram[row // strip, column, row % strip] = gram[column // strip, row, column % strip] = x


@jit(nogil=True)
def _multiply(step: int, gram: Floating, vectors: Floating, chosen: Rows, active: Active, out: Floating) -> None:
    """``out[c] = gram vectors[c]`` of those chosen, two at a time, over the samples where either is not zero.

    All vectors use a strip of the Gram matrix while it is in the cache. Odd steps take the strips from the last to the
    first, so that strips still in the cache from the previous step come first.
    """
    rows, number, coefficients = active.rows, active.number, active.coefficients
    many = chosen.size
    pairs = (many + 1) // 2
    for i in range(pairs):
        c, d = chosen[2 * i], chosen[min(2 * i + 1, many - 1)]
        clear_row(out, c)
        clear_row(out, d)
        n = 0
        for sample in range(rows.shape[1]):
            first, second = vectors[c, sample], vectors[d, sample]
            rows[i, n], coefficients[2 * i, n], coefficients[2 * i + 1, n] = sample, first, second
            n += (first != 0) | (second != 0)
        number[i] = n
    for turn in range(gram.shape[0]):
        j = gram.shape[0] - 1 - turn if step % 2 else turn
        for i in range(pairs):
            pair, mine = (chosen[2 * i], chosen[min(2 * i + 1, many - 1)]), coefficients[2 * i :]
            sum_strip(gram[j], rows[i, : number[i]], 0, mine[0], mine[1], out, pair, j * gram.shape[2])


@jit(nogil=True)
def _descend(i: int, update: Update, vectors: Vectors) -> None:
    descend(vectors.x[i], vectors.x_velocity[i], vectors.x_gradient[i], update)
    descend(vectors.y[i], vectors.y_velocity[i], vectors.y_gradient[i], update)
