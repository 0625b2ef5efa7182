"""Waiting times are used where a drift is excluded, not where it goes unnoticed."""

import math

import numpy as np
import ornstein_uhlenbeck as ou
import pytest

import sgdnoise as sn
from sgdnoise.stationarity import relaxation_time

WHITE = 0.1 / (2 - 0.1)  # dt sigma^2 / (2 - dt a) at a = sigma = 1, dt = 0.1
FAR = 20 * math.sqrt(ou.variance(1, 1, 0, 0.1))  # at t_w the squared displacement is off by a factor 400 exp(-2 t_w)


def scores(seeds, **choices):
    """Deviation from the truth over the quoted error, for runs of 4 realisations that start far away; NaN: refused.

    A static part of the weights makes the norm too noisy to show a drift, as in networks.
    """
    steps = choices.pop("steps", 120)
    start = choices.pop("start", FAR)
    found = np.full(seeds, np.nan)
    for seed in range(seeds):
        dataset = ou.run(np.random.default_rng(seed), start=start, realisations=4, steps=steps, static=10.0)
        try:
            temperature = sn.effective_temperature(dataset, lags=(0.0, 2.5), **choices)
        except sn.NotStationaryError:
            continue
        found[seed] = (temperature.value - WHITE) / temperature.error
    return found


@pytest.mark.statistical
def test_a_network_of_a_few_hundred_weights_is_read_where_it_is_stationary():
    """At t_w = 1.5 the squared displacement is nine times its late value, in noise that hides the drift of the norm.

    Threshold: Student's at 1e-3 two-sided over 8 data sets (false-alarm rate 1e-3), and 3 per cent for what linear
    response leaves out. Control: from t_w = 1.5 on the value is off by more than twice that.
    """
    problem, algorithm = sn.Problem(alpha=4, delta=0.7, ridge=0.3), sn.SGD(batch=0.25)
    waits = np.arange(0.0, 9.51, 0.5).tolist()
    run = sn.simulate(problem, algorithm, 0.05, 12.0, features=200, realisations=8, seed=0, waiting_times=waits)
    expected = sn.effective_temperature(sn.linear_response(problem, algorithm, 0.05, 2.5)).value
    found = sn.effective_temperature(run)
    allowed = 5.41 * found.error + 0.03 * expected
    assert abs(found.value - expected) < allowed
    assert found.error < 0.1 * expected
    early = sn.effective_temperature(run, waiting_times=[t for t in waits if t >= 1.5], drift_tolerance=10.0)
    assert abs(early.value - expected) > 2 * allowed


@pytest.mark.statistical
def test_bias_and_coverage_after_a_transient():
    """100 runs of 4 realisations: none is refused, the bias is below a third of the error, bars cover as they should.

    Student's law with 3 degrees of freedom has 61 per cent within one error, and its median over 100 runs has the error
    0.14. Accepted are a median within 1/3 + 3 x 0.14 and a coverage of 0.61 +- 3 x 0.049: false-alarm rate below 1e-2.
    Control: the same from t_w = 1 on, where the displacement is 50 times too large, fails both.
    """
    score = scores(100)
    assert np.isfinite(score).sum() >= 97
    assert abs(np.nanmedian(score)) < 1 / 3 + 0.42
    assert 0.46 < np.mean(np.abs(score[np.isfinite(score)]) < 1) < 0.76
    early = scores(20, waiting_times=np.arange(1.0, 9.51, 0.5).tolist(), drift_tolerance=10.0)
    assert np.median(early) > 3
    assert np.mean(np.abs(early) < 1) < 0.2


@pytest.mark.statistical
def test_short_runs_are_refused_and_stationary_ones_are_not():
    """Miss rate and false-alarm rate, each measured as 0 of 100 elsewhere: here 0 and at most 1 of 40."""
    assert np.isnan(scores(40, steps=50)).all()
    assert np.isnan(scores(40, start=None)).sum() <= 1


def test_waiting_times_that_are_named_are_used_unless_they_drift():
    dataset = ou.run(np.random.default_rng(2), start=FAR, weights=400)
    late = sn.effective_temperature(dataset, waiting_times=(9.5, 8.0, 8.0))
    assert late.waiting_times == pytest.approx((8.0, 9.5))
    assert abs(late.value - WHITE) < 5 * late.error
    with pytest.raises(
        sn.NotStationaryError, match=r"over those given a drift moves the temperature by .* ± "
    ) as early:
        sn.effective_temperature(dataset, waiting_times=(0.0, 0.5, 1.0))
    assert early.value.estimate.value > 2 * WHITE
    assert early.value.estimate.waiting_times == (0.0, 0.5, 1.0)


def test_one_waiting_time_is_used_if_it_is_named():
    dataset = ou.run(np.random.default_rng(5)).isel(waiting_time=[10])
    with pytest.raises(sn.NotStationaryError, match=r"record more waiting times, or name those to be used") as caught:
        sn.effective_temperature(dataset)
    named = sn.effective_temperature(dataset, waiting_times=[5.0])
    assert caught.value.estimate.value == named.value
    assert str(named).endswith("waiting time 5)")


def test_one_realisation_is_judged_without_errors():
    drifting = ou.run(np.random.default_rng(6), start=FAR, realisations=1)
    with pytest.raises(sn.NotStationaryError):
        sn.effective_temperature(drifting)
    still = sn.effective_temperature(drifting, drift_tolerance=1.0)
    assert still.waiting_times[0] > 3
    assert math.isnan(still.error)


def test_the_plain_displacement_is_not_taken_for_stationary_too_early():
    """Its drift is linear in what is left of the start, and lasts twice as long."""
    dataset = ou.run(np.random.default_rng(2), start=FAR, weights=400, steps=200)
    plain, square = (sn.effective_temperature(dataset, symmetric=symmetric) for symmetric in (False, True))
    assert plain.waiting_times[0] > square.waiting_times[0]
    for found in (plain, square):
        assert abs(found.value - WHITE) < 5 * found.error


@pytest.mark.parametrize("tau", [0.3, 1.0, 2.0, 7.0])
def test_relaxation_time_of_an_exponential(tau):
    lag = np.linspace(0.0, 4.0, 401)
    assert relaxation_time(1 - np.exp(-lag / tau), lag) == pytest.approx(tau, abs=0.01)
    assert relaxation_time(lag, lag) == math.inf
