"""The temperature of each frequency: exact where it can be, and honest about its error where it cannot."""

import math

import numpy as np
import ornstein_uhlenbeck as ou
import pytest
from scipy import stats

import sgdnoise as sn
from sgdnoise.linear_response import stationary_modes
from sgdnoise.modes import motion_of


def coloured(frequency, memory=0.0, force=1.0, dt=0.1):
    """Half the power spectrum of the force."""
    return 0.5 * dt * force * (1 - memory**2) / (1 - 2 * memory * np.cos(frequency * dt) + memory**2)


@pytest.mark.parametrize("memory", [0.0, 0.6, 0.93, -0.4])
@pytest.mark.parametrize(("dt", "a", "force"), [(0.1, 1.0, 2.0), (0.05, 3.0, 0.3), (0.7, 1.5, 1.0), (0.7, 2.3, 1.0)])
def test_a_mode_has_half_the_power_spectrum_of_its_force(memory, dt, a, force):
    """At any step, beyond 1/a too, from zero to the highest frequency; the stiffness drops out."""
    slowest = max(abs(1 - a * dt), abs(memory))
    dataset = ou.exact(a=a, force=force, memory=memory, dt=dt, steps=round(100 / (1 - slowest)))
    found = sn.frequency_temperature(dataset)
    assert found.frequency[0] == 0
    assert found.frequency[-1] == pytest.approx(math.pi / dt)
    np.testing.assert_allclose(found.temperature, coloured(found.frequency, memory, force, dt), rtol=1e-9)
    assert np.isnan(found.error).all()


def test_a_batch_that_is_forgotten_slowly_gives_the_lorentzian_as_the_step_goes_to_zero():
    dt, gamma, omega = 0.001, 2.0, np.array([0.0, 0.5, 2.0, 8.0])
    dataset = ou.exact(memory=1 - gamma * dt, dt=dt, steps=40_000)
    found = sn.frequency_temperature(dataset, omega)
    np.testing.assert_allclose(found.temperature, gamma / (gamma**2 + omega**2), rtol=2e-3)


def test_vanilla_sgd_is_the_mean_over_its_modes():
    """Weights 1/|1 - phi exp(i theta)|^2: soft, cold modes at low frequency and all modes alike at high frequency."""
    problem, algorithm, dt = sn.Problem(alpha=6), sn.SGD(batch=0.1), 0.1
    theory = sn.linear_response(problem, algorithm, dt, duration=60.0)
    found = sn.frequency_temperature(theory)
    modes = stationary_modes(sn.hessian_spectrum(problem, algorithm), motion_of(algorithm, dt, problem.ridge))
    phase = np.exp(1j * dt * found.frequency.values)[:, None]
    share = modes.weight / np.abs(1 - (1 - dt * modes.stiffness) * phase) ** 2
    expected = (share * 0.5 * dt * 0.1 * 0.9 * modes.force).sum(axis=1) / share.sum(axis=1)
    np.testing.assert_allclose(found.temperature, expected, rtol=1e-8)
    assert (np.diff(found.temperature) > 0).all()


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.8])
def test_momentum_divides_by_one_less_itself(momentum):
    dt, a, steps = 0.1, 1.0, 3000
    response = np.zeros(steps + 2)
    response[1] = 1.0
    for n in range(1, steps + 1):
        response[n + 1] = response[n] + momentum * (response[n] - response[n - 1]) - dt * a * response[n]
    correlation = np.array([dt**2 * response[: steps + 1 - n] @ response[n : steps + 1] for n in range(601)])
    dataset = ou.layout(correlation[None, None], np.full((1, 601), correlation[0]), a, dt, 601)
    dataset["integrated_response"] = (dataset.correlation.dims, dt * np.cumsum(response[:601])[None, None])
    found = sn.frequency_temperature(dataset)
    np.testing.assert_allclose(found.temperature, 0.5 * dt / (1 - momentum), rtol=1e-8)


def test_a_curve_that_is_cut_off_says_how_much_rests_on_its_end():
    """Two rates, cut off at 12 and at 6 relaxation times: the error is at most what is said to rest on the end."""
    shares = {}
    for steps in (120, 60):
        found = sn.frequency_temperature(ou.exact(memory=0.8, steps=steps))
        error = found.temperature / coloured(found.frequency, 0.8) - 1
        shares[steps] = float(np.abs(found.beyond / found.temperature)[0])
        assert abs(float(error[0])) < shares[steps]
    assert shares[120] < shares[60]


