"""What the simulations must show: the static theory, finite-size corrections, divergence, the cost of float32."""

import math

import numpy as np
import pytest
from scipy import stats

import sgdnoise as sn


def statics(alpha, delta, ridge, kappa=1.0):
    """Magnetization and norm of the ridge minimiser: the fixed point of section 4 of the design, by plain iteration."""

    def step(state):
        m, q, V = state
        scale = math.sqrt(delta * q)
        x = (kappa - m) / scale
        P, density = stats.norm.cdf(x), stats.norm.pdf(x)
        E1 = (m - kappa) * P - scale * density
        E2 = ((m - kappa) ** 2 + scale**2) * P - (m - kappa) * scale * density
        k = 1 + delta * V
        mhat, qhat, Vhat = -alpha * E1 / k, alpha * delta * E2 / k**2, alpha * delta * P / k
        return np.array([mhat, (mhat**2 + qhat) / (ridge + Vhat), 1.0]) / (ridge + Vhat)

    state = np.array([0.3, 0.3, 0.3])
    for _ in range(500):
        state = 0.5 * state + 0.5 * step(state)
    assert np.allclose(state, step(state), rtol=1e-12)
    return state[0], state[1]


@pytest.mark.statistical
def test_gd_ends_at_the_static_theory():
    """Means over 40 data sets within 4 standard errors plus 3/N: a false alarm in 1.3e-4 of seeds for the two."""
    problem, N = sn.Problem(alpha=6), 400
    run = sn.simulate(problem, sn.GD(), 0.1, 15.0, features=N, realisations=40, record_every=150, seed=1)
    for name, exact in zip(("magnetization", "norm"), statics(6, 1.0, 1.0), strict=True):
        final = run[name][:, -1]
        error = float(final.std(ddof=1)) / math.sqrt(40)
        assert abs(float(final.mean()) - exact) < 4 * error + 3 / N * abs(exact), name
    # Negative control: another ridge is far outside.
    wrong, _ = statics(6, 1.0, 2.0)
    assert abs(float(run.magnetization[:, -1].mean()) - wrong) > 0.02


@pytest.mark.statistical
def test_small_steps_of_sgd_end_at_the_theory_with_the_ridge_over_the_batch():
    """SGD at dt = 0.01 ends where the ridge is lambda/b, up to O(dt): extrapolated from 0.02 and 0.01, paired."""
    N, b = 300, 0.3
    runs = [(sn.SGD(b), 0.02), (sn.SGD(b), 0.01)]
    coarse, fine = sn.simulate_paired(
        sn.Problem(alpha=6), runs, 12.0, features=N, realisations=16, record_every=25, seed=2
    )
    late = [run.sel(time=slice(8.0, None)).mean("time") for run in (coarse, fine)]
    for name, exact in zip(("magnetization", "norm"), statics(6, 1.0, 1.0 / b), strict=True):
        limit = 2 * late[1][name] - late[0][name]
        error = float(limit.std(ddof=1)) / 4
        # Four standard errors (6e-5 of seeds each) and the finite-size correction of at most 3/N.
        assert abs(float(limit.mean()) - exact) < 4 * error + 3 / N * abs(exact), name


@pytest.mark.statistical
def test_gd_approaches_the_theory_at_least_as_one_over_n():
    """Deviations are below 0.5/N even at N = 25, and the variance is as 1/N; each check false in 6e-5 of seeds."""
    scaled = {}
    for N, sets in ((25, 1200), (100, 300)):
        run = sn.simulate(sn.Problem(alpha=6), sn.GD(), 0.1, 12.0, features=N, realisations=sets, record_every=120)
        for name, exact in zip(("magnetization", "norm"), statics(6, 1.0, 1.0), strict=True):
            final = run[name][:, -1].values
            error = final.std(ddof=1) / math.sqrt(sets)
            assert abs(final.mean() - exact) < 4 * error + 0.5 / N, name
            # The variance of a variance, with the fourth moment as measured.
            variance = N * final.var(ddof=1)
            scaled[name, N] = variance, N * np.std((final - final.mean()) ** 2) / math.sqrt(sets)
    for name in ("magnetization", "norm"):
        (small, small_error), (large, large_error) = scaled[name, 25], scaled[name, 100]
        assert abs(small - large) < 4 * math.hypot(small_error, large_error), name
        assert abs(small - 4 * large) > 4 * math.hypot(small_error, 4 * large_error), name  # negative control


