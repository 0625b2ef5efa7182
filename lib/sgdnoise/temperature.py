r"""The effective temperature of a stationary run: one number with an error and a window, or a refusal.

Three definitions, which agree in equilibrium only:

``line``
    Slope of the least-squares line through the FDT curve over a window of lags; the paper's choice for vanilla SGD.
``tail``
    Slope of the last few points of the window; the paper's choice for persistent SGD, where the slope at short lag
    belongs to a frozen batch. The window ends at the longest lag where that slope is known to 10 per cent.
``chord``
    :math:`T_\mathrm{int} = [C(t_w,t_w)-C(\infty)]/\chi(\infty)`, the slope of the chord of the whole curve. It is half
    the squared distance between two stationary replicas over the static susceptibility, and exists even if the others
    do not.

**The window is part of the number.** Out of equilibrium each mode has a temperature of its own, and the window of lags
decides which modes are seen. Lines over lags up to 1, 2.5 and 5 have three slopes, several per cent apart, and each
looks straight. Two temperatures can be compared only if their windows are the same.

**Lag zero is in the window** if the window begins there, in every method. The origin is a point of the FDT curve like
any other: for a mode on its own it lies on the line exactly, at any learning rate
(``sgdnoise.linear_response``). A fit without it is a fit over another window, which begins at the first step and
does not see modes that relax within that step. Near the full batch these are most of the curve.

Each method raises :class:`NoPlateauError` if its premise fails: ``line`` if the curve is not straight, ``tail`` if the
slope still changes with the lag, ``chord`` if the curve has not reached its end. The error is raised only if the data
show it. What they do not show they need not exclude: a noisy curve passes. A result says in ``established`` whether its
data exclude a failure of the premise. All raise :class:`NotStationaryError` if the data cannot exclude a drift
(``sgdnoise.stationarity``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from sgdnoise import _checks
from sgdnoise.fdt import Array, NotStationaryError, TemperatureError, check_dataset, fdt_curve, jackknife, line, slopes
from sgdnoise.stationarity import DRIFT_TOLERANCE, stationary_curve

METHODS = ("line", "tail", "chord")
#: Largest accepted ``variation`` of each method; see :class:`Temperature`.
TOLERANCE = {"line": 0.15, "tail": 0.3, "chord": 0.05}
#: Relative error up to which the slope of the tail counts as known.
KNOWN = 0.1
#: Part of the whole response below which the last points are too close together to have a slope.
RESOLVED = 1e-6


@dataclass(frozen=True)
class Temperature:
    """An effective temperature, with the window and the curve behind it.

    Parameters
    ----------
    value
        The estimate.
    error
        Its jackknife error over realisations (NaN with a single one).
    method
        ``"line"``, ``"tail"`` or ``"chord"``.
    lags
        Window of lags that was used, both ends included. It is part of the number: another window has another value.
    waiting_times
        Waiting times that passed the test of stationarity and were averaged over. For shuffled epochs the text of the
        result says which steps of the epoch these are.
    variation
        How far the curve is from the premise of the method. ``line``: largest distance from the line, over the height
        of the curve. ``tail``: relative change of the slope when the lag is halved. ``chord``: part of the height or of
        the width that was gained in the second half of the window, the larger of the two.
    variation_error
        Its jackknife error.
    tolerance
        Largest accepted ``variation``.
    curve
        The FDT curve, dimensions (realisation, lag).
    local
        Its slope against lag.
    """

    value: float
    error: float
    method: str
    lags: tuple[float, float]
    waiting_times: tuple[float, ...]
    variation: float
    variation_error: float
    tolerance: float
    curve: xr.Dataset = field(repr=False, compare=False)
    local: xr.Dataset = field(repr=False, compare=False)

    @property
    def refuted(self) -> bool:
        """Whether the data show a variation beyond the tolerance, by two standard errors."""
        return not self.variation - 2 * np.nan_to_num(self.variation_error) <= self.tolerance

    @property
    def established(self) -> bool:
        """Whether the data exclude a variation beyond the tolerance, by two standard errors."""
        return bool(self.variation + 2 * np.nan_to_num(self.variation_error) <= self.tolerance)

    def __str__(self) -> str:
        first, last = self.lags
        window = f"{self.method} over lags {first:g} to {last:g}, a window that is part of the number"
        many = len(self.waiting_times) > 1
        waits = f"{len(self.waiting_times)} waiting times from" if many else "waiting time"
        epoch = f", {self.curve.attrs['epoch']}" if "epoch" in self.curve.attrs else ""
        doubt = "" if self.established else f"; a variation beyond {self.tolerance:g} is not excluded"
        return f"{self.value:.5g} ± {self.error:.1g} ({window}; {waits} {self.waiting_times[0]:g}{epoch}{doubt})"


class NoPlateauError(TemperatureError):
    """The curve has no well-defined slope."""


def local_temperature(
    dataset: xr.Dataset,
    lags: Sequence[float] | None = None,
    waiting_times: Sequence[float] | None = None,
    *,
    window: int = 1,
    symmetric: bool = True,
    drift_tolerance: float = DRIFT_TOLERANCE,
) -> xr.Dataset:
    r"""Slope of the FDT curve at each lag, averaged over the stationary waiting times.

    Parameters
    ----------
    dataset
        Result of either engine.
    lags
        Lags at which to compute the slope. None: every lag up to the longest that the run allows.
    waiting_times
        Waiting times to use. None: all, beginning with the first at which the data exclude a drift.
    window
        Number of points on either side of the lag that enter the least-squares line.
    symmetric
        Use the squared displacement :math:`|w(t)-w(t_w)|^2/2N` for :math:`C(t_w,t_w)-C(t,t_w)`: the same in a
        stationary state, and several times less noisy in both engines.
    drift_tolerance
        Largest allowed shift of the temperature by a drift, as a fraction, however small the statistical error.

    Returns
    -------
    xarray.Dataset
        ``slope`` and ``error`` against ``lag``; attribute ``waiting_times`` lists those that were used. The state of
        shuffled epochs is periodic: their attribute ``epoch`` says which steps of the epoch were averaged over. Only
        an average over whole epochs can be compared with :func:`~sgdnoise.linear_response`.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.1)
    >>> theory = sn.linear_response(problem, algorithm, 0.1, duration=3.0)
    >>> local = sn.local_temperature(theory, lags=(0.5, 1.0, 2.0))
    >>> local.slope.round(4).values.tolist()
    [0.0157, 0.0148, 0.0132]
    """
    time, _ = check_dataset(dataset)
    window = _checks.integer("window", window, at_least=1, at_most=time.size)
    longest = None
    if lags is not None:
        wanted = np.array([_checks.real("lags", lag, at_least=0) for lag in _checks.several("lags", lags)])
        if wanted.size == 0:
            raise ValueError(f"lags must have at least one value, or be None, got {lags!r}")
        named = () if waiting_times is None else _checks.several("waiting_times", waiting_times)
        first = min((_checks.real("waiting_times", wait) for wait in named), default=time[0])
        longest = max(wanted.max(), min(wanted.max() + window * (time[1] - time[0]), time[-1] - first))
    curve = stationary_curve(dataset, longest, waiting_times, symmetric=symmetric, drift_tolerance=drift_tolerance)
    return slopes(curve, None if lags is None else wanted, window)


def effective_temperature(
    dataset: xr.Dataset,
    method: str = "line",
    lags: tuple[float, float] | None = None,
    waiting_times: Sequence[float] | None = None,
    *,
    points: int = 10,
    symmetric: bool = True,
    tolerance: float | None = None,
    drift_tolerance: float = DRIFT_TOLERANCE,
) -> Temperature:
    r"""Effective temperature of a stationary run of either engine.

    Parameters
    ----------
    dataset
        Result of ``solve_dmft``, ``simulate`` or :func:`~sgdnoise.linear_response`.
    method
        ``"line"``: slope of the least-squares line through the window. ``"tail"``: slope of its last points.
        ``"chord"``: slope from one end of the whole curve to the other.
    lags
        Shortest and longest lag of the window, both included, lag zero too. None: ``(0, 2.5)`` for ``line``, for the
        others from 0 to the longest lag that leaves waiting times from the middle of the run on.
    waiting_times
        Waiting times to average over. None: all, beginning with the first after which the data exclude a drift that
        would shift the temperature by more than half its error (``sgdnoise.stationarity``).
    points
        Number of points in the tail.
    symmetric
        Use the squared displacement :math:`|w(t)-w(t_w)|^2/2N` for :math:`C(t_w,t_w)-C(t,t_w)`: the same in a
        stationary state, and several times less noisy in both engines.
    tolerance
        Largest accepted ``variation``; None for 0.15 (``line``), 0.3 (``tail``) or 0.05 (``chord``).
    drift_tolerance
        Largest allowed shift of the temperature by a drift, as a fraction, however small the statistical error.

    Raises
    ------
    NotStationaryError
        If the data exclude a drift at no waiting time, or show one at the given waiting times.
    NoPlateauError
        If the variation exceeds the tolerance by more than two of its standard errors. A result whose variation is not
        below the tolerance by as much is returned, and says so (``established`` is false). Both exceptions carry
        the ``estimate``, its curve and the slope against lag.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.1)
    >>> theory = sn.linear_response(problem, algorithm, 0.1, duration=10.0)
    >>> fit = sn.effective_temperature(theory, method="line", lags=(0.0, 2.5))
    >>> print(fit)
    0.01546 ± nan (line over lags 0 to 2.5, a window that is part of the number...
    >>> round(sn.effective_temperature(theory, lags=(0.0, 5.0)).value, 4)
    0.0152
    >>> slow = sn.PersistentSGD(batch=0.3, persistence=8.0)
    >>> theory = sn.linear_response(sn.Problem(alpha=8), slow, 0.05, 5.0)
    >>> sn.effective_temperature(theory, method="tail")
    Traceback (most recent call last):
    sgdnoise.temperature.NoPlateauError: the slope of the last 10 points must settle...
    """
    _checks.choice("method", method, METHODS)
    points = _checks.integer("points", points, at_least=2)
    allowed = TOLERANCE[method] if tolerance is None else _checks.real("tolerance", tolerance, above=0)
    if lags is None and method == "line":
        lags = (0.0, 2.5)
    low, high = (0.0, None) if lags is None else _window(lags)
    drifts = None
    try:
        curve = stationary_curve(dataset, high, waiting_times, symmetric=symmetric, drift_tolerance=drift_tolerance)
    except NotStationaryError as refusal:
        curve, drifts = refusal.curve, refusal
    curve = curve.isel(lag=curve.lag.values >= low * (1 - 1e-9))
    least = points + 1 if method == "tail" else 4
    if curve.sizes["lag"] < least:
        raise ValueError(f"lags must hold at least {least} points for method={method!r}, got {curve.sizes['lag']}")
    if method == "tail":
        curve = _known_tail(curve, points)
    (value, variation), (error, variation_error) = jackknife(
        lambda x, y: ESTIMATORS[method](x, y, points), curve.integrated_response.values, curve.displacement.values
    )
    estimate = Temperature(
        value=float(value),
        error=float(error),
        method=method,
        lags=(float(curve.lag[0]), float(curve.lag[-1])),
        waiting_times=tuple(curve.attrs["waiting_times"]),
        variation=float(variation),
        variation_error=float(variation_error),
        tolerance=allowed,
        curve=curve,
        local=slopes(curve, None, 1),
    )
    if drifts is not None:
        drifts.estimate = estimate
        raise drifts
    if estimate.refuted:
        raise NoPlateauError(
            f"{PREMISE[method].format(points=points)} for method={method!r}, got a variation of {variation:.2g} over "
            f"lags {estimate.lags[0]:g} to {estimate.lags[1]:g} where {allowed:g} is allowed",
            curve,
            estimate.local,
            estimate,
        )
    return estimate


def tail_slopes(dataset: xr.Dataset, points: Sequence[int] = (5, 10, 15)) -> xr.Dataset:
    """Slope of the last points of the FDT curve at each waiting time: how the paper reads off p-SGD's temperature.

    Parameters
    ----------
    dataset
        Result of either engine.
    points
        Numbers of last points, up to the end of the run.

    Returns
    -------
    xarray.Dataset
        ``slope`` and ``error`` with dimensions (points, waiting_time); NaN at waiting times too close to the end.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.1)
    >>> theory = sn.linear_response(problem, algorithm, 0.1, duration=2.0)
    >>> sn.tail_slopes(theory, points=(5, 10)).slope.values.round(4).tolist()
    [[0.0135], [0.014]]
    """
    curve = fdt_curve(dataset)
    x, y = curve.integrated_response.values, curve.displacement.values
    ends = np.isfinite(y[0]).sum(axis=1)
    counts = [
        _checks.integer("points", count, at_least=2, at_most=int(ends.max()))
        for count in _checks.several("points", points)
    ]
    if not counts:
        raise ValueError("points must have at least one number, got none")

    def each(x: Array, y: Array) -> Array:
        table = np.full((len(x), len(counts), ends.size), np.nan)
        for i, count in enumerate(counts):
            for j, end in enumerate(ends):
                if end >= count:
                    table[:, i, j] = line(x[:, j, end - count : end], y[:, j, end - count : end])[0]
        return table

    slope, error = jackknife(each, x, y)
    layout = ("points", "waiting_time")
    coords = {"points": counts, "waiting_time": curve.waiting_time.values}
    return xr.Dataset({"slope": (layout, slope), "error": (layout, error)}, coords=coords)


def _line(x: Array, y: Array, _: int) -> Array:
    """Slope of the line, and the largest residual over the height of the curve."""
    slope, intercept = line(x, y)
    residual = np.abs(y - slope[:, None] * x - intercept[:, None]).max(axis=1)
    return np.column_stack([slope, _part(residual, np.ptp(y, axis=1))])


def _tail(x: Array, y: Array, points: int) -> Array:
    """Slope of the last points, and its relative change from half the lag on."""
    half = max(points, (x.shape[1] + points) // 2)
    slope = line(x[:, -points:], y[:, -points:])[0]
    earlier = line(x[:, half - points : half], y[:, half - points : half])[0]
    return np.column_stack([slope, _part(np.abs(slope - earlier), np.maximum(np.abs(slope), np.abs(earlier)))])


def _chord(x: Array, y: Array, _: int) -> Array:
    """Ratio of the ends, averaged over the last quarter, and what the second half of the window added."""
    count = x.shape[1]
    width, height = (values[:, -max(1, count // 4) :].mean(axis=1) for values in (x, y))
    gains = [_part(end - values[:, count // 2], end) for values, end in ((x, width), (y, height))]
    return np.column_stack([height / width, np.abs(gains).max(axis=0)])


def _part(part: Array, whole: Array) -> Array:
    """Ratio of two numbers, zero where there is nothing to divide."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


