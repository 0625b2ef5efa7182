"""The theory against training at finite size: every observable, every algorithm, UNSAT and SAT.

Finite size shifts a mean by a term in 1/N, so runs at N and N/2 are extrapolated to infinity, with their errors. The
points, all observables at a few times, are correlated. Two statistics see different mistakes, and the more alarming
one counts, doubled:

* chi-squared with the full covariance, compared with Hotelling's law (the covariance is itself estimated). The start is
  among the points: what it is at infinite size is known exactly, and so its scatter is taken out of all others;
* the plain sum of squared deviations in standard errors, which with correlation matrix K of n points has mean n and
  variance 2 tr(K^2), compared with the chi-squared law scaled to both.

False alarms of a correct solver on a new seed: 1e-3 for each of the comparisons. A mistake is caught if the most
alarming of the six of GD, SGD and p-SGD is below 1e-3/6: a rate of 1e-3 for these together, although they share data.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import f as fisher

import sgdnoise as sn
from sgdnoise.dmft import population

pytestmark = pytest.mark.statistical

RATE = 1e-3
STEPS, WAITING = 30, 12
TIMES = {
    "magnetization": (0, 1, 4, 12, 30),
    "norm": (0, 1, 4, 12, 30),
    "loss": (0, 1, 12, 30),
    "error": (4, 30),
    "unsatisfied": (0, 4, 30),
    "distance": (1, 4, 12, 30),
    "correlation": (15, 30),
    "integrated_response": (15, 30),
}
RUNS = 128
#: Problem, learning rate and the larger number of features.
PHASES = {
    "UNSAT": (sn.Problem(alpha=4, delta=1.0, ridge=1.0), 0.1, 200),
    "SAT": (sn.Problem(alpha=1.5, delta=1.0, ridge=0.0, init_variance=0.3), 0.2, 256),
}
ALGORITHMS = {
    "GD": sn.GD(),
    "SGD": sn.SGD(batch=0.3),
    "p-SGD": sn.PersistentSGD(batch=0.4, persistence=1.0),
    "mean": sn.SGD(batch=0.4, gradient="mean"),
    "shuffled": sn.ShuffledSGD(batch=0.25),
    "Gaussian": sn.GaussianSGD(batch=0.3),
    "Langevin": sn.Langevin(temperature=0.05),
    "momentum": sn.SGD(batch=0.3, momentum=0.6),
}
CASES = [(phase, name) for phase in PHASES for name in ALGORITHMS]
OF_THE_PAPER = [case for case in CASES if case[1] in ("GD", "SGD", "p-SGD")]


def points(run, name):
    """Chosen times of every observable that varies, shape (realisation, point)."""
    flat = run.isel(waiting_time=0)
    kept = [quantity for quantity in TIMES if (name, quantity) != ("GD", "distance")]
    return np.concatenate([flat[quantity].values[:, TIMES[quantity]] for quantity in kept], axis=1)


@cache
def simulated(phase):
    """Extrapolated means of the simulation and their covariance, for each algorithm."""
    problem, dt, size = PHASES[phase]
    parts = []
    for features, runs in ((size, RUNS), (size // 2, 2 * RUNS)):
        options = {"features": features, "realisations": runs, "seed": features, "replicas": 2, "probes": 2}
        options |= {"waiting_times": [WAITING * dt], "precision": "double"}
        trained = sn.simulate_paired(problem, [(a, dt) for a in ALGORITHMS.values()], STEPS * dt, **options)
        values = [points(run, name) for name, run in zip(ALGORITHMS, trained, strict=True)]
        parts.append([(v.mean(axis=0), np.cov(v.T) / runs) for v in values])
    return {
        name: (2 * large[0] - small[0], 4 * large[1] + small[1])
        for name, large, small in zip(ALGORITHMS, *parts, strict=True)
    }


def predicted(phase, name, realisations=8):
    """Mean of the theory and its covariance."""
    problem, dt, _ = PHASES[phase]
    options = {"paths": 3000, "replicas": 2, "realisations": realisations, "waiting_times": [WAITING * dt]}
    values = points(sn.solve_dmft(problem, ALGORITHMS[name], dt, dt * STEPS, **options), name)
    return values.mean(axis=0), np.cov(values.T) / realisations


def probability(phase, name):
    """Chance of deviations between simulation and theory at least as large as these."""
    (simulation, first), (theory, second) = simulated(phase)[name], predicted(phase, name)
    deviation, covariance = simulation - theory, first + second
    n, degrees = deviation.size, RUNS - 1
    error = np.sqrt(np.diag(covariance))
    z, K = deviation / error, covariance / np.outer(error, error)
    full, scale = z @ np.linalg.solve(K, z), np.sum(K**2) / n
    correlated = fisher.sf(full * (degrees - n + 1) / (degrees * n), n, degrees - n + 1)
    plain = chi2.sf(np.sum(z**2) / scale, n / scale)
    return min(1.0, 2 * min(correlated, plain))


@pytest.mark.parametrize(("phase", "name"), CASES)
def test_theory_is_the_limit_of_training(phase, name):
    assert probability(phase, name) > RATE


@pytest.mark.parametrize("kernel", ["mu", "M", "Gamma"])
def test_a_kernel_wrong_by_five_percent_is_caught(kernel, monkeypatch):
    right = population.Population.advance

    def wrong(self, t, r, G):
        averages = right(self, t, r, G)
        return averages._replace(**{kernel: 1.05 * getattr(averages, kernel)})

    monkeypatch.setattr(population.Population, "advance", wrong)
    assert min(probability(*case) for case in OF_THE_PAPER) < RATE / len(OF_THE_PAPER)
