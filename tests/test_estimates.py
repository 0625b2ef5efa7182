"""Estimates: their arithmetic, Student's law, and what is refused."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sgdnoise.estimates import Estimate, Statement, finite_size, jackknife, significance


def test_arithmetic_is_that_of_independent_errors():
    a, b = Estimate(3.0, 0.3, 5), Estimate(2.0, 0.4, 11)
    for result, value, error in (
        (a + b, 5.0, 0.5),
        (a - b, 1.0, 0.5),
        (2.0 * a, 6.0, 0.6),
        (a * b, 6.0, np.hypot(2 * 0.3, 3 * 0.4)),
        (a / b, 1.5, 1.5 * np.hypot(0.1, 0.2)),
        (a - 1.0, 2.0, 0.3),
    ):
        assert (result.value, result.error) == pytest.approx((value, error))
    assert (2.0 * a - 1.0).freedom == pytest.approx(5), "an exact number changes no degrees of freedom"
    assert (a - b).freedom == pytest.approx(0.25**2 / (0.3**4 / 5 + 0.4**4 / 11)), "Welch and Satterthwaite"


def test_freedom_lies_between_that_of_one_and_that_of_both():
    for small in (0.01, 1.0, 100.0):
        freedom = (Estimate(0.0, small, 4) - Estimate(0.0, 1.0, 9)).freedom
        assert 4 <= freedom <= 13


def test_a_mean_and_a_jackknife_of_it_agree():
    values = xr.DataArray([1.0, 4.0, 2.0, 7.0], dims="realisation")
    plain, other = Estimate.mean(values), jackknife(lambda x: x, values)
    assert (plain.value, plain.error, plain.freedom) == pytest.approx((other.value, other.error, other.freedom))
    with pytest.raises(ValueError, match="realisations must be at least 2 for an error bar, got 1"):
        Estimate.mean([1.0])


def test_numbers_are_written_with_the_digits_of_their_error():
    assert f"{Estimate(0.0154632, 0.000081)}" == str(Estimate(0.0154632, 0.000081)) == "0.015463 ± 0.000081"
    assert f"{Estimate(1234.5, 56.0)}" == "1234 ± 56"
    assert f"{Estimate(-0.5, 0.25):+.1f}" == "-0.5 ± 0.2"
    assert str(Estimate(1.0, np.nan)) == "1.0000 ± nan"


@pytest.mark.parametrize("given", [{}, {"above": 0.0, "within": 1.0}])
def test_a_statement_says_one_thing(given):
    with pytest.raises(ValueError, match="a statement must give one of above, below and within"):
        Statement(**given)


@pytest.mark.parametrize("statement", [Statement(above=1.0), Statement(below=1.0), Statement(within=1.0, of=1.0)])
def test_exact_numbers_decide(statement):
    inside, outside = Estimate(0.5, 0.0), Estimate(3.0, 0.0)
    holds, fails = (outside, inside) if statement.above else (inside, outside)
    assert significance([statement.by_chance(holds)]) > 30
    assert significance([statement.by_chance(fails)]) < -30


@pytest.mark.statistical
@pytest.mark.parametrize("statement", [Statement(above=0.0), Statement(below=0.0), Statement(within=2.0, of=2.0)])
def test_chance_misleads_as_often_as_it_says(statement):
    """At the bound an estimate of four realisations is called significant at the level 0.05 in 5 per cent of all cases.

    With 4,000 experiments the share has the standard error 0.0034; five of them are a false-alarm rate below 1e-6. The
    margin is eight errors wide, so that its far end does not matter. The normal law, the control, is misled by 0.10.
    """
    rng = np.random.default_rng(11)
    values = rng.standard_normal((4000, 4))
    shares = [statement.by_chance(Estimate.mean(row))[0] < 0.05 for row in values]
    normal = [
        statement.by_chance(Estimate(Estimate.mean(row).value, Estimate.mean(row).error))[0] < 0.05 for row in values
    ]
    assert abs(np.mean(shares) - 0.05) < 5 * 0.0034
    assert np.mean(normal) > 0.08


@pytest.mark.statistical
def test_the_error_of_a_median_is_its_scatter():
    """Over 1,000 samples of 40 numbers with a long tail the quoted error is the scatter within a factor of 1.15.

    The scatter is known to 2.2 per cent and the mean quoted error to less; 15 per cent is six standard errors.
    """
    rng = np.random.default_rng(3)
    found = [Estimate.median(row) for row in np.exp(2 * rng.standard_normal((1000, 41)))]
    quoted = np.sqrt(np.mean([e.error**2 for e in found]))
    assert abs(np.log(quoted / np.std([e.value for e in found]))) < np.log(1.15)


def test_a_family_is_as_good_as_its_worst_member():
    chances = [Statement(above=0.0).by_chance(Estimate(value, 1.0, 30)) for value in (9.0, 2.5, 7.0)]
    assert significance(chances) == pytest.approx(stats.norm.isf(stats.t.sf(2.5, 30)))


@pytest.mark.statistical
def test_a_shift_with_the_size_is_found_within_its_error():
    """Points of different units and accuracy, with what their common data sets do to all of them alike."""
    rng, many, sets = np.random.default_rng(3), 400, 12
    unit, noise = np.array([100.0, 1.0, 0.01]), np.array([0.5, 0.05, 0.02])
    deviations, weak = [], []
    for _ in range(many):
        common = 0.03 * rng.standard_normal((2, 1, sets))
        scatter = noise[:, None] * rng.standard_normal((2, 3, sets))
        large, small = unit[:, None] * (1 + common + scatter)
        found = finite_size(1.04 * large, small)
        deviations.append((found.value - 0.04 / 1.02) / found.error)
        weak.append((np.mean(large / small) - 1) / found.error)
    # Student's t with about 22 degrees of freedom has the variance 1.1; six errors of the mean, and of the variance.
    assert abs(np.mean(deviations)) < 6 / np.sqrt(many)
    assert 0.7 < np.var(deviations) < 1.5
    assert np.var(weak) > 1.5, "negative control: a mean without weights has another error"
