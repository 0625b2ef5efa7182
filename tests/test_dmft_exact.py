"""The theory against solutions that need no sampling.

False alarms: seeds are fixed, so a test that passes keeps passing; thresholds are quantiles of the t-distribution with
the measured standard error, at a rate of 1e-3 a test for a correct solver on a new seed.
"""

import numpy as np
import pytest
from exact_dmft import square_loss_descent, statics
from scipy.stats import t as student

import sgdnoise as sn
from sgdnoise.dmft import population

RATE = 1e-3


def deviations(values, exact):
    """Mean minus exact, in standard errors, for values of shape (realisation, quantity)."""
    return (values.mean(axis=0) - exact) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def limit(realisations, quantities):
    return student.isf(RATE / quantities / 2, realisations - 1)


def chi_slope(theory, waiting_time, lag):
    """Slope of C(tw,tw)-C(t,tw) against chi(t,tw) up to a lag, per realisation."""
    at = theory.sel(waiting_time=waiting_time, method="nearest")
    first = int(np.argmin(np.abs(theory.time.values - waiting_time)))
    last = first + round(lag / theory.attrs["learning_rate"]) + 1
    C, chi = at.correlation.values[:, first:last], at.integrated_response.values[:, first:last]
    return np.array([np.polyfit(x, c[0] - c, 1)[0] for x, c in zip(chi, C, strict=True)])


@pytest.mark.parametrize(
    "problem",
    [
        sn.Problem(alpha=3, delta=0.7, ridge=0.3, margin=1.2, init_variance=0.8, loss=sn.square),
        sn.Problem(alpha=0.5, delta=1.0, ridge=0.0, margin=1.0, init_variance=1.0, loss=sn.square),
    ],
    ids=["more samples than features", "fewer"],
)
def test_square_loss_is_solved_by_the_marchenko_pastur_law(problem):
    """Exact moments leave no sampling error here: what remains is the single precision of the noises."""
    dt, steps = 0.1, 40
    m, C, R, loss = square_loss_descent(problem, dt, steps)
    theory = sn.solve_dmft(problem, sn.GD(), dt, dt * steps, paths=500, realisations=1).isel(realisation=0)
    np.testing.assert_allclose(theory.magnetization, m, atol=1e-6)
    np.testing.assert_allclose(theory.norm, np.diag(C), atol=1e-5)
    np.testing.assert_allclose(theory.loss, loss, atol=1e-5)
    later = np.triu(np.ones_like(C, dtype=bool))
    np.testing.assert_allclose(theory.correlation.values[later], C[later], atol=1e-5)
    chi = dt * np.cumsum(R, axis=0).T
    np.testing.assert_allclose(theory.integrated_response.values[later], chi[later], atol=1e-9)


@pytest.mark.parametrize("kernel", ["mu", "M", "Gamma"])
def test_marchenko_pastur_law_catches_a_wrong_kernel(kernel, monkeypatch):
    """Negative control: one kernel off by 5% moves the norm by more than a hundred times the tolerance above."""
    right = population.Population.advance

    def wrong(self, t, r, G):
        averages = right(self, t, r, G)
        return averages._replace(**{kernel: 1.05 * getattr(averages, kernel)})

    monkeypatch.setattr(population.Population, "advance", wrong)
    problem = sn.Problem(alpha=3, loss=sn.square)
    _, C, *_ = square_loss_descent(problem, 0.1, 40)
    theory = sn.solve_dmft(problem, sn.GD(), 0.1, 4.0, paths=500, realisations=1)
    assert np.max(np.abs(theory.norm.values[0] - np.diag(C))) > 1e-3


@pytest.mark.statistical
def test_gradient_descent_ends_at_the_minimum():
    exact = statics(alpha=6, delta=1, ridge=1, margin=1)
    theory = sn.solve_dmft(sn.Problem(alpha=6), sn.GD(), 0.1, 6.0, paths=3000, realisations=8, seed=1)
    end = theory.isel(time=-1)
    values = np.column_stack([end.magnetization, end.norm, end.unsatisfied, end.loss])
    target = [exact["m"], exact["q"], exact["inside"], 6 * exact["value"] + 0.5 * exact["q"]]
    assert np.all(np.abs(deviations(values, target)) < limit(8, 4))
    assert np.all(np.abs(deviations(values * 1.05, target)) > limit(8, 4))  # negative control


@pytest.mark.statistical
def test_small_steps_of_sgd_end_at_the_minimum_with_ridge_over_batch():
    """Two learning rates, extrapolated to zero; what is left is second order in the step."""
    batch, ends = 0.5, []
    for dt in (0.05, 0.1):
        theory = sn.solve_dmft(sn.Problem(alpha=6), sn.SGD(batch), dt, 6.0, paths=2000, realisations=6, seed=2)
        late = theory.sel(time=slice(4.0, None)).mean("time")
        ends.append(np.column_stack([late.magnetization, late.norm]))
    extrapolated = 2 * ends[0] - ends[1]
    exact = statics(alpha=6, delta=1, ridge=1 / batch, margin=1)
    assert np.all(np.abs(deviations(extrapolated, [exact["m"], exact["q"]])) < limit(6, 2))
    other = statics(alpha=6, delta=1, ridge=1, margin=1)  # negative control: the plateau of gradient descent
    assert np.all(np.abs(deviations(extrapolated, [other["m"], other["q"]])) > limit(6, 2))


@pytest.mark.statistical
def test_effective_temperature_of_the_paper():
    """The paper finds 0.015 at these parameters; the small-step law gives 0.01487 to first order in the step."""
    theory = sn.solve_dmft(
        sn.Problem(alpha=6), sn.SGD(batch=0.1), 0.1, 13.0, paths=4000, realisations=6, seed=3, waiting_times=[8, 9, 10]
    )
    slopes = np.mean([chi_slope(theory, tw, 2.5) for tw in (8.0, 9.0, 10.0)], axis=0)
    error = slopes.std(ddof=1) / np.sqrt(slopes.size)
    assert error < 3e-4
    assert abs(slopes.mean() - 0.015) < 0.0005 + limit(6, 1) * error  # 0.015 is rounded to three digits
