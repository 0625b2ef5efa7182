"""The derivation, step by step: both sides of its equations on a solved case, and its averages in networks.

Equations are named as in the book, pages "The theory in discrete time" and "The path integral, and the paper's
equations".

False alarms: seeds are fixed, so a test that passes keeps passing. Thresholds are quantiles of the t-distribution with
the measured standard error, at a rate of 1e-3 a test for a correct theory on a new seed.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import t as student

import sgdnoise as sn
from sgdnoise.dmft.population import Population
from sgdnoise.dmft.weights import Rule, Weights

RATE = 1e-3
ROUNDING = {"rtol": 1e-10, "atol": 1e-12}


class Solved(NamedTuple):
    """One population with its kernels: two-time functions have shape (later, earlier), paths come last."""

    problem: sn.Problem
    dt: float
    population: Population
    weights: Weights
    mu: np.ndarray
    Gamma: np.ndarray
    M: np.ndarray  # of replicas 11 and 12
    r: np.ndarray  # (steps, replicas, paths)
    s: np.ndarray

    @property
    def R(self):
        """R(t,t') = G(t,t'+1), with t up to the last step and t' before it."""
        return np.tril(self.weights.G[:, 1 : len(self.mu) + 1], -1)

    @property
    def C(self):
        """C_perp of replicas 11 and 12, for all pairs of times."""
        return self.weights.correlations(np.arange(len(self.mu) + 1))


def solve(problem, algorithm, dt, steps, paths, replicas=2, seed=0):
    """Solve the theory for independent random numbers, and keep all that it is made of."""
    sampling, rule = algorithm.sampling(dt), Rule(algorithm.update(dt, problem.ridge), dt)
    population = Population.draw(problem, sampling, dt, (steps, replicas, paths), False, np.random.SeedSequence(seed))
    weights = Weights(problem, rule, steps, replicas)
    mu, Gamma, M = np.zeros(steps), np.zeros((steps, steps)), np.zeros((replicas, steps, steps))
    r, s = np.empty((2, steps, replicas, paths))
    for t in range(steps):
        r[t] = population.fields(t, weights.m[t], weights.L, weights.G)
        averages = population.advance(t, r[t], weights.G)
        s[t] = population.weight
        mu[t], Gamma[t, : t + 1] = averages.mu, averages.Gamma
        M[:, t, : t + 1] = M[:, : t + 1, t] = averages.M
        weights.step(t, averages)
    if replicas == 2:  # of the sum and the difference
        M = np.stack([M[0] + M[1], M[0] - M[1]]) / 2
    return Solved(problem, dt, population, weights, mu, Gamma, M, r, s)


@pytest.fixture(scope="module", params=[sn.SGD(batch=0.4), sn.PersistentSGD(batch=0.4, persistence=1.0)], ids=repr)
def solved(request):
    problem = sn.Problem(alpha=3, delta=0.7, ridge=0.4, margin=0.8, init_variance=0.6, loss=sn.logistic)
    return solve(problem, request.param, dt=0.2, steps=12, paths=80)


def test_weights_and_their_distance_follow_from_the_kernels(solved):
    """eq-mu and eq-weights for m, eq-G, eq-C for one replica, eq-pm and eq-distance for two."""
    problem, dt, steps = solved.problem, solved.dt, len(solved.mu)
    force = solved.s * problem.loss.slope(solved.r, problem.margin)
    pull = force * (1 + np.sqrt(problem.delta) * solved.population.paths.h0)
    np.testing.assert_allclose(solved.mu, problem.alpha * pull.mean(axis=(1, 2)), **ROUNDING)
    m = solved.weights.m
    np.testing.assert_allclose(m[1:], (1 - dt * problem.ridge) * m[:-1] - dt * solved.mu, **ROUNDING)
    G = np.eye(steps + 1)
    for t in range(steps):
        G[t + 1, : t + 1] = (1 - dt * problem.ridge) * G[t, : t + 1] - dt * solved.Gamma[t, : t + 1] @ G[
            : t + 1, : t + 1
        ]
    np.testing.assert_allclose(np.tril(solved.weights.G[:, : steps + 1]), G, **ROUNDING)
    R = G[:, 1:]
    one = problem.init_variance * np.outer(G[:, 0], G[:, 0]) + dt**2 * R @ solved.M[0] @ R.T
    np.testing.assert_allclose(solved.C[0], one, **ROUNDING)
    apart = dt**2 * R @ (solved.M[0] - solved.M[1]) @ R.T
    np.testing.assert_allclose(solved.C[0] - solved.C[1], apart, **ROUNDING)
    assert apart[-1, -1] > 1e-3


