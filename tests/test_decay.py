"""Decay rates of response and correlation: exact where the law is exact."""

import numpy as np
import ornstein_uhlenbeck as ou
import pytest

import sgdnoise as sn
from sgdnoise.algorithms import Descent
from sgdnoise.decay import (
    LEAST,
    continued_response,
    correlation_decay,
    fit_decay,
    forgetting_rate,
    mode_decay,
    response_decay,
)
from sgdnoise.modes import Modes, Motion, mode_curves, motion_of, plateau_temperature
from sgdnoise.random.batches import Covariance


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


def excess(persistence, times=1, *, alone=False):
    """Rate of the correlation over that of the softest mode, between 2 and 4 times the longer of b tau and 1/a."""
    problem, dt = sn.Problem(alpha=8), 0.05
    algorithm = sn.PersistentSGD(batch=0.3, persistence=persistence)
    linear = sn.linear_response(problem, algorithm, dt, 60.0)
    if alone:
        mode = Modes(np.array([linear.softest_stiffness]), np.ones(1), np.ones(1))
        C, _ = mode_curves(mode, motion_of(algorithm, dt, problem.ridge), linear.sizes["time"] - 1)
        linear["correlation"] = linear.correlation.dims, C[None, None]
    a, gamma = -np.log(1 - dt * linear.softest_stiffness) / dt, forgetting_rate(algorithm, dt)
    lags = times * max(0.3 * persistence, 1 / a) * np.array([2, 4])
    return correlation_decay(linear, *lags).value / mode_decay(a, gamma, *lags)


@pytest.mark.parametrize("persistence", [0.5, 1.0])
def test_below_the_border_stiffer_modes_are_still_there(persistence):
    """The border is at tau = 1.83 here. The excess over the softest mode falls with the lag, and slowly."""
    found = [excess(persistence, times) for times in (1, 2, 3)]
    assert 1.5 > found[0] > found[1] > found[2] > 1.1
    # Controls: the softest mode alone has no excess, and neither has the correlation far above the border.
    assert excess(persistence, alone=True) == pytest.approx(1, abs=1e-3)
    assert excess(8.0) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("memory", [0.5, 0.8, 1.25, 2.0])
def test_the_slope_of_a_mode_settles_only_if_the_batch_is_forgotten_before_it_relaxes(memory):
    """A single mode, solved exactly: b tau = 0.5 to 2 relaxation times.

    Formally the slope has a limit or grows for ever. In practice, near the border, it is far from its limit at lags
    that a run can reach: at lag 4, where 2 per cent of the response is left, it is within 2 per cent at b tau = 0.5,
    and more than 30 per cent below it at 0.8. The two runaways are the control.
    """
    dt, a = 0.01, 1.0
    mode = Modes(np.array([a]), np.ones(1), np.ones(1))
    motion = Motion(Descent(dt, 0.0, 0.0), dt, 0.0, Covariance(np.ones(1), 1 - dt / memory))
    C, chi = mode_curves(mode, motion, round(13 / dt))
    slope = -np.diff(C) / np.diff(chi)
    lag = np.array([round(t / dt) for t in (4, 8, 12)])
    limit = plateau_temperature(mode, motion)
    if memory < 1:
        left = 1 - slope[lag] / limit
        factor = (1 - dt / memory) / (1 - dt * a)  # in a step
        np.testing.assert_allclose(left, left[0] * factor ** (lag - lag[0]), rtol=1e-5, atol=1e-8)
        assert left[0] < 0.02 if memory == 0.5 else left[0] > 0.3
    else:
        assert np.isnan(limit)
        assert (slope[lag[1:]] > 2 * slope[lag[:-1]]).all()


def test_the_batch_forgets_at_the_rate_of_its_chain():
    dt = 0.05
    for embedding, rate in (("euler", -np.log(1 - dt / 0.6) / dt), ("exact", 1 / 0.6)):
        algorithm = sn.PersistentSGD(batch=0.3, persistence=2.0, embedding=embedding)
        assert forgetting_rate(algorithm, dt) == pytest.approx(rate, rel=1e-12)
