"""Every fast path against the ten-line loop of ``naive.py``, fed with the same data, start and batch bits."""

import functools

import naive
import numba
import numpy as np
import pytest
from simulated import drawn

import sgdnoise as sn

UNSAT, SAT = sn.Problem(alpha=3, delta=0.7, ridge=0.8), sn.Problem(alpha=0.5, delta=0.5, ridge=0)
CASES = [
    (UNSAT, sn.GD()),
    (UNSAT, sn.SGD(0.1)),
    (UNSAT, sn.SGD(0.8)),
    (UNSAT, sn.PersistentSGD(0.3, 2.0)),
    (sn.Problem(alpha=3, ridge=0), sn.PersistentSGD(0.7, 1.0, "exact")),
    (SAT, sn.GD()),
    (SAT, sn.PersistentSGD(0.3, 2.0)),
    (sn.Problem(alpha=1, ridge=0.5, margin=0.4), sn.SGD(0.6)),
    (sn.Problem(alpha=2, loss=sn.logistic), sn.PersistentSGD(0.3, 0.2, "exact")),
    (sn.Problem(alpha=2, margin=0.3, loss=sn.square), sn.SGD(0.5)),
    (sn.Problem(alpha=0.8, margin=0.3, loss=sn.logistic), sn.SGD(0.5)),
    (UNSAT, sn.SGD(0.3, momentum=0.7)),
    (sn.Problem(alpha=0.8, ridge=0.3), sn.PersistentSGD(0.3, 2.0, momentum=0.4)),
    (UNSAT, sn.SGD(0.3, gradient="mean", momentum=0.5)),
    (SAT, sn.PersistentSGD(0.3, 2.0, gradient="mean")),
    (UNSAT, sn.ShuffledSGD(1 / 7)),
    (SAT, sn.ShuffledSGD(0.25, gradient="mean")),
    (UNSAT, sn.GaussianSGD(0.3)),
    (SAT, sn.GaussianSGD(0.3, gradient="mean", momentum=0.2)),
    (UNSAT, sn.Langevin(0.3)),
    (SAT, sn.Langevin(0.1, momentum=0.5)),
]


def observables(problem, A, weights):
    """Every observable of a trajectory ``weights[step]``, from its definition."""
    N = A.shape[1]
    h, q = weights @ A.T, (weights**2).sum(axis=1) / N
    return {
        "magnetization": weights.mean(axis=1),
        "norm": q,
        "loss": problem.loss.value(h, problem.margin).sum(axis=1) / N + 0.5 * problem.ridge * q,
        "unsatisfied": (h < problem.margin).mean(axis=1),
    }


def naive_weights(problem, inputs, dt, momentum=0.0):
    slope = functools.partial(problem.loss.slope, margin=problem.margin)
    return [
        naive.train(inputs.A, inputs.start, s, dt, problem.ridge, slope, momentum, noise)
        for s, noise in zip(inputs.batches, inputs.noise, strict=True)
    ]


@pytest.mark.kernel
@pytest.mark.parametrize(("problem", "algorithm"), CASES)
def test_agrees_with_the_update_rule_to_rounding(problem, algorithm):
    """All observables at every one of 200 steps, on two data sets, to 1e-12; correlation and response too."""
    dt, steps, N, wait = (0.05, 8, 10, 4) if numba.config.DISABLE_JIT else (0.05, 200, 30, 120)
    options = {"features": N, "seed": 3, "probes": 3, "waiting_times": (wait * dt,), "replicas": 2}
    run = sn.simulate(problem, algorithm, dt, steps * dt, realisations=2, precision="double", **options)
    for index in range(2):
        inputs = drawn(problem, algorithm, dt, steps * dt, index, **options)
        weights = naive_weights(problem, inputs, dt, algorithm.momentum)
        expected = [observables(problem, inputs.A, w) for w in weights]
        for name in expected[0]:
            mean = (expected[0][name] + expected[1][name]) / 2
            np.testing.assert_allclose(run[name][index], mean, rtol=1e-12, atol=1e-12, err_msg=name)
        distance = np.sqrt(((weights[0] - weights[1]) ** 2).sum(axis=1) / N)
        # A distance is the root of a difference: near zero it holds to the root of the rounding.
        np.testing.assert_allclose(run.distance[index], distance, rtol=1e-11, atol=3e-8)
        C = np.mean([w[wait:] @ w[wait] / N for w in weights], axis=0)
        np.testing.assert_allclose(run.correlation[index, 0, wait:], C, rtol=1e-12, atol=1e-12)
        chi = [
            naive.response(
                inputs.A,
                w,
                s,
                dt,
                problem.ridge,
                lambda h: problem.loss.curvature(h, problem.margin),
                wait,
                inputs.probes[0],
                algorithm.momentum,
            )
            for w, s in zip(weights, inputs.batches, strict=True)
        ]
        np.testing.assert_allclose(run.integrated_response[index, 0, wait:], np.mean(chi, axis=0), rtol=1e-11)
        assert np.isnan(run.correlation[index, 0, :wait]).all()
        assert np.isnan(run.integrated_response[index, 0, :wait]).all()


@pytest.mark.kernel
def test_first_response_is_exact():
    run = sn.simulate(UNSAT, sn.SGD(0.3), 0.1, 1.0, features=20, realisations=1, waiting_times=(0.0, 0.5), probes=2)
    np.testing.assert_array_equal(run.integrated_response[0, 0, :2], [0.0, 0.1])
    np.testing.assert_array_equal(run.integrated_response[0, 1, 5:7], [0.0, 0.1])
    np.testing.assert_allclose(run.correlation[0, 1, 5], run.norm[0, 5], rtol=1e-12)


