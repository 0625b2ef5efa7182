r"""Given data at the end of training: the minimum, its Hessian, and the noise of the batches in each of its modes.

An algorithm in which a sample has the mean weight :math:`\bar s` settles, at a small learning rate, where

.. math:: \sum_\mu\ell'(h_\mu)\,A_\mu + \rho\,w = 0,\qquad \rho=\lambda/\bar s ,

as in the model (:mod:`sgdnoise.statics`). With a convex loss and a ridge there is one such point; Newton's method finds
it. There the Hessian of the mean gradient is :math:`H=\lambda+\bar s\sum_\mu\ell''(h_\mu)A_\mu A_\mu^T`. Along the
directions :math:`u_k` of its eigenvalues :math:`a_k` a sample has the components :math:`B_{\mu k}=A_\mu\cdot u_k`, and
the batches push with forces of covariance :math:`\mathrm{cov}_n Q_{kl}` at a lag of n steps, where
:math:`\mathrm{cov}_n` is the autocovariance of the weight of a sample and

.. math:: Q_{kl} = \sum_\mu B_{\mu k}B_{\mu l}\,\langle\ell'(h_\mu)^2\rangle
          = \sum_\mu B_{\mu k}B_{\mu l}\Big[\ell'(h_\mu)^2
          + \ell''(h_\mu)^2\sum_{ij} B_{\mu i}B_{\mu j}P_{ij}\Big] .

:math:`P_{ij}`, proportional to :math:`Q_{ij}`, is the covariance of two modes as far as it is older than the batch.
This is what :mod:`sgdnoise.linear_response` says of :math:`L`, sample by sample, and is as exact. The equation is
solved by iteration: each round adds the fluctuations that the round before has caused. Batches of a fixed size, as
shuffled epochs have, do not feel a force that all samples exert equally: their :math:`Q_{kl}` is less by
:math:`F_kF_l/(\alpha N)`, where :math:`F=-\rho\,w` is the force of all samples. Corrections of relative order
:math:`1/\alpha N` are neglected.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh, solve

from sgdnoise.algorithms import Algorithm
from sgdnoise.data import Data
from sgdnoise.losses import Loss
from sgdnoise.modes import Modes, Motion, stationary_covariance, sum_of_past
from sgdnoise.problem import Problem
from sgdnoise.random.processes import Epochs

Array = NDArray[np.float64]
TOLERANCE = 1e-10  # of the gradient of a weight
MOST_STEPS = 200
MOST_ROUNDS, SETTLED = 10_000, 1e-12
FLAT = 1e-12  # an eigenvalue of this part of the largest one is zero to rounding


@dataclass(frozen=True)
class EmpiricalSpectrum:
    r"""Hessian of given data at the minimum, and the noise in its modes; made by :func:`~sgdnoise.hessian_spectrum`.

    Parameters
    ----------
    problem, algorithm
        What settles there.
    minimum
        Weights :math:`w` of the minimum.
    gradient
        Root mean square of the remaining gradient of a weight.
    eigenvalues
        Stiffnesses :math:`a_k`, in increasing order.
    vectors
        Directions :math:`u_k`, one a row: ``simulate(..., directions=spectrum.vectors)`` records weights along them.
    noise
        Strengths :math:`\sum_\mu B_{\mu k}^2\ell'(h_\mu)^2` of the force at the minimum. That of SGD has the variance
        :math:`b(1-b)` times these, and at a small learning rate the temperature of a mode is dt/2 times that.
    """

    problem: Problem
    algorithm: Algorithm
    minimum: Array = field(repr=False)
    gradient: float
    eigenvalues: Array = field(repr=False)
    vectors: Array = field(repr=False)
    noise: Array = field(repr=False)

    @property
    def norm(self) -> float:
        """Norm ``|w|^2/N`` of the minimum."""
        return float(np.mean(self.minimum**2))

    @property
    def softest(self) -> float:
        """Smallest eigenvalue."""
        return float(self.eigenvalues[0])

    @property
    def stiffest(self) -> float:
        """Largest eigenvalue; the learning rate must stay below 2 over this."""
        return float(self.eigenvalues[-1])

    def quadrature(self) -> tuple[Array, Array]:
        """Eigenvalues and equal weights (of sum 1) for averages over the spectrum."""
        return self.eigenvalues, np.full(self.eigenvalues.size, 1 / self.eigenvalues.size)

    def stationary_modes(self, motion: Motion) -> Modes:
        r"""Solve the equation for the covariance :math:`Q` of the forces; its diagonal drives the modes."""
        a, share = self.quadrature()
        white = stationary_covariance(Modes(a, share, np.zeros_like(a)), motion)[:, 0, 0]
        unit, total, change = _older(a, motion), np.zeros((a.size, a.size)), math.inf
        alike = np.zeros_like(total)
        if isinstance(self.algorithm.sampling(motion.dt), Epochs):
            force = self.vectors @ self.minimum * self.problem.ridge / self.algorithm.mean_weight
            alike = np.outer(force, force) / (self.problem.alpha * a.size)
        for _ in range(MOST_ROUNDS):
            Q = self._forces(np.diag(white) + unit * total) - alike
            before, change, total = change, float(np.trace(Q - total)), Q
            if change <= SETTLED * float(np.trace(Q)):
                return Modes(a, share, np.diag(Q).copy())
            if change >= before:  # of a sum of positive matrices with a limit, each is smaller than the one before
                break
        raise ValueError(
            f"learning_rate must be smaller for a stationary state, got {motion.dt:g}: the sampling noise feeds itself"
        )

    def _forces(self, Sigma: Array) -> Array:
        """Covariance of the forces where the modes have the covariance ``Sigma``."""
        assert self.problem.data is not None
        loss, margin, Q = self.problem.loss, self.problem.margin, np.zeros_like(Sigma)
        for A in self.problem.data.blocks():
            h, along = A @ self.minimum, A @ self.vectors.T
            spread = np.sum((along @ Sigma) * along, axis=1)
            square = loss.slope(h, margin) ** 2 + loss.curvature(h, margin) ** 2 * spread
            Q += along.T @ (square[:, None] * along)
        return Q


def _older(a: Array, motion: Motion) -> Array:
    """Covariance of each two modes under forces of covariance one, as far as it is older than the batch."""
    F, p, ratio = motion.matrix(a), motion.push, motion.covariance.ratio
    kick = motion.covariance.values[0] * np.outer(p, p)
    cross = np.einsum("mij,mj,k->mik", F, motion.kicks(a)[0], p)
    i, j = np.triu_indices(a.size)
    Sigma = sum_of_past(F[i], kick + cross[i] + cross[j].transpose(0, 2, 1), 1.0, F[j])
    older = np.zeros((a.size, a.size))
    older[i, j] = older[j, i] = sum_of_past(F[i], (1 - ratio) * Sigma, ratio, F[j])[:, 0, 0]
    return older


def empirical_spectrum(problem: Problem, algorithm: Algorithm) -> EmpiricalSpectrum:
    """Find the minimum of given data for an algorithm, and its modes."""
    data, loss, margin = problem.data, problem.loss, problem.margin
    assert data is not None
    mean = algorithm.mean_weight
    w, gradient = find_minimum(data, loss, margin, problem.ridge / mean)
    values, vectors = eigh(_hessian(data, loss, margin, w))
    if not problem.ridge + mean * values[0] > FLAT * (problem.ridge + mean * values[-1]):
        raise ValueError(NOT_UNIQUE.format(ridge=problem.ridge))
    noise = sum(loss.slope(A @ w, margin) ** 2 @ (A @ vectors) ** 2 for A in data.blocks())
    return EmpiricalSpectrum(problem, algorithm, w, gradient, problem.ridge + mean * values, vectors.T.copy(), noise)


NOT_UNIQUE = (
    "ridge must be greater than 0 for data that leave a direction of the weights free, where the minimum is not a "
    "single point, got {ridge:g}"
)


def find_minimum(data: Data, loss: Loss, margin: float, ridge: float) -> tuple[Array, float]:
    r"""Minimise :math:`\sum_\mu\ell(h_\mu)+\rho|w|^2/2` by Newton's method with a line search.

    Return the weights and the root mean square of the gradient, at most 1e-10, or the rounding of a sum over all
    samples.
    """
    w, first = np.zeros(data.features), 0.0
    for step in range(MOST_STEPS):
        value, gradient = _value(data, loss, margin, ridge, w), ridge * w
        for A in data.blocks():
            gradient += loss.slope(A @ w, margin) @ A
        left = math.sqrt(float(np.mean(gradient**2)))
        first = left if step == 0 else first
        if left <= max(TOLERANCE, 1e-13 * first):
            return w, left
        H = _hessian(data, loss, margin, w)
        H[np.diag_indices_from(H)] += ridge
        try:
            move = -solve(H, gradient, assume_a="pos")
        except LinAlgError:
            raise ValueError(NOT_UNIQUE.format(ridge=ridge)) from None
        length, slope = 1.0, float(gradient @ move)
        while _value(data, loss, margin, ridge, w + length * move) > value + 1e-4 * length * slope + 1e-13 * value:
            length /= 2
        w = w + length * move
    raise ArithmeticError(
        f"loss must have a minimum that Newton's method finds to a gradient of {TOLERANCE:g}, got {left:.1e} after "
        f"{MOST_STEPS} steps; is it convex, and are the features of X of order one?"
    )


def _hessian(data: Data, loss: Loss, margin: float, w: Array) -> Array:
    """Hessian of the loss of all samples, without ridge."""
    H = np.zeros((w.size, w.size))
    for A in data.blocks():
        H += A.T @ (loss.curvature(A @ w, margin)[:, None] * A)
    return H


def _value(data: Data, loss: Loss, margin: float, ridge: float, w: Array) -> float:
    return sum(float(np.sum(loss.value(A @ w, margin))) for A in data.blocks()) + 0.5 * ridge * float(w @ w)
