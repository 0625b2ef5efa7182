"""The path integral, step by step: both sides of its equations where every integral in them can be done.

Equations are named as in the book, page "The path integral, and the paper's equations". With the square loss the forces
are linear in the fields, and all exponents are quadratic: averages over weights, fields and their conjugates are then
Gaussian integrals with complex matrices. Nothing is sampled.
"""

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import pytest

DT, RIDGE, DELTA, ALPHA, KAPPA, START = 0.3, 0.4, 0.7, 2.5, 0.8, 0.6
STEPS, REPLICAS = 3, 2
ENTER, LEAVE, BATCH = 0.25, 0.375, 0.4  # of a persistent batch, whose two steps are correlated
SHAPE = (REPLICAS, STEPS)
NEXT = 1 - DT * RIDGE


def slope(function, x, direction, step=1e-3):
    """Return the derivative along a direction by central differences of fourth order."""
    near, far = (function(x + k * step * direction) - function(x - k * step * direction) for k in (1, 2))
    return (8 * near - far) / (12 * step)


def quadratic(function, count):
    """Return the first and second derivatives at zero of a quadratic function, exact but for rounding."""
    units, zero = np.eye(count), np.zeros(count)
    plus, minus = (np.array([function(sign * unit) for unit in units]) for sign in (1, -1))
    second = np.zeros((count, count))
    for i in range(count):
        second[i, i] = plus[i] + minus[i] - 2 * function(zero)
        for j in range(i):
            second[i, j] = second[j, i] = function(units[i] + units[j]) - plus[i] - plus[j] + function(zero)
    return (plus - minus) / 2, second


class Data(NamedTuple):
    """One training set for two replicas: noise z, component h0, batches s, start."""

    z: np.ndarray  # (samples, features)
    h0: np.ndarray
    s: np.ndarray  # (replicas, steps, samples)
    start: np.ndarray


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    samples, features = 3, 2
    batches = rng.random((REPLICAS, STEPS, samples)) < 0.6
    return Data(rng.standard_normal((samples, features)), rng.standard_normal(samples), batches, rng.normal(size=2))


def train(data, H, eta):
    """Two runs by eq-data-rotated and eq-components: m, w at every step, h; with the fields H and eta."""
    samples, features = data.z.shape
    m, w = np.zeros((REPLICAS, STEPS + 1)), np.zeros((REPLICAS, STEPS + 1, features))
    h = np.zeros((REPLICAS, STEPS, samples))
    w[:, 0], m[:, 0] = data.start, 0.2
    root = np.sqrt(DELTA)
    for k, t in product(*map(range, SHAPE)):
        h[k, t] = m[k, t] * (1 + root * data.h0) + root / np.sqrt(features) * data.z @ w[k, t] + eta[k, t]
        f = data.s[k, t] * (h[k, t] - KAPPA)
        w[k, t + 1] = NEXT * w[k, t] + DT * H[k, t] - DT * root / np.sqrt(features) * f @ data.z
        m[k, t + 1] = NEXT * m[k, t] - DT / features * f @ (1 + root * data.h0)
    return m, w, h


def data_line(z, h_hat, w, f, w_hat):
    """The last line of eq-action."""
    pulls = np.einsum("mi,ltm,lti->", z, h_hat, w) - DT * np.einsum("mi,ltm,lti->", z, f, w_hat)
    return -np.sqrt(DELTA / z.shape[1]) * pulls


def action(data, m, H, eta, variables):
    """The three lines of eq-action for w(1..T), the conjugates of the weights, the fields and theirs."""
    samples, features = data.z.shape
    later, w_hat, h, h_hat = np.split(variables, np.cumsum([12, 12, 18]))
    later, w_hat = later.reshape(*SHAPE, features), w_hat.reshape(*SHAPE, features)
    h, h_hat = h.reshape(*SHAPE, samples), h_hat.reshape(*SHAPE, samples)
    w = np.concatenate([np.broadcast_to(data.start, (REPLICAS, 1, features)), later], axis=1)
    f, root = data.s * (h - KAPPA), np.sqrt(DELTA)
    first = np.sum(w_hat * (w[:, 1:] - NEXT * w[:, :-1] - DT * H))
    second = np.sum(h_hat * (h - m[:, :-1, None] * (1 + root * data.h0) - eta))
    return first + second + data_line(data.z, h_hat, w[:, :-1], f, w_hat)


