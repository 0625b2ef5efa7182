r"""One eigenmode of the Hessian, driven by the noise of the batches: a linear process, solved exactly.

A mode of stiffness :math:`a` has a weight and a velocity, :math:`z=(x,v)`. An update rule is linear, so that a step is

.. math:: z(t+dt) = F z(t) + p\,\xi(t),\qquad
          \langle\xi(t)\xi(t+n\,dt)\rangle = f\,\mathrm{cov}_n + \sigma^2\delta_{n0} ,

where :math:`F` takes a step with the gradient :math:`(a-\lambda)x` on top of the ridge of the rule, :math:`p` is what a
unit force does to a mode at rest, :math:`\mathrm{cov}_n` the autocovariance of the weight of a sample in the batch,
:math:`f` the strength of the sampling force, and :math:`\sigma` white noise. For plain descent this is
:math:`x(t+dt) = (1-a\,dt)\,x(t) + dt\,\xi(t)`.

Let :math:`k_n=\langle\xi(t+n\,dt)z(t)\rangle=\sum_{j\ge1}F^{j-1}p\,f\,\mathrm{cov}_{n+j}`, summed backwards from
the last lag before :math:`\mathrm{cov}_n` becomes geometric. The stationary covariance :math:`\Sigma` and the
correlation :math:`d_n=\langle z(t+n\,dt)x(t)\rangle` obey

.. math:: \Sigma = F\Sigma F^T + (f\,\mathrm{cov}_0+\sigma^2)\,pp^T + Fk_0p^T + pk_0^TF^T,\qquad
          d_{n+1} = F d_n + p\,(k_n)_x .

A field enters as a force does, and :math:`R(t+dt,t)=1`: the response after n steps is :math:`(F^{n-1}p)_x/p_x`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise.algorithms import Algorithm, Update, parts_of
from sgdnoise.random.batches import Covariance

Array = NDArray[np.float64]


class Modes(NamedTuple):
    """Modes of the stationary state: stiffness, share of the weights, and strength of the sampling force on each."""

    stiffness: Array
    weight: Array
    force: Array


class Motion(NamedTuple):
    """How every mode moves: update rule, learning rate, ridge, autocovariance of the batches, white noise."""

    update: Update
    dt: float
    ridge: float
    covariance: Covariance
    noise: float = 0.0

    @property
    def push(self) -> Array:
        """Weight and velocity after a step of a mode at rest with a unit force."""
        return np.array(self.update.step(0.0, 0.0, -1.0))

    def matrix(self, stiffness: Array) -> Array:
        """Return the matrix of a step for each mode, (modes, 2, 2)."""
        weight, velocity = (np.array(self.update.step(*unit, 0.0)) for unit in ((1.0, 0.0), (0.0, 1.0)))
        F = np.empty((np.size(stiffness), 2, 2))
        F[:, :, 0] = weight - np.outer(np.asarray(stiffness) - self.ridge, self.push)
        F[:, :, 1] = velocity
        return F

    def radius(self, stiffness: float) -> float:
        """Return the factor by which a mode shrinks in a step, in the long run; 1 or more where it is not stable."""
        return float(np.abs(np.linalg.eigvals(self.matrix(np.array([stiffness])))).max())

    def kicks(self, stiffness: Array) -> Array:
        r"""Return :math:`k_n/f` for lags up to the last value of the covariance, (lags, modes, 2)."""
        F, p, (c, ratio) = self.matrix(stiffness), self.push, self.covariance
        k = np.empty((c.size, len(F), 2))
        k[-1] = ratio * c[-1] * np.linalg.solve(np.eye(2) - ratio * F, p[:, None])[..., 0]
        for n in range(c.size - 2, -1, -1):
            k[n] = c[n + 1] * p + np.einsum("mij,mj->mi", F, k[n + 1])
        return k


def motion_of(algorithm: Algorithm, dt: float, ridge: float) -> Motion:
    """Return how modes move under an algorithm whose batches have a known autocovariance."""
    sampling, update, noise = parts_of(algorithm, dt, ridge)
    covariance = getattr(sampling, "covariance", None)
    if not isinstance(covariance, Covariance):
        raise ValueError(
            "algorithm must have a sampling process with a known covariance (see sgdnoise.sampling) for a linear "
            f"response, got {algorithm!r}"
        )
    return Motion(update, dt, ridge, covariance, noise)


def stationary_covariance(modes: Modes, motion: Motion) -> Array:
    """Return the covariance of weight and velocity of each mode, (modes, 2, 2)."""
    F, p = motion.matrix(modes.stiffness), motion.push
    cross = np.einsum("mij,mj,k->mik", F, motion.kicks(modes.stiffness)[0], p)
    kick = motion.covariance.values[0] * np.outer(p, p)
    source = modes.force[:, None, None] * (kick + cross + cross.transpose(0, 2, 1))
    return sum_of_past(F, source + motion.noise**2 * np.outer(p, p))


def sum_of_past(F: Array, source: Array, ratio: float = 1.0, other: Array | None = None) -> Array:
    r"""Solve :math:`\Sigma=\rho F\Sigma F'^T+Q` for a source Q, the sum of :math:`\rho^nF^nQ(F'^n)^T` over the past.

    The other step F' is F unless two different modes are correlated.
    """
    square = np.einsum("mik,mjl->mijkl", F, F if other is None else other).reshape(-1, 4, 4)
    Sigma: Array = np.linalg.solve(np.eye(4) - ratio * square, source.reshape(-1, 4, 1)).reshape(-1, 2, 2)
    return Sigma


def mode_curves(modes: Modes, motion: Motion, steps: int) -> tuple[Array, Array]:
    """Return correlation and integrated response at lags ``0..steps``, averaged over the modes."""
    F, p = motion.matrix(modes.stiffness), motion.push
    kick = motion.kicks(modes.stiffness)[..., 0] * modes.force
    (xx, xv), (vx, vv) = F.transpose(1, 2, 0)
    x, v = stationary_covariance(modes, motion)[:, :, 0].T
    moved, velocity = np.full_like(x, 1.0), np.full_like(x, p[1] / p[0])
    correlation, response = np.empty(steps + 1), np.zeros(steps + 1)
    for n in range(steps + 1):
        correlation[n] = modes.weight @ x
        if n == steps:
            break
        response[n + 1] = response[n] + motion.dt * (modes.weight @ moved)
        k = kick[n] if n < len(kick) else kick[-1] * motion.covariance.ratio ** (n + 1 - len(kick))
        x, v = xx * x + xv * v + p[0] * k, vx * x + vv * v + p[1] * k
        moved, velocity = xx * moved + xv * velocity, vx * moved + vv * velocity
    return correlation, response


def plateau_temperature(mode: Modes, motion: Motion) -> float:
    """Return the slope of the FDT plot of a single mode at long lags; NaN where it does not settle.

    It settles where the mode relaxes without oscillating, and the batch forgets faster than that.
    """
    F, p, last, ratio = motion.matrix(mode.stiffness)[0], motion.push, *_tail(motion.covariance)
    rates, vectors = np.linalg.eig(F.T)
    slow = int(np.argmax(np.abs(rates)))
    if np.iscomplexobj(rates) or rates[slow] <= abs(ratio):
        return float("nan")
    rate, left = rates[slow], vectors[:, slow]
    kick = motion.kicks(mode.stiffness)[:, 0, 0] * mode.force[0]
    d = stationary_covariance(mode, motion)[0, :, 0]
    for k in kick[:-1]:
        d = F @ d + p * k
    amplitude = left @ d + left @ p * kick[-1] / (rate - ratio)
    return float((1 - rate) * amplitude * p[0] / (motion.dt * rate**last * (left @ p)))


def _tail(covariance: Covariance) -> tuple[int, float]:
    """Return the lag from which the covariance shrinks geometrically, and by which ratio."""
    return covariance.values.size - 1, covariance.ratio
