r"""Small fluctuations around the minimiser: what the FDT plot must look like where the noise is weak.

Around the minimiser of :func:`~sgdnoise.solve_statics` each eigenmode of the Hessian
(:func:`~sgdnoise.hessian_spectrum`) of stiffness :math:`a` is a linear process (:mod:`sgdnoise.modes`), driven by the
noise of the batches. Its force has the autocovariance :math:`\mathrm{cov}_n` of the weight of a sample in the batch,
times a strength that is *not* the same for all modes. The covariance of the force is built of the same vectors as the
Hessian, and in the high-dimensional limit a mode feels it in proportion to its own curvature,

.. math:: f(a) = (a-\lambda)\,L/\bar s,\qquad L=\langle\ell'^2\rangle/\langle\ell''\rangle ,

with :math:`\bar s` the mean weight (:math:`b` for a sum, 1 for a mean), because every sample inside the margin
contributes equally to :math:`\mathrm{tr}\,[AA^T(H-z)^{-1}]`. For the chains of SGD and persistent SGD
:math:`\mathrm{cov}_n=b(1-b)\rho^n`, and without momentum, with :math:`\phi=1-a\,dt` and
:math:`\sigma^2=(1-b)(a-\lambda)L`,

.. math:: C_0 = \frac{dt\,\sigma^2}{a(2-a\,dt)}\,\frac{1+\phi\rho}{1-\phi\rho},\qquad
          C_{n+1} = \phi\,C_n + \rho^n\frac{dt^2\sigma^2\rho}{1-\phi\rho},\qquad
          \chi_n = \frac{1-\phi^n}{a} .

A mode alone has the slope :math:`T_n=(C_n-C_{n+1})/(\chi_{n+1}-\chi_n)`. Without memory that is
:math:`dt\,\sigma^2/(2-a\,dt)` at every lag. With memory it is, for :math:`dt\to0` and :math:`\gamma=1/(b\tau)`,
:math:`\sigma^2\gamma/(\gamma^2-a^2)\,(1-e^{-(\gamma-a)t})`: the softest mode reaches a plateau if and only if the batch
forgets faster than that mode relaxes, :math:`\gamma>a`; otherwise the slope grows with the lag for ever. With momentum
:math:`\beta` and without memory :math:`C_0=dt\,\sigma^2/\{a\,[2(1-\beta)-a\,dt(1-\beta)/(1+\beta)]\}`.

Fluctuations of the weights add to :math:`L`, as far as they are independent of the batch. In one step a sample keeps
its place with probability :math:`\rho`, and otherwise it is drawn anew. If the last draw was :math:`k` steps ago, the
part :math:`\phi^{2k}` of the fluctuations of a mode is older and independent of it, so that

.. math:: L = L_0 + \frac{1}{\bar s\alpha\langle\ell''\rangle}\sum_a (a-\lambda)\,C_0(a)\,\frac{1-\rho}{1-\rho\phi^2} ,

a linear equation, since :math:`C_0` is proportional to :math:`L`. Without memory, :math:`\rho=0`, the result is exact
at any learning rate for the square loss. For the squared hinge it leaves out that samples enter and leave the margin,
of the same order :math:`dt`. With memory it leaves out what the weights have learned from a batch since it was drawn,
corrections of relative order :math:`b\tau\Delta`, whose size the chapter on temperature measures
(:func:`~sgdnoise.solve_stationary` has no such error). Within an epoch of shuffled batches it takes all fluctuations to
be independent of the slot of a sample, which is wrong by terms of relative order :math:`dt`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from sgdnoise import _checks, results
from sgdnoise.algorithms import Algorithm, Descent, check_algorithm
from sgdnoise.modes import (
    Modes,
    Motion,
    mode_curves,
    motion_of,
    plateau_temperature,
    stationary_covariance,
    sum_of_past,
)
from sgdnoise.problem import Problem, check_problem
from sgdnoise.spectrum import Spectrum, hessian_spectrum

#: Steps that take about ten seconds. By then every mode has relaxed, unless the ridge is tiny.
MOST_STEPS = 1_000_000
#: Part of a mode that must relax in a step: of less, rounding errors leave no three digits.
RESOLVED = 1e-12
#: Lags at which the autocovariance of the batches may differ from a geometric law; they take as long.
MOST_LAGS = 10_000


def linear_response(problem: Problem, algorithm: Algorithm, learning_rate: float, duration: float) -> xr.Dataset:
    r"""Predict correlation and response in the stationary state, to first order in the noise.

    Parameters
    ----------
    problem
        As for :func:`~sgdnoise.solve_statics`, or given data, whose minimum, Hessian and noise are then used.
    algorithm
        Any whose sampling process knows its autocovariance, as those of the library do.
    learning_rate
        Step :math:`dt`; must be small enough for the stationary state to exist.
    duration
        Longest lag, a whole number of learning rates, at most a million.

    Returns
    -------
    xarray.Dataset
        ``norm``, ``magnetization``, ``correlation``, ``response`` and ``integrated_response`` laid out as by the two
        engines, with one realisation and the single waiting time 0, so that :func:`~sgdnoise.fdt_curve` and its
        companions apply; and ``mode_stiffness``, ``mode_share`` (of all weights) and ``mode_temperature`` (stiffness
        times variance) of every ``mode``. Given data have no ``magnetization``.
        Attributes: ``initial_temperature`` (slope at short lag), ``integrated_temperature`` (the chord
        :math:`T_\mathrm{int}` of the whole plot), ``plateau_temperature`` (slope at long lag, NaN where it grows for
        ever), ``softest_stiffness`` and ``sampling_rate`` (:math:`(1-\rho)/dt`, for persistent SGD
        :math:`1/(b\tau)`): linear response has a plateau where the second is larger. Correlations of shuffled epochs
        are averages over waiting times within an epoch.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.1)
    >>> theory = sn.linear_response(problem, algorithm, 0.1, duration=5.0)
    >>> round(theory.initial_temperature, 4), round(theory.integrated_temperature, 4)
    (0.0166, 0.0155)
    """
    check_problem(problem)
    check_algorithm(algorithm)
    dt = _checks.real("learning_rate", learning_rate, above=0)
    steps = _checks.steps(dt, _checks.real("duration", duration, above=0))
    if steps > MOST_STEPS:
        raise ValueError(
            f"duration must be at most {MOST_STEPS} steps of learning_rate={dt:g}, got {duration!r} ({steps} steps)"
        )
    spectrum = hessian_spectrum(problem, algorithm)
    motion = motion_of(algorithm, dt, problem.ridge)
    if motion.covariance.values.size > MOST_LAGS + 1:
        raise ValueError(
            f"algorithm must have an epoch of at most {MOST_LAGS} steps for a linear response, got {algorithm!r}"
        )
    _check_stable(motion, spectrum.stiffest)
    if 1 - motion.radius(spectrum.softest) < RESOLVED:
        raise ValueError(
            f"learning_rate must be at least {RESOLVED / spectrum.softest:.2g} for the softest mode, of stiffness "
            f"{spectrum.softest:.2g}, to relax in double precision, got {dt:g}"
        )
    modes = stationary_modes(spectrum, motion) if isinstance(spectrum, Spectrum) else spectrum.stationary_modes(motion)
    correlation, response = mode_curves(modes, motion, steps)
    norm, levels = spectrum.norm, {}
    if isinstance(spectrum, Spectrum):
        levels["magnetization"] = np.full((1, steps + 1), spectrum.statics.magnetization)
    result = results.dataset(
        dt * np.arange(steps + 1),
        {"norm": np.full((1, steps + 1), norm + correlation[0]), **levels},
        problem,
        algorithm,
        {
            "engine": "linear response",
            "learning_rate": dt,
            "duration": dt * steps,
            "integrated_temperature": float(correlation[0] / (modes.weight / modes.stiffness).sum()),
            "softest_stiffness": spectrum.softest,
            **_limits(modes, motion),
        },
    )
    layout = ("realisation", "waiting_time", "time")
    result = result.assign_coords(waiting_time=[0.0])
    result["correlation"] = (layout, norm + correlation[None, None])
    result["response"] = (layout, np.diff(response, prepend=0.0)[None, None] / dt)
    result["integrated_response"] = (layout, response[None, None])
    result["mode_stiffness"], result["mode_share"] = ("mode", modes.stiffness), ("mode", modes.weight)
    result["mode_temperature"] = ("mode", modes.stiffness * stationary_covariance(modes, motion)[:, 0, 0])
    return result


def stationary_modes(spectrum: Spectrum, motion: Motion) -> Modes:
    r"""Share out the sampling force among the eigenmodes, :math:`f(a)=(a-\lambda)L/\bar s`.

    The weights' fluctuations move the samples, and that adds to the force: the equation for :math:`L` above.
    """
    static = spectrum.statics
    mean, (a, weight) = static.algorithm.mean_weight, spectrum.quadrature()
    unit = Modes(a, weight, (a - spectrum.ridge) / mean)
    if static.curvature == 0:  # no sample pulls
        return unit._replace(force=np.zeros_like(a))
    share = weight * (a - spectrum.ridge) / (mean * spectrum.ratio)

    def gain(motion: Motion) -> float:
        """Part of the force that comes from fluctuations which the same force has caused."""
        F, ratio = motion.matrix(a), motion.covariance.ratio
        Sigma = stationary_covariance(unit, motion._replace(noise=0.0))
        return float(share @ sum_of_past(F, (1 - ratio) * Sigma, ratio)[:, 0, 0])

    own = gain(motion)
    if own >= 1:
        limit = _limit(lambda dt: gain(motion_of(static.algorithm, dt, static.problem.ridge)), motion.dt)
        raise ValueError(
            f"learning_rate must be smaller{limit} for a stationary state, got {motion.dt:g}: the sampling noise feeds "
            "itself"
        )
    shaken = stationary_covariance(unit._replace(force=np.zeros_like(a)), motion)[:, 0, 0]
    strength = (static.square_slope / static.curvature + float(share @ shaken)) / (1 - own)
    return unit._replace(force=strength * unit.force)


def _limit(gain: Callable[[float], float], high: float) -> str:
    """Say below which learning rate the noise does not feed itself, if there is one within a factor of 10,000."""
    low = 1e-4 * high
    if gain(low) >= 1:
        return ""
    for _ in range(16):  # to a few parts in ten thousand
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gain(middle) < 1 else (low, middle)
    return f" than {low:.3g}"


def _check_stable(motion: Motion, stiffest: float) -> None:
    """Refuse a learning rate at which the stiffest mode grows."""
    if motion.radius(stiffest) < 1:
        return
    limit = ""
    if isinstance(motion.update, Descent):
        name = "2(1+momentum)" if motion.update.momentum else "2"
        limit = f" than {2 * (1 + motion.update.momentum) / stiffest:g} ({name} over the stiffest mode)"
    raise ValueError(f"learning_rate must be less{limit} for a stationary state, got {motion.dt!r}")


def _limits(modes: Modes, motion: Motion) -> dict[str, Any]:
    """Slopes of the FDT plot at short and at long lag, and the rate at which the batch forgets."""
    correlation, response = mode_curves(modes, motion, 1)
    return {
        "initial_temperature": float((correlation[0] - correlation[1]) / response[1]),
        "plateau_temperature": plateau_temperature(Modes(*(column[:1] for column in modes)), motion),
        "sampling_rate": (1 - motion.covariance.ratio) / motion.dt,
    }
