r"""Fluctuation against dissipation: the FDT curve of a run, whether the run was stationary, and the slope at each lag.

The curve (Eq. 7 of the paper, not normalised) is the displacement :math:`C(t_w,t_w)-C(t,t_w)` against the integrated
response :math:`\chi(t,t_w)`, with the lag :math:`t-t_w` as the parameter. In equilibrium it is a straight line through
the origin, of slope :math:`T`.

**Stationarity.** The curve means something only if the run has forgotten its start. With
:math:`B=|w(t)-w(t_w)|^2/2N`, the displacement is exactly :math:`B-\tfrac12[q(t)-q(t_w)]`, so that what a drift of the
norm :math:`q` does to a temperature is half of its ratio to :math:`B`. A waiting time is accepted if the drift of the
norm over the longest lag, at this waiting time and on average from it on, is at most ``drift_tolerance`` times
:math:`B`, or not distinguishable from that (two standard errors over realisations). Waiting times are used from the
first accepted one on; if none is, :class:`NotStationaryError` is raised.

**Errors** are jackknife errors over the dimension ``realisation``; with a single realisation they are NaN.
"""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise import _checks

Array = NDArray[np.float64]

NEEDED = ("correlation", "integrated_response", "norm")
DRIFT_TOLERANCE = 0.02
# Displacements below this part of the norm are rounding errors, not motion.
FLOOR = 1e-12


class TemperatureError(ArithmeticError):
    """No temperature can be given; what was computed is carried along.

    Parameters
    ----------
    curve
        FDT curve with dimensions (realisation, lag), averaged over the waiting times that were looked at.
    local
        Slope of that curve against lag, with errors, as :func:`local_temperature` returns it.
    """

    def __init__(self, message: str, curve: xr.Dataset, local: xr.Dataset) -> None:
        super().__init__(message)
        self.curve = curve
        self.local = local


class NotStationaryError(TemperatureError):
    """The norm of the weights still drifts at the latest waiting time."""


def fdt_curve(dataset: xr.Dataset, waiting_time: float | Sequence[float] | None = None) -> xr.Dataset:
    r"""FDT curve of a run of either engine, against the lag since the waiting time. Nothing is refused here.

    Parameters
    ----------
    dataset
        Result of ``solve_dmft``, ``simulate`` or :func:`~sgdnoise.linear_response`, with ``correlation`` and
        ``integrated_response``.
    waiting_time
        One waiting time of the dataset, several, or all of them (None).

    Returns
    -------
    xarray.Dataset
        Dimensions (realisation, waiting_time, lag), without ``waiting_time`` if one number was given; NaN beyond the
        end of the run. ``displacement`` :math:`C(t_w,t_w)-C(t,t_w)`, ``integrated_response``, the paper's axes
        ``normalised_correlation`` and ``normalised_response`` (both over :math:`C(t_w,t_w)`), and ``drift``
        :math:`q(t)-q(t_w)` of the norm.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.1)
    >>> theory = sn.linear_response(problem, algorithm, 0.1, duration=2.0)
    >>> curve = sn.fdt_curve(theory, waiting_time=0.0)
    >>> bool(curve.displacement[0, 0] == 0), dict(curve.sizes)
    (True, {'realisation': 1, 'lag': 21})
    """
    if not isinstance(dataset, xr.Dataset):
        raise TypeError(f"dataset must be an xarray.Dataset of solve_dmft or simulate, got {type(dataset).__name__}")
    missing = [name for name in NEEDED if name not in dataset]
    if missing:
        raise ValueError(
            f"dataset must hold {', '.join(NEEDED)} (run the engine with waiting times), got one without "
            f"{', '.join(missing)}"
        )
    if "realisation" not in dataset.dims:
        raise ValueError(
            f"dataset must have the dimension realisation, got one with {', '.join(map(str, dataset.dims))}"
        )
    single = waiting_time is not None and np.ndim(waiting_time) == 0
    time, known = _even(dataset.time.values), dataset.waiting_time.values
    if waiting_time is None:
        wanted = known
    else:
        wanted = [waiting_time] if single else _checks.several("waiting_time", waiting_time)
    rows = np.array([_position(known, value) for value in wanted], dtype=np.intp)
    starts = np.array([_position(time, value) for value in known[rows]])
    lags = np.arange(time.size - starts.min())
    ends = starts[:, None] + lags
    inside = ends < time.size
    ends = np.where(inside, ends, 0)

    def aligned(values: Array) -> Array:
        return np.where(inside, values[:, rows[:, None], ends], np.nan)

    C = aligned(_ordered(dataset.correlation))
    chi = aligned(_ordered(dataset.integrated_response))
    if np.isnan(C[:, :, 0]).any():
        raise ValueError("dataset must hold numbers from every waiting time on, got NaN (a run that diverged has none)")
    q = dataset.norm.transpose("realisation", "time").values
    drift = np.where(inside, q[:, ends] - q[:, starts][:, :, None], np.nan)
    layout = ("realisation", "waiting_time", "lag")
    curve = xr.Dataset(
        {
            "displacement": (layout, C[:, :, :1] - C),
            "integrated_response": (layout, chi),
            "normalised_correlation": (layout, C / C[:, :, :1]),
            "normalised_response": (layout, chi / C[:, :, :1]),
            "drift": (layout, drift),
        },
        coords={"lag": time[lags] - time[0], "waiting_time": known[rows]},
        attrs=dataset.attrs,
    )
    return curve.isel(waiting_time=0) if single else curve


