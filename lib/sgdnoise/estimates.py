r"""A measured number with its standard error and degrees of freedom, and how likely a statement about it is by chance.

The error of a mean over :math:`n` realisations is itself an estimate, with :math:`n-1` degrees of freedom, so that
deviations in standard errors follow Student's :math:`t` and not the normal law: with five realisations a mean is three
standard errors off with probability 0.04, and not 0.003.

**Propagation.** A sum of independent estimates with weights :math:`c_i` has the squared error
:math:`\sum_i c_i^2e_i^2`, with the degrees of freedom of Welch and Satterthwaite,
:math:`(\sum_i c_i^2e_i^2)^2/\sum_i(c_i^4e_i^4/\nu_i)`. Products and quotients are linearised. Numbers that share their
data are not independent; :meth:`Estimate.mean` of their difference, or :func:`jackknife`, takes care of that.

**Tests.** A :class:`Statement` about an estimate has two probabilities, one for each way in which chance can mislead:
that it looks as true as it does although it is just false, and the other way round. That two numbers are *equal*
cannot be shown, only that they differ by less than a margin: by two one-sided tests, of which the less certain counts.

**Families.** A statement about several points holds if it holds for each, at the level of a single test, whatever their
covariance (an intersection-union test). It fails if the worst point is farther out than chance would bring the worst
of them all: the law of the largest of correlated Student variables, with the covariance of the points over the
realisations that they share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import ndtri, stdtr, stdtrit

from sgdnoise import fdt

TINY = 1e-300  # in the place of an error of zero
MANY = 1e9  # degrees of freedom at which Student's law is the normal one
DRAWS = 2000  # for the law of the largest of several deviations, which is then known to about one per cent


@dataclass(frozen=True)
class Estimate:
    """A number, its standard error, and the degrees of freedom of that error (infinite where it is known).

    >>> from sgdnoise.estimates import Estimate
    >>> Estimate(0.0154632, 0.000081, 7)
    0.015463 ± 0.000081
    >>> a, b = Estimate(2.0, 0.3, 4), Estimate(1.0, 0.4, 9)
    >>> a - b, round((a - b).freedom, 1)
    (1.00 ± 0.50, 12.8)
    >>> f"{100 * (a / b):+.0f} per cent"
    '+200 ± 85 per cent'
    """

    value: float
    error: float
    freedom: float = np.inf
    #: What each realisation contributes to the error, if known: the squares add up to that of the error, and for two
    #: estimates from the same realisations the products add up to the covariance.
    parts: tuple[float, ...] = field(default=(), compare=False)

    @classmethod
    def mean(cls, values: Any) -> "Estimate":
        """Return the mean over realisations.

        >>> from sgdnoise.estimates import Estimate
        >>> Estimate.mean([1.0, 3.0]).error
        1.0
        """
        values = np.ravel(values)
        if values.size < 2:
            raise ValueError(f"realisations must be at least 2 for an error bar, got {values.size}")
        value, count = values.mean(), values.size
        parts = (values - value) / np.sqrt(count * (count - 1))
        return cls(float(value), float(values.std(ddof=1) / np.sqrt(count)), count - 1, tuple(parts.tolist()))

    @classmethod
    def median(cls, values: Any) -> "Estimate":
        """Return the median over realisations, for values with a long tail.

        Its error is half the distance of the values that are a standard error in rank, half the root of their number,
        below and above it.

        >>> from sgdnoise.estimates import Estimate
        >>> Estimate.median([1.0, 2.0, 3.0, 4.0, 1000.0]).value
        3.0
        """
        values = np.ravel(values)
        low, middle, high = np.quantile(values, 0.5 + np.array([-0.5, 0.0, 0.5]) / np.sqrt(values.size))
        return cls(float(middle), float(high - low) / 2, values.size - 1)

    @classmethod
    def of(cls, temperature: Any) -> "Estimate":
        """Return a :class:`~sgdnoise.Temperature` as an estimate."""
        return cls(temperature.value, temperature.error, temperature.curve.sizes["realisation"] - 1)

    def __add__(self, other: "Estimate | float") -> "Estimate":
        other = _known(other)
        return _propagated(self.value + other.value, (1.0, self), (1.0, other))

    def __sub__(self, other: "Estimate | float") -> "Estimate":
        return self + -1.0 * _known(other)

    def __mul__(self, other: "Estimate | float") -> "Estimate":
        other = _known(other)
        return _propagated(self.value * other.value, (other.value, self), (self.value, other))

    __rmul__ = __mul__

    def __truediv__(self, other: "Estimate | float") -> "Estimate":
        other = _known(other)
        ratio = self.value / other.value
        return _propagated(ratio, (1 / other.value, self), (ratio / other.value, other))

    def __format__(self, form: str) -> str:
        if not form:  # two digits of the error
            known = np.isfinite(self.error) and self.error > 0
            form = f".{max(0, 1 - int(np.floor(np.log10(self.error)))) if known else 4}f"
        return f"{self.value:{form}} ± {self.error:{form.lstrip('+')}}"

    def __str__(self) -> str:
        return format(self, "")

    __repr__ = __str__


def jackknife(function: Callable[..., Any], *columns: Any) -> Estimate:
    """Estimate a function of means over realisations, the first axis of every column.

    It is called once, on the means of all realisations and of those without one, stacked along the first axis.

    >>> from sgdnoise.estimates import jackknife
    >>> jackknife(lambda a, b: a / b, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    0.5000 ± 0.0000
    """
    arrays = [c.transpose("realisation", ...).values if isinstance(c, xr.DataArray) else np.array(c) for c in columns]
    value, parts = fdt.contributions(function, *arrays)
    return Estimate(float(value), float(np.sqrt((parts**2).sum())), len(arrays[0]) - 1, tuple(np.ravel(parts).tolist()))


def finite_size(large: Any, small: Any) -> Estimate:
    """Estimate by which part of itself a family of quantities changes from small networks to large ones.

    Each argument has a row for each point of the family and a column for each realisation. Points are weighted by
    their accuracy. Those of one size share data sets, so the error comes from the scatter of their weighted mean over
    the realisations.

    >>> from sgdnoise.estimates import finite_size
    >>> finite_size([[2.1, 2.3], [1.0, 1.2]], [[1.9, 2.1], [1.0, 1.0]])
    0.095 ± 0.071
    """
    rows = [np.asarray(values, float) for values in (large, small)]
    unit = np.mean([values.mean(axis=1) for values in rows], axis=0)
    squares = sum(values.var(axis=1, ddof=1) / values.shape[1] for values in rows)
    weight = unit**2 / squares
    big, little = (Estimate.mean((weight / unit) @ values / weight.sum()) for values in rows)
    return big - little


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What is said of a number: it is above a bound, below a bound, or less than a margin away from a value.

    A margin of zero says that the number *is* that value, which can be refuted and never shown.

    >>> from sgdnoise.estimates import Statement
    >>> print(Statement(within=0.1, of=1.0))
    within 0.1 of 1
    >>> print(Statement(within=0.0))
    0, which can only fail
    """

    above: float | None = None
    below: float | None = None
    within: float | None = None
    of: float = 0.0

    def __post_init__(self) -> None:
        if sum(bound is not None for bound in (self.above, self.below, self.within)) != 1:
            raise ValueError("a statement must give one of above, below and within")
        float(self.start)

    @property
    def start(self) -> float:
        """The bound, or the value that it is about."""
        return self.of if self.within is not None else next(b for b in (self.above, self.below) if b is not None)

    def __str__(self) -> str:
        if self.within is None:
            return f"{'below' if self.above is None else 'above'} {self.start:g}"
        return f"within {self.within:g} of {self.of:g}" if self.within else f"{self.of:g}, which can only fail"

    def by_chance(self, estimate: Estimate) -> tuple[float, float]:
        """Probabilities of an estimate that speaks so much for the statement where it is just false, or against it
        where it is just true; one where there is no number.

        >>> from sgdnoise.estimates import Estimate, Statement
        >>> [round(p, 3) for p in Statement(above=0.0).by_chance(Estimate(3.0, 1.0, 4))]
        [0.02, 0.98]
        >>> [round(p, 3) for p in Statement(within=0.0).by_chance(Estimate(3.0, 1.0, 4))]
        [0.98, 0.04]
        >>> [round(p, 3) for p in Statement(within=0.2).by_chance(Estimate(0.1, 0.02, 20))]
        [0.0, 1.0]
        """
        if not (np.isfinite(estimate.value) and estimate.error >= 0):
            return 1.0, 1.0

        def tail(distance: float) -> float:
            t = distance / max(estimate.error, TINY)
            return float(stdtr(min(estimate.freedom, MANY), -t))

        away = estimate.value - self.start
        if self.within is None:
            over = away if self.below is None else -away
            return tail(over), tail(-over)
        return tail(self.within - abs(away)), min(1.0, tail(abs(away) - self.within) + tail(abs(away) + self.within))

    def jointly(self, family: Mapping[str, Estimate]) -> tuple[float, float]:
        """The probabilities of :meth:`by_chance` for a statement about all of several points.

        It holds if it holds for each. It fails if it fails for one, by :func:`largest`; where the covariance of the
        points is not known, or has fewer degrees of freedom than points, at the level divided by their number
        (Bonferroni).

        >>> from sgdnoise.estimates import Estimate, Statement
        >>> alike = {name: Estimate.mean([-4.0, -1.0, -3.0, -2.0, -6.0]) for name in "abc"}
        >>> positive = Statement(above=0.0)
        >>> chances = positive.by_chance(alike["a"]), positive.jointly(alike)
        >>> [round(fails, 4) for _, fails in chances]
        [0.0102, 0.0102]
        """
        points = list(family.values())
        chances = [self.by_chance(estimate) for estimate in points]
        for_it, against = max(p for p, _ in chances), min(p for _, p in chances)
        freedom = min(e.freedom for e in points)
        shared = len({len(e.parts) for e in points}) == 1 and all(e.parts and e.error > 0 for e in points)
        if not shared or freedom < len(points):
            return for_it, min(1.0, len(points) * against)
        # Each point on the side of the bound on which it is.
        sides = [np.sign(e.value - self.start) if self.within else 1.0 for e in points]
        parts = np.array([side * np.array(e.parts) / e.error for side, e in zip(sides, points, strict=True)])
        return for_it, largest(against, parts @ parts.T, freedom, two_sided=self.within == 0)

    def pattern(self, family: Mapping[str, Estimate]) -> str:
        """Say which of several points is the worst, and how the signs of their deviations follow each other.

        With a margin the worst is the one that is the farthest beyond it, or the least far inside it.

        >>> from sgdnoise.estimates import Estimate, Statement
        >>> Statement(above=0.0).pattern({"a": Estimate(3.0, 1.0), "b": Estimate(1.0, 0.5)})
        'Worst of 2 points: b, +2.0 standard errors from 0; signs ++.'
        >>> exact = {"a": Estimate(0.31, 0.0), "b": Estimate(0.24, 0.0)}
        >>> Statement(above=0.0).pattern(exact)
        'Worst of 2 points: b, +0.24 from 0, exactly; signs ++.'
        >>> pair = {"a": Estimate(-0.4, 0.01), "b": Estimate(0.6, 0.1)}
        >>> words = Statement(within=0.5).pattern(pair)
        >>> words.split(";")[0]
        'Worst of 2 points: b, 1.0 standard errors beyond the margin'
        """
        away = {label: (e.value - self.start) / max(e.error, TINY) for label, e in family.items()}
        known = [label for label, value in away.items() if np.isfinite(value)] or list(away)

        def beyond(label: str) -> float:
            """How far a point is beyond the bound or the margin, in standard errors."""
            if self.within is not None:
                return abs(away[label]) - self.within / max(family[label].error, TINY)
            return away[label] if self.above is None else -away[label]

        worst = max(known, key=beyond)
        signs = "".join("?" if np.isnan(v) else "+" if v > 0 else "−" for v in away.values())
        far, place = f"{away[worst]:+.1f}", f"from {self.start:g}"
        if self.within:
            far, place = f"{abs(beyond(worst)):.1f}", f"{'beyond' if beyond(worst) > 0 else 'inside'} the margin"
        where = f"{'more than 100' if abs(beyond(worst)) >= 100 else far} standard errors {place}"
        if family[worst].error == 0:
            where = f"{family[worst].value - self.start:+.2g} from {self.start:g}, exactly"
        words = f"Worst of {len(away)} points: {worst}, {where}; signs {signs}"
        if not self.within:
            return f"{words}."
        exact = Statement(within=0.0, of=self.of).jointly(family)[1]
        return f"{words}; if all were exactly {self.of:g}, so much by chance with probability {exact:.2g}."


def largest(chance: float, correlation: Any, freedom: float, two_sided: bool = False) -> float:
    """Probability that one of several correlated Student variables is as far out as ``chance`` is for one of them.

    The sum of their probabilities (Bonferroni) counts a draw in which several are far out several times. It is divided
    by their mean number in draws in which a given one is, which are made directly; so the tail needs no more draws
    than the middle.

    >>> import numpy as np
    >>> from sgdnoise.estimates import largest
    >>> [round(largest(0.01, matrix, 20), 3) for matrix in (np.eye(3), np.ones((3, 3)))]
    [0.029, 0.01]
    """
    count, one_side = len(correlation), chance / (2 if two_sided else 1)
    if count * chance < 1e-12 or chance >= 1:  # so far out the sum is as good
        return min(1.0, count * chance)
    rng, freedom = np.random.default_rng(0), min(freedom, MANY)
    bound = -stdtrit(freedom, one_side)
    first = -stdtrit(freedom, one_side * (np.arange(DRAWS) + 0.5) / DRAWS)
    shares = []
    for i, with_first in enumerate(np.asarray(correlation)):
        values, vectors = np.linalg.eigh(correlation - np.outer(with_first, with_first))
        normal = rng.standard_normal((DRAWS, count)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        spread = np.sqrt((freedom + first**2) / rng.chisquare(freedom + 1, DRAWS))
        drawn = first[:, None] * with_first + spread[:, None] * normal
        beyond = (np.abs(drawn) if two_sided else drawn) >= bound
        beyond[:, i] = True
        shares.append(np.mean(1 / beyond.sum(axis=1)))
    return float(min(1.0, chance * np.sum(shares)))


def significance(chances: Sequence[tuple[float, float]]) -> float:
    """Significance of statements that must all hold, in standard errors of a normal law; negative if one fails.

    They hold if each holds by itself; they fail if one fails at the level divided by their number (Bonferroni).
    ``chances`` are those of :meth:`Statement.by_chance` or :meth:`Statement.jointly`.

    >>> from sgdnoise.estimates import significance
    >>> found = [[(0.00135, 1.0)], [(0.9, 0.1), (1.0, 0.000675)], [(1.0, 1.0)]]
    >>> [round(significance(chances), 1) for chances in found]
    [3.0, -3.0, 0.0]
    """
    for_it, against = max(p for p, _ in chances), min(1.0, len(chances) * min(p for _, p in chances))
    return float(max(0.0, -ndtri(for_it)) if for_it < against else min(0.0, ndtri(against)))


def _known(number: Estimate | float) -> Estimate:
    return number if isinstance(number, Estimate) else Estimate(float(number), 0.0)


def _propagated(value: float, *parts: tuple[float, Estimate]) -> Estimate:
    """Return an estimate whose error is that of a weighted sum of independent ones."""
    squares = np.array([(weight * part.error) ** 2 for weight, part in parts])
    each = np.sum(squares**2 / np.array([part.freedom for _, part in parts]))
    freedom = squares.sum() ** 2 / each if each > 0 else np.inf
    known = all(part.parts or part.error == 0 for _, part in parts)
    scatter = tuple(weight * each for weight, part in parts for each in part.parts) if known else ()
    return Estimate(float(value), float(np.sqrt(squares.sum())), float(freedom), scatter)
