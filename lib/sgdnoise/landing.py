"""Two replicas of p-SGD on separable data until they stop: the runs that Figures 3 and 7 of the paper share.

Networks of one size train until the paper's rule stops them. Networks of two smaller sizes and the theory are compared
at a time before any stop; one network misses the limit of the theory by order 1/N, which the two sizes remove. The
theory of one replica goes on to the time at which half of the networks have stopped.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from sgdnoise.algorithms import Algorithm
from sgdnoise.dmft.solve import solve_dmft
from sgdnoise.estimates import Estimate
from sgdnoise.problem import Problem
from sgdnoise.simulation.simulate import simulate
from sgdnoise.sweep import sweep

STOP = 1e-10  # squared stochastic gradient over bN, the paper's rule
COMPARED = 40.0  # time at which networks and theory are compared, before any stop
MOMENTS = 40  # of the theory that goes on to the stop


class Sizes(NamedTuple):
    """Numbers of features, data sets, paths and populations of one profile."""

    networks: dict[str, int]
    small: dict[str, int]
    large: dict[str, int]
    theory: dict[str, int]
    populations: int  # of the theory that goes on to the stop


# The extrapolated distance shall be known to one per cent, and the theory as well; at b=0.99, where both scatter most,
# to a fifth of the margin there. The scatter between data sets falls as 1/N and the time of a run grows as its square:
# in the same time sizes that differ by a factor of three give little more than half the variance of sizes that differ
# by two, and the correction of order 1/N^2, which they leave in, is smaller.
SIZES = {
    "smoke": Sizes(
        {"features": 300, "realisations": 3},
        {"features": 80, "realisations": 6},
        {"features": 240, "realisations": 6},
        {"paths": 300, "realisations": 3},
        2,
    ),
    "standard": Sizes(
        {"features": 1500, "realisations": 24},
        {"features": 250, "realisations": 320},
        {"features": 750, "realisations": 320},
        {"paths": 3000, "realisations": 10},
        2,
    ),
    "paper": Sizes(
        {"features": 1500, "realisations": 100},
        {"features": 400, "realisations": 400},
        {"features": 1200, "realisations": 400},
        {"paths": 3000, "realisations": 24},
        6,
    ),
}


def limit(large: Estimate, small: Estimate) -> Estimate:
    """Return the limit of many features from networks of two sizes, the large ones three times the small ones."""
    return 1.5 * large - 0.5 * small


class Landings(NamedTuple):
    """Datasets of the runs, by algorithm."""

    networks: dict[Algorithm, xr.Dataset]
    small: dict[Algorithm, xr.Dataset]
    large: dict[Algorithm, xr.Dataset]
    theory: dict[Algorithm, xr.Dataset]


def landings(problem: Problem, algorithms: Sequence[Algorithm], rate: float, seed: int, profile: str) -> Landings:
    """Return networks until they stop; networks of two sizes and the theory until they are compared."""
    sizes = SIZES[profile]
    common = {"problem": problem, "learning_rate": rate, "replicas": 2}

    def each(engine: Any, duration: float, **options: Any) -> dict[Algorithm, xr.Dataset]:
        points = [{"algorithm": algorithm} for algorithm in algorithms]
        fixed = common | {"duration": duration} | options
        whole = sweep(engine, points, [seed], fixed=fixed).squeeze("seed")
        return {algorithm: whole.isel(point=i) for i, algorithm in enumerate(algorithms)}

    return Landings(
        each(simulate, 1000.0, stop_gradient=STOP, record_every=10, **sizes.networks),
        each(simulate, COMPARED, record_every=10, **sizes.small),
        each(simulate, COMPARED, record_every=10, **sizes.large),
        each(solve_dmft, COMPARED, waiting_times=[0.0], **sizes.theory),
    )


def to_the_stop(found: Landings, problem: Problem, rate: float, seed: int, profile: str) -> dict[Algorithm, xr.Dataset]:
    """Return the fraction within the margin by the theory, up to the median stopping time of each algorithm.

    Its variable ``moment`` holds the times, evenly spaced on a logarithmic scale.
    """
    points = [
        {"algorithm": algorithm, "steps": round(float(np.nanmedian(run.stopping_time)) / rate)}
        for algorithm, run in found.networks.items()
    ]
    fixed = {"problem": problem, "rate": rate, "populations": SIZES[profile].populations}
    whole = sweep(late_theory, points, [seed], fixed=fixed).squeeze("seed")
    return {algorithm: whole.isel(point=i) for i, algorithm in enumerate(found.networks)}


def late_theory(
    problem: Problem, algorithm: Algorithm, rate: float, steps: int, populations: int, seed: int
) -> xr.Dataset:
    """Solve the theory of one replica with little more paths than steps, and keep what a figure shows."""
    options: dict[str, Any] = {"paths": max(1000, steps + 200), "realisations": populations, "seed": seed}
    theory = solve_dmft(problem, algorithm, rate, rate * steps, waiting_times=[0.0], **options)
    kept = np.geomspace(max(1, steps // 100), steps, MOMENTS).round().astype(int)
    fraction = theory.unsatisfied.values[:, kept]
    return xr.Dataset({"unsatisfied": (("realisation", "place"), fraction), "moment": ("place", rate * kept)})