def local_temperature(
    dataset: xr.Dataset,
    lags: Sequence[float] | None = None,
    waiting_times: Sequence[float] | None = None,
    *,
    window: int = 1,
    symmetric: bool = False,
    drift_tolerance: float = DRIFT_TOLERANCE,
) -> xr.Dataset:
    r"""Slope of the FDT curve at each lag, averaged over the stationary waiting times.

    Parameters
    ----------
    dataset
        Result of either engine.
    lags
        Lags where the slope is wanted; None for every lag up to the longest that the run allows.
    waiting_times
        Waiting times to use; None for all from the first at which the norm no longer drifts.
    window
        The slope is that of the least-squares line through so many points on either side of the lag.
    symmetric
        Use the squared displacement :math:`|w(t)-w(t_w)|^2/2N` for :math:`C(t_w,t_w)-C(t,t_w)`: the same in a
        stationary state, and far less noisy in a simulation.
    drift_tolerance
        Largest accepted drift of the norm, as a part of the squared displacement.

    Returns
    -------
    xarray.Dataset
        ``slope`` and ``error`` against ``lag``; attribute ``waiting_times`` lists those that were used.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.1)
    >>> theory = sn.linear_response(problem, algorithm, 0.1, duration=3.0)
    >>> local = sn.local_temperature(theory, lags=(0.5, 1.0, 2.0))
    >>> local.slope.round(4).values.tolist()
    [0.0157, 0.0148, 0.0132]
    """
    window = _checks.integer("window", window, at_least=1)
    longest = None
    if lags is not None:
        wanted = np.array([_checks.real("lags", lag, at_least=0) for lag in lags])
        end = float(dataset.time[-1] - dataset.time[0])
        reach = window * float(dataset.time[1] - dataset.time[0])
        longest = max(wanted.max(), min(wanted.max() + reach, end))
    curve = stationary_curve(dataset, longest, waiting_times, symmetric=symmetric, drift_tolerance=drift_tolerance)
    return slopes(curve, curve.lag.values if lags is None else wanted, window)


def stationary_curve(
    dataset: xr.Dataset,
    longest: float | None = None,
    waiting_times: Sequence[float] | None = None,
    *,
    symmetric: bool = False,
    drift_tolerance: float = DRIFT_TOLERANCE,
) -> xr.Dataset:
    """FDT curve up to the lag ``longest``, averaged over the stationary waiting times: dimensions (realisation, lag).

    The averaged ``displacement`` is that of :func:`fdt_curve`, or with ``symmetric`` the squared displacement
    :math:`B`, which is the same in a stationary state and much less noisy in a simulation.
    """
    _checks.real("drift_tolerance", drift_tolerance, above=0)
    _checks.flag("symmetric", symmetric)
    if waiting_times is not None and len(_checks.several("waiting_times", waiting_times)) == 0:
        raise ValueError(f"waiting_times must have at least one value, or be None, got {waiting_times!r}")
    curve = fdt_curve(dataset, waiting_times)[["displacement", "integrated_response", "drift"]]
    longest = _longest_lag(curve) if longest is None else longest
    available = curve.lag.values[-1]
    if longest > available * (1 + 1e-9):
        raise ValueError(f"lags must be at most {available:g}, where the run ends, got {longest:g}")
    curve = curve.isel(lag=curve.lag.values <= longest * (1 + 1e-9))
    curve = curve.isel(waiting_time=np.isfinite(curve.drift[0, :, -1].values))
    square = curve.displacement + 0.5 * curve.drift
    drift, error, allowed = _drift(curve, square, drift_tolerance, dataset.norm.values.mean())
    accepted = np.flatnonzero((np.abs(drift) <= allowed + 2 * error).all(axis=0))
    if waiting_times is not None:
        accepted = accepted[accepted == 0]  # all of those asked for, or none
    first = accepted[0] if accepted.size else curve.sizes["waiting_time"] - 1
    if symmetric:
        curve["displacement"] = square
    used = curve.isel(waiting_time=slice(first, None))
    pooled = used.mean("waiting_time")
    pooled.attrs = {**dataset.attrs, "waiting_times": used.waiting_time.values.tolist()}
    if not accepted.size:
        raise NotStationaryError(
            f"waiting_times must lie in a stationary state: at {curve.waiting_time.values[first]:g} the norm still "
            f"drifts by {drift[0, first]:.2g} over the lag {longest:g}, where {allowed[0, first]:.2g} "
            f"({drift_tolerance:g} of the squared displacement) is allowed",
            pooled,
            slopes(pooled, pooled.lag.values, 1),
        )
    return pooled


