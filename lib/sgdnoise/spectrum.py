r"""The Hessian at the minimiser in the high-dimensional limit: its bulk, its atom and its outliers.

The mean gradient of an algorithm in which a sample has the mean weight :math:`b` (the batch fraction for a sum over the
batch, 1 for its mean) has the Hessian

.. math:: H = \lambda + b\sum_\mu \ell''(h_\mu)\,A_\mu A_\mu^T,\qquad A_\mu = y_\mu x_\mu/\sqrt N ,

where :math:`\ell''` is 1 for a fraction :math:`\nu` of the samples and 0 for the rest. Its resolvent solves

.. math:: g(z) = \frac1N\mathrm{tr}\,(H-z)^{-1},\qquad
          \frac1{g} = \lambda - z + \frac{b\,\alpha\nu\Delta}{1+b\Delta g},

a Marchenko-Pastur law of aspect ratio :math:`c=\alpha\nu`, between :math:`\lambda+b\Delta(1\pm\sqrt c)^2`, with an atom
of weight :math:`1-c` at :math:`\lambda` if :math:`c<1`. Two directions are not generic, those of the centres
:math:`v` and of the weights :math:`w`, because the samples inside the margin are chosen by them. In that plane, with
:math:`s=1/(1+b\Delta g)` and :math:`y=\sqrt N(A\cdot\hat v, A\cdot\hat w_\perp)`, the inverse resolvent is

.. math:: \lambda - z + b\alpha\Big[s\,\langle\ell''yy^T\rangle
          + (1-s)\frac{\langle\ell'y\rangle\langle\ell'y\rangle^T}{\langle\ell'^2\rangle}\Big],

where the last term is there because the forces of all samples balance at the minimum (the other coordinates of the
data are orthogonal to the vector of forces). An outlier is a real :math:`z` outside the bulk where it is singular.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from sgdnoise import _checks
from sgdnoise.algorithms import GRADIENT_DESCENT, Algorithm, check_algorithm
from sgdnoise.empirical import EmpiricalSpectrum, empirical_spectrum
from sgdnoise.problem import Problem, check_problem
from sgdnoise.statics import Statics, solve_statics

Array = NDArray[np.float64]
MOST_NODES = 10_000_000


@dataclass(frozen=True)
class Spectrum:
    """Spectrum of the Hessian that an algorithm feels; made by :func:`hessian_spectrum`.

    Parameters
    ----------
    statics
        The minimiser where the Hessian is taken.
    """

    statics: Statics

    def __post_init__(self) -> None:
        if not isinstance(self.statics, Statics):
            raise TypeError(f"statics must be a result of sgdnoise.solve_statics, got {self.statics!r}")

    @property
    def norm(self) -> float:
        """Norm ``|w|^2/N`` of the minimiser."""
        return self.statics.norm

    @property
    def ridge(self) -> float:
        r"""Ridge :math:`\lambda`, below which there is no eigenvalue."""
        return self.statics.problem.ridge

    @property
    def ratio(self) -> float:
        r"""Aspect ratio :math:`c=\alpha\nu`, the samples inside the margin per weight."""
        return self.statics.problem.alpha * self.statics.curvature

    @property
    def scale(self) -> float:
        r"""Scale :math:`b\Delta` of the eigenvalues above the ridge."""
        return self.statics.algorithm.mean_weight * self.statics.problem.delta

    @property
    def edges(self) -> tuple[float, float]:
        r"""Ends :math:`\lambda+b\Delta(1\pm\sqrt c)^2` of the continuous part."""
        root = math.sqrt(self.ratio)
        if root == 0:  # no sample is inside the margin
            return self.ridge, self.ridge
        return self.ridge + self.scale * (1 - root) ** 2, self.ridge + self.scale * (1 + root) ** 2

    @property
    def atom(self) -> float:
        """Fraction of the eigenvalues that equal the ridge, of directions that no sample inside the margin feels."""
        return max(0.0, 1 - self.ratio)

    @property
    def softest(self) -> float:
        """Smallest eigenvalue that a finite fraction of the weights feels; the ridge itself if there is an atom."""
        return self.ridge if self.atom > 0 else self.edges[0]

    @property
    def stiffest(self) -> float:
        """Largest eigenvalue of all, outliers included; the learning rate must stay below 2 over this."""
        return max(self.edges[1], *self.outliers, self.ridge)

    def resolvent(self, z: ArrayLike) -> NDArray[np.complex128]:
        r"""Return :math:`g(z)`, for real arguments the limit from above."""
        at = _checks.array("z", z, "biufc").astype(complex)
        with np.errstate(divide="ignore"):
            return np.asarray(1 / (self.ridge - at + self.scale * self.ratio * self._screening(at)))

    def density(self, eigenvalue: ArrayLike) -> Array:
        r"""Density of the continuous part, :math:`\mathrm{Im}\,g/\pi`; its integral is one minus the atom."""
        x = _checks.array("eigenvalue", eigenvalue)
        low, high = self.edges
        inside = (x > low) & (x < high)
        return np.where(inside, self.resolvent(np.where(inside, x, 0.5 * (low + high))).imag / math.pi, 0.0)

    def quadrature(self, nodes: int = 2000) -> tuple[Array, Array]:
        r"""Eigenvalues and weights (of sum 1) for averages over the spectrum.

        With :math:`a = \lambda+b\Delta(1+c+2\sqrt c\cos\theta)` equal steps in :math:`\theta` converge
        geometrically. What the sum misses belongs to the soft edge (near :math:`c=1`) or to the atom, which come first.
        """
        nodes = _checks.integer("nodes", nodes, at_least=1, at_most=MOST_NODES)
        theta = math.pi * np.arange(1, nodes + 1) / (nodes + 1)
        c = self.ratio
        if c == 0:
            return np.array([self.ridge]), np.ones(1)
        above = 1 + c + 2 * math.sqrt(c) * np.cos(theta)
        weights = 2 * c * np.sin(theta) ** 2 / above / (nodes + 1)
        return (
            np.concatenate([[self.softest], self.ridge + self.scale * above]),
            np.concatenate([[1 - weights.sum()], weights]),
        )

    @cached_property
    def outliers(self) -> tuple[float, ...]:
        """None, one or two eigenvalues outside the bulk, in increasing order."""
        return tuple(sorted(self._find_outliers()))

    def _screening(self, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
        r"""Return :math:`s=1/(1+b\Delta g)`, the root of a quadratic that tends to 1 at large :math:`z`."""
        c = self.ratio
        if c == 0:
            return np.ones_like(z)
        e = (z - self.ridge) / self.scale
        root = np.sqrt(e - (1 - math.sqrt(c)) ** 2) * np.sqrt(e - (1 + math.sqrt(c)) ** 2)
        return np.asarray((e + c - 1 - root) / (2 * c))

    def _find_outliers(self) -> Iterator[float]:
        if self.statics.norm == 0 or self.ratio == 0:
            return
        plane, force = self._plane()

        def stiffness(z: float, which: int) -> float:
            """Eigenvalue of the inverse resolvent in the plane; it decreases with ``z`` outside the bulk."""
            s = float(self._screening(np.asarray(z, dtype=complex)).real)
            return float(np.linalg.eigvalsh(s * plane + (1 - s) * force)[which] + self.ridge - z)

        low, high = self.edges
        top = self.ridge + 2 * float(np.trace(plane + force)) + 2 * high
        tiny = 1e-12 * (high - self.ridge)
        for start, end in ((self.ridge + tiny, low - tiny), (high + tiny, top)):
            for which in (0, 1):
                if start < end and stiffness(start, which) > 0 > stiffness(end, which):
                    yield float(brentq(stiffness, start, end, args=(which,), xtol=1e-14 * top, rtol=1e-14))

    def _plane(self) -> tuple[Array, Array]:
        r"""Return the two matrices of the plane, :math:`b\alpha` times those of the formula at the top.

        The cavity field :math:`u\sim N(m,\Delta q)` of a sample has covariance :math:`m\Delta` with
        :math:`y_1 = 1+\sqrt\Delta z_v`, and :math:`h-\kappa=(u-\kappa)/k` inside the margin; :math:`h = m y_1 +
        \sqrt{q-m^2}\,y_2` gives the second coordinate. Both are linear in :math:`d=u-\kappa` and in a normal number
        that is independent of it. Nothing of the size of one is subtracted: samples may vary as little as they like.
        """
        st, p = self.statics, self.statics.problem
        m, q = st.magnetization, st.norm
        k = 1 + p.delta * st.susceptibility
        # sqrt(q - m^2), by the equation for q
        across = st.susceptibility * math.sqrt(p.alpha * p.delta * st.square_slope)
        # Moments of d inside the margin, from the equations for m and q.
        d0, d1, d2 = st.curvature, -m * k / (p.alpha * st.susceptibility), st.square_slope * k**2
        base = np.array([1 + m / q * (p.margin - m), across / q * (p.margin - m)])
        tilt = np.array([m / q, across / q - p.delta * st.susceptibility / (k * across)])
        rest = math.sqrt(p.delta / q) * np.array([across, -m])
        cross = np.outer(base, tilt)
        curvature = (
            d0 * (np.outer(base, base) + np.outer(rest, rest)) + d1 * (cross + cross.T) + d2 * np.outer(tilt, tilt)
        )
        pull = -st.effective_ridge / p.alpha * np.array([m, across])  # <l' y>: the ridge balances the forces
        weight = st.algorithm.mean_weight * p.alpha
        return weight * curvature, weight * np.outer(pull, pull) / st.square_slope


def hessian_spectrum(problem: Problem, algorithm: Algorithm = GRADIENT_DESCENT) -> Spectrum | EmpiricalSpectrum:
    r"""Spectrum of the mean Hessian where training settles when the learning rate is small.

    Parameters
    ----------
    problem
        As for :func:`~sgdnoise.solve_statics`, or given data. Of these the minimum is found to a gradient of 1e-10, and
        the result (:class:`~sgdnoise.empirical.EmpiricalSpectrum`) has every eigenvalue, its direction and its noise.
    algorithm
        Its mean weight multiplies the data term of the Hessian; :class:`~sgdnoise.GD` unless given.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> spectrum = sn.hessian_spectrum(sn.Problem(alpha=6), sn.SGD(batch=0.1))
    >>> [round(edge, 3) for edge in spectrum.edges]
    [1.208, 2.185]
    >>> eigenvalue, weight = spectrum.quadrature()
    >>> mean = (weight / eigenvalue).sum()
    >>> bool(abs(mean - spectrum.resolvent(0.0).real) < 1e-12)
    True
    """
    check_problem(problem)
    check_algorithm(algorithm)
    if problem.data is not None:
        return empirical_spectrum(problem, algorithm)
    return Spectrum(solve_statics(problem, algorithm))
