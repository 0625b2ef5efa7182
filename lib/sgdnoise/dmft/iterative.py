r"""The theory by iteration of whole trajectories, the method of the paper.

Guess the kernels :math:`\mu, M, \Gamma` for all times at random; solve the weights; run all paths through all times
with them; measure the kernels; mix them with the old ones; repeat until they stop changing. The random numbers of the
paths are the same in every round, so the kernels converge, and to the same solution as the causal pass.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise.dmft.causal import Solution, follow
from sgdnoise.dmft.population import Averages, Population
from sgdnoise.dmft.weights import Rule, Weights

Array = NDArray[np.float64]


class Control(NamedTuple):
    """When to stop: relative change of the kernels, share of the old ones kept in a round, number of rounds."""

    tolerance: float
    damping: float
    max_iterations: int


class Kernels(NamedTuple):
    r"""Averages over paths for all times: :math:`\mu`, :math:`M` of each layer, its scale, :math:`\Gamma`."""

    mu: Array
    M: Array
    scale: Array
    Gamma: Array

    def row(self, t: int) -> Averages:
        """Return what enters the step from ``t`` to ``t+1``."""
        return Averages(self.mu[t], self.M[:, t, : t + 1].copy(), self.scale[t], self.Gamma[t, : t + 1])

    def keep(self, t: int, averages: Averages) -> None:
        """Keep what enters the step from ``t`` to ``t+1``."""
        self.mu[t], self.scale[t] = averages.mu, averages.scale
        self.M[:, t, : t + 1], self.Gamma[t, : t + 1] = averages.M, averages.Gamma

    def mixed(self, other: "Kernels", share: float) -> "Kernels":
        """Mix in a ``share`` of other kernels; a mixture of positive ``M`` is positive."""
        return Kernels(*((1 - share) * mine + share * theirs for mine, theirs in zip(self, other, strict=True)))

    def difference(self, other: "Kernels") -> float:
        """Return the largest change of any entry, relative to the largest entry of that kernel."""
        return max(
            float(np.max(np.abs(mine - theirs)) / max(np.max(np.abs(mine)), 1e-300))
            for mine, theirs in zip(self, other, strict=True)
        )


def solve_iterative(
    population: Population,
    rule: Rule,
    control: Control,
    rng: np.random.Generator,
    tick: Callable[[int], object] = int,
) -> Solution:
    """Iterate until no kernel changes by more than the tolerance, or as often as allowed; ``tick`` counts rounds."""
    kernels = guess(population, rng)
    iteration, residual = 0, np.inf
    while residual > control.tolerance and iteration < control.max_iterations:
        weights = integrate(population, rule, kernels)
        measured, value, unsatisfied = sweep(population, weights)
        residual = measured.difference(kernels)
        kernels = kernels.mixed(measured, 1 - control.damping)
        iteration += 1
        tick(1)
    return Solution(weights, value, unsatisfied, iteration, residual)


def guess(population: Population, rng: np.random.Generator) -> Kernels:
    """Random kernels of the right size: white noise and no memory."""
    problem, steps = population.problem, population.steps
    size = problem.alpha * population.batches.process.expected(0, -1)
    mu, scale, memory = -size * rng.random(steps), *(size * problem.delta * rng.random((2, steps)))
    M = np.zeros((population.replicas, steps, steps))
    M[:, np.arange(steps), np.arange(steps)] = scale
    return Kernels(mu, M, scale, np.diag(memory))


def integrate(population: Population, rule: Rule, kernels: Kernels) -> Weights:
    """Solve the equations of the weights for given kernels."""
    weights = Weights(population.problem, rule, population.steps, population.replicas)
    for t in range(population.steps):
        weights.step(t, kernels.row(t))
    return weights


def sweep(population: Population, weights: Weights) -> tuple[Kernels, Array, Array]:
    """Run every path through all times with given weights, and measure the kernels and the observables."""
    steps, replicas = population.steps, population.replicas
    kernels = Kernels(np.empty(steps), np.zeros((replicas, steps, steps)), np.empty(steps), np.zeros((steps, steps)))
    population.restart()
    return kernels, *follow(population, weights, kernels.keep)
