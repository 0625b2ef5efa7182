import dataclasses
import itertools
import math

import high_precision
import numpy as np
import pytest
from minimiser import draw_data, minimise
from scipy import integrate, optimize, stats

import sgdnoise as sn
from sgdnoise._gauss import hinge_moments

CORNERS = list(itertools.product((0.1, 1.0, 3.7, 50.0), (0.05, 1.0, 10.0), (1e-6, 1e-2, 1.0, 100.0)))


@pytest.mark.parametrize(("alpha", "delta", "ridge"), CORNERS)
def test_agrees_with_sixty_digit_arithmetic(alpha, delta, ridge):
    end = sn.solve_statics(sn.Problem(alpha=alpha, delta=delta, ridge=ridge, margin=0.7))
    start = (end.magnetization, end.norm, end.susceptibility)
    (m, q, V), (P, square_slope) = high_precision.solve(start, alpha, delta, ridge, 0.7)
    loss = (high_precision.Decimal(alpha) * square_slope + high_precision.Decimal(ridge) * q) / 2
    error = high_precision.below(-m / (high_precision.Decimal(delta) * q).sqrt())
    exact = [float(value) for value in (m, q, V, P, square_slope, loss, error)]
    found = [
        end.magnetization,
        end.norm,
        end.susceptibility,
        end.unsatisfied,
        end.square_slope,
        end.loss,
        end.error,
    ]
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=0)


@pytest.mark.parametrize("x", [-30.0, -8.0, -2.001, -2.0, -1.999, -0.5, 0.0, 3.0, 40.0])
def test_moments_of_the_normal_tail(x):
    scale = 1 / max(1.0, -x)  # on which the integrand decays

    def integrand(s, n):
        return s**n * math.exp(-s * s / 2 + x * s)

    if x > 5:
        expected = [1.0, x, 1 + x * x]
    else:
        expected = [
            integrate.quad(integrand, 0, 60 * scale + 2 * max(x, 0), args=(n,), epsabs=0, epsrel=1e-12, limit=200)[0]
            * math.exp(-x * x / 2)
            / math.sqrt(2 * math.pi)
            for n in range(3)
        ]
    np.testing.assert_allclose(hinge_moments(x), expected, rtol=1e-11)


def test_converges_over_the_whole_range():
    for alpha, delta, ridge in itertools.product(
        np.geomspace(0.1, 50, 12), np.geomspace(0.05, 10, 8), np.geomspace(1e-6, 100, 9)
    ):
        end = sn.solve_statics(sn.Problem(alpha=alpha, delta=delta, ridge=ridge))
        assert 0 < end.magnetization**2 < end.norm
        assert 0 < end.unsatisfied <= 1
        # At the minimum h.l' is conjugate to the ridge: ridge q = -alpha <h l'>, with <h l'> = <l'^2> + margin <l'>.
        slope = -end.magnetization / (alpha * end.susceptibility)
        assert -alpha * (end.square_slope + slope) == pytest.approx(ridge * end.norm, rel=1e-6, abs=1e-12)


def test_weights_are_proportional_to_the_margin():
    one, two = (sn.solve_statics(sn.Problem(alpha=5, ridge=0.3, margin=margin)) for margin in (1.0, 2.5))
    assert two.magnetization == pytest.approx(2.5 * one.magnetization, rel=1e-14)
    assert two.loss == pytest.approx(6.25 * one.loss, rel=1e-14)
    assert two.unsatisfied == one.unsatisfied


@pytest.mark.parametrize("margin", [0.0, -0.4])
def test_without_a_positive_margin_the_weights_vanish(margin):
    end = sn.solve_statics(sn.Problem(alpha=5, margin=margin), sn.SGD(batch=0.5))
    assert (end.magnetization, end.norm, end.loss, end.error, end.unsatisfied) == (0, 0, 0, 0.5, 0)
    assert end.temperature_slope == 0


def test_sgd_ends_where_gradient_descent_does_with_a_larger_ridge_but_its_loss_has_the_given_one():
    sgd = sn.solve_statics(sn.Problem(alpha=6, ridge=0.5), sn.SGD(batch=0.25))
    gd = sn.solve_statics(sn.Problem(alpha=6, ridge=2.0))
    assert (sgd.magnetization, sgd.norm, sgd.square_slope) == (gd.magnetization, gd.norm, gd.square_slope)
    assert gd.loss - sgd.loss == pytest.approx(0.5 * 1.5 * gd.norm)