def test_correlation_of_two_replicas_obeys_its_equation(solved):
    """eq-C12, at every pair of times, and that of one replica with it."""
    dt, shrink = solved.dt, 1 - solved.dt * solved.problem.ridge
    for C, M in zip(solved.C, solved.M, strict=True):
        friction = solved.Gamma @ C[:-1]
        noise = M @ solved.R.T
        np.testing.assert_allclose(C[1:], shrink * C[:-1] - dt * friction + dt**2 * noise, **ROUNDING)
        assert np.max(np.abs(C[1:] - shrink * C[:-1] + dt * friction)) > 1e-3, "the last term is seen"


def test_equations_of_the_paper_are_ours_term_by_term(solved):
    """eq-paper-C: delta-lambda, M_R, M_C and mu in the equation for the correlation of the full weights."""
    dt, m, ridge = solved.dt, solved.weights.m, solved.problem.ridge
    delta_lambda = np.diag(solved.Gamma)
    M_R = -np.tril(solved.Gamma, -1) / dt
    for C_perp, M_C in zip(solved.C, solved.M, strict=True):
        C = C_perp + np.outer(m, m)
        change = (C[:, 1:] - C[:, :-1]) / dt
        right = -(ridge + delta_lambda) * C[:, :-1] + dt * solved.R @ M_C + dt * C[:, :-1] @ M_R.T
        right -= np.outer(m, solved.mu - delta_lambda * m[:-1] + dt * M_R @ m[:-1])
        np.testing.assert_allclose(change, right, rtol=1e-9, atol=1e-11)


def test_process_of_the_paper_gives_the_fields_path_by_path(solved):
    """eq-paper-h, driven by the same random numbers, against eq-field."""
    problem, dt, paths = solved.problem, solved.dt, solved.population.paths
    steps, root = len(solved.mu), np.sqrt(problem.delta)
    xi = paths.xi.astype(float)
    # The noises of the sum and of the difference of the replicas, then those of the replicas.
    start = solved.weights.start[:, None] * xi[:, :, 0]
    noise = np.einsum("atk,apk->tap", solved.weights.Lambda, xi[:, :, 1:])
    start, noise = (np.stack([x[0] + x[1], x[0] - x[1]]) / np.sqrt(2) for x in (start, noise.swapaxes(0, 1)))
    delta_lambda, M_R = np.diag(solved.Gamma), -np.tril(solved.Gamma, -1) / dt
    h = np.empty((steps, 2, xi.shape[1]))
    h[0] = start
    for t in range(steps):
        r = root * h[t] + (1 + root * paths.h0) * solved.weights.m[t]
        np.testing.assert_allclose(r, solved.r[t], rtol=1e-9, atol=1e-10)
        if t + 1 < steps:
            force = solved.s[t] * problem.loss.slope(r, problem.margin)
            memory = dt * np.tensordot(M_R[t, :t], h[:t], axes=1)
            change = -(problem.ridge + delta_lambda[t]) * h[t] - root * force + memory + noise[:, t]
            h[t + 1] = h[t] + dt * change


