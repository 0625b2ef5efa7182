import math

import numpy as np
import ornstein_uhlenbeck as ou
import pytest
from scipy import stats

import sgdnoise as sn
from sgdnoise.fdt import jackknife

WHITE = 0.1 / (2 - 0.1)  # dt sigma^2 / (2 - dt a) at a = sigma = 1, dt = 0.1


@pytest.mark.parametrize("method", ["line", "tail", "chord"])
@pytest.mark.parametrize(("dt", "a", "force"), [(0.1, 1.0, 1.0), (0.4, 1.5, 0.2), (0.05, 3.0, 2.0)])
def test_white_noise_has_the_discrete_temperature_by_every_method(method, dt, a, force):
    dataset = ou.exact(a=a, force=force, dt=dt, steps=round(9 / a / dt))
    temperature = sn.effective_temperature(dataset, method=method, lags=None if method != "line" else (0.0, 2.5 / a))
    assert temperature.value == pytest.approx(dt * force / (2 - dt * a), rel=1e-7 if method == "tail" else 1e-10)
    assert math.isnan(temperature.error)
    local = sn.local_temperature(dataset, lags=(0.0, 1 / a, 1.03 / a))
    np.testing.assert_allclose(local.slope, dt * force / (2 - dt * a), rtol=1e-9)


def test_coloured_noise_has_the_known_chord_tail_and_local_temperatures():
    memory, phi, dt = 0.6, 0.9, 0.1
    dataset = ou.exact(memory=memory, dt=dt, steps=200)
    variance = ou.variance(1.0, 1.0, memory, dt)
    chord = sn.effective_temperature(dataset, method="chord")
    assert chord.value == pytest.approx(variance, rel=1e-6)  # over chi = 1/a = 1
    plateau = variance + dt**2 * memory / (1 - phi * memory) / (phi - memory)
    tail = sn.effective_temperature(dataset, method="tail", lags=(0.0, 6.0))
    assert tail.value == pytest.approx(plateau, rel=1e-6)
    early = sn.local_temperature(dataset, lags=(0.0, 0.5, 6.0)).slope.values
    assert early[0] < 0.5 * early[1] < early[1] < early[2] == pytest.approx(plateau, rel=1e-6)


def test_curve_is_what_the_definition_says():
    dataset = ou.run(np.random.default_rng(0), steps=40)
    curve = sn.fdt_curve(dataset, waiting_time=2.0)
    C = dataset.correlation.sel(waiting_time=2.0, method="nearest").values
    chi = dataset.integrated_response.sel(waiting_time=2.0, method="nearest").values
    np.testing.assert_array_equal(curve.displacement, C[:, 20:21] - C[:, 20:])
    np.testing.assert_array_equal(curve.normalised_response, chi[:, 20:] / C[:, 20:21])
    np.testing.assert_array_equal(curve.normalised_correlation, C[:, 20:] / C[:, 20:21])
    np.testing.assert_allclose(curve.lag, 0.1 * np.arange(21), atol=1e-12)
    whole = sn.fdt_curve(dataset)
    assert dict(whole.sizes) == {"realisation": 8, "waiting_time": 9, "lag": 41}
    np.testing.assert_array_equal(whole.displacement[:, 4, :21], curve.displacement)
    assert np.isnan(whole.displacement[:, 4, 21:]).all()


def test_a_last_record_out_of_step_is_left_out():
    dataset = ou.run(np.random.default_rng(0), steps=40)
    thinned = dataset.isel(time=[*range(0, 40, 5), 36], waiting_time=slice(6))
    curve = sn.fdt_curve(thinned, waiting_time=1.0)
    np.testing.assert_allclose(curve.lag, 0.5 * np.arange(6), atol=1e-12)
    reference = sn.fdt_curve(dataset, waiting_time=1.0)
    np.testing.assert_array_equal(curve.displacement, reference.displacement[:, :30:5])


def test_what_was_used_is_reported():
    temperature = sn.effective_temperature(ou.run(np.random.default_rng(1)), lags=(0.0, 2.5))
    first = temperature.waiting_times[0]
    np.testing.assert_allclose(temperature.waiting_times, np.arange(first, 9.51, 0.5))
    assert temperature.lags == pytest.approx((0.0, 2.5))
    assert temperature.method == "line"
    assert dict(temperature.curve.sizes) == {"realisation": 8, "lag": 26}


