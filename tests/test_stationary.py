"""The theory in its stationary state, against linear response where that is exact and the two-time solution."""

import math

import numpy as np
import pytest
from scipy import stats

import sgdnoise as sn
from sgdnoise import _threads
from sgdnoise.dmft import stationary
from sgdnoise.dmft.walk import EVERY, Course, Law, Seen, new_room, walk
from sgdnoise.random.processes import Chain

LINEAR = sn.Problem(alpha=3, delta=0.7, ridge=0.5, loss=sn.square)


@pytest.mark.kernel
@pytest.mark.parametrize("loss", [sn.squared_hinge, sn.logistic], ids=repr)
def test_paths_follow_the_equations_as_written(loss):
    """Fields by a sum over the past, responses by the inverse of a triangular matrix."""
    rng = np.random.default_rng(3)
    paths, steps, lags, first, margin, step = 3, 3 * EVERY, 20, 30, 0.8, 0.15
    process, R = Chain(0.4, 0.1, 0.15), np.exp(-0.2 * np.arange(lags))
    course = Course(
        rng.standard_normal(paths), rng.standard_normal((paths, steps)).astype(np.float32), rng.random((paths, steps))
    )
    out = Seen(np.empty((paths, steps), np.float32), np.zeros(paths), np.zeros(lags + 1), np.zeros(2))
    walk(Law(process, loss, margin, step, R), first, course, out, new_room(steps, lags))
    propagator = np.array([[R[t - u - 1] if 0 < t - u <= lags else 0.0 for u in range(steps)] for t in range(steps)])
    Gamma, pull, seen = np.zeros(lags + 1), np.zeros(paths), np.zeros(2)
    count = sum((steps - 1 - t) % EVERY == 0 for t in range(first, steps))
    for p in range(paths):
        state, r = -1, np.zeros(steps)
        s, expected, force = np.zeros((3, steps))
        for t in range(steps):
            expected[t] = process.expected(t, state)
            s[t], state = process.draw(t, state, course.u[p, t])
            r[t] = course.base[p] + course.noise[p, t] - step * propagator[t] @ force
            force[t] = s[t] * loss.slope(r[t], margin)
        np.testing.assert_allclose(out.force[p], force, rtol=1e-6, atol=1e-7)
        slope, bend = loss.slope(r, margin), loss.curvature(r, margin)
        pull[p] = expected[first:] @ slope[first:]
        seen += loss.value(r, margin)[first:].sum(), (r < margin)[first:].sum()
        Gamma[0] += expected[first:] @ bend[first:]
        for t in range(first, steps):
            if (steps - 1 - t) % EVERY == 0:
                # D solves D = 1 - step R s l'' D; its row at t, with memory cut off at the last lag before t.
                inside = slice(max(0, t - lags), t + 1)
                D = np.linalg.inv(
                    np.eye(t + 1)[inside, inside] + step * propagator[inside, inside] * (s * bend)[inside]
                )
                Gamma[1:] += (steps - first) / count * expected[t] * bend[t] * D[-1, -2::-1][:lags]
    np.testing.assert_allclose(out.pull, pull, rtol=1e-9)
    np.testing.assert_allclose(out.seen, seen, rtol=1e-9)
    np.testing.assert_allclose(out.Gamma, Gamma, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_response_of_gradient_descent_with_the_square_loss_is_exact(momentum):
    """Every path has the same response, so that nothing is left to chance."""
    algorithm = sn.GD(momentum=momentum)
    found = sn.solve_stationary(LINEAR, algorithm, 0.1, 16.0, paths=128, realisations=1, tolerance=1e-10)
    linear = sn.linear_response(LINEAR, algorithm, 0.1, 16.0)
    np.testing.assert_allclose(found.response, linear.response, atol=1e-7)
    assert float(abs(found.correlation - found.correlation[..., :1]).max()) < 1e-9


def allowed(mean, error, share, runs):
    """Deviation that a mean over so many runs has with this probability, by Student's law."""
    return stats.t.ppf(1 - share / 2, runs - 1) * np.asarray(error) + 1e-3 * np.abs(mean)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "algorithm", [sn.SGD(0.3), sn.SGD(0.3, momentum=0.5), sn.Langevin(0.05), sn.GaussianSGD(0.5)], ids=repr
)
def test_without_memory_and_with_the_square_loss_linear_response_is_exact(algorithm):
    """Six populations; five frequencies and four numbers at 1e-4 each: false alarms below 1e-3 a case.

    Allowed besides is the tolerance of the iteration, 1e-3. Control: the temperatures of twice the learning rate.
    """
    omega, dt = np.array([0.0, 0.5, 1.5, 5.0, 20.0]), 0.1
    found = sn.solve_stationary(LINEAR, algorithm, dt, 24.0, paths=800, realisations=6, seed=5)
    linear = sn.linear_response(LINEAR, algorithm, dt, 24.0)
    spectral, exact = (sn.frequency_temperature(run, omega) for run in (found, linear))
    assert (abs(spectral.temperature - exact.temperature) < allowed(exact.temperature, spectral.error, 1e-4, 6)).all()
    other = sn.frequency_temperature(sn.linear_response(LINEAR, algorithm, 2 * dt, 24.0), omega[:4])
    if not isinstance(algorithm, sn.Langevin):
        off = abs(spectral.temperature[:4] - other.temperature)
        assert (off > allowed(other.temperature, spectral.error[:4], 1e-4, 6)).all()
    for name in ("magnetization", "norm"):
        values, truth = found[name].values[:, 0], float(linear[name][0, 0])
        assert abs(values.mean() - truth) < allowed(truth, values.std(ddof=1) / math.sqrt(6), 1e-4, 6)
    for lag in (10, 40):
        values, truth = found.integrated_response.values[:, 0, lag], float(linear.integrated_response[0, 0, lag])
        assert abs(values.mean() - truth) < allowed(truth, values.std(ddof=1) / math.sqrt(6), 1e-4, 6)


