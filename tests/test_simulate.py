"""The simulator against an obvious implementation, and against what must hold exactly."""

import math

import numpy as np
import pytest

import sgdnoise as sn
from sgdnoise.algorithms import next_batch, start_batch

SMALL = {"learning_rate": 0.1, "duration": 3.0, "features": 40, "realisations": 2, "seed": 5}


def naive(problem, algorithm, learning_rate, duration, features, realisations, seed):
    """The update rule, written as in the paper; same random streams, plain NumPy."""
    dt, N, M = learning_rate, features, round(problem.alpha * features)
    chain = algorithm.chain(dt)
    out = []
    for stream in np.random.SeedSequence(seed).spawn(realisations):
        data, start, *batches = (np.random.default_rng(child) for child in stream.spawn(4))
        x = 1 / math.sqrt(N) + math.sqrt(problem.delta) * data.standard_normal((M, N))
        first = math.sqrt(problem.init_variance) * start.standard_normal(N)
        ws = []
        for rng in batches:
            w, s, path = first, start_batch(chain, M, rng), []
            for _ in range(round(duration / dt) + 1):
                path.append(w)
                h = x @ w / math.sqrt(N)
                w = w - dt * (x.T @ (s * problem.loss.slope(h, problem.margin)) / math.sqrt(N) + problem.ridge * w)
                s = next_batch(chain, s, rng)
            ws.append(path)
        out.append((x, np.array(ws)))
    return out


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [
        (sn.Problem(alpha=6), sn.GD()),
        (sn.Problem(alpha=6), sn.SGD(0.1)),
        (sn.Problem(alpha=0.5, delta=0.5, ridge=0), sn.PersistentSGD(0.3, 2.0)),
        (sn.Problem(alpha=2, loss=sn.logistic), sn.PersistentSGD(0.3, 0.2, "exact")),
        (sn.Problem(alpha=2, margin=0.3, loss=sn.square), sn.SGD(0.5)),
    ],
)
def test_agrees_with_the_update_rule_to_rounding(problem, algorithm):
    run = sn.simulate(problem, algorithm, replicas=2, **SMALL)
    for index, (x, ws) in enumerate(naive(problem, algorithm, **SMALL)):
        N = SMALL["features"]
        h = ws @ x.T / math.sqrt(N)
        m, q = ws.mean(axis=2), (ws**2).sum(axis=2) / N
        expected = {
            "magnetization": m,
            "norm": q,
            "loss": problem.loss.value(h, problem.margin).sum(axis=2) / N + 0.5 * problem.ridge * q,
            "unsatisfied": (h < problem.margin).mean(axis=2),
        }
        for name, values in expected.items():
            np.testing.assert_allclose(run[name][index], values.mean(axis=0), rtol=1e-12, atol=1e-12, err_msg=name)
        distance = np.sqrt(((ws[0] - ws[1]) ** 2).sum(axis=1) / N)
        np.testing.assert_allclose(run.distance[index], distance, rtol=1e-11, atol=1e-13)


def test_error_is_that_of_new_samples():
    """Phi(-m/sqrt(Delta q)) against 100,000 fresh samples classified by the same weights."""
    rng = np.random.default_rng(0)
    N, delta = 50, 0.7
    w = rng.standard_normal(N) + 0.3
    x = 1 / math.sqrt(N) + math.sqrt(delta) * rng.standard_normal((100_000, N))
    sampled = (x @ w < 0).mean()
    exact = float(sn.results.generalisation_error(w.mean(), w @ w / N, delta))
    # Binomial standard error; beyond 4 of it in 6e-5 of seeds.
    assert abs(sampled - exact) < 4 * math.sqrt(exact * (1 - exact) / 100_000)


def test_gd_decreases_the_loss_and_replicas_of_gd_agree():
    run = sn.simulate(sn.Problem(alpha=3), sn.GD(), 0.05, 5.0, features=60, realisations=2, replicas=2)
    assert (run.loss.diff("time") < 0).all()
    assert (run.distance == 0).all()


