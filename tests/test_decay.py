"""Decay rates of response and correlation: exact where the law is exact."""

import numpy as np
import ornstein_uhlenbeck as ou
import pytest

import sgdnoise as sn
from sgdnoise.decay import (
    LEAST,
    continued_response,
    correlation_decay,
    fit_decay,
    forgetting_rate,
    mode_decay,
    response_decay,
)


@pytest.mark.parametrize(("rate", "delay"), [(1.7, 0.0), (0.6, 2.5), (3.0, 4.0)])
def test_the_law_itself_is_fitted_to_rounding(rate, delay):
    lag = np.arange(1.0, 9.0, 0.05)
    fit = fit_decay(lag, 0.3 * (lag + delay) ** -1.5 * np.exp(-rate * lag)[None])
    assert fit.rate[0] == pytest.approx(rate, rel=1e-10)
    assert fit.delay[0] == pytest.approx(delay)
    assert np.exp(fit.log_amplitude[0]) == pytest.approx(0.3, rel=1e-9)


def test_the_softest_mode_is_what_the_response_of_linear_response_decays_with():
    """Its spectrum ends in a square root, so that the law holds at long lag; from lag 4 on to one per cent."""
    problem, algorithm, dt = sn.Problem(alpha=8), sn.PersistentSGD(batch=0.3, persistence=2.0), 0.05
    linear = sn.linear_response(problem, algorithm, dt, 20.0)
    softest = -np.log(1 - dt * sn.hessian_spectrum(problem, algorithm).softest) / dt
    assert response_decay(linear, start=4.0).value == pytest.approx(softest, rel=0.01)
    # Control: without the power law the rate of the last decade is ten per cent off.
    R, lag = linear.response.values[0, 0], linear.time.values
    late = (lag > 4) & (R > LEAST)
    assert -np.polyfit(lag[late], np.log(R[late]), 1)[0] > 1.05 * softest


def test_the_continuation_takes_over_where_the_response_is_lost():
    linear = sn.linear_response(sn.Problem(alpha=8), sn.PersistentSGD(batch=0.3, persistence=2.0), 0.05, 16.0)
    lost = linear.copy(deep=True)
    lost["response"] = linear.response.where(linear.response > LEAST, 0.0)
    continued, exact = continued_response(lost, start=4.0)[0], linear.response.values[0, 0]
    known = exact > LEAST
    np.testing.assert_array_equal(continued[known], exact[known])
    # Over ten decades more; the fit is one of finite lags. Without it there is nothing.
    beyond = np.flatnonzero(~known)[1:]
    np.testing.assert_allclose(np.log(continued[beyond]), np.log(exact[beyond]), rtol=0.02)
    assert (lost.response.values[0, 0, beyond] == 0).all()


@pytest.mark.parametrize(("a", "memory"), [(1.0, 0.8), (2.0, 0.95)])
def test_the_correlation_of_a_mode_decays_as_a_mode_says(a, memory):
    """For small steps, at lags from two to four; the slower of the two rates alone is not what one sees there."""
    dt = 0.002
    gamma = -np.log(memory) / 0.1
    mode = ou.exact(a=a, memory=float(np.exp(-gamma * dt)), dt=dt, steps=round(30 / dt))
    found = correlation_decay(mode, 2.0, 4.0)
    assert found.value == pytest.approx(mode_decay(a, gamma, 2.0, 4.0), rel=0.01)


def test_the_batch_forgets_at_the_rate_of_its_chain():
    dt = 0.05
    for embedding, rate in (("euler", -np.log(1 - dt / 0.6) / dt), ("exact", 1 / 0.6)):
        algorithm = sn.PersistentSGD(batch=0.3, persistence=2.0, embedding=embedding)
        assert forgetting_rate(algorithm, dt) == pytest.approx(rate, rel=1e-12)