def test_the_window_is_part_of_the_number_and_said():
    """Three windows of one curve, three temperatures, all straight: the text of each names its window."""
    linear = sn.linear_response(sn.Problem(alpha=4, delta=0.7, ridge=0.3), sn.SGD(batch=0.25), 0.05, 10.0)
    short, middle, long = (sn.effective_temperature(linear, lags=(0.0, upto)) for upto in (1.0, 2.5, 5.0))
    assert short.value > 1.05 * middle.value > 1.1 * long.value
    assert "line over lags 0 to 2.5, a window that is part of the number" in str(middle)
    assert "lags 0 to 5" in str(long)


def test_lag_zero_is_in_the_window():
    """The origin lies on the line of a mode alone, at any step; for many modes leaving it out is another window."""
    alone = ou.exact(a=1.5, dt=0.4, steps=20)
    whole, without = (sn.effective_temperature(alone, lags=(first, 4.0)) for first in (0.0, 0.4))
    assert float(whole.curve.lag[0]) == 0
    assert float(without.curve.lag[0]) == 0.4
    assert whole.value == pytest.approx(without.value, rel=1e-10)
    full = sn.linear_response(sn.Problem(alpha=6), sn.SGD(batch=0.99), 0.1, 5.0)
    whole, without = (sn.effective_temperature(full, lags=(first, 2.5)).value for first in (0.0, 0.1))
    assert whole > 1.2 * without


def test_transient_waiting_times_are_left_out():
    """Started at 20 standard deviations with a rate of 1, the norm is off by a factor 400 exp(-2 t_w)."""
    dataset = ou.run(np.random.default_rng(2), start=20 * math.sqrt(ou.variance(1, 1, 0, 0.1)), weights=400)
    temperature = sn.effective_temperature(dataset, lags=(0.0, 2.5))
    assert 3.0 <= temperature.waiting_times[0] <= 6.0
    assert temperature.waiting_times[-1] == pytest.approx(9.5)
    assert abs(temperature.value - WHITE) < 5 * temperature.error
    with pytest.raises(sn.NotStationaryError) as forced:
        sn.effective_temperature(dataset, waiting_times=(0.0, 0.5, 1.0))
    assert abs(forced.value.local.slope[5] - WHITE) > WHITE  # what would have been measured


@pytest.mark.parametrize("method", ["line", "tail", "chord"])
def test_a_run_that_is_not_stationary_is_refused_with_its_curve(method):
    dataset = ou.run(np.random.default_rng(3), start=20.0, steps=40)
    with pytest.raises(
        sn.NotStationaryError, match=r"waiting_times must lie in a stationary state: from .* cannot be excluded"
    ) as caught:
        sn.effective_temperature(dataset, method=method, lags=(0.0, 2.0))
    assert dict(caught.value.curve.sizes) == {"realisation": 8, "lag": 21}
    assert caught.value.local.slope.shape == (21,)
    assert caught.value.estimate.method == method
    assert caught.value.estimate.value > WHITE
    with pytest.raises(sn.NotStationaryError):
        sn.local_temperature(dataset, lags=(0.5, 1.0))


def test_relaxation_without_noise_is_refused_and_rest_is_cold():
    falling = ou.run(np.random.default_rng(4), start=1.0, force=1e-30)
    with pytest.raises(sn.NotStationaryError):
        sn.effective_temperature(falling, lags=(0.0, 2.5))
    still = falling.copy()
    still["correlation"] = falling.correlation.where(falling.correlation.isnull(), 1.0)
    still["norm"] = falling.norm * 0 + 1
    for method in ("line", "tail", "chord"):
        temperature = sn.effective_temperature(still, method=method)
        assert temperature.value == 0