def test_single_precision_biases_nothing():
    """At the paper's size, float32 against float64 on the same data: below a tenth of the error of 150 data sets."""
    runs = [(sn.SGD(0.3), 0.1), (sn.PersistentSGD(0.3, 2.0), 0.1), (sn.GD(), 0.1)]
    options = {"features": 750, "realisations": 2, "replicas": 2, "record_every": 50}
    spread = sn.simulate_paired(sn.Problem(alpha=6), runs, 15.0, **{**options, "features": 150, "realisations": 8})
    single, double = (
        sn.simulate_paired(sn.Problem(alpha=6), runs, 15.0, precision=precision, **options)
        for precision in ("single", "double")
    )
    for one, two, many in zip(single, double, spread, strict=True):
        assert (one.attrs["precision"], two.attrs["precision"]) == ("float32", "float64")
        for name in ("magnetization", "norm", "loss", "error", "unsatisfied", "distance"):
            # Data sets of N features spread as 1/sqrt(N): scaled from N = 150 to the 1500 of the paper.
            error = many[name].std("realisation", ddof=1) * math.sqrt(150 / 1500) / math.sqrt(150)
            bias = abs((one[name] - two[name]).mean("realisation"))
            assert float(bias.max()) <= 0.1 * float(error[-1]) + 1e-15, name


def test_single_precision_over_the_full_length_of_a_run():
    """The error of float32 after 1500 steps, measured 3e-7, is below 3e-6 in every observable."""
    options = {"features": 300, "realisations": 1, "replicas": 2, "record_every": 100}
    one, two = (
        sn.simulate(sn.Problem(alpha=6), sn.SGD(0.3), 0.01, 15.0, precision=precision, **options)
        for precision in ("single", "double")
    )
    for name in ("magnetization", "norm", "loss", "error", "distance"):
        assert float(abs(one[name] - two[name]).max()) < 3e-6, name


@pytest.mark.parametrize("rate", [0.25, 0.4, 0.5])
def test_gd_beyond_its_stability_limit_is_reported(rate):
    """2 over the largest eigenvalue of the Hessian is 0.19 here: beyond, GD oscillates or grows without bound."""
    with pytest.raises(sn.DivergedError, match=f"learning_rate must be smaller for this problem, got {rate}: "):
        sn.simulate(sn.Problem(alpha=6), sn.GD(), rate, 20.0, features=200, realisations=2)


def test_a_diverged_run_is_marked_and_its_companions_are_not():
    runs = [(sn.GD(), 0.4), (sn.GD(), 0.1), (sn.SGD(0.3), 0.4)]
    lost, settled, noisy = sn.simulate_paired(
        sn.Problem(alpha=6), runs, 20.0, features=100, realisations=3, on_divergence="mark"
    )
    assert "does not settle" in lost.attrs["diverged"]
    assert all(np.isnan(lost[name]).all() for name in lost.data_vars)
    assert "diverged" not in settled.attrs
    assert np.isfinite(settled.norm).all()
    # Stochastic batches fluctuate for ever, and are never taken for a divergence.
    assert "diverged" not in noisy.attrs
    assert np.isfinite(noisy.loss).all()
    assert float(noisy.loss.diff("time").max()) > 0


def test_growth_without_bound_is_reported_in_both_spaces():
    for alpha in (0.5, 3):
        with pytest.raises(sn.DivergedError, match="the weights grew without bound"):
            sn.simulate(sn.Problem(alpha=alpha), sn.SGD(0.9), 1.9, 190.0, features=40, realisations=1)


def test_the_discrete_fluctuation_relation_of_a_linear_problem():
    """Square loss without sampling noise: chi follows from the matrix itself, probe by probe."""
    options = {"features": 400, "realisations": 4, "waiting_times": (0.0,), "precision": "double"}
    run = sn.simulate(sn.Problem(alpha=2, loss=sn.square), sn.GD(), 0.05, 5.0, **options)
    # Marchenko-Pastur: R(t) is the average of (1 - dt (lambda + x))^n over its law; here by a sampled spectrum.
    rng = np.random.default_rng(0)
    A = rng.standard_normal((800, 400)) / 20
    x = np.linalg.eigvalsh(A.T @ A)
    n = np.arange(100)
    exact = 0.05 * np.cumsum(((1 - 0.05 * (1 + x))[:, None] ** n).mean(axis=0))
    # Probes: 4 data sets x 8 probes, each of relative error sqrt(2/N); 5 such errors.
    np.testing.assert_allclose(
        run.integrated_response.mean("realisation")[0, 1:], exact, rtol=5 * math.sqrt(2 / 400 / 32)
    )
