r"""The theory in one forward pass.

In discrete time everything at step :math:`t+1` follows from what is known at :math:`t`: the fields of the paths need
the propagator and the noise up to :math:`t`, and their averages give the next row of both. Nothing is iterated. The
equations are those of the book, page "The theory in discrete time".
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise.dmft.population import Averages, Population
from sgdnoise.dmft.weights import Rule, Weights

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """Solution for one population: the weights, and against time the mean loss of a sample and the unsatisfied part."""

    weights: Weights
    value: Array
    unsatisfied: Array
    iterations: int = 1
    residual: float = 0.0


def solve_causal(population: Population, rule: Rule, tick: Callable[[int], object] = int) -> Solution:
    """Solve the theory for one population, step by step; ``tick`` is called after each."""
    weights = Weights(population.problem, rule, population.steps, population.replicas)

    def step(t: int, averages: Averages) -> None:
        weights.step(t, averages)
        tick(1)

    return Solution(weights, *follow(population, weights, step))


def follow(population: Population, weights: Weights, use: Callable[[int, Averages], object]) -> tuple[Array, Array]:
    """Run every path through all times and ``use`` the averages at each; return loss and unsatisfied part."""
    value, unsatisfied = np.empty((2, population.steps + 1))
    for t in range(population.steps + 1):
        r = population.fields(t, weights.m[t], weights.L, weights.G)
        value[t], unsatisfied[t] = population.observe(r)
        if t < population.steps:
            use(t, population.advance(t, r, weights.G))
    return value, unsatisfied
