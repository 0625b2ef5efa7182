"""Batch means, shuffled epochs, Gaussian batches, Langevin noise, momentum: limits, closed forms, refused input."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from simulated import weights_of

import sgdnoise as sn
from sgdnoise.algorithms import Descent
from sgdnoise.modes import Modes, Motion, mode_curves, motion_of
from sgdnoise.random.batches import Covariance
from sgdnoise.random.normals import inverse_normal
from sgdnoise.random.processes import Epochs
from sgdnoise.random.threefry import stream_key

PROBLEM = sn.Problem(alpha=3, delta=0.7, ridge=0.8)
ENGINES = {
    "simulation": (sn.simulate, {"features": 30, "precision": "double", "waiting_times": (0.5,)}),
    "theory": (sn.solve_dmft, {"paths": 200}),
}
OBSERVABLES = ["magnetization", "norm", "unsatisfied", "distance", "correlation", "integrated_response"]


def both(name, problem, algorithm, dt=0.05, duration=1.0):
    solve, options = ENGINES[name]
    return solve(problem, algorithm, dt, duration, replicas=2, realisations=2, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "algorithm",
    [sn.ShuffledSGD(1), sn.GaussianSGD(1), sn.Langevin(0.0), sn.SGD(1, gradient="mean"), sn.GD(momentum=0.0)],
    ids=repr,
)
def test_without_noise_it_is_gradient_descent_to_the_last_bit(engine, algorithm):
    assert both(engine, PROBLEM, sn.GD()).equals(both(engine, PROBLEM, algorithm))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [sn.SGD, sn.GaussianSGD, sn.ShuffledSGD], ids=lambda kind: kind.__name__)
def test_a_mean_is_a_sum_at_another_learning_rate_and_ridge(engine, kind):
    """The mean at dt and ridge is the sum at dt/b and b ridge: step by step, with the same random numbers."""
    b, dt = 0.25, 0.05
    mean = both(engine, PROBLEM, kind(b, gradient="mean"), dt, 1.0)
    problem = sn.Problem(alpha=3, delta=0.7, ridge=0.8 * b)
    if engine == "simulation":
        options = {"replicas": 2, "realisations": 2, "features": 30, "precision": "double", "waiting_times": (2.0,)}
        total = sn.simulate(problem, kind(b), dt / b, 1.0 / b, **options)
    else:
        total = both(engine, problem, kind(b), dt / b, 1.0 / b)
    for name in OBSERVABLES:
        scale = b if name == "integrated_response" else 1.0  # an integral over time, in other units of time
        np.testing.assert_allclose(mean[name].values, scale * total[name].values, rtol=1e-8, atol=1e-12, err_msg=name)


def test_the_stopping_rule_is_that_of_the_summed_gradient():
    problem = sn.Problem(alpha=0.5, delta=0.5, ridge=0)
    options = {"features": 40, "realisations": 3, "stop_gradient": 1e-6}
    mean = sn.simulate(problem, sn.SGD(0.5, gradient="mean"), 0.1, 200.0, **options)
    total = sn.simulate(problem, sn.SGD(0.5), 0.2, 400.0, **options)
    np.testing.assert_allclose(mean.stopping_time, 0.5 * total.stopping_time)
    np.testing.assert_allclose(mean.norm[:, -1], total.norm[:, -1], rtol=1e-9)


@pytest.mark.kernel
@pytest.mark.parametrize(("batches", "samples"), [(4, 20), (3, 20), (7, 5)])
def test_every_epoch_is_a_partition_into_equal_batches(batches, samples):
    weight = weights_of(stream_key(np.random.SeedSequence(1)), Epochs(float(batches)), samples, 3 * batches)
    epochs = weight.reshape(3, batches, samples)
    np.testing.assert_array_equal(epochs.sum(axis=1), 1)
    sizes = epochs.sum(axis=2)
    assert sizes.min() >= samples // batches
    assert sizes.max() <= -(-samples // batches)
    assert not np.array_equal(epochs[0], epochs[1])


@pytest.mark.statistical
def test_a_new_epoch_forgets_the_old_one():
    """How many samples keep their slot: as for a random partition, mean and variance. False alarms: 1e-3."""
    batches, samples, epochs = 4, 40, 2000
    weight = weights_of(stream_key(np.random.SeedSequence(2)), Epochs(float(batches)), samples, epochs * batches)
    slot = weight.reshape(epochs, batches, samples).argmax(axis=1)
    kept = (slot[1:] == slot[:-1]).sum(axis=1)
    # With M samples in n slots of k = M/n: mean M/n; the variance of a matching of two random partitions.
    mean, variance = samples / batches, samples**2 * (batches - 1) / batches**2 / (samples - 1)
    assert abs(kept.mean() - mean) < stats.norm.isf(2.5e-4) * math.sqrt(variance / kept.size)
    # A partition that spreads every old batch evenly over the new ones, the obvious mistake, has no variance at all.
    assert abs(kept.var() / variance - 1) < stats.norm.isf(2.5e-4) * math.sqrt(2 / kept.size) * 1.5


@pytest.mark.statistical
@pytest.mark.parametrize(
    "algorithm",
    [
        sn.SGD(0.3, gradient="mean"),
        sn.PersistentSGD(0.3, 0.5),
        sn.PersistentSGD(0.3, 0.5, "exact", gradient="mean"),
        sn.ShuffledSGD(0.2),
        sn.ShuffledSGD(0.5, gradient="mean"),
        sn.GaussianSGD(0.3),
        sn.GaussianSGD(0.3, gradient="mean"),
    ],
    ids=repr,
)
def test_mean_and_autocovariance_are_those_of_the_weights(algorithm):
    """Six lags and the mean, from 100 blocks, by Student's t. False alarms: 1e-3 for each algorithm."""
    process, lags = algorithm.sampling(0.1), 6
    s = weights_of(stream_key(np.random.SeedSequence(3)), process, 4000, 600) - algorithm.mean_weight
    span = 600 - 600 % 20 - 20  # whole epochs
    products = np.stack([np.mean(s[:span] * s[n : n + span], axis=0) for n in range(lags)] + [s[:span].mean(axis=0)])
    blocks = products.reshape(lags + 1, 100, -1).mean(axis=2)
    values, ratio = process.covariance
    padded = np.concatenate([values, values[-1] * ratio ** np.arange(1, lags + 1)])[:lags]
    off, error = blocks.mean(axis=1) - np.append(padded, 0.0), blocks.std(axis=1, ddof=1) / 10
    # Every shuffled sample is in one batch an epoch, so that some averages have no scatter at all.
    assert np.all(np.abs(off) < stats.t.isf(0.5e-3 / (lags + 1), 99) * error + 1e-12)
    assert process.expected(0, -1) == pytest.approx(algorithm.mean_weight)


