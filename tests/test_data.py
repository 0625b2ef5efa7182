"""Given data: the engine against the model and the naive loop, the minimum and its modes, the store, refused input."""

import dataclasses
import doctest
import functools
import pickle
import subprocess
import sys
import tracemalloc

import matplotlib as mpl
import naive
import numba
import numpy as np
import pytest
from own_parts import HuberHinge
from scipy import stats
from scipy.linalg import solve_discrete_lyapunov
from simulated import drawn
from sklearn.datasets import load_digits

import sgdnoise as sn
from bookbuild.paths import ROOT
from sgdnoise.empirical import find_minimum
from sgdnoise.modes import motion_of
from sgdnoise.sweep.keys import key_of

RNG = np.random.default_rng(5)


@functools.cache
def digits():
    """Handwritten digits, five or more against less: pixels that vary, of mean 0 and variance 1, and labels."""
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y >= 5, 1, -1)


def some_digits(samples, **options):
    X, y = digits()
    return sn.Problem.from_data(X[:samples], y[:samples], test=(X[-100:], y[-100:]), **options)


# The engine.


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("model", [sn.Problem(alpha=3, delta=0.7, ridge=0.8), sn.Problem(alpha=0.5, ridge=0)], ids=repr)
def test_data_drawn_from_the_model_give_its_bits(model, precision):
    """Realisation k of the model and realisation k on its data: the same start, batches and probes, hence bits."""
    call = {"learning_rate": 0.1, "duration": 3.0}
    options = {"realisations": 2, "precision": precision, "replicas": 2, "waiting_times": (1.0,), "probes": 3}
    run = sn.simulate(model, sn.SGD(0.3), **call, features=64, **options)
    dtype = np.float32 if precision == "single" else np.float64
    for k in range(2):
        A = drawn(model, sn.SGD(0.3), **call, realisation=k, features=64, dtype=dtype).A
        y = RNG.choice([-1, 1], len(A))
        X = (8 * y[:, None] * A).astype(dtype)  # the root of 64 features: nothing is rounded
        problem = sn.Problem.from_data(X, y, ridge=model.ridge)
        mine = sn.simulate(problem, sn.SGD(0.3), **call, directions=np.ones((1, 64)), **options)
        for name in ("norm", "loss", "unsatisfied", "distance", "correlation", "integrated_response"):
            np.testing.assert_array_equal(mine[name][k], run[name][k], err_msg=name)
        np.testing.assert_allclose(mine.projection[k, 0] / 64, run.magnetization[k], rtol=1e-12, atol=1e-15)
        assert "magnetization" not in mine
        assert mine.error.isnull().all()


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("samples", "ridge", "loss", "algorithm"),
    [
        (150, 1.0, sn.squared_hinge, sn.SGD(0.2)),
        (150, 1.0, sn.squared_hinge, sn.GD()),
        (150, 0.5, sn.logistic, sn.ShuffledSGD(0.2, gradient="mean")),
        (40, 0.0, sn.squared_hinge, sn.PersistentSGD(0.3, 1.0)),
        (40, 0.2, sn.square, sn.SGD(0.3, momentum=0.5)),
    ],
)
def test_naive_loop_on_digits(samples, ridge, loss, algorithm):
    """Every observable at every step, in both coordinates, to rounding."""
    dt, steps, wait = (0.02, 4, 2) if numba.config.DISABLE_JIT else (0.02, 30, 10)
    problem = some_digits(samples, ridge=ridge, loss=loss)
    N, U = problem.data.features, RNG.normal(size=(3, problem.data.features))
    options = {"features": None, "seed": 3, "probes": 3, "waiting_times": (wait * dt,), "replicas": 2}
    run = sn.simulate(
        problem, algorithm, dt, steps * dt, realisations=2, precision="double", directions=U, loss_every=1, **options
    )
    X, y = digits()
    test = X[-100:] * y[-100:, None]
    slope, curvature = (functools.partial(f, margin=1.0) for f in (loss.slope, loss.curvature))
    for index in range(2):
        inputs = drawn(problem, algorithm, dt, steps * dt, index, **options)
        A = X[:samples] * y[:samples, None] / np.sqrt(N)
        runs = [naive.train(A, inputs.start, s, dt, ridge, slope, algorithm.momentum) for s in inputs.batches]
        chi = [
            naive.response(A, w, s, dt, ridge, curvature, wait, inputs.probes[0], algorithm.momentum)
            for w, s in zip(runs, inputs.batches, strict=True)
        ]
        q = [(w**2).sum(axis=1) / N for w in runs]
        expected = {
            "norm": np.mean(q, axis=0),
            "loss": np.mean(
                [loss.value(w @ A.T, 1.0).sum(axis=1) / N + ridge / 2 * n for w, n in zip(runs, q, strict=True)], axis=0
            ),
            "unsatisfied": np.mean([(w @ A.T < 1).mean(axis=1) for w in runs], axis=0),
            "error": np.mean([(w @ test.T < 0).mean(axis=1) for w in runs], axis=0),
            "projection": np.mean([U @ w.T for w in runs], axis=0),
        }
        for name, values in expected.items():
            np.testing.assert_allclose(run[name][index], values, rtol=1e-11, atol=1e-12, err_msg=name)
        C = np.mean([w[wait:] @ w[wait] / N for w in runs], axis=0)
        np.testing.assert_allclose(run.correlation[index, 0, wait:], C, rtol=1e-11)
        np.testing.assert_allclose(run.integrated_response[index, 0, wait:], np.mean(chi, axis=0), rtol=1e-11)


