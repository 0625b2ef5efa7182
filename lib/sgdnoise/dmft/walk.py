r"""Paths in the stationary state: forces and path-wise responses with kernels that depend on the lag alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.losses import Loss
from sgdnoise.random.batches import Sampling

Array = NDArray[np.float64]

EVERY = 32  # steps between the times at which the response of a path is worked out: nearer ones tell little more


class Law(NamedTuple):
    """What every path obeys: how its batches are drawn, its loss, and the response of the weights."""

    process: Sampling
    loss: Loss
    margin: float
    step: float  # Delta dt
    R: Array  # after n+1 steps


class Course(NamedTuple):
    """What drives some paths: mean field of each, its noise and the random numbers of its batches at every step."""

    base: Array  # (paths,)
    noise: NDArray[np.float32]  # (paths, steps)
    u: Array  # (paths, steps)


class Seen(NamedTuple):
    """What is measured: forces of every path, their means against its base, sums over paths and steps."""

    force: NDArray[np.float32]  # s l'(r), (paths, steps)
    pull: Array  # sum over steps of l'(r) times the expected weight, (paths,)
    Gamma: Array  # sums of s l''(r) D against the lag, (lags,)
    seen: Array  # sums of the loss and of the samples within the margin, (2,)


class Room(NamedTuple):
    """Memory for one path: what its forces will do to its field, a row of its response, its active times."""

    field: Array
    row: Array
    when: NDArray[np.int64]
    stiff: Array


def new_room(steps: int, lags: int) -> Room:
    """Return memory for paths of this many steps, with a memory of this many lags."""
    return Room(np.zeros(steps + lags + 1), np.zeros(lags + 1), np.zeros(steps, np.int64), np.zeros(steps))


@jit(nogil=True, fastmath={"contract"})
def walk(law: Law, first: int, course: Course, out: Seen, room: Room) -> None:
    r"""Follow paths through all steps (``eq-field`` of the book) and add up what they show from step ``first`` on.

    A force is added at once to the fields of the steps to come. Averages over the last batch are made with its
    probability, as in :class:`~sgdnoise.dmft.population.Population`.
    """
    paths, steps = course.noise.shape
    process, loss, margin, step, R = law
    lags, field = R.size, room.field
    many = (steps - first) / ((steps - first - 1) // EVERY + 1)  # steps for which one response stands
    for p in range(paths):
        state, count = -1, 0
        field[:] = 0.0
        for t in range(steps):
            r = course.base[p] + course.noise[p, t] - step * field[t]
            expected = process.expected(t, state)
            s, state = process.draw(t, state, course.u[p, t])
            slope, bend = loss.slope(r, margin), loss.curvature(r, margin)
            out.force[p, t] = s * slope
            if t >= first:
                out.pull[p] += expected * slope
                out.Gamma[0] += expected * bend
                out.seen[0] += loss.value(r, margin)
                out.seen[1] += 1.0 if r < margin else 0.0
                if bend != 0.0 and (steps - 1 - t) % EVERY == 0:
                    _respond(t, count, many * expected * bend, step, R, out.Gamma, room)
            if s * slope != 0.0:
                for n in range(lags):
                    field[t + 1 + n] += s * slope * R[n]
            if s * bend != 0.0:
                room.when[count], room.stiff[count] = t, s * bend
                count += 1


@jit(nogil=True, fastmath={"contract"})
def _respond(t: int, count: int, scale: float, step: float, R: Array, Gamma: Array, room: Room) -> None:
    r"""Add the response of a path at ``t`` to earlier pushes, times ``scale`` (``eq-back`` of the book)."""
    lags = min(t, R.size)
    for n in range(lags):
        room.row[n + 1] = R[n]
    for i in range(count - 1, -1, -1):
        lag = t - room.when[i]
        if lag > lags:
            break
        d = -step * room.stiff[i] * room.row[lag]
        Gamma[lag] += scale * d
        for n in range(lags - lag):
            room.row[lag + 1 + n] += d * R[n]