def test_shuffled_noise_has_no_power_at_frequency_zero():
    assert sn.ShuffledSGD(0.1).sampling(0.1).covariance.total == pytest.approx(0, abs=1e-15)
    assert sn.SGD(0.1).sampling(0.1).covariance.total == pytest.approx(0.09)
    assert sn.PersistentSGD(0.3, 2.0, "exact").sampling(1e-4).covariance.total * 1e-4 == pytest.approx(
        2 * 0.3 * 0.7 * 0.6, rel=1e-3
    )


@pytest.mark.kernel
def test_inverse_of_the_normal_distribution():
    u = np.concatenate([np.arange(1, 1000) / 1000, 10.0 ** -np.arange(3, 9.3, 0.1)])
    z = np.array([inverse_normal(x) for x in u])
    np.testing.assert_allclose(z, stats.norm.ppf(u), rtol=3e-7, atol=1e-9)
    assert inverse_normal(0.0) == pytest.approx(stats.norm.ppf(2.0**-31), rel=1e-6)


# Closed forms of one mode.


def moving(dt, values=(1.0,), ratio=0.0, momentum=0.0, noise=0.0):
    return Motion(Descent(dt, 0.0, momentum), dt, 0.0, Covariance(np.array(values), ratio), noise)


def mode(a, force=1.0):
    return Modes(np.array([a]), np.ones(1), np.array([force]))


