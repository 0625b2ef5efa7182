"""Compiled kernels of the theory against dense arrays and the equations as written. Small: also run without JIT."""

import numpy as np
import pytest
from naive_dmft import naive_dmft
from simulated import weights_of

import sgdnoise as sn
from sgdnoise._threads import share_out
from sgdnoise.algorithms import Descent
from sgdnoise.dmft import noise, triangles
from sgdnoise.dmft import paths as kernels
from sgdnoise.dmft.causal import solve_causal
from sgdnoise.dmft.noise import draw_normals, orthogonalise
from sgdnoise.dmft.paths import Active, Forces
from sgdnoise.dmft.population import Population
from sgdnoise.dmft.weights import Rule
from sgdnoise.random.batches import new_batches
from sgdnoise.random.processes import Chain
from sgdnoise.random.threefry import stream_key

pytestmark = pytest.mark.kernel


def plain_population(problem, steps, paths, replicas=1, batch=0.5, dt=0.2, seed=0):
    rng = np.random.default_rng(seed)
    h0 = rng.standard_normal(paths)
    xi = rng.standard_normal((replicas, paths, steps + 1)).astype(np.float32)
    keys = np.array([stream_key(np.random.SeedSequence(a)) for a in range(replicas)])
    batches = new_batches([Chain(batch, batch, 1 - batch)] * replicas, keys, paths)
    return Population(problem, dt, steps, h0, xi, batches, conditional=False)


def solve(population, momentum=0.0):
    return solve_causal(
        population, Rule(Descent(population.dt, population.problem.ridge, momentum), population.dt)
    ).weights


