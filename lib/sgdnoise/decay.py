r"""Rates at which response and correlation decay at long lag: what a plateau of the FDT plot depends on.

A spectrum of stiffnesses with a soft edge :math:`a` makes the response decay as

.. math:: R(t) \simeq A\,(t+t_0)^{-3/2}\,e^{-at} ,

and the batch of persistent SGD is forgotten at the rate :math:`\gamma=-\ln(1-dt/b\tau)/dt`. At long lag the slope of
the FDT plot is the ratio of two decaying functions. It has a limit if the correlation decays as fast as the response,
that is if :math:`\gamma>a`.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise.algorithms import PersistentSGD
from sgdnoise.estimates import Estimate, jackknife
from sgdnoise.fdt import Array

#: Response below which its sampling error is no longer small.
LEAST = 1e-9
#: Delays :math:`t_0` that are tried.
DELAYS = np.linspace(0.0, 4.0, 81)


class Decay(NamedTuple):
    r"""Fit of :math:`\ln R` to :math:`\ln A-\tfrac32\ln(t+t_0)-at`, one row for each response."""

    rate: Array
    delay: Array
    log_amplitude: Array

    def log_response(self, lag: Array) -> Array:
        """Return the logarithm of the fitted response."""
        power = 1.5 * np.log(lag + self.delay[:, None])
        value: Array = self.log_amplitude[:, None] - power - self.rate[:, None] * lag
        return value


def fit_decay(lag: Array, response: Array) -> Decay:
    """Return the least-squares fit to responses, one a row, all of them positive.

    >>> lag = np.arange(2.0, 12.0, 0.1)
    >>> fit = fit_decay(lag, 3.0 * (lag + 0.5) ** -1.5 * np.exp(-1.7 * lag)[None])
    >>> round(float(fit.rate[0]), 6), float(fit.delay[0])
    (1.7, 0.5)
    """
    line = np.vander(lag, 2)
    solver = np.linalg.pinv(line)
    target = np.log(response)[:, None] + 1.5 * np.log(lag + DELAYS[:, None])
    found = target @ solver.T
    best = ((target - found @ line.T) ** 2).sum(axis=2).argmin(axis=1)
    slope, amplitude = found[np.arange(len(best)), best].T
    return Decay(-slope, DELAYS[best], amplitude)


def response_decay(dataset: xr.Dataset, start: float = 2.0) -> Estimate:
    """Return the rate at which the response decays, fitted from the lag ``start`` to where it is 1e-9.

    ``dataset`` is that of :func:`~sgdnoise.solve_stationary` or :func:`~sgdnoise.linear_response`.
    """
    lag, response = dataset.time.values, dataset.response.values[:, 0]
    used = _used(lag, response, start)
    return jackknife(lambda R: fit_decay(lag[used], np.maximum(R, LEAST / 1e5)).rate, response[:, used])


def continued_response(dataset: xr.Dataset, start: float = 2.0) -> Array:
    """Return the response of each realisation, continued by its fit from where it falls below 1e-9."""
    lag, response = dataset.time.values, dataset.response.values[:, 0]
    used = _used(lag, response, start)
    fit = fit_decay(lag[used], np.maximum(response[:, used], LEAST / 1e5))
    beyond = lag > lag[used][-1]
    continued: Array = np.where(beyond, np.exp(fit.log_response(np.maximum(lag, start))), response)
    return continued


def correlation_decay(dataset: xr.Dataset, first: float, last: float) -> Estimate:
    """Return the mean rate at which the correlation decays to its limit between two lags."""
    lag, C = dataset.time.values, dataset.correlation.values[:, 0]
    ends = [int(np.abs(lag - wanted).argmin()) for wanted in (first, last)]
    width = float(np.diff(lag[ends])[0])
    return jackknife(lambda left: np.log(np.abs(left[:, 0] / left[:, 1])) / width, C[:, ends] - C[:, -1:])


def mode_decay(stiffness: float, forgetting: float, first: float, last: float) -> float:
    """Return the same rate for one mode that is driven by noise which is forgotten at a rate.

    >>> round(mode_decay(2.0, 1.0, 20.0, 30.0), 6), round(mode_decay(1.0, 3.0, 20.0, 30.0), 6)
    (1.0, 1.0)
    """
    lags, a, gamma = np.array([first, last]), stiffness, forgetting
    log_left = np.log(np.abs(a * np.exp(-gamma * lags) - gamma * np.exp(-a * lags)))
    return float(-np.diff(log_left)[0] / (last - first))


def forgetting_rate(algorithm: PersistentSGD, learning_rate: float) -> float:
    """Return the rate at which the batch is forgotten.

    >>> round(forgetting_rate(PersistentSGD(batch=0.3, persistence=2.0), 0.05), 3)
    1.74
    """
    ratio = algorithm.sampling(learning_rate).covariance.ratio
    return float(-np.log(ratio) / learning_rate)


def _used(lag: Array, response: Array, start: float) -> NDArray[np.bool_]:
    """Tell the lags of the fit: from the start on, as long as the mean response is above the least."""
    known = np.logical_and.accumulate((response.mean(axis=0) > LEAST) | (lag < start))
    used: NDArray[np.bool_] = known & (lag > start - 1e-9)
    return used