def slopes(curve: xr.Dataset, lags: Array, window: int) -> xr.Dataset:
    """Least-squares slope of a pooled curve through the points within ``window`` steps of each lag, with errors."""
    grid = curve.lag.values
    reach = (window + 1e-6) * (grid[1] - grid[0])
    near = [np.flatnonzero(np.abs(grid - lag) <= reach) for lag in lags]

    def each(x: Array, y: Array) -> Array:
        return np.stack([line(x[..., points], y[..., points])[0] for points in near], axis=-1)

    slope, error = jackknife(each, curve.integrated_response.values, curve.displacement.values)
    return xr.Dataset(
        {"slope": ("lag", slope), "error": ("lag", error)},
        coords={"lag": lags},
        attrs={"waiting_times": curve.attrs["waiting_times"], "window": window},
    )


def line(x: Array, y: Array) -> tuple[Array, Array]:
    """Slope and intercept of the least-squares line of ``y`` on ``x`` along the last axis; NaN if ``x`` is constant."""
    centre = x.mean(axis=-1, keepdims=True)
    square = ((x - centre) ** 2).sum(axis=-1)
    slope = ((x - centre) * y).sum(axis=-1) / np.where(square > 0, square, np.nan)
    return slope, y.mean(axis=-1) - slope * centre[..., 0]


def jackknife(estimate: Callable[..., Array], *columns: Array) -> tuple[Array, Array]:
    """Value of an estimate at the means over the first axis, and its error from leaving out one row at a time.

    ``estimate`` is called once, on means stacked along the first axis: that of all rows, then those without one.
    """
    n = len(columns[0])
    if n == 1:
        value = estimate(*columns)[0]
        return value, np.full_like(value, np.nan)
    means = [np.concatenate([c.mean(axis=0)[None], (c.sum(axis=0) - c) / (n - 1)]) for c in columns]
    estimates = estimate(*means)
    without = estimates[1:]
    return estimates[0], np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))


def _drift(curve: xr.Dataset, square: xr.DataArray, tolerance: float, norm: float) -> tuple[Array, Array, Array]:
    """Drift of the norm over the longest lag, its error and what is allowed.

    The first row is at each waiting time, the second the average from each waiting time on.
    """
    at_end = np.stack([curve.drift.values[:, :, -1], square.values[:, :, -1]])
    count = np.arange(at_end.shape[2], 0, -1)
    later = np.cumsum(at_end[:, :, ::-1], axis=2)[:, :, ::-1] / count
    drift, motion = np.stack([at_end, later], axis=1)
    n = drift.shape[1]
    error = drift.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.zeros((2, count.size))
    return drift.mean(axis=1), error, tolerance * motion.mean(axis=1) + FLOOR * norm


def _longest_lag(curve: xr.Dataset) -> float:
    """Lag from the first waiting time in the second half of the run (or else the last one) to its end."""
    reach = np.isfinite(curve.drift.values[0]).sum(axis=1) - 1
    end = curve.waiting_time.values[0] + curve.lag.values[reach[0]]
    late = np.flatnonzero(curve.waiting_time.values >= 0.5 * end - 1e-9 * end)
    return float(curve.lag.values[reach[late[0] if late.size else -1]])


def _even(time: Array) -> Array:
    """Recorded times without a last one that is closer than the others, as a run of odd length leaves it."""
    steps = np.diff(time)
    return time[:-1] if time.size > 2 and steps[-1] < (1 - 1e-6) * steps[0] else time


def _ordered(array: xr.DataArray) -> Array:
    values: Array = array.transpose("realisation", "waiting_time", "time").values
    return values


def _position(grid: Array, waiting_time: float) -> int:
    """Index of a waiting time on a grid of times, up to rounding."""
    value = _checks.real("waiting_time", waiting_time)
    index = int(np.abs(grid - value).argmin())
    spacing = np.diff(grid).min() if grid.size > 1 else max(1.0, abs(grid[0]))
    if abs(grid[index] - value) > 1e-6 * spacing:
        raise ValueError(f"waiting_time must be among {_preview(grid)}, got {value!r}")
    return index


def _preview(grid: Array) -> str:
    shown = [f"{value:g}" for value in grid]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:3], "...", *shown[-2:]])