@pytest.mark.parametrize(("dt", "a", "T"), [(0.1, 1.0, 0.3), (0.5, 2.5, 1.0), (1.5, 1.0, 0.2)])
def test_langevin_is_hotter_than_its_temperature_on_stiff_modes(dt, a, T):
    C, chi = mode_curves(mode(a, 0.0), moving(dt, noise=sn.Langevin(T).noise(dt)), 5)
    np.testing.assert_allclose((C[0] - C[1:]) / chi[1:], T / (1 - dt * a / 2), rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("dt", "a"), [(0.1, 1.0), (0.4, 2.0)])
def test_momentum_heats_by_one_over_one_minus_momentum_and_a_known_correction(momentum, dt, a):
    C, chi = mode_curves(mode(a), moving(dt, momentum=momentum), 4000)
    closed = dt / ((1 - momentum) * (2 - dt * a / (1 + momentum)))
    assert a * C[0] == pytest.approx(closed, rel=1e-10)
    assert (C[0] - C[-1]) / chi[-1] == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize("momentum", [0.0, 0.6])
@pytest.mark.parametrize("covariance", [([1.0], 0.7), ([0.9, -0.2, -0.1], 0.0), ([1.0, 0.3, 0.2], 0.5)], ids=str)
def test_any_autocovariance_against_the_sum_over_the_past(covariance, momentum):
    """Correlations by summing the response to every force of the past, pair by pair."""
    values, ratio = covariance
    dt, a, past, lags = 0.2, 1.3, 400, 12
    motion = moving(dt, values, ratio, momentum)
    F, p = motion.matrix(np.array([a]))[0], motion.push
    reach = [(np.linalg.matrix_power(F, j) @ p)[0] for j in range(past)]
    c = np.concatenate([values, values[-1] * ratio ** np.arange(1, past + lags)])
    C = mode_curves(mode(a), motion, lags)[0]
    for n in range(lags + 1):
        lag = np.abs(n + np.arange(past)[None, :] - np.arange(past)[:, None])
        assert C[n] == pytest.approx(float(np.asarray(reach) @ c[lag] @ np.asarray(reach)), rel=1e-9), n


def test_shuffled_epochs_cool_with_the_lag_and_persistence_heats():
    """The temperature between two lags, by linear response; with replacement it hardly changes."""
    problem, dt = sn.Problem(alpha=6), 0.1
    names = {"with": sn.SGD(0.1), "shuffled": sn.ShuffledSGD(0.1), "persistent": sn.PersistentSGD(0.1, 2.0)}
    slope = {}
    for name, algorithm in names.items():
        theory = sn.linear_response(problem, algorithm, dt, 2.0).isel(realisation=0, waiting_time=0)
        slope[name] = -np.diff(theory.correlation) / np.diff(theory.integrated_response)
    assert slope["shuffled"][10] < 0.5 * slope["shuffled"][0]
    assert slope["persistent"][10] > 2 * slope["persistent"][0]
    assert abs(slope["with"][10] / slope["with"][0] - 1) < 0.2


@pytest.mark.parametrize("batch", [0.1, 0.25, 0.5])
def test_a_mode_forgets_shuffled_noise_when_the_learning_rate_vanishes(batch):
    """T/dt at a fixed lag goes to zero with dt: the epoch is then short, and its batches compensate each other."""
    problem, found = sn.Problem(alpha=6), []
    for dt in (0.04, 0.02, 0.01):
        theory = sn.linear_response(problem, sn.ShuffledSGD(batch), dt, 2.0)
        drop = (theory.correlation[0, 0, 0] - theory.correlation[0, 0, -1]) / theory.integrated_response[0, 0, -1]
        found.append(float(drop) / dt)
    assert found[2] < found[1] < found[0]
    assert found[2] / found[1] == pytest.approx(0.5, abs=0.15)
    assert sn.solve_statics(problem, sn.ShuffledSGD(batch)).temperature_slope == pytest.approx(0, abs=1e-15)


# Closed forms of the whole problem.


