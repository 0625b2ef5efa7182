"""Orthant probabilities against closed forms and against counting.

False alarms: seeds are fixed. Thresholds are 4 standard errors, which a new seed passes in all but 6e-5 of cases.
"""

import numpy as np
import pytest

from sgdnoise.orthant import allowed_steps

pytestmark = pytest.mark.statistical


def rows_with(correlation):
    return np.linalg.cholesky(np.asarray(correlation, dtype=float))


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.5, 0.95])
def test_two_tight_constraints(rho):
    """Sheppard: 1/4 + arcsin(rho)/(2 pi). The weights of 100,000 draws scatter by less than their mean."""
    steps = allowed_steps(rows_with([[1, rho], [rho, 1]]), [0, 0], 0.0, np.random.default_rng(1), draws=100_000)
    exact = 0.25 + np.arcsin(rho) / (2 * np.pi)
    assert np.exp(steps.log_probability) == pytest.approx(exact, rel=4 / np.sqrt(100_000))
    wrong = 0.25 + np.arcsin(-rho) / (2 * np.pi)  # with the sign of the correlation turned
    assert rho == 0 or abs(np.exp(steps.log_probability) - wrong) > 0.02


def test_independent_constraints_are_exact():
    steps = allowed_steps(np.eye(40), np.zeros(40), 0.0, np.random.default_rng(2), draws=10)
    assert steps.log_probability == pytest.approx(-40 * np.log(2), rel=1e-12)


def test_steps_of_finite_size_against_counting():
    rng = np.random.default_rng(3)
    rows, slack = rng.normal(size=(6, 9)) / 3, np.array([0.0, 0.0, 0.3, 0.6, 0.1, 2.0])
    steps = allowed_steps(rows, slack, 0.7, rng, draws=50_000)
    tried = slack[:, None] + 0.7 * rows @ rng.normal(size=(9, 400_000))
    kept = np.all(tried >= 0, axis=0)
    error = np.sqrt(kept.mean() / 400_000 + 1 / 50_000 * kept.mean() ** 2)
    assert np.exp(steps.log_probability) == pytest.approx(kept.mean(), abs=4 * error)
    # The drawn steps keep the constraints, and are those that counting keeps.
    assert np.all(slack[:, None] + 0.7 * steps.changes >= -1e-12)
    mean = steps.changes @ steps.weights
    counted = (tried[:, kept] - slack[:, None]) / 0.7
    scatter = counted.std(axis=1) * np.sqrt(1 / kept.sum() + 1 / 50_000 * (50_000 * (steps.weights**2).sum()))
    assert np.all(np.abs(mean - counted.mean(axis=1)) < 4 * scatter)
    assert not np.all(np.abs(mean) < 4 * scatter)  # a step that knows nothing of the constraints


def test_the_limit_of_small_steps_is_that_of_the_tight_constraints():
    rng = np.random.default_rng(4)
    rows, slack = rng.normal(size=(8, 12)), np.r_[np.zeros(5), np.ones(3)]
    tight = allowed_steps(rows[:5], slack[:5], 0.0, rng, draws=50_000).log_probability
    # exp of the logarithm scatters by about 1/sqrt(draws) relative to itself.
    small = allowed_steps(rows, slack, 1e-3, rng, draws=50_000).log_probability
    large = allowed_steps(rows, slack, 1.0, rng, draws=50_000).log_probability
    assert small == pytest.approx(tight, abs=4 * np.sqrt(2 / 50_000))
    assert large < tight - 0.1
