"""Oscillators that are coupled to the weights read the temperature of their frequency."""

import numpy as np
import ornstein_uhlenbeck as ou
import pytest
from scipy import stats

import sgdnoise as sn
from sgdnoise.thermometer import Size, expected_reading, oscillators, read_temperature

DIALS = (0.5, 1.0, 3.0)


def mode(memory):
    """One mode of stiffness 1 that is driven by noise with this memory."""
    dataset = ou.exact(a=1.0, memory=memory, dt=0.1, steps=600)
    chi = dataset.integrated_response.values
    dataset["response"] = (dataset.integrated_response.dims, np.diff(chi, prepend=0.0) / 0.1)
    dataset.attrs["learning_rate"] = 0.1
    return dataset


def off(dataset, damping):
    """By how much the readings differ from the temperature, as a part of it."""
    truth = sn.frequency_temperature(dataset, DIALS).temperature.values
    return expected_reading(dataset, oscillators(dataset, DIALS, damping)) / truth - 1


@pytest.mark.parametrize("damping", [0.02, 0.1])
def test_white_noise_is_read_exactly_at_any_coupling(damping):
    np.testing.assert_allclose(off(mode(0.0), damping), 0.0, atol=1e-9)


def test_coloured_noise_is_read_in_the_limit_of_weak_coupling():
    """The deviation is proportional to the damping."""
    strong, weak = (off(mode(0.8), damping) for damping in (0.16, 0.02))
    assert (np.abs(strong) > 0.01).all()
    np.testing.assert_allclose(weak / strong, 0.02 / 0.16, rtol=0.2)


@pytest.mark.statistical
def test_networks_with_oscillators_read_the_theory():
    """Threshold: Student's at 1e-4 for each of three frequencies, 5 degrees of freedom, plus 10 per cent for N = 150.

    Control: twice the temperature is outside at every frequency.
    """
    problem, algorithm, dt = sn.Problem(alpha=4), sn.PersistentSGD(batch=0.3, persistence=1.0), 0.1
    theory = sn.solve_stationary(problem, algorithm, dt, 10.0, paths=800, realisations=4, seed=1)
    dials = oscillators(theory, DIALS, 0.08)
    truth = expected_reading(theory, dials)
    size = Size(features=150, each=8, copies=4, networks=6, duration=80.0)
    ratio = read_temperature(problem, algorithm, dt, dials, truth, size, seed=5) / truth
    mean, error = ratio.mean(axis=0), ratio.std(axis=0, ddof=1) / np.sqrt(6)
    allowed = stats.t.ppf(1 - 5e-5, 5) * error
    assert (np.abs(mean - 1) < allowed + 0.1).all()
    assert (np.abs(mean / 2 - 1) > 0.1).all()
