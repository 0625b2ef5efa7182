"""The dataset that every engine returns."""

import math

import numpy as np

import sgdnoise as sn

SMALL = {"learning_rate": 0.1, "duration": 3.0, "features": 40, "realisations": 2, "seed": 5}


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


def test_attributes_hold_every_parameter():
    run = sn.simulate(sn.Problem(alpha=3), sn.PersistentSGD(0.3, 2.0), **SMALL)
    expected = {"alpha": 3.0, "delta": 1.0, "ridge": 1.0, "margin": 1.0, "init_variance": 1.0, "batch": 0.3}
    expected |= {"algorithm": "PersistentSGD", "persistence": 2.0, "embedding": "euler", "seed": 5, "features": 40}
    expected |= {"learning_rate": 0.1, "duration": 3.0, "samples": 120, "replicas": 1, "version": sn.__version__}
    assert expected.items() <= run.attrs.items()
    assert run.attrs["wall_time"] > 0