@pytest.mark.statistical
def test_it_is_the_late_state_of_the_two_time_solution():
    """Persistent SGD with the squared hinge, eight populations each, the errors added in squares.

    Nine numbers at 1e-4 each, 7 degrees of freedom: false alarms below 1e-3. Control: linear response is outside at
    low frequency.
    """
    problem, algorithm, dt = sn.Problem(alpha=4), sn.PersistentSGD(batch=0.3, persistence=2.0), 0.2
    omega = np.array([0.0, 0.7, 1.5, 3.0, 6.0])
    still = sn.solve_stationary(problem, algorithm, dt, 12.0, paths=3200, realisations=8, seed=2)
    theory = sn.solve_dmft(problem, algorithm, dt, 14.0, paths=2000, realisations=8, seed=1)
    found = sn.frequency_temperature(still, omega)
    expected = sn.frequency_temperature(theory, omega, longest=7.0, drift_tolerance=0.1)
    limit = allowed(expected.temperature, np.hypot(found.error, expected.error), 1e-4, 8)
    assert (abs(found.temperature - expected.temperature) < limit).all()
    linear = sn.frequency_temperature(sn.linear_response(problem, algorithm, dt, 12.0), omega)
    assert float(abs(linear.temperature - found.temperature)[0]) > limit[0]
    late = theory.sel(time=slice(8.0, None)).mean("time")
    for name in ("magnetization", "norm", "loss", "error", "unsatisfied"):
        one, two = still[name].values[:, 0], late[name].values
        error = np.hypot(one.std(ddof=1), two.std(ddof=1)) / math.sqrt(8)
        assert abs(one.mean() - two.mean()) < allowed(two.mean(), error, 1e-4, 8), name


@pytest.mark.parametrize(
    ("batch", "persistence"),
    [(0.3, tau) for tau in (0.5, 1.0, 2.0, 4.0, 8.0)] + [(b, 2.0) for b in (0.1, 0.2, 0.4, 0.8, 0.99)],
)
def test_a_push_decays_no_slower_than_the_softest_hessian_allows(batch, persistence):
    """All choices of the paper's second figure."""
    algorithm = sn.PersistentSGD(batch=batch, persistence=persistence)
    theory = sn.solve_stationary(sn.Problem(alpha=8), algorithm, 0.1, 20.0, paths=128, realisations=2)
    n = np.arange(theory.sizes["time"] - 1)
    assert (np.abs(theory.response.values[:, 0, 1:]) <= (1 - 0.1) ** n * (1 + 1e-12)).all()