def test_correlation_of_rest_and_drift_of_the_norm_do_not_matter():
    """A part of the weights that never moves is in the correlation and not in its connected part."""
    still = sn.frequency_temperature(ou.run(np.random.default_rng(1), steps=200, static=0.0, realisations=4))
    moved = sn.frequency_temperature(ou.run(np.random.default_rng(1), steps=200, static=10.0, realisations=4))
    np.testing.assert_allclose(moved.temperature, still.temperature, rtol=1e-6)
    np.testing.assert_allclose(moved.error, still.error, rtol=1e-4)


@pytest.mark.statistical
@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_errors_cover_the_truth(memory):
    """200 runs of 4 realisations: Student's law with 3 degrees of freedom has 61 per cent within one error.

    Runs share no noise, frequencies of one run do. At each of four frequencies the coverage has the standard error
    0.035; accepted is 0.61 +- 0.13, 3.7 of them, which leaves room for the lengthened tails of a ratio (measured with
    other seeds: 0.59 to 0.66). The mean over runs may be off by 4 of its standard errors plus one per cent:
    false-alarm rate below 5e-3. Control: the temperature of the other noise is not covered.
    """
    omega = np.array([0.0, 0.5, 1.0, 3.0])
    values, errors = np.empty((2, 200, omega.size))
    for seed in range(200):
        dataset = ou.run(np.random.default_rng(seed), memory=memory, steps=200, every=4, realisations=4, weights=200)
        found = sn.frequency_temperature(dataset, omega, longest=10.0, drift_tolerance=1.0)
        values[seed], errors[seed] = found.temperature, found.error
    expected = coloured(omega, memory)
    inside = np.abs(values - expected) < errors
    np.testing.assert_allclose(inside.mean(axis=0), 0.61, atol=0.13)
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(200)
    assert (np.abs(mean - expected) < 4 * error + 0.01 * expected).all()
    assert (np.abs(values - coloured(omega, 0.8 - memory)) < errors).mean() < 0.2


@pytest.mark.statistical
def test_networks_have_the_temperatures_of_the_theory_at_five_frequencies():
    """Persistent SGD with N = 2,000. Threshold: Student's at 2e-4 for each frequency, 1e-3 for all five.

    The errors of theory and networks are added in squares, with the 7 degrees of freedom of the networks. Control: the
    theory of half the persistence is outside at the lowest frequency but zero.
    """
    problem, dt, omega = sn.Problem(alpha=4), 0.2, np.array([0.0, 0.7, 1.5, 3.0, 6.0])
    slow, fast = (sn.PersistentSGD(batch=0.3, persistence=tau) for tau in (2.0, 1.0))
    run = sn.simulate(
        problem,
        slow,
        dt,
        duration=12.0,
        features=2000,
        realisations=8,
        seed=3,
        waiting_times=(4.0, 4.4, 4.8),
        probes=1,
        loss_every=60,
    )
    choices = {"longest": 7.0, "drift_tolerance": 0.1}
    found = sn.frequency_temperature(run, omega, waiting_times=run.waiting_time.values, **choices)
    theories = [
        sn.frequency_temperature(
            sn.solve_dmft(problem, algorithm, dt, 12.0, paths=2000, realisations=8, seed=1), omega, **choices
        )
        for algorithm in (slow, fast)
    ]
    allowed = stats.t.ppf(1 - 1e-4, 7) * np.hypot(found.error, theories[0].error)
    assert (np.abs(found.temperature - theories[0].temperature) < allowed).all()
    assert abs(found.temperature - theories[1].temperature)[1] > allowed[1]