def test_full_batch_is_gd_to_the_last_bit():
    problem = sn.Problem(alpha=3)
    runs = [sn.simulate(problem, a, **SMALL) for a in (sn.GD(), sn.SGD(1), sn.PersistentSGD(1, 2.0))]
    for run in runs[1:]:
        for name in runs[0].data_vars:
            np.testing.assert_array_equal(run[name], runs[0][name])


def test_same_seed_same_bits_and_prefix_of_realisations():
    first = sn.simulate(sn.Problem(alpha=3), sn.SGD(0.3), **SMALL)
    again = sn.simulate(sn.Problem(alpha=3), sn.SGD(0.3), **SMALL)
    more = sn.simulate(sn.Problem(alpha=3), sn.SGD(0.3), **{**SMALL, "realisations": 3})
    other = sn.simulate(sn.Problem(alpha=3), sn.SGD(0.3), **{**SMALL, "seed": 6})
    for name in first.data_vars:
        np.testing.assert_array_equal(first[name], again[name])
        np.testing.assert_array_equal(first[name], more[name][:2])
    assert (first.norm[:, 1:] != other.norm[:, 1:]).all()


def test_attributes_hold_every_parameter():
    run = sn.simulate(sn.Problem(alpha=3), sn.PersistentSGD(0.3, 2.0), **SMALL)
    expected = {"alpha": 3.0, "delta": 1.0, "ridge": 1.0, "margin": 1.0, "init_variance": 1.0, "batch": 0.3}
    expected |= {"algorithm": "PersistentSGD", "persistence": 2.0, "embedding": "euler", "seed": 5, "features": 40}
    expected |= {"learning_rate": 0.1, "duration": 3.0, "samples": 120, "replicas": 1, "version": sn.__version__}
    assert expected.items() <= run.attrs.items()
    assert run.attrs["wall_time"] > 0


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"learning_rate": 0}, ValueError, "learning_rate must be greater than 0, got 0"),
        ({"learning_rate": "0.1"}, TypeError, "learning_rate must be a number greater than 0, got '0.1'"),
        ({"learning_rate": 2.5}, ValueError, "learning_rate must be less than 2/ridge = 2"),
        ({"duration": 0.25}, ValueError, "duration must be a multiple of learning_rate=0.1, got 0.25 (0.2 or 0.3"),
        ({"duration": -1}, ValueError, "duration must be greater than 0, got -1"),
        ({"duration": 1e300}, ValueError, "duration must be at most 100000000 steps"),
        ({"features": 0}, ValueError, "features must be a whole number of at least 2, got 0"),
        ({"features": 10.0}, TypeError, "features must be a whole number of at least 2, got 10.0"),
        ({"features": 10**8}, MemoryError, "features=100000000 with 300000000 samples must fit in memory"),
        ({"replicas": 3}, ValueError, "replicas must be a whole number of at least 1 and at most 2, got 3"),
        ({"realisations": 0}, ValueError, "realisations must be a whole number of at least 1, got 0"),
        ({"seed": -1}, ValueError, "seed must be a whole number of at least 0, got -1"),
        ({"problem": 6}, TypeError, "problem must be a sgdnoise.Problem, got 6"),
        ({"algorithm": "SGD"}, TypeError, "algorithm must be a sgdnoise.GD, SGD or PersistentSGD, got 'SGD'"),
        ({"algorithm": sn.PersistentSGD(0.1, 0.5)}, ValueError, "learning_rate must be at most 0.0555556"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, error, sentence):
    arguments = {"problem": sn.Problem(alpha=3), "algorithm": sn.SGD(0.3), **SMALL, **change}
    with pytest.raises(error) as caught:
        sn.simulate(**arguments)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_an_unstable_learning_rate_is_said_to_be_one():
    with pytest.raises(sn.DivergedError, match=r"learning_rate must be smaller for this problem, got 0\.5"):
        sn.simulate(sn.Problem(alpha=6), sn.GD(), 0.5, 60.0, features=100, realisations=1)


def test_samples_that_are_not_a_whole_number_are_pointed_out():
    with pytest.warns(UserWarning, match=r"alpha=0\.5 times features=25 is 12\.5, not a whole number: 12 samples"):
        sn.simulate(sn.Problem(alpha=0.5), sn.GD(), 0.1, 0.1, features=25, realisations=1)
