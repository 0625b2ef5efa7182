r"""A population of paths: the finite sample from which the averages of the theory are estimated."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise.algorithms import Chain
from sgdnoise.dmft import kernels
from sgdnoise.dmft.batches import chance_of_batch, draw_batches
from sgdnoise.dmft.normals import draw_normals
from sgdnoise.problem import Problem

Array = NDArray[np.float64]

ROOM = 16  # for active times, in the lists at first


class Averages(NamedTuple):
    r"""Averages over paths that enter the step from ``t`` to ``t+1``: the kernels of the theory.

    They are ``eq-mu``, ``eq-M`` and ``eq-Gamma`` of the book, with ``eq-pm`` for two replicas.
    ``mu`` is :math:`\mu(t)`; ``M`` the row :math:`M(t,0\dots t)` of each noise layer, shape (layers, t+1); ``scale``
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
    problem, chain, dt
        What the paths feel, the law of their batches, the learning rate.
    h0, xi
        Standard normal numbers, shapes (paths,) and (layers, paths, steps+1). One replica has one noise layer; two
        replicas have two, the sum and the difference of their fields over :math:`\sqrt2`.
    batches
        Which paths are in the batch, shape (steps, replicas, paths).
    conditional
        Whether to average over the last batch by its probability instead of its outcome. That is done in
        :math:`\mu(t)` and :math:`\Gamma(t,t)`, where it is free and gains most; in :math:`M` it would cost positivity.
        :meth:`draw` does it with a ridge only: where training ends, forces shrink for ever, and averages that belong to
        other batches than the paths' own push the paths past the margin before they have arrived there.
    """

    def __init__(
        self,
        problem: Problem,
        chain: Chain,
        dt: float,
        h0: Array,
        xi: NDArray[np.float32],
        batches: NDArray[np.bool_],
        conditional: bool = True,
    ) -> None:
        """Keep the random numbers and make room for the lists."""
        self.problem, self.chain, self.dt = problem, chain, dt
        self.h0, self.xi, self.batches, self.conditional = h0, xi, batches, conditional
        self.steps: int = batches.shape[0]
        self.replicas: int = batches.shape[1]
        self.paths: int = batches.shape[2]
        shape = (self.replicas, self.paths, min(ROOM, self.steps))
        self.count = np.zeros(shape[:2], np.uint32)
        self.kick, self.force, self.stiff = np.empty(shape, np.uint32), np.empty(shape), np.empty(shape)

    @classmethod
    def draw(
        cls,
        problem: Problem,
        chain: Chain,
        dt: float,
        shape: tuple[int, int, int],
        reduce: bool,
        seed: np.random.SeedSequence,
    ) -> "Population":
        """Draw a population of ``shape`` (steps, replicas, paths), with variance reduction or without."""
        steps, replicas, paths = shape
        normal, sampling = seed.spawn(2)
        h0, xi = draw_normals(paths, steps + 1, replicas, reduce, normal)
        batches = draw_batches(chain, shape, reduce, np.random.default_rng(sampling))
        return cls(problem, chain, dt, h0, xi, batches, conditional=reduce and problem.ridge > 0)

    def restart(self) -> None:
        """Forget everything but the random numbers."""
        self.count[:] = 0

    def fields(self, t: int, m: float, L: Array, G: Array) -> Array:
        """Return the fields ``r(t)``, shape (replicas, paths)."""
        r = np.empty((self.replicas, self.paths))
        delta = self.problem.delta
        kernels.fields(t, m, delta, self.dt, self.h0, self.xi, L, G, self.count, self.kick, self.force, r)
        return r

    def observe(self, r: Array) -> tuple[float, float]:
        """Return the mean loss of a sample and the fraction of samples inside the margin."""
        margin = self.problem.margin
        return float(np.mean(self.problem.loss.value(r, margin))), float(np.mean(r < margin))

    def advance(self, t: int, r: Array, G: Array) -> Averages:
        """Return the averages at time ``t``, and add its forces to the lists."""
        problem, batch = self.problem, self.batches[t]
        slope = np.asarray(problem.loss.slope(r, problem.margin), dtype=np.float64)
        curvature = np.asarray(problem.loss.curvature(r, problem.margin), dtype=np.float64)
        pull, bend = np.where(batch, slope, 0.0), np.where(batch, curvature, 0.0)
        if self.conditional:
            s = chance_of_batch(self.chain, self.batches[t - 1] if t else None, batch.shape)
        else:
            s = batch.astype(np.float64)
        self._make_room()
        lists = self.count, self.kick, self.force, self.stiff
        same, cross, Gamma = kernels.sums(t, problem.delta * self.dt, G, pull, bend, *lists)
        kernels.remember(t, pull, bend, *lists)

        mean = problem.alpha / (self.replicas * self.paths)
        mu = mean * float(np.sum(s * slope * (1.0 + math.sqrt(problem.delta) * self.h0)))
        Gamma[t] = float(np.sum(s * curvature))
        M = same[None] if self.replicas == 1 else np.stack([same + cross, same - cross])
        unit = mean * problem.delta
        return Averages(mu, unit * M, unit * same[t], unit * Gamma)

    def _make_room(self) -> None:
        """Double the lists when one is full: most paths are active rarely, and short lists stay in the cache."""
        room = self.kick.shape[2]
        if self.count.max() == room:
            wider = ((0, 0), (0, 0), (0, min(room, self.steps - room)))
            self.kick, self.force, self.stiff = (np.pad(x, wider) for x in (self.kick, self.force, self.stiff))