def test_integers_other_orders_and_threads_change_no_bit():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], np.where(y >= 5, 1, -1)[:300]
    run = {"algorithm": sn.SGD(0.2), "learning_rate": 0.001, "duration": 0.02, "realisations": 3}
    expected = sn.simulate(sn.Problem.from_data(X, y), **run, workers=1)
    for other in (X.astype(np.uint8), X.astype(int), X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        assert sn.simulate(sn.Problem.from_data(other, y.tolist()), **run, workers=2).equals(expected)


def test_constant_columns_are_biases_and_zeros_feel_the_ridge_only():
    X, y = digits()
    X = np.column_stack([X[:200], np.ones(200), np.zeros(200)])
    problem = sn.Problem.from_data(X, y[:200], ridge=0.7)
    last = np.eye(X.shape[1])[-2:]
    run = sn.simulate(problem, sn.SGD(0.2), 0.02, 0.4, realisations=2, directions=last)
    shrunk = (1 - 0.02 * 0.7) ** np.arange(21)
    np.testing.assert_allclose(run.projection[:, 1], run.projection[:, 1, :1] * shrunk, rtol=1e-12)
    assert np.ptp(run.projection[0, 0].values / shrunk) > 1e-3
    spectrum = sn.hessian_spectrum(problem, sn.SGD(0.2))
    assert spectrum.softest == pytest.approx(0.7, rel=1e-12)
    assert spectrum.minimum[-1] == 0


def test_test_error_is_one_half_without_weights_and_absent_without_a_test_set():
    problem = some_digits(150, init_variance=0.0)
    run = sn.simulate(problem, sn.GD(), 0.02, 2.0, realisations=1, loss_every=50)
    assert run.error[0, 0] == 0.5
    assert run.error[0, -1] < 0.3
    assert np.isnan(run.error[0, 1])
    assert (run.alpha, run.samples, run.features, run.tests) == (150 / 61, 150, 61, 100)
    without = dataclasses.replace(problem, data=sn.Problem.from_data(*problem.data.train).data)
    assert sn.simulate(without, sn.GD(), 0.02, 2.0, realisations=1).error.isnull().all()


def test_estimators_take_a_run_on_data():
    problem = some_digits(400)
    run = sn.simulate(
        problem, sn.SGD(0.2), 0.02, 16.0, realisations=6, waiting_times=np.arange(6.0, 12.1, 1.0), record_every=1
    )
    assert sn.fdt_curve(run, waiting_time=8.0).sizes["realisation"] == 6
    fit = sn.effective_temperature(run, lags=(0.0, 2.0), drift_tolerance=0.2, tolerance=1.0)
    assert 0 < fit.error < 0.2 * fit.value
    assert sn.local_temperature(run, lags=(0.1,), drift_tolerance=0.2).slope > 0
    assert (sn.frequency_temperature(run, (5.0, 20.0), longest=4.0, drift_tolerance=0.2).temperature > 0).all()


# The minimum and its modes.


@pytest.mark.parametrize("loss", [sn.squared_hinge, sn.square, sn.logistic, HuberHinge(0.5)], ids=repr)
@pytest.mark.parametrize("samples", [40, 300])
def test_minimum_and_hessian_by_their_definitions(loss, samples):
    problem, b = some_digits(samples, ridge=0.3, margin=0.8, loss=loss), 0.2
    spectrum = sn.hessian_spectrum(problem, sn.SGD(b))
    X, y = digits()
    A, w = X[:samples] * y[:samples, None] / np.sqrt(X.shape[1]), spectrum.minimum
    h = A @ w
    gradient = loss.slope(h, 0.8) @ A + 0.3 / b * w
    assert np.sqrt(np.mean(gradient**2)) < 1e-10
    assert spectrum.gradient < 1e-10
    H = 0.3 * np.eye(w.size) + b * A.T @ (loss.curvature(h, 0.8)[:, None] * A)
    np.testing.assert_allclose(spectrum.vectors @ H @ spectrum.vectors.T, np.diag(spectrum.eigenvalues), atol=1e-10)
    np.testing.assert_allclose(spectrum.vectors @ spectrum.vectors.T, np.eye(w.size), atol=1e-12)
    Q = A.T @ (loss.slope(h, 0.8)[:, None] ** 2 * A)
    np.testing.assert_allclose(
        np.diag(spectrum.vectors @ Q @ spectrum.vectors.T), spectrum.noise, rtol=1e-9, atol=1e-12
    )


def test_gradient_descent_ends_at_the_minimum():
    problem = some_digits(300, ridge=2.0)
    run = sn.simulate(problem, sn.GD(), 0.02, 40.0, realisations=1, precision="double", directions=np.eye(61))
    np.testing.assert_allclose(run.projection[0, :, -1], sn.hessian_spectrum(problem).minimum, atol=1e-12)


def test_a_minimum_that_is_not_a_point_is_refused_and_one_without_ridge_is_found():
    with pytest.raises(ValueError, match=r"ridge must be greater than 0 for data that leave a direction .* free"):
        sn.hessian_spectrum(some_digits(40, ridge=0))
    with pytest.raises(ValueError, match="ridge must be greater than 0"):
        sn.linear_response(some_digits(40, ridge=0, loss=sn.square), sn.SGD(0.5), 0.01, 0.1)
    X, y = RNG.normal(size=(400, 10)), RNG.choice([-1, 1], 400)
    problem = sn.Problem.from_data(X, y, ridge=0)
    w, gradient = find_minimum(problem.data, problem.loss, 1.0, 0.0)
    assert gradient < 1e-10
    assert np.all(sn.hessian_spectrum(problem).minimum == w)


@pytest.mark.parametrize(("momentum", "persistence"), [(0.0, 0.0), (0.6, 0.0), (0.0, 0.05), (0.6, 0.05)])
def test_modes_are_those_of_an_ornstein_uhlenbeck_process_with_the_same_hessian(momentum, persistence):
    """Weights, velocity and force of all modes together, coupled by the covariance of the force: Lyapunov's equation.

    The learning rate is so small that the force does not depend on the weights, to 1e-4.
    """
    problem, b, dt = some_digits(300, ridge=1.5), 0.25, 1e-5
    algorithm = (
        sn.PersistentSGD(b, persistence * 1e-3, momentum=momentum) if persistence else sn.SGD(b, momentum=momentum)
    )
    rho = 1 - dt / (b * persistence * 1e-3) if persistence else 0.0
    X, y = digits()
    A, spectrum = X[:300] * y[:300, None] / np.sqrt(61), sn.hessian_spectrum(problem, algorithm)
    h, one = A @ spectrum.minimum, np.eye(61)
    H = problem.ridge * one + b * A[h < 1].T @ A[h < 1]
    Q = b * (1 - b) * A.T @ (np.minimum(h - 1, 0)[:, None] ** 2 * A)
    # w' = w - dt v', v' = m v + H w - xi, xi' = rho xi + noise
    zero = 0 * one
    F = np.block(
        [
            [one - dt * H, -dt * momentum * one, dt * one],
            [H, momentum * one, -one],
            [zero, zero, rho * one],
        ]
    )
    N = np.zeros((183, 183))
    N[122:, 122:] = (1 - rho**2) * Q
    P = solve_discrete_lyapunov(F, N)
    theory = sn.linear_response(problem, algorithm, dt, 50 * dt)
    variance = np.diag(spectrum.vectors @ P[:61, :61] @ spectrum.vectors.T)
    T = theory.mode_temperature.values
    np.testing.assert_allclose(T, spectrum.eigenvalues * variance, rtol=1e-3, atol=1e-6 * T.max())
    C = [np.trace((np.linalg.matrix_power(F, n) @ P)[:61, :61]) / 61 for n in (0, 1, 10, 50)]
    B = theory.correlation[0, 0, 0] - theory.correlation[0, 0, [0, 1, 10, 50]]
    np.testing.assert_allclose(B, C[0] - np.array(C), rtol=2e-3, atol=1e-9 * C[0])
    if not momentum and not persistence:  # dt/2 times noise over stiffness
        np.testing.assert_allclose(T, dt / 2 * b * (1 - b) * spectrum.noise, rtol=1e-3)


@pytest.mark.statistical
def test_measured_temperatures_of_modes_are_those_of_the_square_loss():
    """Square loss, for which the theory is exact at any learning rate: single precision and start allow 1e-3.

    59 modes that a sample feels, 40 realisations, Student's t. False alarms: 1e-3. Without the part of the force that
    comes from the weights' own fluctuations it must fail.
    """
    problem, algorithm, dt = some_digits(600, ridge=1.0, loss=sn.square), sn.SGD(0.2), 0.04
    spectrum, theory = sn.hessian_spectrum(problem, algorithm), sn.linear_response(problem, algorithm, dt, 0.4)
    run = sn.simulate(
        problem, algorithm, dt, 100.0, realisations=40, directions=spectrum.vectors, loss_every=2500, record_every=5
    )
    late = run.projection.sel(time=slice(10, None)) - (spectrum.vectors @ spectrum.minimum)[None, :, None]
    T = spectrum.eigenvalues * (late**2).mean("time").values
    found, error = T.mean(axis=0), T.std(axis=0, ddof=1) / np.sqrt(40)
    allowed, felt = stats.t.isf(0.5e-3 / 59, 39) * error + 1e-3 * found, spectrum.noise > 1e-9
    assert felt.sum() == 59
    assert np.all((np.abs(found - theory.mode_temperature.values) < allowed)[felt])
    bare = dt * 0.16 * spectrum.noise / (2 - dt * spectrum.eigenvalues)
    assert not np.all((np.abs(found - bare) < allowed)[felt])


@pytest.mark.statistical
def test_batches_of_fixed_size_do_not_feel_what_all_samples_pull_alike():
    """Nearly equal samples: shuffled epochs shake the mean direction by what differs between samples only.

    60 realisations, Student's t and 3 % for the learning rate and 1/M. False alarms: 1e-3.
    """
    rng = np.random.default_rng(8)
    problem = sn.Problem.from_data(1.0 + 0.1 * rng.normal(size=(100, 4)), np.ones(100), loss=sn.square)
    algorithm, dt = sn.ShuffledSGD(0.25), 0.004
    spectrum, theory = sn.hessian_spectrum(problem, algorithm), sn.linear_response(problem, algorithm, dt, dt)
    run = sn.simulate(
        problem, algorithm, dt, 40.0, realisations=60, directions=spectrum.vectors, loss_every=10**4, precision="double"
    )
    x = run.projection.sel(time=slice(10, None))
    T = spectrum.eigenvalues[-1] * ((x - x.mean(["time", "realisation"])) ** 2).mean("time").values[:, -1]
    expected = float(theory.mode_temperature[-1])
    error = stats.t.isf(0.5e-3, 59) * T.std(ddof=1) / np.sqrt(60)
    assert abs(T.mean() - expected) < error + 0.03 * expected
    # Negative control: with the force that independent samples of the same data feel, the test fails.
    independent = dataclasses.replace(spectrum, algorithm=sn.SGD(0.25))
    forces = [each.stationary_modes(motion_of(algorithm, dt, 1.0)).force[-1] for each in (independent, spectrum)]
    wrong = expected * forces[0] / forces[1]
    assert abs(T.mean() - wrong) > error + 0.03 * wrong


@pytest.mark.statistical
def test_data_of_the_model_have_the_modes_of_the_model():
    """Eight data sets of 240 features against the high-dimensional limit, by Student's t and 1 % for their size.

    False alarms: 1e-3.
    """
    model, algorithm, found = sn.Problem(alpha=6), sn.SGD(0.1), []
    for _ in range(8):
        A = 1 / 240 + RNG.normal(size=(1440, 240)) / np.sqrt(240)
        mine = sn.Problem.from_data(np.sqrt(240) * A, np.ones(1440))
        result = sn.linear_response(mine, algorithm, 0.1, 1.0)
        found.append([result.initial_temperature, result.integrated_temperature, float(result.norm[0, 0])])
    theory = sn.linear_response(model, algorithm, 0.1, 1.0)
    expected = np.array([theory.initial_temperature, theory.integrated_temperature, float(theory.norm[0, 0])])
    off, error = np.mean(found, axis=0) - expected, np.std(found, axis=0, ddof=1) / np.sqrt(8)
    assert np.all(np.abs(off) < stats.t.isf(0.5e-3 / 3, 7) * error + 0.01 * expected)


# Contents, store, memory.


def test_problems_are_equal_where_their_contents_are():
    X, y = digits()
    one, two = (sn.Problem.from_data(np.array(X), y) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != sn.Problem.from_data(X + 1e-9, y)
    assert one != sn.Problem.from_data(X, -y)
    assert one != sn.Problem.from_data(X, y, test=(X, y))
    assert pickle.loads(pickle.dumps(one)) == one
    other = dataclasses.replace(one, ridge=3.0)
    assert other.data is one.data
    assert repr(one).endswith(f"data=Data(1797 samples, 61 features, 0 tests, {one.data.digest[:12]}))")
    assert repr(sn.Problem(alpha=2)).endswith("loss=SquaredHinge())")


def test_a_store_keys_data_by_content(tmp_path):
    X, y = digits()
    fixed = {"algorithm": sn.SGD(0.5), "learning_rate": 0.01, "duration": 0.05, "realisations": 1}

    def swept(*problems):
        found = sn.sweep(sn.simulate, {"problem": list(problems)}, [0], fixed=fixed, store=tmp_path, workers=1)
        return found, len(list(tmp_path.glob("**/*.nc")))

    first, count = swept(sn.Problem.from_data(X[:200], y[:200]), sn.Problem.from_data(X[:201], y[:201]))
    assert count == 2
    again, count = swept(*(sn.Problem.from_data(np.asfortranarray(X[:n]), list(y[:n])) for n in (200, 201)))
    assert count == 2
    assert first.equals(again)
    moved = X[:200].copy()
    moved[3, 4] += 1e-12
    assert swept(sn.Problem.from_data(moved, y[:200]))[1] == 3
    problem = sn.Problem.from_data(X, y)
    assert key_of(sn.simulate, {"problem": problem}, 0) != key_of(sn.simulate, {"problem": sn.Problem(alpha=2)}, 0)


@pytest.mark.endtoend
def test_a_sweep_in_other_processes_takes_data(tmp_path):
    problems = [some_digits(n) for n in (100, 200)]
    fixed = {"algorithm": sn.SGD(0.5), "learning_rate": 0.01, "duration": 0.05, "realisations": 1}
    found = sn.sweep(sn.simulate, {"problem": problems}, [0], fixed=fixed, store=tmp_path, workers=2)
    for i, problem in enumerate(problems):
        expected = sn.simulate(problem, sn.SGD(0.5), 0.01, 0.05, realisations=1).norm
        np.testing.assert_array_equal(found.norm[i, 0], expected)


def test_data_that_were_changed_are_refused():
    X, y = digits()
    X = X.copy()
    problem = sn.Problem.from_data(X, y)
    X[5, 5] += 1
    with pytest.raises(RuntimeError, match="X and y must not be changed after from_data, and were"):
        sn.simulate(problem, sn.GD(), 0.01, 0.02)


BIG = """
import resource, numpy as np, sgdnoise as sn
rng = np.random.default_rng(0)
X, y = np.empty((60_000, 784), np.float32), rng.choice([-1, 1], 60_000)
for row in X.reshape(60, 1000, 784):
    row[:] = rng.standard_normal(row.shape, dtype=np.float32)
problem = sn.Problem.from_data(X, y, test=(X[:1000], y[:1000]))
for _ in range(2):
    run = sn.simulate(problem, sn.SGD(0.01), 0.01, 0.05, realisations=2, replicas=2, waiting_times=(0.02,), workers=2)
assert np.isfinite(run.norm).all() and run.precision == "float32"
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


@pytest.mark.endtoend
def test_sixty_thousand_samples_of_784_features_take_less_than_a_gigabyte():
    found = subprocess.run([sys.executable, "-c", BIG], capture_output=True, text=True, check=True)
    assert float(found.stdout) < 1.0


@pytest.mark.parametrize("shape", [(60, 40_000), (3000, 800)])
def test_the_rows_are_the_only_copy_of_the_data(shape):
    # 19 MB, with more features than samples and with fewer. The first run makes the rows; later ones share them.
    X, peaks = np.random.default_rng(0).normal(size=shape), []
    small, problem = (
        sn.Problem.from_data(part, np.resize([1, -1], len(part))) for part in (X[: shape[0] // 20, : shape[1] // 20], X)
    )
    sn.simulate(small, sn.SGD(0.1), 0.001, 0.003, realisations=1, precision="double")  # compiles
    for _ in range(2):
        tracemalloc.start()
        sn.simulate(problem, sn.SGD(0.1), 0.001, 0.003, realisations=1, precision="double")
        peaks.append(tracemalloc.get_traced_memory()[1] / X.nbytes)
        tracemalloc.stop()
    assert 1 < peaks[0] < 1.5
    assert peaks[1] < 0.5


def test_the_page_on_your_own_data_runs():
    with mpl.rc_context({"backend": "agg"}):
        found = doctest.testfile(str(ROOT / "book/your_data.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted > 25


# Refused input.

SMALL = np.arange(12.0).reshape(6, 2)
LABELS = np.array([1, -1, 1, 1, -1, -1])


def with_value(value):
    X = SMALL.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sn.Problem.from_data(with_value(np.nan), LABELS), "X must hold finite .*, got nan in row 3, column 1"),
        (lambda: sn.Problem.from_data(with_value(-np.inf), LABELS), "got -inf in row 3, column 1"),
        (lambda: sn.Problem.from_data(with_value(1e13), LABELS), "at most 1e.12, got 10000000000000.0 in row 3"),
        (lambda: sn.Problem.from_data(SMALL[0], LABELS), r"X must have the shape \(samples, features\), .*got \(2,\)"),
        (lambda: sn.Problem.from_data(SMALL[:, :1], LABELS), r"two features or more, got \(6, 1\)"),
        (lambda: sn.Problem.from_data(SMALL[:1], LABELS[:1]), "X must have at least two samples to train with, got 1"),
        (lambda: sn.Problem.from_data(SMALL[:0], LABELS[:0]), r"got \(0, 2\)"),
        (
            lambda: sn.Problem.from_data(SMALL.astype(str), LABELS),
            "X must be an array of real numbers .*, got ndarray of",
        ),
        (lambda: sn.Problem.from_data(SMALL + 1j, LABELS), "X must be an array of real numbers"),
        (
            lambda: sn.Problem.from_data(None, LABELS),
            "X must be an array of real numbers .*, got NoneType of type object",
        ),
        (lambda: sn.Problem.from_data([[1, 2], [3]], LABELS), "X must be an array of real numbers, got list"),
        (lambda: sn.Problem.from_data(np.ma.masked_less(SMALL, 3), LABELS), "X must have no masked values, got 3"),
        (lambda: sn.Problem.from_data(np.ones((6, 2)), np.ones(6)), "X must vary from sample to sample"),
        # The mean of forty times 0.1 has a rounding error.
        (lambda: sn.Problem.from_data(np.full((40, 5), 0.1), np.ones(40)), "X must vary from sample to sample"),
        (
            lambda: sn.Problem.from_data(SMALL, LABELS[:5]),
            r"y must have one label for each of the 6 rows of X, got .*5",
        ),
        (lambda: sn.Problem.from_data(SMALL, LABELS[:, None]), r"got shape \(6, 1\)"),
        (lambda: sn.Problem.from_data(SMALL, LABELS > 0), r"y must hold \+1 and -1 only, got False for .* 1; 2\*y-1"),
        (
            lambda: sn.Problem.from_data(SMALL, [0, 1, 0, 1, 1, 1]),
            r"got 0 for sample 0; 2\*y-1 turns 0 and 1 into them",
        ),
        (lambda: sn.Problem.from_data(SMALL, [1, 2, 1, 1, 1, 1]), r"\+1 and -1 only, got 2 for sample 1$"),
        (lambda: sn.Problem.from_data(SMALL, [1, np.nan, 1, 1, 1, 1]), "got nan for sample 1"),
        (lambda: sn.Problem.from_data(SMALL, list("abcdef")), "y must be an array of real numbers"),
        (lambda: sn.Problem.from_data(SMALL, LABELS, test=SMALL), r"test must be a pair \(X_test, y_test\) or None"),
        (lambda: sn.Problem.from_data(SMALL, LABELS, test=(SMALL, LABELS[:2])), "y_test must have one label"),
        (
            lambda: sn.Problem.from_data(SMALL, LABELS, test=(np.ones((6, 3)), LABELS)),
            "X_test must have the 2 features of X, got 3",
        ),
        (lambda: sn.Problem.from_data(SMALL, LABELS, ridge=-1), "ridge must be at least 0"),
        (lambda: sn.Problem(alpha=2, data=SMALL), "data must be left to Problem.from_data, got ndarray"),
        (
            lambda: dataclasses.replace(sn.Problem.from_data(SMALL, LABELS), alpha=2),
            "alpha and delta must be those of the data, 3 and",
        ),
        (
            lambda: sn.simulate(sn.Problem.from_data(SMALL, LABELS), sn.GD(), 0.1, 1.0, features=7),
            "features must be 2, as in the data, or left out, got 7",
        ),
        (
            lambda: sn.solve_dmft(sn.Problem.from_data(SMALL, LABELS), sn.GD(), 0.1, 1.0),
            "problem must be the model for solve_dmft, a theory that averages over Gaussian clouds and cannot know",
        ),
        (lambda: sn.solve_statics(sn.Problem.from_data(SMALL, LABELS)), "problem must be the model for solve_statics"),
        (
            lambda: sn.solve_stationary(sn.Problem.from_data(SMALL, LABELS), sn.SGD(0.5), 0.1, 1.0),
            "problem must be the model for solve_stationary",
        ),
        (
            lambda: sn.linear_response(sn.Problem.from_data(SMALL, LABELS), sn.SGD(0.5), 1.0, 10.0),
            "learning_rate must be less than .* over the stiffest mode",
        ),
        (
            lambda: sn.simulate(sn.Problem(2), sn.GD(), 0.1, 1.0, features=9, directions=np.ones(9)),
            "directions must be",
        ),
        (
            lambda: sn.simulate(sn.Problem(2), sn.GD(), 0.1, 1.0, features=9, directions=[["a"] * 9]),
            "vectors of 9 numb",
        ),
        (
            lambda: sn.simulate(sn.Problem(2), sn.GD(), 0.1, 1.0, features=9, directions=np.full((1, 9), np.nan)),
            "directions must hold finite numbers",
        ),
    ],
)
def test_bad_input_is_refused(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()
