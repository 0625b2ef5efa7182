r"""Where training ends: the ridge minimiser in the high-dimensional limit, without sampling.

Gradient descent ends at the minimum of Eq. (1) of the paper. The gradient of SGD is on average :math:`b` times the
data term plus the whole ridge, so with a small learning rate it converges to the minimum with :math:`\lambda`
replaced by :math:`\rho=\lambda/b`; where the gradient is the mean over the batch, :math:`\rho=\lambda`. Order
parameters of that minimum, with :math:`u\sim N(m,\Delta q)` and :math:`k=1+\Delta V`:

.. math:: \frac1V = \rho + \frac{\alpha\Delta}{k}\Pr(u<\kappa),\qquad
          m = \frac{\alpha V}{k}E[(\kappa-u)_+], \\
          q = m^2 + \frac{\alpha\Delta V^2}{k^2}E[(\kappa-u)_+^2].

Everything follows from one number, :math:`x=(\kappa-m)/\sqrt{\Delta q}`. With the moments
:math:`F_n(x)=E[(x-z)^n;\,z<x]` of a standard normal :math:`z` and :math:`t=\Delta V/k`, the first equation is a
quadratic for :math:`k`, the last two become

.. math:: \alpha t^2\Big(F_2+\frac{\alpha}{\Delta}F_1^2\Big) = 1,\qquad
          \sqrt{\Delta q}\,\Big(x+\frac{\alpha}{\Delta}tF_1\Big) = \kappa,

and the loss is strictly convex, so that exactly one :math:`x` solves the first with a positive left-hand side of
the second.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import ndtr

from sgdnoise import _checks
from sgdnoise._gauss import hinge_moments
from sgdnoise.algorithms import GRADIENT_DESCENT, Algorithm, PersistentSGD, check_algorithm
from sgdnoise.losses import Square, SquaredHinge
from sgdnoise.modes import motion_of
from sgdnoise.problem import Problem, check_problem
from sgdnoise.random.batches import Covariance
from sgdnoise.results import generalisation_error

Moments = Callable[[float], tuple[float, float, float]]

TINY = 1e-9  # a learning rate at which every sampling process exists


@dataclass(frozen=True)
class Statics:
    r"""The minimiser to which training converges, and its properties.

    Parameters
    ----------
    problem
        What was solved.
    algorithm
        The algorithm that settles there.
    effective_ridge
        Ridge :math:`\lambda/b` of the minimisation.
    magnetization
        :math:`m=v\cdot w/N`.
    norm
        :math:`q=|w|^2/N`.
    loss
        Full loss per feature, with the ridge :math:`\lambda` of the problem.
    error
        Probability of misclassifying a new sample.
    unsatisfied
        Fraction of samples inside the margin.
    square_slope
        Mean of :math:`\ell'(h)^2` over the samples.
    curvature
        Mean of :math:`\ell''(h)` over the samples.
    susceptibility
        :math:`V = \mathrm{tr}\,(H/b)^{-1}/N` with :math:`H` the mean Hessian that the algorithm feels.
    """

    problem: Problem
    algorithm: Algorithm
    effective_ridge: float
    magnetization: float
    norm: float
    loss: float
    error: float
    unsatisfied: float
    square_slope: float
    curvature: float
    susceptibility: float

    @property
    def force_variance(self) -> float:
        r"""Variance of the sampling force on one weight, :math:`\mathrm{cov}_0\,\alpha\Delta\langle\ell'^2\rangle`.

        :math:`\mathrm{cov}_0` is the variance of the weight of a sample: :math:`b(1-b)` for a sum over the batch,
        :math:`(1-b)/b` for its mean.
        """
        return self._force(float(self._covariance.values[0]))

    @property
    def temperature_slope(self) -> float:
        r"""Limit of :math:`T_\mathrm{eff}/dt` at a short lag for a vanishing learning rate.

        It is half the power of the sampling force at frequency zero: half its variance for SGD. It vanishes without
        noise, and for shuffled epochs, whose batches compensate each other within every epoch. With momentum
        :math:`\beta` it is :math:`1/(1-\beta)` times as large: in the time :math:`t/(1-\beta)` the weights follow the
        same equation with that learning rate. It is infinite for persistent SGD and for Langevin descent, whose
        temperatures stay finite when the learning rate vanishes; see :func:`sgdnoise.linear_response` for them.
        """
        persistent = isinstance(self.algorithm, PersistentSGD) and self.force_variance > 0
        if persistent or self.algorithm.noise(1.0) > 0:
            return math.inf
        return 0.5 * self._force(self._covariance.total) / (1 - self.algorithm.momentum)

    @property
    def _covariance(self) -> Covariance:
        """Autocovariance of the batches at a small learning rate."""
        return motion_of(self.algorithm, TINY, self.problem.ridge).covariance

    def _force(self, variance: float) -> float:
        return variance * self.problem.alpha * self.problem.delta * self.square_slope


def solve_statics(problem: Problem, algorithm: Algorithm = GRADIENT_DESCENT) -> Statics:
    r"""Return the point to which training converges when the learning rate (and the persistence) is small.

    Parameters
    ----------
    problem
        Loss :data:`~sgdnoise.squared_hinge` or :data:`~sgdnoise.square`.
    algorithm
        :class:`~sgdnoise.GD` unless given. Only the mean weight of a sample enters, through :math:`\lambda/b`. Gradient
        descent ends there at any stable learning rate, SGD in the limit of a small one, persistent SGD when both
        the learning rate and the persistence are small.

    Raises
    ------
    ValueError
        For another loss, or without a ridge in the SAT phase, where the minimum is not unique.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> end = sn.solve_statics(sn.Problem(alpha=6), sn.SGD(batch=0.1))
    >>> found = end.magnetization, end.error, 0.1 * end.temperature_slope
    >>> [round(value, 5) for value in found]
    [0.26555, 0.17989, 0.01487]
    """
    check_problem(problem, "solve_statics")
    check_algorithm(algorithm)
    if not isinstance(problem.loss, SquaredHinge | Square):
        raise ValueError(
            f"loss must be sgdnoise.squared_hinge or sgdnoise.square for a static solution, got {problem.loss!r}"
        )
    if problem.ridge == 0:
        _check_unique(problem)
    ridge = problem.ridge / algorithm.mean_weight
    hinge = isinstance(problem.loss, SquaredHinge)
    if hinge and problem.margin <= 0:  # w=0 has no loss at all
        return Statics(problem, algorithm, ridge, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, susceptibility=1 / ridge)
    alpha, delta = problem.alpha, problem.delta
    moments = hinge_moments if hinge else square_moments
    x = _solve_threshold(moments, alpha, delta, ridge)
    F0, F1, F2 = moments(x)
    t, inverse_k = _shrinkage(alpha * F0, ridge / delta)
    # The weights are proportional to the margin: this is sqrt(delta q), with the sign of the margin.
    spread = problem.margin / (x + alpha / delta * t * F1)
    m, q = alpha / delta * t * F1 * spread, spread**2 / delta
    square_slope = spread**2 * F2 * inverse_k**2
    return Statics(
        problem,
        algorithm,
        effective_ridge=ridge,
        magnetization=m,
        norm=q,
        loss=0.5 * alpha * square_slope + 0.5 * problem.ridge * q,
        error=float(generalisation_error(m, q, delta)),
        unsatisfied=float(ndtr(math.copysign(x, x * spread))) if spread else 0.0,
        square_slope=square_slope,
        curvature=F0,
        susceptibility=t / inverse_k / delta,
    )


def square_moments(x: float) -> tuple[float, float, float]:
    """Moments for the square loss, which counts both sides of the margin: those of :math:`x-z` itself."""
    return 1.0, x, 1 + x * x


def _check_unique(problem: Problem) -> None:
    """Refuse a problem without a ridge whose minimum is not a single point."""
    alpha, delta, margin = problem.alpha, problem.delta, problem.margin
    unique = alpha > 1 if isinstance(problem.loss, Square) else margin > 0 and alpha > critical_alpha(delta)
    if not unique:
        raise ValueError(
            f"ridge must be greater than 0 where every sample can be satisfied (alpha={alpha:g}, delta={delta:g}, "
            f"margin={margin:g}) and the minimum is not unique without it, got 0"
        )


def _shrinkage(active: float, ridge: float) -> tuple[float, float]:
    r"""Solve :math:`(k-1)(\rho k/\Delta+\alpha F_0)=k` for :math:`k>1` and return :math:`(1-1/k,\,1/k)`.

    Both are roots of quadratics, written so that nothing cancels: the discriminant is a sum of squares and products.
    """
    root = math.sqrt((1 + ridge - active) ** 2 + 4 * ridge * active)
    low = 1 + ridge - active
    inverse = 2 * ridge / (low + root) if low > 0 else (root - low) / (2 * active)
    return 2 / (1 + ridge + active + root), inverse


def _solve_threshold(moments: Moments, alpha: float, delta: float, ridge: float) -> float:
    r"""Find :math:`x` by two bracketed searches: first where :math:`q` diverges, then above that."""

    def inverse_spread(x: float) -> float:
        F0, F1 = moments(x)[:2]
        return x + alpha / delta * _shrinkage(alpha * F0, ridge / delta)[0] * F1

    def excess(x: float) -> float:
        F0, F1, F2 = moments(x)
        t = _shrinkage(alpha * F0, ridge / delta)[0]
        return alpha * t**2 * (F2 + alpha / delta * F1**2) - 1

    low = -1.0
    while inverse_spread(low) > 0:
        low *= 2
    low = _bracketed(inverse_spread, low, 0.0)
    high = 1.0
    while excess(high) < 0:
        high *= 2
    return _bracketed(excess, low, high)


def _bracketed(function: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(function, low, high, xtol=1e-300, rtol=1e-15, maxiter=1000))


def critical_alpha(delta: float) -> float:
    r"""Samples per feature up to which the two clouds can be separated by a hyperplane (SAT phase, no bias).

    .. math:: \alpha_c(\Delta) = \max_{0\le m\le1}\frac{\Delta(1-m^2)}{E[(m+\sqrt\Delta z)_-^2]}

    Parameters
    ----------
    delta
        Variance :math:`\Delta>0` of the data noise.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> [round(sn.critical_alpha(delta), 3) for delta in (0.5, 1.0, 1e9)]
    [6.663, 3.7, 2.0]
    """
    spread = math.sqrt(_checks.real("delta", delta, at_least=1e-3))

    def slope(m: float) -> float:
        F1, F2 = hinge_moments(-m / spread)[1:]
        return spread * m * F2 - (1 - m**2) * F1

    m = _bracketed(slope, 0.0, 1.0)
    return (1 - m**2) / hinge_moments(-m / spread)[2]