def test_temperature_slope():
    problem = sn.Problem(alpha=6)
    assert 0.1 * sn.solve_statics(problem, sn.SGD(batch=0.1)).temperature_slope == pytest.approx(0.01487, abs=5e-6)
    assert sn.solve_statics(problem, sn.GD()).temperature_slope == 0
    assert sn.solve_statics(problem, sn.PersistentSGD(batch=0.1, persistence=1)).temperature_slope == math.inf


def test_a_vanishing_ridge_is_the_limit_where_the_minimum_is_unique():
    bare = sn.solve_statics(sn.Problem(alpha=8, ridge=0))
    near = sn.solve_statics(sn.Problem(alpha=8, ridge=1e-9))
    assert near.norm == pytest.approx(bare.norm, rel=1e-7)
    assert bare.loss == pytest.approx(near.loss, rel=1e-7)


@pytest.mark.parametrize(
    "problem",
    [
        sn.Problem(alpha=2, ridge=0),
        sn.Problem(alpha=8, ridge=0, margin=-1),
        sn.Problem(alpha=0.9, ridge=0, loss=sn.square),
    ],
)
def test_refuses_where_the_minimum_is_not_unique(problem):
    with pytest.raises(ValueError, match=r"ridge must be greater than 0 .* got 0"):
        sn.solve_statics(problem)


def test_refuses_other_losses_and_other_objects():
    with pytest.raises(ValueError, match=r"loss must be sgdnoise.squared_hinge or sgdnoise.square.*Logistic"):
        sn.solve_statics(sn.Problem(alpha=6, loss=sn.logistic))
    with pytest.raises(TypeError, match="problem must be"):
        sn.solve_statics(6.0)
    with pytest.raises(TypeError, match="algorithm must be"):
        sn.solve_statics(sn.Problem(alpha=6), "sgd")
    for name in ("solve_statics", "hessian_spectrum"):
        with pytest.raises(TypeError, match=r"algorithm must be .*, got None"):
            getattr(sn, name)(sn.Problem(alpha=6), None)


def test_square_loss_is_ridge_regression():
    """The Marchenko-Pastur value of the susceptibility, and a margin of either sign."""
    alpha, delta, ridge = 3.0, 0.3, 0.5
    end = sn.solve_statics(sn.Problem(alpha=alpha, delta=delta, ridge=ridge, loss=sn.square))
    shift = ridge + delta * (alpha - 1)
    exact = (math.sqrt(shift**2 + 4 * delta * ridge) - shift) / (2 * delta * ridge)
    assert end.susceptibility == pytest.approx(exact, rel=1e-13)
    mirrored = sn.solve_statics(sn.Problem(alpha=alpha, delta=delta, ridge=ridge, margin=-1, loss=sn.square))
    assert mirrored.magnetization == -end.magnetization
    assert mirrored.unsatisfied == pytest.approx(1 - end.unsatisfied, rel=1e-13)
    assert mirrored.loss == end.loss


SAMPLED = [
    (sn.Problem(alpha=6), 0.3, 800),
    (sn.Problem(alpha=1.5, ridge=0.05, margin=0.5), 1.0, 1200),
    (sn.Problem(alpha=4, delta=0.1, ridge=0.1), 1.0, 800),
    (sn.Problem(alpha=2, delta=0.5, ridge=0.4, margin=-0.8, loss=sn.square), 1.0, 800),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("problem", "batch", "features"), SAMPLED)
def test_agrees_with_direct_minimisation(problem, batch, features):
    """Eight minimised data sets against the theory; 20 comparisons in all.

    The threshold is Student's at 1e-3 / 20 two-sided, a false-alarm rate of 1e-3 for the whole test, plus one part in
    N for the finite-size shift, which falls like 1/N. Control: gradient descent's end point is refused for SGD.
    """
    end = sn.solve_statics(problem, sn.SGD(batch=batch))
    rows = []
    for seed in range(8):
        A, w = minimise(problem, end.effective_ridge, features, seed)
        h, q = A @ w, w @ w / features
        loss = problem.loss.value(h, problem.margin).sum() / features + 0.5 * problem.ridge * q
        error = stats.norm.cdf(-w.mean() / math.sqrt(problem.delta * q))
        rows.append([w.mean(), q, loss, error, np.mean(h < problem.margin)])
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
    names = ("magnetization", "norm", "loss", "error", "unsatisfied")
    allowed = stats.t.ppf(1 - 2.5e-5, 7) * spread / math.sqrt(8) + np.abs(mean) / features
    exact = np.array([getattr(end, name) for name in names])
    assert (np.abs(mean - exact) < allowed).all(), dict(zip(names, (mean - exact) / allowed, strict=True))
    if batch < 1:
        wrong = sn.solve_statics(problem)
        assert abs(mean[1] - wrong.norm) > 3 * allowed[1]


