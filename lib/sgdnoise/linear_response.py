r"""Small fluctuations around the minimiser: what the FDT plot must look like where the noise is weak.

Around the minimiser of :func:`~sgdnoise.solve_statics` each eigenmode of the Hessian
(:func:`~sgdnoise.hessian_spectrum`) of stiffness
:math:`a` obeys, with :math:`\phi = 1-a\,dt` and :math:`\rho` the memory of the sampling chain,

.. math:: x(t+dt) = \phi\,x(t) + dt\,\xi(t),\qquad \langle\xi(t)\xi(t+n\,dt)\rangle = \sigma^2(a)\,\rho^n .

The covariance of the sampling force is *not* isotropic. It is built of the same vectors as the Hessian, and in the
high-dimensional limit a mode feels it in proportion to its own curvature,

.. math:: \sigma^2(a) = (1-b)\,(a-\lambda)\,L,\qquad L=\langle\ell'^2\rangle/\langle\ell''\rangle ,

because every sample inside the margin contributes equally to :math:`\mathrm{tr}\,[AA^T(H-z)^{-1}]`. Summing the noise
over its past gives, per mode, correlation and integrated response

.. math:: C_0 = \frac{dt\,\sigma^2}{a(2-a\,dt)}\,\frac{1+\phi\rho}{1-\phi\rho},\qquad
          C_{n+1} = \phi\,C_n + \rho^n\frac{dt^2\sigma^2\rho}{1-\phi\rho},\qquad
          \chi_n = \frac{1-\phi^n}{a} .

A mode alone has the slope :math:`T_n=(C_n-C_{n+1})/(\chi_{n+1}-\chi_n)`. Without memory that is
:math:`dt\,\sigma^2/(2-a\,dt)` at every lag. With memory it is, for :math:`dt\to0` and :math:`\gamma=1/(b\tau)`,
:math:`\sigma^2\gamma/(\gamma^2-a^2)\,(1-e^{-(\gamma-a)t})`: the softest mode reaches a plateau if and only if the batch
forgets faster than that mode relaxes, :math:`\gamma>a`; otherwise the slope grows with the lag for ever.

Fluctuations of the weights add to :math:`L`, as far as they are independent of the batch. In one step a sample keeps
its place with probability :math:`\rho`, and otherwise it is drawn anew. If the last draw was :math:`k` steps ago, the
part :math:`\phi^{2k}` of the fluctuations of a mode is older and independent of it, so that

.. math:: L = L_0 + \frac{1}{b\alpha\langle\ell''\rangle}\sum_a (a-\lambda)\,C_0(a)\,\frac{1-\rho}{1-\rho\phi^2} ,

a linear equation, since :math:`C_0` is proportional to :math:`L`. Without memory, :math:`\rho=0`, the result is exact
at any learning rate for the square loss. For the squared hinge it leaves out that samples enter and leave the margin,
of the same order :math:`dt`. With memory it leaves out what the weights have learned from a batch since it was drawn,
corrections of relative order :math:`b\tau\Delta`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise import _checks, results
from sgdnoise.algorithms import Algorithm, Chain
from sgdnoise.problem import Problem
from sgdnoise.spectrum import Spectrum, hessian_spectrum

Array = NDArray[np.float64]

#: Steps that take about ten seconds. By then every mode has relaxed, unless the ridge is tiny.
MOST_STEPS = 1_000_000


class Modes(NamedTuple):
    """Eigenmodes of the stationary state: stiffness, share of the weights, and variance of the force on each."""

    stiffness: Array
    weight: Array
    force: Array


def linear_response(problem: Problem, algorithm: Algorithm, learning_rate: float, duration: float) -> xr.Dataset:
    r"""Predict correlation and response in the stationary state, to first order in the noise.

    Parameters
    ----------
    problem
        As for :func:`~sgdnoise.solve_statics`.
    algorithm
        How the batches are drawn: their fraction and their memory.
    learning_rate
        Step :math:`dt`; must be small enough for the stationary state to exist.
    duration
        Longest lag, a whole number of learning rates, at most a million.

    Returns
    -------
    xarray.Dataset
        ``norm``, ``magnetization``, ``correlation`` and ``integrated_response`` laid out as by the two engines, with
        one realisation and the single waiting time 0, so that :func:`~sgdnoise.fdt_curve` and its companions apply.
        Attributes: ``initial_temperature`` (slope at short lag), ``integrated_temperature`` (the chord
        :math:`T_\mathrm{int}` of the whole plot), ``plateau_temperature`` (slope at long lag, NaN where it grows for
        ever), ``softest_stiffness`` and ``sampling_rate`` (:math:`(1-\rho)/dt`, for persistent SGD
        :math:`1/(b\tau)`): there is a plateau where the second is larger.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.1)
    >>> theory = sn.linear_response(problem, algorithm, 0.1, duration=5.0)
    >>> round(theory.initial_temperature, 4), round(theory.integrated_temperature, 4)
    (0.0166, 0.0155)
    """
    dt = _checks.real("learning_rate", learning_rate, above=0)
    steps = _checks.steps(dt, _checks.real("duration", duration, above=0))
    if steps > MOST_STEPS:
        raise ValueError(
            f"duration must be at most {MOST_STEPS} steps of learning_rate={dt:g}, got {duration!r} ({steps} steps)"
        )
    spectrum = hessian_spectrum(problem, algorithm)
    if dt * spectrum.stiffest >= 2:
        raise ValueError(
            f"learning_rate must be less than {2 / spectrum.stiffest:g} (2 over the stiffest mode) for a stationary "
            f"state, got {learning_rate!r}"
        )
    chain = algorithm.sampling(dt)
    if not isinstance(chain, Chain) or algorithm.momentum > 0:
        raise ValueError(
            "algorithm must be a sgdnoise.GD, SGD or PersistentSGD without momentum for a linear response, got "
            f"{algorithm!r}"
        )
    modes = stationary_modes(spectrum, chain, dt)
    correlation, response = mode_curves(modes, chain.memory, dt, steps)
    static = spectrum.statics
    result = results.dataset(
        dt * np.arange(steps + 1),
        {
            "norm": np.full((1, steps + 1), static.norm + correlation[0]),
            "magnetization": np.full((1, steps + 1), static.magnetization),
        },
        problem,
        algorithm,
        {
            "engine": "linear response",
            "learning_rate": dt,
            "duration": dt * steps,
            "integrated_temperature": float(correlation[0] / (modes.weight / modes.stiffness).sum()),
            "softest_stiffness": spectrum.softest,
            **_limits(modes, spectrum, chain, dt),
        },
    )
    layout = ("realisation", "waiting_time", "time")
    result = result.assign_coords(waiting_time=[0.0])
    result["correlation"] = (layout, static.norm + correlation[None, None])
    result["integrated_response"] = (layout, response[None, None])
    return result


def stationary_modes(spectrum: Spectrum, chain: Chain, dt: float) -> Modes:
    r"""Share out the sampling force among the eigenmodes, :math:`\sigma^2(a)=(1-b)(a-\lambda)L`.

    The weights' fluctuations move the samples, and that adds to the force: the equation for :math:`L` above.
    """
    static = spectrum.statics
    a, weight = spectrum.quadrature()
    if static.curvature == 0:
        return Modes(a, weight, np.zeros_like(a))
    unit = Modes(a, weight, (1 - chain.batch) * (a - spectrum.ridge))
    older = (1 - chain.memory) / (1 - chain.memory * (1 - dt * a) ** 2)
    moved = weight * (a - spectrum.ridge) * _variance(unit, chain.memory, dt) * older
    gain = float(moved.sum() / (chain.batch * spectrum.ratio))
    if gain >= 1:
        raise ValueError(
            f"learning_rate must be smaller for a stationary state, got {dt:g}: the sampling noise feeds itself"
        )
    return unit._replace(force=unit.force * static.square_slope / static.curvature / (1 - gain))


def mode_curves(modes: Modes, memory: float, dt: float, steps: int) -> tuple[Array, Array]:
    """Return correlation and integrated response at lags ``0..steps``, averaged over the modes."""
    a, weight, force = modes
    phi = 1 - dt * a
    C, chi = _variance(modes, memory, dt), np.zeros_like(a)
    kick = dt**2 * force * memory / (1 - phi * memory)
    correlation, response = np.empty(steps + 1), np.empty(steps + 1)
    for n in range(steps + 1):
        correlation[n], response[n] = weight @ C, weight @ chi
        C = phi * C + kick
        kick = memory * kick
        chi = phi * chi + dt
    return correlation, response


def _variance(modes: Modes, memory: float, dt: float) -> Array:
    phi = 1 - dt * modes.stiffness
    coloured = (1 + phi * memory) / (1 - phi * memory)
    return dt * modes.force / (modes.stiffness * (2 - dt * modes.stiffness)) * coloured


def _limits(modes: Modes, spectrum: Spectrum, chain: Chain, dt: float) -> dict[str, Any]:
    """Slopes of the FDT plot at short and at long lag, and the rate at which the batch forgets."""
    correlation, response = mode_curves(modes, chain.memory, dt, 1)
    phi = 1 - dt * spectrum.softest
    plateau = math.nan
    if abs(chain.memory) < phi:
        softest = Modes(*(column[:1] for column in modes))
        kick = dt**2 * softest.force[0] * chain.memory / (1 - phi * chain.memory)
        plateau = float(spectrum.softest * (_variance(softest, chain.memory, dt)[0] + kick / (phi - chain.memory)))
    return {
        "initial_temperature": float((correlation[0] - correlation[1]) / response[1]),
        "plateau_temperature": plateau,
        "sampling_rate": (1 - chain.memory) / dt,
    }