@pytest.mark.parametrize("momentum", [0.0, 0.6])
@pytest.mark.parametrize("loss", [sn.squared_hinge, sn.square, sn.logistic], ids=repr)
def test_causal_pass_solves_the_equations_as_written(loss, momentum):
    problem = sn.Problem(alpha=3, delta=0.7, ridge=0.4, margin=0.8, init_variance=0.6, loss=loss)
    population = plain_population(problem, steps=7, paths=60)
    weights, paths = solve(population, momentum), population.paths
    s = weights_of(population.batches.keys[0], population.batches.process, 60, 7)
    m, C, R = naive_dmft(problem, population.dt, paths.h0, paths.xi[0].astype(float), s, momentum=momentum)
    np.testing.assert_allclose(weights.m, m, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weights.L[0] @ weights.L[0].T, C, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(np.tril(weights.G[:, 1:8], -1), R[:, :-1], rtol=1e-9, atol=1e-12)


def test_a_wrong_response_is_seen(monkeypatch):
    """Negative control of the test above: responses off by 5%."""
    problem = sn.Problem(alpha=3, delta=0.7, ridge=0.4)
    right = solve(plain_population(problem, steps=7, paths=60))
    sums = kernels.sums
    monkeypatch.setattr(kernels, "sums", lambda *args: sums(*args) * np.array([[1.0], [1.0], [1.05]]))
    wrong = solve(plain_population(problem, steps=7, paths=60))
    assert np.max(np.abs(wrong.G - right.G)) > 1e-4


@pytest.mark.parametrize("t", [11, 32, 75])
def test_responses_are_a_row_of_an_inverse_matrix(t):
    """Within one strip of times and over several, with no active time, with all, and with some."""
    rng = np.random.default_rng(1)
    paths, step = 24, 3.3 / t
    G = np.tril(rng.random((t + 1, 128)))
    np.fill_diagonal(G, 1.0)
    active = rng.random((1, paths, t)) < np.linspace(0, 1, paths)[:, None]
    count = active.sum(axis=2).astype(np.uint32)
    kick, stiff = np.zeros((1, paths, t), np.uint32), np.zeros((1, paths, t))
    bend, expected = rng.random((1, paths)), np.zeros(t + 1)
    bend[0, ::5] = 0.0
    for p in range(paths):
        times = np.flatnonzero(active[0, p])
        kick[0, p, : times.size], stiff[0, p, : times.size] = times + 1, rng.random(times.size)
        now = np.append(times, t)
        R = np.tril(np.where(now[:, None] > now, G[now][:, np.minimum(now + 1, t)], 0.0), -1)
        w = np.append(stiff[0, p, : times.size], 1.0)
        expected[now] += bend[0, p] * np.linalg.inv(np.eye(now.size) + step * R * w)[-1]
    now = Forces(np.zeros((1, paths)), bend)
    got = kernels.sums(t, step, G, now, Active(count, kick, stiff, stiff))
    np.testing.assert_allclose(got[2], expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(got[:2], 0.0)


def test_products_of_forces_of_two_replicas():
    problem = sn.Problem(alpha=2)
    population = plain_population(problem, steps=6, paths=40, replicas=2)
    rng = np.random.default_rng(2)
    f = np.zeros((2, 40, 6))
    for t in range(6):
        pull = np.where(rng.random((2, 40)) < 0.5, rng.standard_normal((2, 40)), 0.0)
        f[:, :, t] = pull
        now = Forces(pull, np.zeros((2, 40)))
        got = kernels.sums(t, 0.1, np.eye(7), now, population.active)
        kernels.remember(t, now, population.active)
        np.testing.assert_allclose(got[0], np.einsum("ap,apt->t", pull, f[:, :, : t + 1]), atol=1e-12)
        np.testing.assert_allclose(got[1], np.einsum("ap,apt->t", pull, f[::-1, :, : t + 1]), atol=1e-12)


def test_two_replicas_have_the_average_law_of_one():
    """Replicas that share their batches are one replica."""
    problem = sn.Problem(alpha=3, ridge=0.5)
    one = plain_population(problem, steps=6, paths=50)
    two = plain_population(problem, steps=6, paths=50, replicas=2)
    two.paths.h0[:], two.paths.xi[0], two.batches.keys[:] = one.paths.h0, one.paths.xi[0], one.batches.keys
    first, second = solve(one), solve(two)
    np.testing.assert_allclose(second.m, first.m, rtol=1e-12)
    np.testing.assert_allclose(second.norm(), first.norm(), rtol=1e-10)
    np.testing.assert_array_equal(second.distance(), 0.0)


def test_factor_of_a_singular_covariance_reproduces_it():
    rng = np.random.default_rng(3)
    F = rng.standard_normal((4, 9)) * np.logspace(0, -9, 9)  # rank 4 of 9, over nine orders of magnitude
    M, factor = F.T @ F, np.zeros((9, 9))
    repairs = sum(triangles.noise_row(t, M[t], M[t, t], factor) for t in range(9))
    assert repairs == 0
    scale = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    assert np.max(np.abs(factor @ factor.T - M) / scale) < 1e-6
    assert np.count_nonzero(np.diag(factor)) == 4


def test_a_covariance_that_is_not_positive_is_reported():
    M = np.array([[1.0, 0.0], [1.1, 1.0]])
    factor = np.zeros((2, 2))
    assert [triangles.noise_row(t, M[t], M[t, t], factor) for t in range(2)] == [0, 1]


@pytest.mark.parametrize(("paths", "frame"), [(61, 9), (64, 5), (50, 2)])
def test_orthogonal_frame(paths, frame):
    padded = np.zeros((paths, 32))
    X = padded[:, :9]
    X[:] = np.random.default_rng(4).standard_normal((paths, 9))
    X[:, 0] = 1.0
    orthogonalise(padded, 9, frame)
    assert not padded[:, 9:].any()
    gram = X.T @ X / paths
    np.testing.assert_allclose(gram[:frame], np.eye(frame, 9), atol=1e-13)
    np.testing.assert_allclose(np.diag(gram), 1.0, rtol=1e-13)
    np.testing.assert_array_equal(X[:, 0], 1.0)


def test_a_frame_that_is_made_in_pieces_has_the_same_bits(monkeypatch):
    """Large ones are: between two compiled calls an interrupt is heard."""
    whole = draw_normals(300, 20, 2, True, np.random.SeedSequence(5))
    calls = []
    monkeypatch.setattr(noise, "AT_ONCE", 1)
    monkeypatch.setattr(noise, "share_out", lambda kernel, *rest: (calls.append(kernel), share_out(kernel, *rest)))
    pieces = draw_normals(300, 20, 2, True, np.random.SeedSequence(5))
    assert len(calls) == 2 * 5  # products and combinations of 64 rows each
    np.testing.assert_array_equal(pieces[0], whole[0])
    np.testing.assert_array_equal(pieces[1], whole[1])


def test_normals_have_exact_moments_together_with_h0():
    h0, xi = draw_normals(400, 5, 2, True, np.random.SeedSequence(5))
    X = np.column_stack([np.ones(400), h0, *xi[0].T, *xi[1].T])
    np.testing.assert_allclose(X.T @ X / 400, np.eye(12), atol=1e-6)


@pytest.mark.statistical
def test_in_batches_of_exact_numbers_a_path_switches_by_the_chain_whatever_its_past():
    chain, steps, paths = Chain(0.4, 0.3, 0.45), 4, 7
    keys = [stream_key(seed) for seed in np.random.SeedSequence(8).spawn(3000)]
    draws = np.stack([weights_of(key, chain, paths, steps, shared=True) for key in keys]) == 1
    for state, chance in ((False, chain.enter), (True, 1 - chain.leave)):
        for before in (False, True):
            for path in draws.transpose(2, 1, 0):
                after = path[3, (path[1] == before) & (path[2] == state)]
                z = (after.mean() - chance) / np.sqrt(chance * (1 - chance) / after.size)
                assert abs(z) < 4.1  # of all 28 one is beyond that by chance in one case of 860


@pytest.mark.parametrize("batch", [0.01, 0.3, 0.99, 1.0])
def test_batches_have_exact_numbers(batch):
    algorithm = sn.PersistentSGD(batch=batch, persistence=3.0)
    chain = algorithm.sampling(0.02)
    batches = weights_of(stream_key(np.random.SeedSequence(6)), chain, 500, 20, shared=True) == 1
    assert batches[0].sum() == pytest.approx(500 * batch, abs=1)
    left = (batches[:-1] & ~batches[1:]).sum(axis=1)
    assert np.all(np.abs(left - chain.leave * batches[:-1].sum(axis=1)) < 1)