def test_friction_is_the_response_of_the_force(solved):
    """eq-Gamma: on the diagonal the paper's delta-lambda; off it, by finite differences of the fields of eq-field."""
    problem, dt = solved.problem, solved.dt
    steps, unit = len(solved.mu), problem.alpha * problem.delta
    force = solved.s * problem.loss.slope(solved.r, problem.margin)
    alone = solved.r + problem.delta * dt * np.tensordot(solved.R[:-1], force, axes=1)  # without the answer

    def mean_force(push, when):
        f = np.zeros_like(force)
        for t in range(steps):
            r = alone[t] - problem.delta * dt * np.tensordot(solved.R[t], f, axes=1) + push * (t == when)
            f[t] = solved.s[t] * problem.loss.slope(r, problem.margin)
        return unit * f.mean(axis=(1, 2))

    np.testing.assert_allclose(
        np.diag(solved.Gamma),
        unit * np.mean(solved.s * problem.loss.curvature(solved.r, problem.margin), axis=(1, 2)),
        **ROUNDING,
    )
    for when in range(steps):
        measured = (mean_force(1e-4, when) - mean_force(-1e-4, when)) / 2e-4
        np.testing.assert_allclose(measured, solved.Gamma[:, when], rtol=1e-5, atol=1e-7)
    assert np.min(np.tril(solved.Gamma, -1)) < -1e-3, "there is something to compare"


class Network(NamedTuple):
    """Two runs on one data set of many: what is random in them."""

    A: np.ndarray  # y_mu x_mu / sqrt(N)
    start: np.ndarray
    s: np.ndarray  # (replicas, steps, samples)


def draw(problem, batch, steps, features, rng):
    """Draw data in a basis whose first vector is the direction of the clouds (eq-data-rotated)."""
    A = np.sqrt(problem.delta) * rng.standard_normal((round(problem.alpha * features), features))
    A[:, 0] += 1
    A /= np.sqrt(features)
    start = np.sqrt(problem.init_variance) * rng.standard_normal(features)
    return Network(A, start, rng.random((2, steps, len(A))) < batch)


def forces(problem, dt, A, start, s, without=None, kick=(0, 0.0)):
    """Train; the weights, and the forces s l'(h) of the samples, at every step.

    ``without`` is a feature whose weight is held at zero; ``kick`` adds to the weights at a step.
    """
    w, weights, pulls = start.copy(), [], []
    for t, s_t in enumerate(s):
        if without is not None:
            w[without] = 0.0
        w = w + kick[1] * (t == kick[0])
        weights.append(w)
        pulls.append(s_t * problem.loss.slope(A @ w, problem.margin))
        w = (1 - dt * problem.ridge) * w - dt * A.T @ pulls[-1]
    return np.array(weights), np.array(pulls)


def friction(problem, dt, A, weights, s, rng):
    """Sum over samples of the answer of their forces to a push of their own fields, Delta/N sum dp_mu(t)/dh_mu(t')."""
    steps, (samples, N) = len(s), A.shape
    Gamma = np.zeros((steps, steps))
    for when in range(steps):
        signs, push = rng.choice([-1.0, 1.0], samples), np.zeros(N)
        for t in range(when, steps):
            field = A @ push + signs * (t == when)
            change = s[t] * problem.loss.curvature(A @ weights[t], problem.margin) * field
            Gamma[t, when] = problem.delta / N * signs @ change
            push = (1 - dt * problem.ridge) * push - dt * A.T @ change
    return Gamma


def compare(first, second, rate=RATE):
    """Two estimates of the same numbers, (realisation, number): largest difference in units of what chance allows."""
    squares = [np.var(x, axis=0, ddof=1) / len(x) for x in (first, second)]
    degrees = sum(squares) ** 2 / sum(v**2 / (len(x) - 1) for v, x in zip(squares, (first, second), strict=True))
    z = np.abs(first.mean(axis=0) - second.mean(axis=0)) / np.sqrt(sum(squares))
    return np.max(z / student.isf(rate / z.size / 2, degrees))


PROBLEM, SGD, DT, STEPS = sn.Problem(alpha=3, delta=0.7, ridge=0.5), sn.SGD(batch=0.5), 0.2, 8
LOWER = np.tril_indices(STEPS)


@pytest.fixture(scope="module")
def theory():
    """Eight populations."""
    return [solve(PROBLEM, SGD, DT, STEPS, paths=4000, seed=seed) for seed in range(8)]


