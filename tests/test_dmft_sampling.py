"""Sampling errors of the theory: honest, unbiased by variance reduction, the same bits whatever runs them.

False alarms: seeds are fixed; each threshold is passed by a correct solver on a new seed but for a rate of 1e-3, under
the normal, t or chi-squared law named beside it.
"""

import os

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import t as student

import sgdnoise as sn
from sgdnoise import _threads
from sgdnoise.algorithms import Descent
from sgdnoise.dmft import iterative, population
from sgdnoise.dmft.causal import solve_causal
from sgdnoise.dmft.weights import Rule
from sgdnoise.random.batches import new_batches

RATE = 1e-3
NAMES = ("magnetization", "norm", "loss", "unsatisfied", "distance")


def ends(theory, names=NAMES):
    """Values at the end, shape (realisation, quantity)."""
    values = [theory[name].isel(time=-1).values for name in names if name in theory]
    late = theory.isel(waiting_time=theory.sizes["waiting_time"] // 2, time=-1)
    return np.column_stack([*values, late.correlation.values, late.integrated_response.values])


def differences(first, second):
    """Difference of two means in standard errors."""
    error = np.sqrt(first.var(axis=0, ddof=1) / len(first) + second.var(axis=0, ddof=1) / len(second))
    return (first.mean(axis=0) - second.mean(axis=0)) / np.maximum(error, 1e-12)


@pytest.mark.statistical
def test_errors_are_honest():
    """The variance that one call of four populations reports, averaged over 40 calls, is that of the 160 populations.

    And the means of the calls vary as the reported errors say: 40 times the variance ratio is chi-squared.
    """
    problem, calls = sn.Problem(alpha=6), 40
    options = {"paths": 300, "realisations": 4, "replicas": 2}
    values = np.stack([ends(sn.solve_dmft(problem, sn.SGD(0.3), 0.1, 2.0, seed=k, **options)) for k in range(calls)])
    reported = np.mean(values.var(axis=1, ddof=1) / 4, axis=0)
    spread = values.mean(axis=1).var(axis=0, ddof=1)
    ratio = spread / reported
    # The reported variance is itself known to about 1/sqrt(60): widen the chi-squared limits by three times that.
    low, high = chi2.ppf([RATE / 14, 1 - RATE / 14], calls - 1) / (calls - 1)
    slack = 3 * np.sqrt(2 / (3 * calls))
    assert np.all(ratio > low * (1 - slack))
    assert np.all(ratio < high * (1 + slack))
    assert np.any(ratio * 9 > high * (1 + slack))  # negative control: errors three times too small would be seen


@pytest.mark.statistical
@pytest.mark.parametrize(
    "algorithm", [sn.GD(), sn.SGD(0.1), sn.SGD(0.99), sn.PersistentSGD(0.3, 1.0), sn.PersistentSGD(0.99, 1.0)], ids=repr
)
def test_variance_reduction_does_not_bias(algorithm):
    problem, runs = sn.Problem(alpha=6), 24
    options = {"paths": 800, "realisations": runs, "replicas": 2, "waiting_times": [1.0]}
    reduced = ends(sn.solve_dmft(problem, algorithm, 0.1, 2.0, seed=11, **options))
    plain = ends(sn.solve_dmft(problem, algorithm, 0.1, 2.0, seed=12, variance_reduction=False, **options))
    quantities = reduced.shape[1]
    assert np.all(np.abs(differences(reduced, plain)) < student.isf(RATE / quantities / 2, runs - 1))
    assert np.mean(plain.var(axis=0) > reduced.var(axis=0)) > 0.5  # and it does reduce most of them


@pytest.mark.statistical
def test_persistent_sgd_without_persistence_is_vanilla():
    problem, runs, b, dt = sn.Problem(alpha=4, ridge=0.5), 16, 0.25, 0.1
    options = {"paths": 1000, "realisations": runs, "replicas": 2}
    vanilla = ends(sn.solve_dmft(problem, sn.SGD(b), dt, 2.0, seed=1, **options))
    persistent = ends(sn.solve_dmft(problem, sn.PersistentSGD(b, dt / b), dt, 2.0, seed=2, **options))
    assert np.all(np.abs(differences(vanilla, persistent)) < student.isf(RATE / 14, runs - 1))
    other = ends(sn.solve_dmft(problem, sn.PersistentSGD(b, 1.0), dt, 2.0, seed=2, **options))
    assert np.any(np.abs(differences(vanilla, other)) > student.isf(RATE / 14, runs - 1))  # negative control


@pytest.mark.parametrize(
    "algorithm", [sn.SGD(1), sn.PersistentSGD(1, 2.0), sn.PersistentSGD(1, 2.0, "exact")], ids=repr
)
def test_gradient_descent_is_a_batch_of_everything_to_the_last_bit(algorithm):
    options = {"paths": 200, "replicas": 2, "realisations": 2}
    full = sn.solve_dmft(sn.Problem(alpha=3), sn.GD(), 0.1, 1.0, **options)
    assert full.equals(sn.solve_dmft(sn.Problem(alpha=3), algorithm, 0.1, 1.0, **options))
    np.testing.assert_array_equal(full.distance, 0.0)


def test_causal_solution_is_a_fixed_point_of_the_iteration():
    chain = sn.SGD(0.3).sampling(0.1)
    paths = population.Population.draw(sn.Problem(alpha=6), chain, 0.1, (20, 2, 300), True, np.random.SeedSequence(3))
    rule = Rule(Descent(0.1, 1.0, momentum=0.5), 0.1, noise=0.7)
    kernels, *_ = iterative.sweep(paths, solve_causal(paths, rule).weights)
    again, *_ = iterative.sweep(paths, iterative.integrate(paths, rule, kernels))
    assert again.difference(kernels) == 0


@pytest.mark.parametrize("replicas", [1, 2])
def test_iteration_settles_on_the_causal_solution(replicas):
    problem, algorithm = sn.Problem(alpha=4), sn.PersistentSGD(0.5, 0.5)
    options = {"paths": 500, "realisations": 2, "replicas": replicas, "seed": 5}
    causal = sn.solve_dmft(problem, algorithm, 0.1, 2.0, **options)
    iterated = sn.solve_dmft(problem, algorithm, 0.1, 2.0, method="iterative", tolerance=1e-7, **options)
    assert 1 < iterated.attrs["iterations"] < 100
    assert iterated.attrs["residual"] <= 1e-7
    for name in causal:
        np.testing.assert_allclose(iterated[name], causal[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.statistical
def test_iteration_agrees_with_the_causal_pass_within_errors():
    """With other random numbers, at the default tolerance."""
    problem, algorithm, runs = sn.Problem(alpha=6), sn.SGD(0.3), 10
    options = {"paths": 800, "realisations": runs}
    causal = ends(sn.solve_dmft(problem, algorithm, 0.1, 2.0, seed=21, **options))
    iterated = ends(sn.solve_dmft(problem, algorithm, 0.1, 2.0, seed=22, method="iterative", **options))
    assert np.all(np.abs(differences(causal, iterated)) < student.isf(RATE / 12, runs - 1))


def test_iteration_that_does_not_converge_carries_its_estimate():
    with pytest.raises(sn.ConvergenceError, match=r"max_iterations must be larger .* after 3 iterations") as caught:
        sn.solve_dmft(
            sn.Problem(alpha=6), sn.SGD(0.3), 0.1, 1.0, paths=200, method="iterative", max_iterations=3, tolerance=1e-9
        )
    error = caught.value
    assert error.iterations == 3
    assert error.residual > 1e-9
    assert error.estimate.attrs["residual"] == error.residual
    assert np.isfinite(error.estimate.norm).all()


def test_a_realisation_does_not_depend_on_the_others():
    """So realisations can be made in one go, in several processes, or after an interruption."""
    many = sn.solve_dmft(sn.Problem(alpha=6), sn.SGD(0.3), 0.1, 1.0, paths=300, realisations=3, seed=4)
    few = sn.solve_dmft(sn.Problem(alpha=6), sn.SGD(0.3), 0.1, 1.0, paths=300, realisations=2, seed=4)
    assert many.isel(realisation=slice(2)).equals(few)
    assert not few.equals(sn.solve_dmft(sn.Problem(alpha=6), sn.SGD(0.3), 0.1, 1.0, paths=300, realisations=2, seed=5))


def population_of(seed, flag):
    """One population of a sweep; the second of them is interrupted while the file ``flag`` is there."""
    if seed == 1 and os.path.exists(flag):
        raise KeyboardInterrupt
    return sn.solve_dmft(sn.Problem(alpha=6), sn.SGD(0.3), 0.1, 1.0, paths=300, replicas=2, realisations=1, seed=seed)


@pytest.mark.endtoend
def test_an_interrupted_sweep_that_goes_on_has_the_same_bits(tmp_path):
    """One sweep in two processes without a break, one in this process with a break."""
    flag = tmp_path / "flag"
    options = {"grid": {"flag": [str(flag)]}, "seeds": 3}
    whole = sn.sweep(population_of, store=tmp_path / "whole", workers=2, **options)
    flag.touch()
    with pytest.raises(KeyboardInterrupt):
        sn.sweep(population_of, store=tmp_path / "parts", workers=1, **options)
    flag.unlink()
    assert whole.equals(sn.sweep(population_of, store=tmp_path / "parts", workers=1, **options))


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(_threads, "threads", lambda count=threads: count)
        run = sn.solve_dmft(
            sn.Problem(alpha=6), sn.PersistentSGD(0.3, 1.0), 0.1, 3.0, paths=700, replicas=2, realisations=2
        )
        found.append([run[name].values.tobytes() for name in sorted(run)])
    assert found[0] == found[1] == found[2]


def test_variance_reduction_keeps_gamma_and_mu_linear_in_the_batch():
    """With everybody in the batch, averaging over it changes nothing."""
    rng = np.random.default_rng(0)
    h0, xi = rng.standard_normal(50), rng.standard_normal((1, 50, 6)).astype(np.float32)
    batches = [new_batches([sn.GD().sampling(0.1)], np.zeros((1, 2), np.uint32), 50) for _ in range(2)]
    solutions = [
        population.Population(sn.Problem(alpha=2), 0.1, 5, h0, xi, batches[conditional], conditional)
        for conditional in (True, False)
    ]
    first, second = (p.advance(0, p.fields(0, 0.0, np.ones((1, 6, 6)), np.eye(6)), np.eye(6)) for p in solutions)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