def test_the_response_goes_on_where_descent_has_arrived():
    """The weights of full-batch descent with a ridge stop changing; a push at that point still decays."""
    problem, dt = sn.Problem(alpha=3, ridge=1.0), 0.1
    options = {"features": 30, "realisations": 1, "probes": 4, "precision": "single"}
    run = sn.simulate(problem, sn.GD(), dt, 40.0, waiting_times=(30.0,), **options)
    chi = run.integrated_response[0, 0].sel(time=[32.0, 40.0], method="nearest")
    assert float(chi[1]) < 1.1 * float(chi[0])


def test_response_with_more_features_than_one_stretch():
    """Rows that are longer than what the tangent vectors take at once, with a remainder."""
    dt, steps, N, wait = 0.05, 12, 1100, 2
    options = {"features": N, "seed": 3, "probes": 3, "waiting_times": (wait * dt,), "replicas": 1}
    problem, algorithm = sn.Problem(alpha=1.2), sn.SGD(0.3)
    run = sn.simulate(problem, algorithm, dt, steps * dt, realisations=1, precision="double", **options)
    inputs = drawn(problem, algorithm, dt, steps * dt, **options)
    weights, s = naive_weights(problem, inputs, dt)[0], inputs.batches[0]
    chi = naive.response(
        inputs.A, weights, s, dt, 1.0, lambda h: problem.loss.curvature(h, 1.0), wait, inputs.probes[0]
    )
    np.testing.assert_allclose(run.integrated_response[0, 0, wait:], chi, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.2])
def test_stops_where_the_rule_says(alpha):
    """Both spaces, both replicas: same step, same weights afterwards, and frozen there."""
    problem, algorithm, dt, steps = sn.Problem(alpha=alpha, delta=0.5, ridge=0), sn.PersistentSGD(0.4, 1.0), 0.2, 3000
    options = {"features": 60, "stop_gradient": 1e-10}
    run = sn.simulate(problem, algorithm, dt, steps * dt, realisations=2, replicas=2, record_every=7, **options)
    assert run.attrs["precision"] == "float64"
    for index in range(2):
        inputs = drawn(problem, algorithm, dt, steps * dt, index, **options)
        ends = [
            naive.train_to_stop(
                inputs.A, inputs.start, s, dt, lambda h: problem.loss.slope(h, problem.margin), 0.4, 1e-10
            )
            for s in inputs.batches
        ]
        np.testing.assert_allclose(run.stopping_time[index], [dt * k for _, k in ends], rtol=1e-12)
        expected = [observables(problem, inputs.A, w[None]) for w, _ in ends]
        late = run.isel(realisation=index).sel(time=slice(dt * (max(k for _, k in ends) + 7), None))
        assert late.sizes["time"] > 10
        for name in expected[0]:
            mean = (expected[0][name] + expected[1][name])[0] / 2
            np.testing.assert_allclose(late[name], mean, rtol=1e-9, atol=1e-15, err_msg=name)
        np.testing.assert_allclose(
            late.distance, np.sqrt(((ends[0][0] - ends[1][0]) ** 2).mean()), rtol=1e-9, err_msg="distance"
        )


def assert_same_bits(first, second):
    assert set(first.data_vars) == set(second.data_vars)
    for name in first.data_vars:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


RUNS = [
    (sn.GD(), 0.1),
    (sn.SGD(0.3), 0.05),
    (sn.SGD(0.1), 0.1),
    (sn.PersistentSGD(0.8, 2.0), 0.1),
    (sn.GD(), 0.05),
    (sn.SGD(0.99), 0.05),
    (sn.PersistentSGD(0.2, 1.0), 0.05),
]


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("alpha", [0.5, 6])
def test_shared_data_sets_workers_and_recording_change_no_bit(alpha, precision):
    problem = sn.Problem(alpha=alpha)
    options = {"features": 90, "realisations": 3, "replicas": 2, "waiting_times": (1.0,), "precision": precision}
    shared = sn.simulate_paired(problem, RUNS, 2.0, workers=2, **options)
    for (algorithm, rate), together in zip(RUNS, shared, strict=True):
        alone = sn.simulate(problem, algorithm, rate, 2.0, workers=1, **options)
        assert_same_bits(together, alone)
        sparse = sn.simulate(problem, algorithm, rate, 2.0, workers=3, record_every=5, loss_every=10, **options)
        np.testing.assert_array_equal(sparse.norm, alone.norm[:, ::5])
        np.testing.assert_array_equal(sparse.distance, alone.distance[:, ::5])
        np.testing.assert_array_equal(sparse.integrated_response, alone.integrated_response[..., ::5])
        np.testing.assert_array_equal(sparse.loss[:, ::2], alone.loss[:, ::10])
        assert np.isnan(sparse.loss[:, 1::2]).all()


def test_a_prefix_of_realisations_and_replicas_is_the_same_run():
    many = sn.simulate(UNSAT, sn.SGD(0.3), 0.1, 1.0, features=50, realisations=4)
    few = sn.simulate(UNSAT, sn.SGD(0.3), 0.1, 1.0, features=50, realisations=2)
    other = sn.simulate(UNSAT, sn.SGD(0.3), 0.1, 1.0, features=50, realisations=2, seed=1)
    np.testing.assert_array_equal(many.norm[:2], few.norm)
    assert (few.norm != other.norm).all()


def test_persistent_sgd_at_its_shortest_persistence_is_vanilla_sgd():
    """At tau = dt/b the switching probabilities are those of vanilla SGD: the same bits, to the last one."""
    vanilla = sn.simulate(UNSAT, sn.SGD(0.3), 0.1, 5.0, features=50, realisations=2)
    persistent = sn.simulate(UNSAT, sn.PersistentSGD(0.3, 0.1 / 0.3), 0.1, 5.0, features=50, realisations=2)
    assert_same_bits(vanilla, persistent)