def test_the_integral_is_one_for_every_data_set_and_its_conjugates_bring_down_responses(data):
    """eq-Z and eq-action: normalised, concentrated on the trajectory of training; -i w_hat and -i h_hat are responses.

    The conjugates that belong to m, which is given here, are left out.
    """
    rng = np.random.default_rng(1)
    H, eta = 0.3 * rng.normal(size=(*SHAPE, 2)), 0.3 * rng.normal(size=(*SHAPE, 3))
    m, w, h = train(data, H, eta)
    first, A = quadratic(lambda x: action(data, m, H, eta, x), 60)
    # The integral of exp(iS) over 30 pairs of variables and conjugates is (2 pi)^30 / |det A|^(1/2).
    assert np.linalg.slogdet(A)[1] == pytest.approx(0, abs=1e-8)
    where = -np.linalg.solve(A, first)
    expected = np.concatenate([w[:, 1:].ravel(), np.zeros(12), h.ravel(), np.zeros(18)])
    np.testing.assert_allclose(where, expected, atol=1e-9)
    # <x y> = i A^-1 for deviations; so <w (-i w_hat)> = A^-1 is dw/d(dt H), at fixed m.
    answer = np.linalg.inv(A)
    push = 1e-3

    def pushed(dH, deta):
        """Weights with m held as it was."""
        w, root = np.zeros((REPLICAS, STEPS + 1, 2)), np.sqrt(DELTA / 2)
        w[:, 0] = data.start
        for k, t in product(*map(range, SHAPE)):
            h = m[k, t] * (1 + np.sqrt(DELTA) * data.h0) + root * data.z @ w[k, t] + (eta + deta)[k, t]
            force = data.s[k, t] * (h - KAPPA)
            w[k, t + 1] = NEXT * w[k, t] + DT * (H + dH)[k, t] - DT * root * force @ data.z
        return w[:, 1:].ravel()

    for i in range(12):
        one = push * (np.arange(12) == i).reshape(*SHAPE, 2)
        response = (pushed(one, 0 * eta) - pushed(-one, 0 * eta)) / (2 * push * DT)
        np.testing.assert_allclose(answer[:12, 12 + i], response, atol=1e-8)
    for i in range(18):
        one = push * (np.arange(18) == i).reshape(*SHAPE, 3)
        response = (pushed(0 * H, one) - pushed(0 * H, -one)) / (2 * push)
        np.testing.assert_allclose(answer[:12, 42 + i], response, atol=1e-8)
    assert np.max(np.abs(answer[:12, 42:])) > 1e-2, "there is something to compare"
    # R12 = 0 for given data: the runs do not interact.
    assert np.abs([answer[:6, 18:24], answer[6:12, 12:18]]).max() < 1e-12


def test_the_average_over_data_is_that_of_normal_numbers():
    """eq-average: the last line of eq-action, averaged by quadrature over every z."""
    rng = np.random.default_rng(2)
    samples, features = 3, 4
    h_hat, f = rng.normal(size=(2, *SHAPE, samples))
    w, w_hat = rng.normal(size=(2, *SHAPE, features))
    a = np.einsum("ltm,lti->mi", h_hat, w) - DT * np.einsum("ltm,lti->mi", f, w_hat)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / np.sqrt(2 * np.pi)
    ones = np.eye(samples * features).reshape(-1, samples, features)  # the line is linear in every z
    line = np.array([data_line(one, h_hat, w, f, w_hat) for one in ones])
    each = np.exp(1j * line[:, None] * nodes) @ weights
    np.testing.assert_allclose(np.log(each.prod()), -DELTA / (2 * features) * np.sum(a**2), rtol=1e-10)


