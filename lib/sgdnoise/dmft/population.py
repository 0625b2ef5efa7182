r"""A population of paths: the finite sample from which the averages of the theory are estimated."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise.dmft import paths as kernels
from sgdnoise.dmft.noise import draw_normals
from sgdnoise.dmft.paths import Active, Forces, Paths
from sgdnoise.problem import Problem
from sgdnoise.random.batches import Batches, Sampling, draw_batches, expected_weights, new_batches
from sgdnoise.random.threefry import stream_key

Array = NDArray[np.float64]

ROOM = 16  # for active times, in the lists at first


class Averages(NamedTuple):
    r"""Averages over paths that enter the step from ``t`` to ``t+1``: the kernels of the theory.

    They are ``eq-mu``, ``eq-M`` and ``eq-Gamma`` of the book, with ``eq-pm`` for two replicas.
    ``mu`` is :math:`\bar f(t)`; ``M`` the row :math:`M(t,0\dots t)` of each noise layer, shape (layers, t+1); ``scale``
    the size of :math:`M(t,t)` for one replica; ``Gamma`` the row :math:`\Gamma(t,0\dots t)`.
    """

    mu: float
    M: Array
    scale: float
    Gamma: Array


class Population:
    r"""Paths with their random numbers and the lists of their active times.

    Parameters
    ----------
    problem, dt, steps
        What the paths feel, the learning rate, and how many steps there are.
    h0, xi
        Standard normal numbers, shapes (paths,) and (layers, paths, steps+1). One replica has one noise layer; two
        replicas have two, the sum and the difference of their fields over :math:`\sqrt2`.
    batches
        Before the first step: one column a replica, one sample a path.
    conditional
        Whether to average over the last batch by its probability instead of its outcome. That is done in
        :math:`\mu(t)` and :math:`\Gamma(t,t)`, where it is free and gains most; in :math:`M` it would cost positivity.
        :meth:`draw` does this only with a ridge. At the end of training on separable data the forces shrink towards
        zero, and averages over batches that the paths have not seen push the paths past the margin.
    """

    def __init__(
        self,
        problem: Problem,
        dt: float,
        steps: int,
        h0: Array,
        xi: NDArray[np.float32],
        batches: Batches,
        conditional: bool = True,
    ) -> None:
        """Keep the random numbers and make room for the lists."""
        self.problem, self.dt, self.steps = problem, dt, steps
        self.batches, self.conditional = batches, conditional
        self.replicas, self.size = batches.state.shape
        self.weight = np.zeros(batches.state.shape)  # of every path in the gradient, at the last step
        self.paths = Paths(h0, xi, problem.delta, dt)
        shape = (self.replicas, self.size, min(ROOM, steps))
        self.active = Active(
            np.zeros(shape[:2], np.uint32), np.empty(shape, np.uint32), np.empty(shape), np.empty(shape)
        )

    @classmethod
    def draw(
        cls,
        problem: Problem,
        process: Sampling,
        dt: float,
        shape: tuple[int, int, int],
        reduce: bool,
        seed: np.random.SeedSequence,
    ) -> "Population":
        """Draw a population of ``shape`` (steps, replicas, paths), with variance reduction or without."""
        steps, replicas, paths = shape
        normal, sampling = seed.spawn(2)
        h0, xi = draw_normals(paths, steps + 1, replicas, reduce, normal)
        keys = np.array([stream_key(child) for child in sampling.spawn(replicas)])
        batches = new_batches([process] * replicas, keys, paths, shared=reduce)
        return cls(problem, dt, steps, h0, xi, batches, conditional=reduce and problem.ridge > 0)

    def restart(self) -> None:
        """Forget everything but the random numbers."""
        self.active.length[:] = 0
        self.batches.state[:] = -1

    def fields(self, t: int, m: float, L: Array, G: Array) -> Array:
        """Return the fields ``r(t)``, shape (replicas, paths)."""
        return kernels.fields(t, m, self.paths, self.active, L, G)

    def observe(self, r: Array) -> tuple[float, float]:
        """Return the mean loss of a sample and the fraction of samples inside the margin."""
        margin = self.problem.margin
        return float(np.mean(self.problem.loss.value(r, margin))), float(np.mean(r < margin))

    def advance(self, t: int, r: Array, G: Array) -> Averages:
        """Return the averages at time ``t``, and add its forces to the lists."""
        problem, weight, expected = self.problem, self.weight, np.empty(r.shape)
        with np.errstate(over="ignore"):  # words of the random generator wrap around
            if self.conditional:
                expected_weights(t, self.batches, expected)
            draw_batches(t, np.arange(self.replicas), self.batches, weight)
        now, bare = (Forces(*np.empty((2, *r.shape))) for _ in range(2))
        kernels.forces(problem.loss, problem.margin, r, weight, now, bare)
        self._make_room()
        same, cross, Gamma = kernels.sums(t, problem.delta * self.dt, G, now, self.active)
        kernels.remember(t, now, self.active)

        s = expected if self.conditional else weight
        mean = problem.alpha / (self.replicas * self.size)
        mu = mean * float(np.sum(s * bare.pull * (1.0 + math.sqrt(problem.delta) * self.paths.h0)))
        Gamma[t] = float(np.sum(s * bare.bend))
        M = same[None] if self.replicas == 1 else np.stack([same + cross, same - cross])
        unit = mean * problem.delta
        return Averages(mu, unit * M, unit * same[t], unit * Gamma)

    def _make_room(self) -> None:
        """Double the lists when one is full. Most paths are rarely active, and short lists stay in the cache."""
        old = self.active
        room = old.kick.shape[2]
        if old.length.max() == room:
            wider = ((0, 0), (0, 0), (0, min(room, self.steps - room)))
            self.active = Active(
                old.length, np.pad(old.kick, wider), np.pad(old.force, wider), np.pad(old.stiff, wider)
            )