def test_critical_alpha_against_quadrature():
    def ratio(m, delta):
        tail = integrate.quad(
            lambda z: (m + math.sqrt(delta) * z) ** 2 * stats.norm.pdf(z), -40, -m / math.sqrt(delta), epsabs=0
        )[0]
        return delta * (1 - m * m) / tail

    for delta in (0.05, 0.5, 1.0, 4.0):
        best = optimize.minimize_scalar(lambda m, d=delta: -ratio(m, d), bounds=(0, 1), method="bounded")
        assert sn.critical_alpha(delta) == pytest.approx(-best.fun, rel=1e-9)


@pytest.mark.parametrize("delta", [0.05, 1.0, 10.0])
def test_critical_alpha_against_sixty_digit_arithmetic(delta):
    """The maximum by golden-section search in 60-digit arithmetic."""
    spread = high_precision.Decimal(delta).sqrt()

    def ratio(m):
        x = -m / spread
        P, p = high_precision.below(x), high_precision.density(x)
        return (1 - m * m) / ((1 + x * x) * P + x * p)

    low, high = high_precision.Decimal(0), high_precision.Decimal(1)
    golden = (high_precision.Decimal(5).sqrt() - 1) / 2
    for _ in range(50):  # to 1e-10 in m, hence 1e-20 in the maximum
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if ratio(left) > ratio(right) else (left, high)
    assert sn.critical_alpha(delta) == pytest.approx(float(ratio((low + high) / 2)), rel=1e-12)


def test_critical_alpha_at_the_ends_and_for_bad_input():
    assert sn.critical_alpha(1e12) == pytest.approx(2, rel=1e-11)
    assert 1e22 < sn.critical_alpha(0.01) < 1e23
    with pytest.raises(ValueError, match=r"delta must be at least 0.001, got 0"):
        sn.critical_alpha(0)


def test_the_norm_diverges_at_the_critical_alpha():
    """Without ridge the weights of the separable side are of order one, and grow without bound at the threshold."""
    near = [
        sn.solve_statics(sn.Problem(alpha=f * sn.critical_alpha(1.0), ridge=1e-12)).norm for f in (0.9, 0.99, 0.999)
    ]
    ratio = np.array(near[1:]) / near[:-1]
    assert (ratio > 50).all()
    assert sn.solve_statics(sn.Problem(alpha=0.9 * sn.critical_alpha(1.0), ridge=1e-12)).loss < 1e-9


def separable(A):
    """Whether some w has A w >= 1, by linear programming."""
    answer = optimize.linprog(np.zeros(A.shape[1]), A_ub=-A, b_ub=-np.ones(len(A)), bounds=(None, None), method="highs")
    return answer.status == 0


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [1.0, 10.0])
def test_critical_alpha_is_where_a_linear_program_stops_being_feasible(delta):
    """Number of samples up to which 12 data sets with 60 features stay separable.

    Threshold: Student's at 1e-3 / 2 two-sided (false alarms: 1e-3 for both values of delta), plus two samples for
    the finite-size shift. Control: the threshold without the centres (alpha = 2) is refused where they matter.
    """
    features, found = 60, []
    top = round(1.6 * sn.critical_alpha(delta) * features)
    for seed in range(12):
        A = math.sqrt(features) * draw_data(sn.Problem(alpha=1, delta=delta), top, features, seed)
        low, high = features // 2, top
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if separable(A[:middle]) else (low, middle)
        found.append(low / features)
    mean, error = np.mean(found), stats.sem(found)
    allowed = stats.t.ppf(1 - 1e-3 / 4, 11) * error + 2 / features
    assert abs(mean - sn.critical_alpha(delta)) < allowed
    if delta <= 1:
        assert abs(mean - 2) > 2 * allowed


def test_result_is_immutable():
    end = sn.solve_statics(sn.Problem(alpha=6))
    with pytest.raises(dataclasses.FrozenInstanceError):
        end.norm = 0.0