def test_the_average_depends_on_the_weights_through_three_sums():
    """eq-order and eq-sample-action: with these sums a sample has the exponent of eq-average, complex or not."""
    rng = np.random.default_rng(3)
    features = 4
    h_hat, f = rng.normal(size=(2, *SHAPE)) + 1j * rng.normal(size=(2, *SHAPE))
    w, w_hat = rng.normal(size=(2, *SHAPE, features)) + 1j * rng.normal(size=(2, *SHAPE, features))
    a = np.einsum("lt,lti->i", h_hat, w) - DT * np.einsum("lt,lti->i", f, w_hat)
    orders = np.stack(
        [
            np.einsum("lti,kui->ltku", w, w) / features,
            -1j * np.einsum("lti,kui->ltku", w, w_hat) / features,
            np.einsum("lti,kui->ltku", w_hat, w_hat) / features,
        ]
    ).reshape(3, 6, 6)
    found = sample_action(h_hat.ravel(), f.ravel(), *orders)
    np.testing.assert_allclose(found, -DELTA / (2 * features) * np.sum(a**2), rtol=1e-12)


def sample_action(h_hat, f, C, R, K):
    """eq-sample-action."""
    field, answer, rest = h_hat @ C @ h_hat, h_hat @ R @ f, f @ K @ f
    return -DELTA / 2 * field + 1j * DELTA * DT * answer - DELTA * DT**2 / 2 * rest


# Every history of the batches of two replicas, with its probability; h0 at Gauss-Hermite nodes, exact for polynomials.
def _chance(history):
    p = BATCH if history[0] else 1 - BATCH
    for old, new in pairwise(history):
        stay = 1 - LEAVE if old else ENTER
        p *= stay if new else 1 - stay
    return p


ONE = list(product((0.0, 1.0), repeat=STEPS))
H0 = np.polynomial.hermite_e.hermegauss(4)
LAW = [
    (one + two, h0, _chance(one) * _chance(two) * chance / np.sqrt(2 * np.pi))
    for one, two in product(ONE, repeat=2)
    for h0, chance in zip(*H0, strict=True)
]
BATCHES, FIELDS, CHANCES = map(np.array, zip(*LAW, strict=True))  # one row a history


def weighted(weight, values):
    """Sum over histories."""
    return np.tensordot(weight, values, axes=1)


def solution():
    """The equations of the book for two replicas, averages over batches and h0 done exactly: m, C, R, M, Gamma.

    All that is known of step t follows from earlier steps, so that as many rounds as there are steps reach it exactly.
    Matrices run over replica and step.
    """
    m, C, R = np.zeros((REPLICAS, STEPS + 1)), np.zeros((6, 6)), np.zeros((6, 6))
    m[:, 0], root = 0.2, np.sqrt(DELTA)
    for _ in range(2 * STEPS):
        D = np.linalg.inv(np.eye(6) + DELTA * DT * R * BATCHES[:, None])  # eq-D
        u = 1 + root * FIELDS
        pull = BATCHES * np.einsum("xij,xj->xi", D, np.outer(u, m[:, :-1]) - KAPPA)
        spread = BATCHES[:, :, None] * D
        weight = ALPHA * CHANCES
        M = DELTA * (np.einsum("x,xi,xj->ij", weight, pull, pull) + DELTA * weighted(weight, spread @ C @ spread.mT))
        Gamma, mu = DELTA * weighted(weight, spread), weighted(weight * u, pull)
        m[:, 1:] = NEXT * m[:, :-1] - DT * mu.reshape(SHAPE)
        G = np.zeros((REPLICAS, STEPS, STEPS))  # eq-G
        for replica in range(REPLICAS):
            own = Gamma[replica * STEPS : (replica + 1) * STEPS, replica * STEPS : (replica + 1) * STEPS]
            for k in range(STEPS):
                G[replica, k, k] = 1
                for t in range(k, STEPS - 1):
                    G[replica, t + 1, k] = NEXT * G[replica, t, k] - DT * own[t] @ G[replica, :, k]
        R = np.zeros((6, 6))
        for replica in range(REPLICAS):
            R[replica * STEPS : (replica + 1) * STEPS, replica * STEPS : (replica + 1) * STEPS - 1] = G[replica, :, 1:]
        first = G[:, :, 0].ravel()
        C = START * np.outer(first, first) + DT**2 * R @ M @ R.T  # eq-C
    return m, C, R, M, Gamma