ESTIMATORS = {"line": _line, "tail": _tail, "chord": _chord}
PREMISE = {
    "line": "the FDT curve must be straight",
    "tail": "the slope of the last {points} points must settle with the lag",
    "chord": "the FDT curve must have reached its end",
}


def _known_tail(curve: xr.Dataset, points: int) -> xr.Dataset:
    """Cut the curve at the longest lag where the slope of its last points is known to 10 per cent."""
    x, y = curve.integrated_response.values, curve.displacement.values

    def each(x: Array, y: Array) -> Array:
        return np.stack([line(x[:, end - points : end], y[:, end - points : end])[0] for end in ends], axis=1)

    ends = np.arange(points + 1, x.shape[1] + 1)
    slope, error = jackknife(each, x, y)
    mean = x.mean(axis=0)
    moving = mean[ends - 1] - mean[ends - points] > RESOLVED * mean[-1]
    known = np.flatnonzero(moving & ~(error > KNOWN * np.abs(slope)))  # without errors all that move are
    return curve.isel(lag=slice(int(ends[known[-1]]))) if known.size else curve


def _window(lags: tuple[float, float]) -> tuple[float, float]:
    if len(_checks.several("lags", lags)) != 2:
        raise ValueError(f"lags must be a pair (first, last), got {lags!r}")
    low, high = (_checks.real("lags", lag, at_least=0) for lag in lags)
    if low >= high:
        raise ValueError(f"lags must be a shorter and a longer lag, got {lags!r}")
    return low, high