@pytest.mark.parametrize("batch", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("gradient", ["sum", "mean"])
@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_slope_of_the_temperature_is_that_of_linear_response(batch, gradient, momentum):
    problem, dt = sn.Problem(alpha=6), 1e-4
    for kind in (sn.SGD, sn.GaussianSGD):
        algorithm = kind(batch, gradient=gradient, momentum=momentum)
        slope = sn.solve_statics(problem, algorithm).temperature_slope
        modes = sn.linear_response(problem, algorithm, dt, 100 * dt)
        if momentum == 0:  # with momentum the first steps are ballistic
            assert modes.initial_temperature == pytest.approx(dt * slope, rel=1e-2)
        b = batch
        static = sn.solve_statics(problem if gradient == "mean" else sn.Problem(alpha=6, ridge=1 / b))
        variance = (1 - b) / b if gradient == "mean" else b * (1 - b)
        assert slope == pytest.approx(0.5 * variance * 6 * static.square_slope / (1 - momentum), rel=1e-12)


def test_with_the_mean_the_temperature_has_no_maximum_in_the_batch():
    batches = np.linspace(0.02, 1, 50)
    slopes = {
        gradient: [sn.solve_statics(sn.Problem(6), sn.SGD(b, gradient=gradient)).temperature_slope for b in batches]
        for gradient in ("sum", "mean")
    }
    assert 0 < np.argmax(slopes["sum"]) < 49
    assert np.all(np.diff(slopes["mean"]) < 0)


def test_langevin_is_known_to_the_statics():
    assert sn.solve_statics(PROBLEM, sn.Langevin(0.1)).temperature_slope == math.inf
    assert sn.solve_statics(PROBLEM, sn.Langevin(0.0)).temperature_slope == 0
    assert sn.solve_statics(PROBLEM, sn.Langevin(0.1)).norm == sn.solve_statics(PROBLEM).norm
    theory = sn.linear_response(PROBLEM, sn.Langevin(0.1), 1e-3, 0.1)
    for name in ("initial_temperature", "integrated_temperature", "plateau_temperature"):
        assert theory.attrs[name] == pytest.approx(0.1, rel=5e-3)


def test_noise_of_both_kinds_adds_up():
    """White noise shakes the samples, and so adds to the force of the batches too."""

    class Both(sn.SGD):
        def noise(self, learning_rate):
            return sn.Langevin(0.02).noise(learning_rate)

    mixed, batches = (
        sn.linear_response(sn.Problem(6), algorithm, 0.05, 0.1).integrated_temperature
        for algorithm in (Both(0.3), sn.SGD(0.3))
    )
    a, weight = sn.hessian_spectrum(sn.Problem(6), sn.SGD(0.3)).quadrature()
    white = np.average(0.02 / (1 - 0.05 * a / 2), weights=weight / a)
    assert 1.001 * (batches + white) < mixed < 1.1 * (batches + white)
    assert motion_of(Both(0.3), 0.05, 1.0).noise == sn.Langevin(0.02).noise(0.05)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sn.ShuffledSGD(0.3), "batch must be one over a whole number for ShuffledSGD, got 0.3"),
        (lambda: sn.ShuffledSGD(0.75), r"got 0.75 \(1/1 or 1/2 would do\)"),
        (lambda: sn.SGD(0.3, gradient="average"), "gradient must be 'sum' or 'mean', got 'average'"),
        (lambda: sn.GaussianSGD(0.3, gradient=None), "gradient must be 'sum' or 'mean', got None"),
        (lambda: sn.GaussianSGD(1.5), "batch must be greater than 0 and at most 1, got 1.5"),
        (lambda: sn.Langevin(-0.1), "temperature must be at least 0, got -0.1"),
        (lambda: sn.Langevin(math.nan), "temperature must be a finite number at least 0, got nan"),
        (lambda: sn.Langevin(1e300), r"temperature must be at most 1e\+09, got 1e\+300"),
        (lambda: sn.ShuffledSGD(1e-320), "batch must be at least 1/1000000 for ShuffledSGD, got 9.99989e-321"),
        (
            lambda: sn.linear_response(PROBLEM, sn.ShuffledSGD(1e-5), 0.1, 1.0),
            r"algorithm must have an epoch of at most 10000 steps for a linear response, got ShuffledSGD\(batch=1e-05",
        ),
        (lambda: sn.Langevin("cold"), "temperature must be a number at least 0, got 'cold'"),
        (lambda: sn.SGD(0.3, momentum=1.0), "momentum must be at least 0 and less than 1, got 1"),
        (lambda: sn.SGD(0.3, momentum=-0.1), "momentum must be at least 0 and less than 1, got -0.1"),
        (
            lambda: sn.linear_response(PROBLEM, sn.SGD(0.5, momentum=0.5), 1.9, 3.8),
            r"learning_rate must be less than [0-9.]+ \(2\(1\+momentum\) over the stiffest mode\)",
        ),
        (
            lambda: sn.simulate(PROBLEM, sn.SGD(0.5, momentum=0.5), 4.0, 8.0),
            r"learning_rate must be less than 2\(1\+momentum\)/ridge = 3.75",
        ),
        (
            lambda: sn.simulate(sn.Problem(alpha=0.5, ridge=0), sn.Langevin(0.1), 0.1, 1.0, stop_gradient=1e-9),
            "stop_gradient must be None with white noise, which never ends, got 1e-09",
        ),
    ],
)
def test_bad_input_is_refused(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_where_momentum_lets_the_noise_feed_itself_the_limit_is_said():
    """Below the limit there is a stationary state, above it none; the modes themselves are stable at both."""
    algorithm = sn.SGD(0.2, momentum=0.99)
    with pytest.raises(ValueError, match=r"smaller than [0-9.]+ for .* got 0.1: the sampling noise feeds itself") as no:
        sn.linear_response(sn.Problem(6), algorithm, 0.1, 1.0)
    limit = float(str(no.value).split("than ")[1].split()[0])
    assert math.isfinite(
        sn.linear_response(sn.Problem(6), algorithm, 0.98 * limit, 0.98 * limit).integrated_temperature
    )
    with pytest.raises(ValueError, match="feeds itself"):
        sn.linear_response(sn.Problem(6), algorithm, 1.02 * limit, 1.02 * limit)


def periodic(waits, algorithm="ShuffledSGD", **attributes):
    """A run without drift in epochs of four steps, whose temperature is 1 + 0.1 k at step k of the epoch."""
    time, lag = 0.5 * np.arange(101), 0.5 * np.arange(101)
    waits = np.array(waits)
    rise = np.full((2, waits.size, time.size), np.nan)
    for i, wait in enumerate(np.round(waits / 0.5).astype(int)):
        rise[:, i, wait:] = 1 - np.exp(-lag[: time.size - wait])
    hot = (1 + 0.1 * (np.round(waits / 0.5) % 4))[None, :, None]
    layout = ("realisation", "waiting_time", "time")
    return xr.Dataset(
        {
            "norm": (("realisation", "time"), np.full((2, 101), 2.0)),
            "correlation": (layout, 2 - hot * rise),
            "integrated_response": (layout, rise),
        },
        coords={"time": time, "waiting_time": waits},
        attrs={"algorithm": algorithm, "batch": 0.25, "learning_rate": 0.5, **attributes},
    )


def test_estimators_say_which_steps_of_an_epoch_they_average_over():
    """Steps 0, 1, 2, 3 of the epoch have the temperatures 1, 1.1, 1.2 and 1.3; their mean is 1.15."""
    loose = {"drift_tolerance": 10.0}
    steps, run = np.arange(20, 33), periodic(0.5 * np.arange(20, 33))  # three epochs and a step
    whole = "each of the 4 steps of an epoch equally often"
    local = sn.local_temperature(run, lags=(1.0,), **loose)
    assert local.epoch == whole
    assert local.waiting_times == (0.5 * steps[1:]).tolist(), "the first waiting time is left out"
    assert float(local.slope[0]) == pytest.approx(1.15)
    fit = sn.effective_temperature(run, **loose)
    assert fit.value == pytest.approx(1.15)
    assert whole in str(fit)
    assert fit.local.epoch == whole
    assert sn.frequency_temperature(run, (3.0,), longest=10.0, **loose).epoch == whole
    named = sn.local_temperature(run, lags=(1.0,), waiting_times=[10.0, 12.0], **loose)
    assert named.epoch == "step 0 of the 4 steps (from 0) of an epoch only"
    assert float(named.slope[0]) == pytest.approx(1.0)
    all_named = sn.local_temperature(run, lags=(1.0,), waiting_times=0.5 * steps, **loose)
    assert all_named.epoch == "the 4 steps of an epoch, some more often than others"
    few = sn.effective_temperature(periodic([10.0, 10.5, 12.0]), **loose)
    assert "steps 0, 1 of the 4 steps (from 0) of an epoch only" in str(few)
    swept = periodic([10.0, 10.5]).assign_coords(algorithm="ShuffledSGD(batch=0.5)")
    del swept.attrs["algorithm"], swept.attrs["batch"]
    assert sn.local_temperature(swept, lags=(1.0,), **loose).epoch == "each of the 2 steps of an epoch equally often"


def test_a_refusal_says_where_the_epoch_and_not_a_drift_may_be_the_reason():
    """Whole epochs are accepted; three steps of one look like a drift, and the sentence says which steps these are."""
    run = periodic(0.5 * np.arange(20, 28))
    assert sn.local_temperature(run, lags=(1.0,), waiting_times=0.5 * np.arange(20, 28), drift_tolerance=0.05)
    with pytest.raises(sn.NotStationaryError, match=r"drift .*; the state is periodic, and these are steps 0, 1, 3 of"):
        sn.local_temperature(run, lags=(1.0,), waiting_times=[10.0, 10.5, 11.5], drift_tolerance=0.05)


@pytest.mark.parametrize("other", [{"algorithm": "SGD"}, {"engine": "linear response"}])
def test_states_that_are_not_periodic_have_no_epoch(other):
    found = sn.local_temperature(periodic([10.0, 10.5], **other), lags=(1.0,), drift_tolerance=10.0)
    assert "epoch" not in found.attrs


@pytest.mark.parametrize("lags", [(), 0.5])
def test_local_temperature_refuses_lags_that_are_no_list(lags):
    with pytest.raises((TypeError, ValueError), match=r"lags must (have at least one value|be a list), .*got"):
        sn.local_temperature(periodic([10.0]), lags=lags)


def test_algorithms_say_what_they_are():
    assert repr(sn.SGD(0.3)) == "SGD(batch=0.3)"
    assert repr(sn.ShuffledSGD(1 / 3, gradient="mean", momentum=0.5)) == (
        "ShuffledSGD(batch=0.3333333333333333, momentum=0.5, gradient='mean')"
    )
    assert sn.ShuffledSGD(0.3333333333) == sn.ShuffledSGD(1 / 3)
    run = sn.simulate(PROBLEM, sn.ShuffledSGD(0.5, gradient="mean"), 0.1, 0.2, features=10, realisations=1)
    assert (run.algorithm, run.batch, run.gradient) == ("ShuffledSGD", 0.5, "mean")


def test_a_store_tells_the_algorithms_apart_and_gives_each_back(tmp_path):
    algorithms = [
        sn.SGD(0.5),
        sn.SGD(0.5, gradient="mean"),
        sn.SGD(0.5, momentum=0.5),
        sn.ShuffledSGD(0.5),
        sn.GaussianSGD(0.5),
        sn.Langevin(0.1),
        sn.Langevin(0.2),
    ]
    fixed = {"problem": PROBLEM, "learning_rate": 0.1, "duration": 0.5, "features": 20, "realisations": 1}
    first, again = (
        sn.sweep(sn.simulate, {"algorithm": algorithms}, [0], fixed=fixed, store=tmp_path, workers=1) for _ in range(2)
    )
    assert len(list(tmp_path.glob("**/*.nc"))) == len(algorithms)
    assert first.equals(again)
    assert len(np.unique(first.norm.values[..., -1])) == len(algorithms)
