"""The theory against training at finite size: every observable, three algorithms, UNSAT and SAT.

Finite size shifts a mean by a term in 1/N, so runs at N and N/2 are extrapolated to infinity, with their errors. The
statistic is the sum of squared deviations over all observables and times, in standard errors. These are correlated;
with correlation matrix K of n points, the sum has mean n and variance 2 tr(K^2), and is compared with the chi-squared
law scaled to both. False alarms of a correct solver on a new seed: 1e-3 for each of the six comparisons, by that law.
"""

import numpy as np
import pytest
import sgdnoise as sn
from naive_training import OBSERVABLES, train
from scipy.stats import chi2
from sgdnoise.dmft import population

pytestmark = pytest.mark.statistical

RATE = 1e-3
STEPS, WAITING, TIMES = 30, 12, (3, 8, 15, 22, 30)
UNSAT = sn.Problem(alpha=5, delta=1.0, ridge=1.0)
SAT = sn.Problem(alpha=1.5, delta=1.0, ridge=0.0, init_variance=0.3)
ALGORITHMS = {
    "GD": sn.GD(),
    "SGD": sn.SGD(batch=0.3),
    "p-SGD": sn.PersistentSGD(batch=0.4, persistence=1.0),
}
CASES = [(phase, name) for phase in ("UNSAT", "SAT") for name in ALGORITHMS]


def setting(phase, name):
    problem, dt, size = (UNSAT, 0.1, 240) if phase == "UNSAT" else (SAT, 0.2, 320)
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


def simulated(phase, name):
    """Extrapolated means of the simulation and their covariance."""
    problem, algorithm, dt, size = setting(phase, name)
    chain, means, covariances = algorithm.chain(dt), [], []
    for features, runs in ((size, 48), (size // 2, 96)):
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


def probability(simulation, theory):
    """Chance of a sum of squared deviations at least this large."""
    covariance = simulation[1] + theory[1]
    error = np.sqrt(np.diag(covariance))
    statistic = np.sum(((simulation[0] - theory[0]) / error) ** 2)
    correlation = covariance / np.outer(error, error)
    scale = np.sum(correlation**2) / error.size
    return chi2.sf(statistic / scale, error.size / scale)


@pytest.mark.parametrize(("phase", "name"), CASES)
def test_theory_is_the_limit_of_training(phase, name):
    assert probability(simulated(phase, name), predicted(phase, name)) > RATE


def test_a_kernel_wrong_by_five_percent_is_caught(monkeypatch):
    right = population.Population.advance

    def wrong(self, t, r, G):
        averages = right(self, t, r, G)
        return averages._replace(Gamma=1.05 * averages.Gamma)

    monkeypatch.setattr(population.Population, "advance", wrong)
    assert probability(simulated("UNSAT", "SGD"), predicted("UNSAT", "SGD")) < RATE