@pytest.mark.parametrize(
    ("problem", "algorithm", "dt"),
    [
        (sn.Problem(alpha=6), sn.GD(), 0.05),
        (sn.Problem(alpha=6), sn.SGD(batch=0.1), 0.1),
        (sn.Problem(alpha=8), sn.PersistentSGD(batch=0.3, persistence=4.0), 0.1),
        (sn.Problem(alpha=2, delta=0.5, ridge=0.2), sn.SGD(batch=0.3), 0.2),
        (sn.Problem(alpha=2, delta=0.5, ridge=0.0), sn.PersistentSGD(batch=0.2, persistence=2.0), 0.2),
        (sn.Problem(alpha=6), sn.PersistentSGD(batch=0.3, persistence=0.5, embedding="exact"), 0.1),
        (sn.Problem(alpha=6), sn.SGD(batch=0.3, gradient="mean"), 0.05),
        (sn.Problem(alpha=4), sn.ShuffledSGD(batch=0.1), 0.1),
        (sn.Problem(alpha=6), sn.Langevin(temperature=0.05), 0.05),
        (sn.Problem(alpha=6, loss=sn.logistic), sn.PersistentSGD(batch=0.3, persistence=2.0), 0.1),
        (sn.Problem(alpha=6, loss=sn.square), sn.SGD(batch=0.5), 0.05),
    ],
)
def test_a_push_decays_no_slower_than_the_softest_hessian_allows(problem, algorithm, dt):
    """Every batch has a Hessian of at least lambda, so that R(n) <= (1 - lambda dt)^n, with no room for sampling.

    It holds as long as no eigenvalue of a batch exceeds 2/dt - lambda.
    """
    assert stiffest(problem, algorithm) <= 2 / dt - problem.ridge
    assert largest_ratio(problem, algorithm, dt) <= 1 + 1e-12


def test_a_step_that_overshoots_is_not_bound_by_the_softest_hessian():
    """The control: batches with eigenvalues up to 9, where 2/dt - lambda is 4."""
    problem, algorithm, dt = sn.Problem(alpha=6), sn.PersistentSGD(batch=0.5, persistence=2.0), 0.4
    assert stiffest(problem, algorithm) > 2 / dt - problem.ridge
    assert largest_ratio(problem, algorithm, dt) > 1


def stiffest(problem, algorithm):
    """Largest eigenvalue of a batch with all its samples inside the margin, the outlier of the mean included."""
    b, delta = getattr(algorithm, "batch", 1.0), problem.delta
    samples = problem.alpha * b
    edge = max(delta * (1 + math.sqrt(samples)) ** 2, (1 + delta) * (samples + delta))
    return problem.ridge + edge * (algorithm.mean_weight / b if b < 1 else 1.0)


def largest_ratio(problem, algorithm, dt):
    """The response over (1 - lambda dt)^n, the largest over waiting times and lags but the first, where both are 1."""
    R = sn.solve_dmft(problem, algorithm, dt, 40 * dt, paths=300, realisations=2, seed=0).response.values
    bound = (1 - problem.ridge * dt) ** np.arange(40)
    return max(float((np.abs(R[:, t, t + 2 :]) / bound[1 : 39 - t + 1]).max()) for t in range(39))


def test_response_is_the_derivative_of_the_integrated_response():
    problem, algorithm, dt = sn.Problem(alpha=4), sn.SGD(batch=0.3), 0.1
    options = {"realisations": 2, "waiting_times": (0.0, 0.5, 1.9)}
    theory = sn.solve_dmft(problem, algorithm, dt, 2.0, paths=50, **options)
    run = sn.simulate(problem, algorithm, dt, 2.0, features=30, **options)
    for dataset in (theory, run, sn.linear_response(problem, algorithm, dt, 2.0)):
        assert dataset.response.dims == dataset.integrated_response.dims
        for wait in range(dataset.sizes["waiting_time"]):
            first = round(float(dataset.waiting_time[wait]) / dt)
            R, chi = (dataset[name].values[:, wait] for name in ("response", "integrated_response"))
            assert np.isnan(R[:, :first]).all()
            np.testing.assert_array_equal(R[:, first], 0.0)
            np.testing.assert_allclose(R[:, first + 1 : first + 2], 1.0, rtol=1e-12)
            np.testing.assert_allclose(dt * np.cumsum(R[:, first:], axis=1), chi[:, first:], atol=1e-13)
    thin = sn.simulate(problem, algorithm, dt, 2.0, features=30, realisations=1, waiting_times=(0.4,), record_every=2)
    assert "integrated_response" in thin
    assert "response" not in thin


def test_one_run_of_a_cold_algorithm_has_temperature_zero():
    theory = sn.linear_response(sn.Problem(alpha=6), sn.GD(), 0.05, 20.0)
    np.testing.assert_array_equal(sn.frequency_temperature(theory).temperature, 0.0)