@pytest.fixture(scope="module")
def networks():
    """Forty data sets of 250 features."""
    rng = np.random.default_rng(5)
    return [draw(PROBLEM, SGD.batch, STEPS, 250, rng) for _ in range(40)]


@pytest.mark.statistical
def test_noise_and_friction_of_networks_are_those_of_the_theory(theory, networks):
    """eq-M for one replica and for two, and eq-Gamma, as sums over the samples of real training sets."""
    rng = np.random.default_rng(6)
    found = {"M": [], "M12": [], "Gamma": []}
    for A, start, s in networks:
        (weights, one), (_, two) = (forces(PROBLEM, DT, A, start, batch) for batch in s)
        unit = PROBLEM.delta / A.shape[1]
        found["M"].append(unit * (one @ one.T)[LOWER])
        found["M12"].append(unit * (one @ two.T)[LOWER])
        found["Gamma"].append(friction(PROBLEM, DT, A, weights, s[0], rng)[LOWER])
    kernels = {
        "M": [solved.M[0][LOWER] for solved in theory],
        "M12": [solved.M[1][LOWER] for solved in theory],
        "Gamma": [solved.Gamma[LOWER] for solved in theory],
    }
    for name, values in kernels.items():
        assert compare(np.array(found[name]), np.array(values)) < 1, name
        wrong = np.array(values) * 1.1
        assert compare(np.array(found[name]), wrong) > 1, f"negative control: {name} wrong by a tenth"


@pytest.mark.statistical
def test_a_push_of_one_run_is_not_felt_by_the_other(theory, networks):
    """R12 = 0 within its error, and R of the theory for the run that is pushed."""
    rng, when = np.random.default_rng(7), 3
    own, other = [], []
    for A, start, s in networks:
        signs, N = rng.choice([-1.0, 1.0], A.shape[1]), A.shape[1]
        free, _ = forces(PROBLEM, DT, A, start, s[0])
        # Pushed by little to either side: what does not depend on the push, and what grows with its square, drop out.
        up, down = (forces(PROBLEM, DT, A, start, s[1], kick=(when, size * signs))[0] for size in (0.02, -0.02))
        own.append((up - down)[when + 1 :] @ signs / (0.04 * N))
        # The other run has not been pushed; nothing but chance relates it to a push of order one.
        other.append(free[when + 1 :] @ signs / N)
    R, zero = np.array([solved.R[when + 1 : STEPS, when - 1] for solved in theory]), np.zeros((2, STEPS - when - 1))
    assert compare(np.array(own), R) < 1
    assert compare(np.array(other), zero) < 1
    assert compare(np.array(own), zero) > 1, "negative control: the run that is pushed"


@pytest.mark.statistical
def test_a_feature_feels_a_noise_and_a_friction(theory):
    """eq-feature: the force on a weight, less that in its absence, is the friction on its own past.

    What is left of it falls as the root of the number of features: its square times that number is the same for two.
    """
    rng, taken = np.random.default_rng(8), slice(1, 13)  # the first is the direction of the clouds
    Gamma = np.mean([solved.Gamma for solved in theory], axis=0)
    left, wrong = [], []
    for features in (150, 600):
        rest = []
        for _ in range(8):
            A, start, s = draw(PROBLEM, SGD.batch, STEPS, features, rng)
            weights, pulls = forces(PROBLEM, DT, A, start, s[0])
            absent = [forces(PROBLEM, DT, A, start, s[0], without=i)[1] for i in range(features)[taken]]
            answer = np.einsum("itm,mi->ti", pulls - np.array(absent), A[:, taken])
            expected = Gamma @ weights[:, taken]
            unit = features / np.mean(expected**2)
            rest.append([unit * np.mean((answer - x * expected) ** 2) for x in (1.0, 0.8)])
        left.append(np.array(rest)[:, :1])
        wrong.append(np.array(rest)[:, 1:])
    assert compare(*left) < 1
    assert compare(*wrong) > 1, "negative control: a friction wrong by a fifth"