def log_gauss(form, linear):
    """Logarithm of the integral of exp(x.form.x + linear.x) over pairs of variables and conjugates, each over 2 pi."""
    twice = -(form + form.mT)
    sign, size = np.linalg.slogdet(twice)
    return -0.5 * (np.log(sign) + size) + 0.5 * np.sum(linear * np.linalg.solve(twice, linear[..., None])[..., 0], -1)


def log_weight(C_hat, R_hat, K_hat):
    """log Z_w: start, common to both replicas, later weights, conjugates."""
    count = 1 + 6 + 6
    place = [[0, 1, 2, 3], [0, 4, 5, 6]]  # of w at steps 0 to T
    now, later = np.zeros((6, count)), np.zeros((6, count))
    for k, t in product(*map(range, SHAPE)):
        now[k * STEPS + t, place[k][t]] = later[k * STEPS + t, place[k][t + 1]] = 1
    conjugate = np.eye(count)[7:]
    form = now.T @ C_hat @ now - 1j * now.T @ R_hat @ conjugate + conjugate.T @ K_hat @ conjugate
    form = form + 1j * conjugate.T @ (later - NEXT * now)
    form[0, 0] -= 1 / (2 * START)
    return log_gauss(form, np.zeros(count)) - 0.5 * np.log(START)


def log_sample(m, m_hat, C, R, K):
    """log Z_h, averaged over the batches and h0 of a sample; eq-sample-action with forces s (h - kappa)."""
    S, shift, u = BATCHES[:, :, None] * np.eye(6), -KAPPA * BATCHES, (1 + np.sqrt(DELTA) * FIELDS)[:, None]
    # f = S h + shift; the exponent as a form and a linear part in (h, h_hat), and a constant.
    form = np.zeros((len(S), 12, 12), complex)
    form[:, :6, :6] = -DELTA * DT**2 / 2 * S @ K @ S
    form[:, 6:, :6] = 1j * np.eye(6) + 1j * DELTA * DT * R @ S
    form[:, 6:, 6:] = -DELTA / 2 * C
    on_h = BATCHES * (-DELTA * DT**2 / 2 * shift @ (K + K.T) + 1j * DT * u * m_hat)
    on_hat = -1j * m * u + 1j * DELTA * DT * shift @ R.T
    rest = -DELTA * DT**2 / 2 * np.sum(shift @ K * shift, axis=1) + 1j * DT * u[:, 0] * (shift @ m_hat)
    return weighted(CHANCES, log_gauss(form, np.concatenate([on_h, on_hat], axis=1)) + rest)


NAMES = "C", "R", "K", "C_hat", "R_hat", "K_hat"


def free_action(x):
    """eq-S, as a function of all that it depends on; m(0) is given."""
    C, R, K, C_hat, R_hat, K_hat = x[:216].reshape(6, 6, 6)
    m = np.concatenate([np.full((REPLICAS, 1), 0.2), x[216:222].reshape(SHAPE)], axis=1)
    m_hat = x[222:]
    pairs = -np.sum(C_hat * C + R_hat * R + K_hat * K)
    descent = 1j * m_hat @ (m[:, 1:] - NEXT * m[:, :-1]).ravel()
    samples = ALPHA * log_sample(m[:, :-1].ravel(), m_hat, C, R, K)
    return pairs + log_weight(C_hat, R_hat, K_hat) + samples + descent