def test_frequencies_that_the_lags_do_not_resolve_are_refused():
    short = ou.exact(memory=0.97, steps=60)  # the force is remembered for a time 3.3, and the run ends at 6
    with pytest.raises(
        ValueError, match=r"^frequencies must be at least 1.047 for lags up to 6, which are less .* got 0$"
    ):
        sn.frequency_temperature(short, [0.0, 1.0])
    known = sn.frequency_temperature(short)
    assert known.frequency[0] == pytest.approx(2 * math.pi / 6)
    np.testing.assert_allclose(known.temperature, coloured(known.frequency, 0.97), rtol=0.25)


@pytest.mark.parametrize(
    ("change", "choices", "error", "sentence"),
    [
        (None, {"frequencies": [1.0, 32.0]}, ValueError, r"frequencies must be at most pi/dt = 31.4159 .* got 32$"),
        (None, {"frequencies": [-1.0]}, ValueError, "frequencies must be at least 0, got -1.0"),
        (None, {"frequencies": [math.nan]}, ValueError, "frequencies must be a finite number at least 0, got nan"),
        (None, {"frequencies": []}, ValueError, "frequencies must have at least one value, or be None, got none"),
        (None, {"frequencies": 1.0}, TypeError, "frequencies must be a list, got 1.0"),
        (None, {"longest": 99.0}, ValueError, "lags must be at most 12, where the run ends, got 99"),
        ("thin", {}, ValueError, r"dataset must be recorded at every step .* recorded every 0.2 at learning_rate=0.1$"),
        (None, {"frequencies": ["low"]}, TypeError, "frequencies must be a number at least 0, got 'low'"),
        (None, {"frequencies": np.ones((2, 2))}, TypeError, "frequencies must be a list, got array"),
        ("nan", {}, ValueError, "dataset must hold numbers from every waiting time on, got NaN"),
        ("infinite", {}, ValueError, "dataset must hold numbers from every waiting time on, got NaN or infinity"),
        ("deaf", {}, ValueError, "dataset must hold a response above zero at long lag, got 0$"),
        ("realisation", {}, ValueError, "dataset must have values along the dimension realisation, got one with"),
        ("waiting_time", {}, ValueError, "dataset must have values along the dimension waiting_time, got one with"),
        ("time", {}, ValueError, "dataset must have values along the dimension time, got one with"),
        ("few", {}, ValueError, "dataset must have at least 4 lags for a temperature of frequencies, got 3"),
        ("bare", {}, ValueError, "dataset must hold correlation, integrated_response, norm"),
        ("none", {}, TypeError, "dataset must be an xarray.Dataset"),
        ("text", {}, ValueError, "dataset must hold real numbers as norm, got <U"),
        ("uneven", {}, ValueError, "dataset must have at least two times, evenly spaced, got time 0, 0.01, 0.04"),
        ("rate", {}, ValueError, "learning_rate of the dataset must be a finite number greater than 0, got nan"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, choices, error, sentence):
    dataset = ou.exact(steps=120)
    if change == "thin":
        dataset = dataset.isel(time=slice(None, None, 2))
    elif change == "few":
        dataset = dataset.isel(time=slice(3))
    elif change == "nan":
        dataset["integrated_response"] = dataset.integrated_response.where(dataset.time != dataset.time[7])
    elif change == "infinite":
        dataset["correlation"] = dataset.correlation.where(dataset.time != dataset.time[7], math.inf)
    elif change == "deaf":
        dataset["integrated_response"] = 0 * dataset.integrated_response
    elif change in dataset.dims:
        dataset = dataset.isel({change: slice(0)})
    elif change == "bare":
        dataset = dataset.drop_vars("correlation")
    elif change == "none":
        dataset = None
    elif change == "text":
        dataset["norm"] = dataset.norm.astype(str)
    elif change == "uneven":
        dataset = dataset.assign_coords(time=dataset.time.values**2)
    elif change == "rate":
        dataset.attrs["learning_rate"] = math.nan
    with pytest.raises(error, match="^" + sentence) as caught:
        sn.frequency_temperature(dataset, **choices)
    assert "\n" not in str(caught.value)


def test_a_run_that_drifts_is_refused():
    far = 20 * math.sqrt(ou.variance(1, 1, 0, 0.1))
    dataset = ou.run(np.random.default_rng(2), start=far, weights=400)
    with pytest.raises(sn.NotStationaryError, match="over those given a drift moves the temperature"):
        sn.frequency_temperature(dataset, waiting_times=(0.0, 0.5, 1.0))
