r"""The temperature of each frequency: the ratio of fluctuation to dissipation at that frequency.

An oscillator of frequency :math:`\omega`, weakly coupled to a system out of equilibrium, takes up the energy
:math:`T(\omega)` (Cugliandolo, Kurchan and Peliti, 1997). In continuous time
:math:`T(\omega)=\omega\,S(\omega)/2\chi''(\omega)`. With steps of length :math:`dt`, :math:`\theta=\omega\,dt`, the
connected correlation :math:`C_n` at a lag of :math:`n` steps (:math:`C` minus its limit at long lag) and the response
:math:`R_n`, :math:`R_1=1`, we define

.. math:: T(\omega) = \frac{\sin\theta}{dt}\,\frac{S(\omega)}{2\,\chi''(\omega)},\qquad
          S = dt\sum_{n=-\infty}^{\infty} C_n\cos n\theta,\qquad
          \chi'' = dt\sum_{n=1}^{\infty} R_n\sin n\theta .

The limits at the ends are finite. At frequency zero

.. math:: T(0) = \frac{C_0+2\sum_{n\ge1}C_n}{2\,dt\sum_{n\ge1} n R_n} ,

and at the highest frequency :math:`\pi/dt` the terms of both sums alternate in sign.

**Why the sine.** A mode :math:`x(t+dt)=\phi x(t)+dt\,\xi(t)` with :math:`\phi=1-a\,dt` has
:math:`S=dt^2S_\xi/|1-\phi e^{i\theta}|^2` and :math:`\chi''=dt\sin\theta/|1-\phi e^{i\theta}|^2`, so that

.. math:: T(\omega) = \tfrac12 S_\xi(\omega)

exactly, at any step: the stiffness drops out. White noise has :math:`T(\omega)=\tfrac12dt\,\sigma^2` at every
frequency (the slope of its FDT plot is :math:`dt\,\sigma^2/(2-a\,dt)`, that is :math:`T/(1-a\,dt/2)`). Noise with the
memory :math:`\rho` per step has

.. math:: T(\omega) = \tfrac12 dt\,\sigma^2\frac{1-\rho^2}{1-2\rho\cos\theta+\rho^2}
          \;\to\; \frac{\sigma^2\gamma}{\gamma^2+\omega^2}\quad(dt\to0,\ \rho=1-\gamma\,dt).

A momentum :math:`\beta` divides this by :math:`1-\beta`, exactly. Several modes :math:`a` of weight :math:`p_a` share
the mean of their own temperatures with the weights :math:`p_a/|1-\phi_a e^{i\theta}|^2`: at frequency zero
:math:`p_a/a^2`, at high frequency :math:`p_a`. No window of lags enters, and no plateau is needed.

**The end of the run.** A run knows its curves up to some lag only. Displacement and response,
:math:`x_n=x_\infty-E\,e^{-n\,dt/t_r}`, are fitted over the second half of the lags, with the relaxation time
:math:`t_r` of the curve itself (``sgdnoise.stationarity``), and :math:`x_\infty-x_n` passes smoothly from the
data to the exponential. The variable ``beyond`` of the result is how much this extrapolation changes the temperature,
compared with data that end where their mean over the second half is. With a single rate the extrapolation is exact;
with several the bias is of the order of ``beyond`` or less. For the linear response of the paper's second figure we
find a bias of 2 to 3 per cent at frequency zero if the lags reach five relaxation times, about 1 per cent at six and
0.3 at eight; above :math:`\omega=1` it is below half a per cent. Lags beyond twelve relaxation times would only
add noise. They are used for a single realisation, as :func:`linear_response` returns, because it has none.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.special import expit

from sgdnoise import _checks
from sgdnoise.fdt import NO_NUMBERS, Array, averages, jackknife
from sgdnoise.stationarity import DRIFT_TOLERANCE, relaxation_time, stationary_curve

#: Relaxation times that are used, if a run has more.
REACH = 12.0
#: Relaxation times by which the fitted exponential is continued.
NOTHING = 40.0
#: Relaxation times that a run must reach for frequency zero.
RELAXED = 5.0
#: Periods of the lowest frequency that a run must reach if it has not relaxed.
PERIODS = 1.0
#: Frequencies by default, besides zero.
COUNT = 40


def frequency_temperature(
    dataset: xr.Dataset,
    frequencies: Sequence[float] | None = None,
    waiting_times: Sequence[float] | None = None,
    *,
    longest: float | None = None,
    drift_tolerance: float = DRIFT_TOLERANCE,
) -> xr.Dataset:
    r"""Temperature of each frequency, from correlation and response in the stationary state.

    Parameters
    ----------
    dataset
        Result of ``solve_dmft``, ``solve_stationary``, ``simulate`` or :func:`~sgdnoise.linear_response`, recorded at
        every step.
    frequencies
        Angular frequencies :math:`\omega` from 0 to :math:`\pi/dt`. None: zero, if the curves reach their end, and 40
        that are evenly spaced on a logarithmic scale, from the lowest that the lags resolve to :math:`\pi/dt`.
    waiting_times
        Waiting times to use. None: all, beginning with the first at which the data exclude a drift.
    longest
        Longest lag; None for the longest that leaves waiting times from the middle of the run on.
    drift_tolerance
        Largest allowed shift of the temperature by a drift, as a fraction, however small the statistical error.

    Returns
    -------
    xarray.Dataset
        ``temperature``, its jackknife ``error`` over realisations and ``beyond``, the part of the temperature that is
        extrapolated, against ``frequency``; attributes ``waiting_times`` and ``longest_lag``, and for shuffled
        epochs ``epoch``, as :func:`~sgdnoise.local_temperature` has it.

    Raises
    ------
    NotStationaryError
        If the data exclude a drift at no waiting time, or show one at the given waiting times.
    ValueError
        When the lags do not resolve a frequency that was asked for: those below one period over the longest lag, if
        that is less than five relaxation times.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem = sn.Problem(alpha=8)
    >>> algorithm = sn.PersistentSGD(batch=0.3, persistence=2.0)
    >>> theory = sn.linear_response(problem, algorithm, 0.05, duration=20.0)
    >>> found = sn.frequency_temperature(theory, (0.0, 1.0, 3.0, 10.0))
    >>> found.temperature.round(3).values.tolist()
    [0.355, 0.273, 0.099, 0.013]
    """
    _checks.real("drift_tolerance", drift_tolerance, above=0)
    wanted = None
    if frequencies is not None:
        wanted = np.array(
            [_checks.real("frequencies", omega, at_least=0) for omega in _checks.several("frequencies", frequencies)]
        )
        if wanted.size == 0:
            raise ValueError("frequencies must have at least one value, or be None, got none")
    if longest is not None:
        longest = _checks.real("longest", longest, above=0)
    curve = stationary_curve(dataset, longest, waiting_times, drift_tolerance=drift_tolerance)
    lag = curve.lag.values
    B, chi = curve.displacement.values, curve.integrated_response.values
    if not (np.isfinite(B).all() and np.isfinite(chi).all()):
        raise ValueError(NO_NUMBERS)
    if not chi[:, -1].mean() > 0:
        raise ValueError(f"dataset must hold a response above zero at long lag, got {chi[:, -1].mean():g}")
    if lag.size < 4:
        raise ValueError(f"dataset must have at least 4 lags for a temperature of frequencies, got {lag.size}")
    dt = float(lag[1])
    step = _checks.real("learning_rate of the dataset", dataset.attrs.get("learning_rate", dt), above=0)
    if abs(dt - step) > 1e-6 * step:
        raise ValueError(
            f"dataset must be recorded at every step for a temperature of frequencies, got one recorded every {dt:g} "
            f"at learning_rate={step:g}"
        )
    times = np.array([_slowest(rows.mean(axis=0), lag) for rows in (B, chi)])
    relaxed = bool(lag[-1] >= RELAXED * times.max() * (1 - 1e-6))
    if len(B) > 1 and lag[-1] > REACH * times.max():
        last = max(4, int(np.ceil(REACH * times.max() / dt)) + 1)
        lag, B, chi = lag[:last], B[:, :last], chi[:, :last]
    omega = _frequencies(wanted, dt, float(lag[-1]), float(times.max()), relaxed)
    times = np.minimum(times, lag[-1])
    count = lag.size + int(np.ceil(NOTHING * times.max() / dt))

    def temperature(B: Array, chi: Array) -> Array:
        C, C_short = _decay(B, lag, times[0], count)
        ahead, ahead_short = _decay(chi, lag, times[1], count)
        found = [_ratio(C, ahead, theta) for theta in omega * dt]
        short = [_ratio(C_short, ahead_short, theta) for theta in omega * dt]
        return np.stack([found, np.subtract(found, short)]).transpose(2, 0, 1)

    (value, beyond), (error, _) = jackknife(temperature, B, chi)
    return xr.Dataset(
        {"temperature": ("frequency", value), "error": ("frequency", error), "beyond": ("frequency", beyond)},
        coords={"frequency": omega},
        attrs={**averages(curve), "longest_lag": float(lag[-1])},
    )


def _slowest(x: Array, lag: Array) -> float:
    r"""Return the relaxation time of a curve, or half the lag from which on it is within :math:`e^{-2}` of its end.

    The longer of the two: the second sees slow parts and oscillations that the first does not.
    """
    end = x[-max(1, x.size // 4) :].mean()
    away = np.flatnonzero(np.abs(end - x) > np.exp(-2) * np.abs(end))
    return max(relaxation_time(x, lag), 0.5 * float(lag[min(away[-1] + 1, lag.size - 1)]) if away.size else 0.0)


def _decay(x: Array, lag: Array, relaxation: float, count: int) -> tuple[Array, Array]:
    r"""Return what curves still have to rise, :math:`x_\infty-x_n` at ``count`` lags, with and without extrapolation.

    With it, the data pass over into the exponential that was fitted to the second half of the lags. Without it, they
    end where their mean over the second half is.
    """
    n = lag.size
    half = n // 2
    since = np.maximum(lag[1] * np.arange(count) - lag[half], 0.0)
    fall = np.exp(-since / relaxation)
    window = fall[half:n] - fall[half:n].mean()
    mean = x[:, half:].mean(axis=1, keepdims=True)
    slope = (x[:, half:] @ window / (window @ window))[:, None]
    position = np.minimum(since / (lag[-1] - lag[half]), 1.0)
    with np.errstate(divide="ignore"):
        fade = expit(1 / position - 1 / (1 - position))  # from one to zero, with all its derivatives
    plain = np.zeros((len(x), count))
    plain[:, :n] = (mean - x) * fade[:n]
    fitted = plain - slope * fall * (1 - fade)
    fitted[:, :n] -= slope * fall[half:n].mean() * fade[:n]
    return fitted, plain


def _ratio(C: Array, ahead: Array, theta: float) -> Array:
    r"""Return the temperature at one frequency, from correlations and the response ahead, :math:`dt\sum_{m>n}R_m`.

    The factor :math:`\sin n\theta/\sin\theta` is finite where the sine vanishes: :math:`n` at frequency zero,
    :math:`n(-1)^{n-1}` at the highest.
    """
    n = np.arange(C.shape[1])
    cosine = np.cos(n * theta)
    sine = np.sin(n[1:] * theta) / np.sin(theta) if 1e-9 < theta < np.pi - 1e-9 else -n[1:] * cosine[1:]
    if theta <= 1e-9:
        sine = n[1:].astype(float)
    felt = ahead[:, :-1] - ahead[:, 1:]  # dt R_n from n = 1 on
    return np.asarray((C @ cosine - 0.5 * C[:, 0]) / (felt @ sine))


def _frequencies(wanted: Array | None, dt: float, longest: float, relaxation: float, relaxed: bool) -> Array:
    """Check the frequencies that are asked for, or choose them."""
    highest = np.pi / dt
    lowest = min(highest, PERIODS * 2 * np.pi / longest)
    if wanted is None:
        return np.concatenate([[0.0] * relaxed, np.geomspace(lowest, highest, COUNT)])
    if wanted.max() > highest * (1 + 1e-9):
        raise ValueError(
            f"frequencies must be at most pi/dt = {highest:g} at the time step {dt:g}, got {wanted.max():g}"
        )
    if not relaxed and wanted.min() < lowest * (1 - 1e-9):
        raise ValueError(
            f"frequencies must be at least {lowest:.4g} for lags up to {longest:g}, which are less than "
            f"{RELAXED:g} relaxation times of {relaxation:.3g}, got {wanted.min():g}"
        )
    return np.minimum(wanted, highest)