@pytest.fixture(scope="module")
def saddle():
    m, C, R, M, Gamma = solution()
    zero = np.zeros((6, 6))
    # eq-conjugates, and what vanishes.
    orders = [C, R, zero, zero, -DT * Gamma.T, -(DT**2) / 2 * M]
    return np.concatenate([np.ravel(orders), m[:, 1:].ravel(), np.zeros(6)]).astype(complex)


def test_the_solution_of_the_theory_is_a_saddle_point_of_the_action(saddle):
    """eq-S and eq-saddle: all derivatives vanish at eq-conjugates, and S itself, as for an integral of one."""
    assert abs(free_action(saddle)) < 1e-10
    slopes = np.array([slope(free_action, saddle, unit) for unit in np.eye(228)])
    found = dict(zip(NAMES, np.abs(slopes[:216]).reshape(6, 36).max(axis=1), strict=True))
    found |= {"m": np.abs(slopes[216:222]).max(), "m_hat": np.abs(slopes[222:]).max()}
    assert all(size < 1e-9 for size in found.values()), found
    direction = np.random.default_rng(4).normal(size=228)
    # Negative controls: each quantity of the solution, were it wrong by a tenth or of the other sign.
    for i in (0, 1, 4, 5):
        for factor in (1.1, -1.0):
            wrong = saddle.copy()
            wrong[36 * i : 36 * (i + 1)] *= factor
            assert abs(slope(free_action, wrong, direction)) > 1e-3, (NAMES[i], factor)


def test_replicas_are_correlated_and_do_not_respond_to_each_other(saddle):
    """eq-R12: a response between replicas would not be stationary; C12 and M12 are not zero."""
    C, R, _, _, R_hat, K_hat = saddle[:216].reshape(6, 6, 6).real
    assert not R[:3, 3:].any()
    assert not R_hat[:3, 3:].any()
    assert np.abs(C[:3, 3:]).min() > 1e-2
    assert np.abs(K_hat[:3, 3:]).min() > 1e-4
    other = saddle.copy()
    other[36 + 6 * 2 + 3] = 0.01  # a response of the first replica, at its last step, to a push of the second
    assert abs(slope(free_action, other, np.random.default_rng(5).normal(size=228))) > 1e-4


def test_what_a_weight_owes_to_the_noise_of_the_other_run(saddle):
    """eq-noise-weight, from the Gaussian law of noises and weights; and eq-C12 with it."""
    C, R, _, _, _, K_hat = saddle[:216].reshape(6, 6, 6).real
    M = -2 / DT**2 * K_hat
    m, _, _, _, Gamma = solution()
    # The weights of eq-two are linear in start and noises: w = first * start + dt * (R zeta).
    own = Gamma[:3, :3]
    first = np.zeros(STEPS)
    first[0] = 1
    for t in range(STEPS - 1):
        first[t + 1] = NEXT * first[t] - DT * own[t] @ first
    linear = np.zeros((STEPS, STEPS))  # weights of the second replica in its noises, by eq-two itself
    for k in range(STEPS):
        w, zeta = np.zeros(STEPS), np.arange(STEPS) == k
        for t in range(STEPS - 1):
            w[t + 1] = NEXT * w[t] - DT * own[t] @ w + DT * zeta[t]
        linear[:, k] = w
    covariance = M[:3, 3:] @ linear.T  # <zeta1(t) w2(t')>
    np.testing.assert_allclose(covariance, DT * M[:3, 3:] @ R[3:, 3:].T, atol=1e-12)
    both = START * np.outer(first, first) + linear @ M[:3, 3:] @ linear.T
    np.testing.assert_allclose(both, C[:3, 3:], atol=1e-12)
    for t in range(STEPS - 1):
        right = NEXT * C[t, 3:] - DT * own[t] @ C[:3, 3:] + DT * covariance[t]
        np.testing.assert_allclose(C[t + 1, 3:], right, atol=1e-12)
    assert np.abs(covariance).max() > 1e-2, "there is something to compare"
    assert m.shape == (REPLICAS, STEPS + 1)