def test_no_plateau_where_the_noise_forgets_more_slowly_than_the_weights():
    """Memory 0.97 against phi = 0.9: the slope grows with the lag, and the chord still exists."""
    dataset = ou.exact(memory=0.97, steps=400)
    with pytest.raises(sn.NoPlateauError, match=r"settle with the lag for method='tail'") as caught:
        sn.effective_temperature(dataset, method="tail", lags=(0.0, 5.0))
    slope = caught.value.local.slope.values
    assert (np.diff(slope) > 0).all()
    assert caught.value.estimate.value > 2 * slope[25]
    assert caught.value.curve.displacement.shape == (1, 51)
    with pytest.raises(sn.NoPlateauError, match="must be straight"):
        sn.effective_temperature(dataset, method="line", lags=(0.0, 5.0))
    with pytest.raises(sn.NoPlateauError, match="must have reached its end"):
        sn.effective_temperature(dataset, method="chord", lags=(0.0, 5.0))
    chord = sn.effective_temperature(dataset, method="chord")
    assert chord.value == pytest.approx(ou.variance(1, 1, 0.97, 0.1), rel=1e-3)
    anyway = sn.effective_temperature(dataset, method="tail", lags=(0.0, 5.0), tolerance=1.0)
    assert anyway.value == caught.value.estimate.value


def test_a_result_says_whether_its_data_exclude_a_failure_of_the_premise():
    """A straight plot from many and from few weights: neither shows a change of slope, and only one excludes it."""
    options = {"method": "tail", "lags": (0.0, 2.5), "tolerance": 0.1, "drift_tolerance": 1e3}
    quiet, noisy = (
        sn.effective_temperature(ou.run(np.random.default_rng(9), weights=count), **options) for count in (10_000, 50)
    )
    assert not quiet.refuted
    assert not noisy.refuted
    assert quiet.established
    assert not noisy.established
    assert "excluded" not in str(quiet)
    assert str(noisy).endswith("; a variation beyond 0.1 is not excluded)")
    with pytest.raises(sn.NoPlateauError) as caught:
        sn.effective_temperature(ou.exact(memory=0.97, steps=400), method="tail", lags=(0.0, 5.0))
    assert caught.value.estimate.refuted
    assert not caught.value.estimate.established


@pytest.mark.statistical
@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_error_bars_cover_the_truth(memory):
    """200 synthetic runs of 8 realisations, white and coloured noise, all methods: how often is the truth inside?

    With Student's factor for 8 realisations the interval should hold the truth in 95 per cent of the runs. Accepted
    is what 200 runs give for a coverage between 93 and 96 per cent: each of the six counts leaves [0.874, 0.993]
    with probability below 3e-3. Control: bars of half the size are refused.
    """
    truth = {
        method: sn.effective_temperature(ou.exact(memory=memory), method=method, lags=lags, tolerance=9).value
        for method, lags in (("line", (0.0, 2.5)), ("chord", (0.0, 6.0)))
    }
    exact = sn.fdt_curve(ou.exact(memory=memory), waiting_time=0.0)
    scores = {"line": [], "tail": [], "chord": []}
    for seed in range(200):
        dataset = ou.run(np.random.default_rng(seed), memory=memory)
        for method, lags in (("line", (0.0, 2.5)), ("tail", (0.0, 2.5)), ("chord", (0.0, 6.0))):
            found = sn.effective_temperature(dataset, method=method, lags=lags, tolerance=9)
            if method == "tail":  # the window ends where the slope is known to 10 per cent
                last = exact.isel(lag=slice(round(found.lags[1] / 0.1) - 9, round(found.lags[1] / 0.1) + 1))
                expected = np.polyfit(last.integrated_response[0], last.displacement[0], 1)[0]
            else:
                expected = truth[method]
            scores[method].append((found.value - expected) / found.error)
    factor = stats.t.ppf(0.975, 7)
    for method, score in scores.items():
        assert 0.874 < np.mean(np.abs(score) < factor) < 0.993, method
        assert np.mean(np.abs(score) < factor / 2) < 0.874, method
        assert abs(np.mean(score)) < 0.4, method  # no bias: the mean of 200 scores of spread 1.2, 4.7 standard errors


