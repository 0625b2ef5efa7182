"""The sampling chains: stationarity, autocorrelation, limits."""

import math

import numpy as np
import pytest
from simulated import weights_of

import sgdnoise as sn
from sgdnoise.random.threefry import stream_key

CASES = [
    (sn.GD(), 0.1),
    (sn.SGD(0.3), 0.1),
    (sn.SGD(1.0), 0.1),
    (sn.PersistentSGD(0.3, 2.0), 0.1),
    (sn.PersistentSGD(0.1, 2.0), 0.2),
    (sn.PersistentSGD(0.3, 0.5), 0.2),
    (sn.PersistentSGD(0.99, 2.0), 0.05),
    (sn.PersistentSGD(1.0, 2.0), 0.05),
    (sn.PersistentSGD(0.3, 0.01, "exact"), 0.2),
    (sn.PersistentSGD(0.3, 2.0, "exact"), 0.2),
]


@pytest.mark.parametrize(("algorithm", "dt"), CASES)
def test_the_batch_fraction_is_stationary(algorithm, dt):
    chain = algorithm.sampling(dt)
    after = chain.batch * (1 - chain.leave) + (1 - chain.batch) * chain.enter
    assert after == pytest.approx(chain.batch, abs=1e-15)
    assert 0 <= chain.enter <= 1
    assert 0 <= chain.leave <= 1


def test_persistence_at_the_vanilla_limit_is_vanilla():
    dt = 0.05
    for b in (0.1, 0.3, 0.8):
        persistent, vanilla = sn.PersistentSGD(b, dt / b).sampling(dt), sn.SGD(b).sampling(dt)
        np.testing.assert_allclose(persistent, vanilla, rtol=1e-14)


def test_exact_embedding_composes():
    """Two steps of dt are one of 2 dt: the mark of a process looked at, rather than approximated."""
    algorithm = sn.PersistentSGD(0.3, 0.5, "exact")
    assert algorithm.sampling(0.4).memory == pytest.approx(algorithm.sampling(0.2).memory ** 2, rel=1e-14)
    assert algorithm.sampling(0.2).memory == pytest.approx(math.exp(-0.2 / (0.3 * 0.5)), rel=1e-14)
    assert sn.PersistentSGD(0.3, 0.5).sampling(0.1).memory == pytest.approx(1 - 0.1 / (0.3 * 0.5), rel=1e-14)


def deviations(algorithm, dt, law, chains=200_000, lags=8, seed=1):
    """Sampled autocorrelation minus a law, in standard errors of the sample, at each lag."""
    chain, out = algorithm.sampling(dt), []
    batches = weights_of(stream_key(np.random.SeedSequence(seed)), chain, chains, lags) - chain.batch
    for lag, batch in enumerate(batches):
        products = batches[0] * batch
        out.append((products.mean() - law(lag * dt)) / (products.std() / math.sqrt(chains)))
    return np.abs(out)


# 8 lags, two-sided Gaussian tail beyond 4.5 of 7e-6 each: false alarms in 5e-5 of seeds a case.
THRESHOLD = 4.5


@pytest.mark.statistical
@pytest.mark.parametrize(("b", "tau"), [(0.3, 2.0), (0.1, 0.5), (0.8, 0.5)])
def test_autocorrelation_is_that_of_the_paper(b, tau):
    algorithm = sn.PersistentSGD(b, tau, "exact")
    assert deviations(algorithm, 0.1, lambda t: b * (1 - b) * math.exp(-t / (b * tau))).max() < THRESHOLD


@pytest.mark.statistical
def test_autocorrelation_of_the_euler_embedding():
    b, tau, dt = 0.3, 0.5, 0.1
    algorithm = sn.PersistentSGD(b, tau)
    assert deviations(algorithm, dt, lambda t: b * (1 - b) * (1 - dt / (b * tau)) ** round(t / dt)).max() < THRESHOLD
    # Negative control: this sample is large enough to tell Euler from the continuous process.
    assert deviations(algorithm, dt, lambda t: b * (1 - b) * math.exp(-t / (b * tau))).max() > 2 * THRESHOLD


@pytest.mark.statistical
def test_vanilla_batches_are_independent():
    law = {True: 0.3 * 0.7, False: 0.0}
    assert deviations(sn.SGD(0.3), 0.1, lambda t: law[t == 0]).max() < THRESHOLD


def test_full_batch_is_full():
    for algorithm in (sn.GD(), sn.SGD(1.0), sn.PersistentSGD(1.0, 2.0)):
        assert (weights_of(np.zeros(2, np.uint32), algorithm.sampling(0.1), 1000, 20) == 1).all()
