r"""The state of all columns on one data set, in two coordinates, and every observable in terms of them.

A column is one run on the data set: an algorithm, a learning rate and a replica. Its weights :math:`w` are held as a
pair of vectors :math:`(x, y)` such that every scalar product is

.. math:: w\cdot w' = x\cdot y' .

With the weights themselves as coordinates (:mod:`~sgdnoise.simulation.by_features`) :math:`x=y=w`. With samples as
coordinates (:mod:`~sgdnoise.simulation.by_samples`) :math:`w=S^{\mathsf T}x` for a matrix :math:`S` and :math:`y=Sw`.
An update rule is linear, so that it acts on :math:`x` and :math:`y` alike. Observables are written once, here.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.algorithms import Update
from sgdnoise.losses import Loss
from sgdnoise.vectors.lanes import Floating
from sgdnoise.vectors.rows import inner

Numbers = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Objective(NamedTuple):
    """What is minimised: the loss of a sample at its margin (in the precision of the data), and the ridge."""

    loss: Loss
    margin: float
    ridge: float


class Start(NamedTuple):
    """Weights at time zero, (padded features,), and probes of the response, (waiting times, probes, padded features).

    The number of probes is even; the last may be zero.
    """

    weights: Numbers
    probes: Numbers


class Vectors(NamedTuple):
    """Weights, or displacements of weights, their velocities and gradients, in both coordinates: (vectors, length).

    Where the coordinates are the weights, ``y`` is ``x``.
    """

    x: Floating
    y: Floating
    x_velocity: Floating
    y_velocity: Floating
    x_gradient: Floating
    y_gradient: Floating


class Tangents(NamedTuple):
    """Displacements of the weights after a kick at each waiting time, one for each probe."""

    vectors: Vectors  # (columns x waiting times x probes, length)
    x_probes: Floating  # the probes, (waiting times x probes, length)
    y_probes: Floating
    live: Rows  # how many of them have been kicked, in each column
    marks: Floating  # y at each waiting time, (columns x waiting times, length)


@jit(nogil=True)
def norm(c: int, vectors: Vectors) -> float:
    """Return ``|w|^2``."""
    return inner(vectors.x[c], vectors.y[c])


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def distance(c: int, vectors: Vectors) -> float:
    """Return the distance of two neighbouring columns ``c`` and ``c + 1``."""
    x, y, total = vectors.x, vectors.y, 0.0
    for j in range(x.shape[1]):
        total += (np.float64(x[c, j]) - np.float64(x[c + 1, j])) * (np.float64(y[c, j]) - np.float64(y[c + 1, j]))
    return math.sqrt(max(total, 0.0))


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def square_gradient(c: int, ridge: float, vectors: Vectors) -> float:
    r"""Return :math:`|g+\lambda w|^2`, without cancellation where the two nearly balance."""
    total = 0.0
    for j in range(vectors.x.shape[1]):
        first = vectors.x_gradient[c, j] + ridge * vectors.x[c, j]
        total += first * (vectors.y_gradient[c, j] + ridge * vectors.y[c, j])
    return total


@jit(nogil=True)
def total_loss(h: Floating, objective: Objective) -> float:
    """Loss of samples with these pre-activations, without ridge."""
    total = 0.0
    for sample in range(h.size):
        total += objective.loss.value(h[sample], objective.margin)
    return total


@jit(fastmath={"contract"}, nogil=True)
def descend(x: Floating, velocity: Floating, gradient: Floating, update: Update) -> None:
    """Take a step of one coordinate. For both in one loop the compiler cannot tell that six arrays do not overlap.

    A velocity that stays as it is need not be read, if it comes first.
    """
    for j in range(x.size):
        moved = update.step(x[j], velocity[j], gradient[j])
        velocity[j] = moved[1]
        x[j] = moved[0]


@jit(nogil=True)
def copy_row(source: Floating, i: int, target: Floating, j: int) -> None:
    """``target[j] = source[i]`` as a loop; Numba would compile the error messages of an array assignment too."""
    for k in range(target.shape[1]):
        target[j, k] = source[i, k]


@jit(nogil=True)
def clear_row(target: Floating, i: int) -> None:
    """``target[i] = 0``, likewise."""
    for k in range(target.shape[1]):
        target[i, k] = 0


@jit(nogil=True)
def kick(c: int, i: int, rate: float, tangents: Tangents) -> None:
    """Displace column ``c`` along the probes of waiting time ``i``: a field entered the gradient of the step before."""
    many = tangents.x_probes.shape[0]
    each = many * tangents.live.size // tangents.marks.shape[0]
    vectors = tangents.vectors
    for j in range(i * each, (i + 1) * each):
        t = c * many + j
        for k in range(vectors.x.shape[1]):
            vectors.x[t, k], vectors.y[t, k] = tangents.x_probes[j, k], tangents.y_probes[j, k]
            vectors.x_velocity[t, k] = -tangents.x_probes[j, k] / rate
            vectors.y_velocity[t, k] = -tangents.y_probes[j, k] / rate
    tangents.live[c] = (i + 1) * each


@jit(nogil=True)
def response(c: int, i: int, probes: int, tangents: Tangents) -> float:
    """Return the mean over the probes of waiting time ``i`` of (probe . tangent)."""
    many, total = tangents.x_probes.shape[0], 0.0
    each = many * tangents.live.size // tangents.marks.shape[0]
    for j in range(i * each, i * each + probes):
        total += inner(tangents.vectors.x[c * many + j], tangents.y_probes[j])
    return total / probes
