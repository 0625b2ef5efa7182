"""The theory against training at finite size: every observable, three algorithms, UNSAT and SAT.

Finite size shifts a mean by a term in 1/N, so runs at N and N/2 are extrapolated to infinity, with their errors. The
points, all observables at a few times, are correlated. Two statistics see different mistakes, and the more alarming
one counts, doubled:

* chi-squared with the full covariance, compared with Hotelling's law (the covariance is itself estimated);
* the plain sum of squared deviations in standard errors, which with correlation matrix K of n points has mean n and
  variance 2 tr(K^2), compared with the chi-squared law scaled to both.

False alarms of a correct solver on a new seed: 1e-3 for each of the six comparisons. Mistakes are looked for in all six
together (Fisher's sum of logarithms), at the same rate.
"""

from functools import cache

import numpy as np
import pytest
from naive_training import OBSERVABLES, train
from scipy.stats import chi2, combine_pvalues
from scipy.stats import f as fisher

import sgdnoise as sn
from sgdnoise.dmft import population

pytestmark = pytest.mark.statistical

RATE = 1e-3
STEPS, WAITING, TIMES = 30, 12, (4, 12, 15, 30)
RUNS = 64
UNSAT = sn.Problem(alpha=4, delta=1.0, ridge=1.0)
SAT = sn.Problem(alpha=1.5, delta=1.0, ridge=0.0, init_variance=0.3)
ALGORITHMS = {
    "GD": sn.GD(),
    "SGD": sn.SGD(batch=0.3),
    "p-SGD": sn.PersistentSGD(batch=0.4, persistence=1.0),
}
CASES = [(phase, name) for phase in ("UNSAT", "SAT") for name in ALGORITHMS]


def setting(phase, name):
    problem, dt, size = (UNSAT, 0.1, 160) if phase == "UNSAT" else (SAT, 0.2, 200)
    return problem, ALGORITHMS[name], dt, size


def points(curves, algorithm):
    """Keep the chosen times of every observable that varies: (..., observable, time) to (..., point)."""
    trivial = ("distance",) if algorithm.batch == 1 else ()
    late = ("correlation", "response")
    kept = [
        curves[..., i, t]
        for i, name in enumerate(OBSERVABLES)
        for t in TIMES
        if name not in trivial and (t > WAITING or name not in late)
    ]
    return np.stack(kept, axis=-1)


@cache
def simulated(phase, name):
    """Extrapolated means of the simulation and their covariance."""
    problem, algorithm, dt, size = setting(phase, name)
    chain, means, covariances = algorithm.chain(dt), [], []
    for features, runs in ((size, RUNS), (size // 2, 2 * RUNS)):
        rngs = [np.random.default_rng([CASES.index((phase, name)), features, k]) for k in range(runs)]
        curves = np.stack([train(problem, chain, dt, STEPS, features, WAITING, rng) for rng in rngs])
        values = points(curves, algorithm)
        means.append(values.mean(axis=0))
        covariances.append(np.cov(values.T) / runs)
    return 2 * means[0] - means[1], 4 * covariances[0] + covariances[1]


def predicted(phase, name, realisations=8):
    """Mean of the theory and its covariance."""
    problem, algorithm, dt, _ = setting(phase, name)
    options = {"paths": 3000, "replicas": 2, "realisations": realisations, "waiting_times": [WAITING * dt]}
    theory = sn.solve_dmft(problem, algorithm, dt, dt * STEPS, **options)
    late = [theory[v].isel(waiting_time=0) for v in ("correlation", "integrated_response")]
    single = [theory[v] for v in ("magnetization", "norm", "loss", "error", "unsatisfied")]
    values = points(np.stack([v.values for v in (*single, *late, theory.distance)], axis=1), algorithm)
    return values.mean(axis=0), np.cov(values.T) / realisations


def probability(phase, name):
    """Chance of deviations between simulation and theory at least as large as these."""
    (simulation, first), (theory, second) = simulated(phase, name), predicted(phase, name)
    deviation, covariance = simulation - theory, first + second
    n, degrees = deviation.size, RUNS - 1
    full = deviation @ np.linalg.solve(covariance, deviation)
    error = np.sqrt(np.diag(covariance))
    scale = np.sum((covariance / np.outer(error, error)) ** 2) / n
    correlated = fisher.sf(full * (degrees - n + 1) / (degrees * n), n, degrees - n + 1)
    plain = chi2.sf(np.sum((deviation / error) ** 2) / scale, n / scale)
    return min(1.0, 2 * min(correlated, plain))


@pytest.mark.parametrize(("phase", "name"), CASES)
def test_theory_is_the_limit_of_training(phase, name):
    assert probability(phase, name) > RATE


@pytest.mark.parametrize("kernel", ["M", "Gamma"])  # a wrong mu, which the weights correct, shows in the exact test
def test_a_kernel_wrong_by_five_percent_is_caught(kernel, monkeypatch):
    right = population.Population.advance

    def wrong(self, t, r, G):
        averages = right(self, t, r, G)
        return averages._replace(**{kernel: 1.05 * getattr(averages, kernel)})

    monkeypatch.setattr(population.Population, "advance", wrong)
    assert combine_pvalues([probability(*case) for case in CASES]).pvalue < RATE