def test_symmetric_displacement_is_less_noisy_with_a_static_part():
    """A constant in the weights drops out of the squared displacement but not out of C(tw,tw)-C(t,tw)."""
    rng = np.random.default_rng(6)
    dataset = ou.run(rng, start=None)
    shift = 0.1 * rng.standard_normal((8, 1, 121))  # of w.w_static/N, the same at both times of a pair
    dataset["norm"] = dataset.norm + 2 * shift[:, 0]
    rows = np.arange(0, 121, 5)
    dataset["correlation"] = dataset.correlation + shift + shift[:, 0, rows][:, :, None]
    plain = sn.effective_temperature(dataset, lags=(0.0, 2.5), symmetric=False, drift_tolerance=10, tolerance=9)
    symmetric = sn.effective_temperature(dataset, lags=(0.0, 2.5), drift_tolerance=10)
    assert symmetric.error < 0.5 * plain.error
    assert abs(symmetric.value - WHITE) < 5 * symmetric.error


def test_tail_slopes_against_waiting_time():
    dataset = ou.run(np.random.default_rng(7), steps=60)
    table = sn.tail_slopes(dataset, points=(5, 10))
    assert table.slope.shape == (2, 13)
    assert np.isnan(table.slope[:, -1]).all()
    late = table.sel(waiting_time=4.0, points=10, method="nearest")
    assert abs(float(late.slope) - WHITE) < 5 * float(late.error)


def test_jackknife_of_a_mean_is_the_standard_error():
    x = np.random.default_rng(8).standard_normal((9, 3))
    value, error = jackknife(lambda x: x, x)
    np.testing.assert_allclose(value, x.mean(axis=0))
    np.testing.assert_allclose(error, stats.sem(x, axis=0))


def test_bad_input():
    dataset = ou.exact()
    with pytest.raises(ValueError, match=r"method must be 'line' or 'tail' or 'chord', got 'slope'"):
        sn.effective_temperature(dataset, method="slope")
    with pytest.raises(ValueError, match=r"lags must be at most 12, where the run ends, got 40"):
        sn.effective_temperature(dataset, lags=(0.0, 40.0))
    with pytest.raises(ValueError, match=r"lags must be a shorter and a longer lag, got \(2.0, 1.0\)"):
        sn.effective_temperature(dataset, lags=(2.0, 1.0))
    with pytest.raises(ValueError, match=r"lags must hold at least 11 points for method='tail', got 6"):
        sn.effective_temperature(dataset, method="tail", lags=(0.0, 0.5))
    with pytest.raises(ValueError, match=r"waiting_time must be among 0, got 3.0"):
        sn.fdt_curve(dataset, waiting_time=3.0)
    for wrong in (2.5, "x"):
        with pytest.raises(TypeError, match=r"waiting_times must be a list, got"):
            sn.effective_temperature(dataset, waiting_times=wrong)
    with pytest.raises(ValueError, match=r"waiting_times must have at least one value, or be None, got \(\)"):
        sn.effective_temperature(dataset, waiting_times=())
    with pytest.raises(TypeError, match=r"symmetric must be True or False, got 'no'"):
        sn.effective_temperature(dataset, symmetric="no")
    with pytest.raises(ValueError, match=r"dataset must hold .* got one without correlation"):
        sn.fdt_curve(dataset.drop_vars("correlation"))
    with pytest.raises(ValueError, match=r"dataset must have values along the dimension realisation, got one with"):
        sn.effective_temperature(dataset.isel(realisation=0))
    with pytest.raises(ValueError, match=r"dataset must hold numbers from every waiting time on, got NaN"):
        sn.effective_temperature(dataset * np.nan)
    with pytest.raises(ValueError, match=r"points must be a whole number of at least 2, got 1"):
        sn.effective_temperature(dataset, method="tail", points=1)
    with pytest.raises(ValueError, match=r"points must be a whole number of at least 2 and at most 121, got 1000"):
        sn.tail_slopes(dataset, points=[1000])


def test_a_slope_at_the_longest_lag_needs_no_lag_beyond_it():
    dataset = ou.run(np.random.default_rng(2), steps=100)
    longest = float(dataset.time[-1]) - 3.0
    found = sn.local_temperature(dataset, lags=(longest,), waiting_times=[3.0], window=5, drift_tolerance=1e3)
    assert np.isfinite(found.slope).all()