def test_dataset_is_that_of_linear_response():
    problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.3)
    found = sn.solve_stationary(problem, algorithm, 0.1, 5.0, paths=128, realisations=2)
    linear = sn.linear_response(problem, algorithm, 0.1, 5.0)
    shared = [name for name in linear.data_vars if not str(name).startswith("mode_")]  # it knows nothing of modes
    assert set(shared) < set(found.data_vars)
    for name in shared:
        assert found[name].dims == linear[name].dims
        assert found[name].shape[1:] == linear[name].shape[1:]
    np.testing.assert_allclose(found.norm[:, 0], found.correlation[:, 0, 0], rtol=1e-12)
    assert found.engine == "stationary dmft"
    assert found.batch == 0.3
    assert 1 < found.iterations < 20


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(_threads, "threads", lambda count=threads: count)
        size = {"paths": 128, "realisations": 2, "seed": 4}
        run = sn.solve_stationary(sn.Problem(alpha=6), sn.PersistentSGD(0.3, 1.0), 0.1, 5.0, **size)
        found.append(run.correlation.values.tobytes() + run.response.values.tobytes())
    assert found[0] == found[1] == found[2]


def test_a_realisation_depends_on_the_seed_and_its_number_only():
    problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.3)
    size = {"duration": 5.0, "paths": 128}
    many = sn.solve_stationary(problem, algorithm, 0.1, realisations=3, seed=1, **size)
    few = sn.solve_stationary(problem, algorithm, 0.1, realisations=2, seed=1, **size)
    np.testing.assert_array_equal(many.correlation[:2], few.correlation)
    assert (many.correlation[0] != many.correlation[1]).any()


@pytest.mark.parametrize(
    ("choices", "error", "sentence"),
    [
        ({"problem": 3}, TypeError, "problem must be a sgdnoise.Problem, got 3"),
        (
            {"algorithm": sn.ShuffledSGD(0.5)},
            ValueError,
            "algorithm must draw every sample alone for a stationary state",
        ),
        (
            {"duration": 2.0},
            ValueError,
            r"duration must be at least 4.8 here, 8 times the memory of the batch .* got 2.0",
        ),
        ({"duration": 5.05}, ValueError, "duration must be a multiple of learning_rate=0.1, got 5.05"),
        ({"paths": 8}, ValueError, "paths must be a whole number of at least 128, got 8"),
        ({"paths": 130}, ValueError, "paths must be a multiple of 8, got 130"),
        ({"realisations": 0}, ValueError, "realisations must be a whole number of at least 1, got 0"),
        (
            {"memories": 12.0},
            ValueError,
            r"duration must be at least 7.2 here, 12 times the memory of the batch .* got 6.0",
        ),
        ({"memories": 0.5}, ValueError, "memories must be at least 1, got 0.5"),
        ({"tolerance": 0}, ValueError, "tolerance must be greater than 0, got 0"),
        ({"learning_rate": 2.0}, ValueError, "learning_rate must be"),
        ({"seed": -1}, ValueError, "seed must be a whole number of at least 0"),
        ({"progress": 2}, TypeError, "progress must be True or False, got 2"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(choices, error, sentence):
    given = {"problem": sn.Problem(alpha=8), "algorithm": sn.PersistentSGD(0.3, 2.0), "learning_rate": 0.1}
    given |= {"duration": 6.0} | choices
    with pytest.raises(error, match="^" + sentence) as caught:
        sn.solve_stationary(**given)
    assert "\n" not in str(caught.value)


def test_rounds_that_do_not_settle_are_said_to(monkeypatch):
    monkeypatch.setattr(stationary, "MOST_ROUNDS", 3)
    with pytest.raises(sn.ConvergenceError, match=r"^tolerance must be looser.* after 3 rounds") as caught:
        sn.solve_stationary(sn.Problem(alpha=6), sn.SGD(0.3), 0.2, 4.0, paths=128, realisations=1, tolerance=1e-9)
    assert caught.value.iterations == 3
    assert np.isfinite(caught.value.estimate.norm).all()
