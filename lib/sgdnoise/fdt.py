r"""Fluctuation against dissipation: the FDT curve of a run, and the slope of a curve with its error.

The curve (Eq. 7 of the paper, not normalised) is the displacement :math:`C(t_w,t_w)-C(t,t_w)` against the integrated
response :math:`\chi(t,t_w)`, with the lag :math:`t-t_w` as the parameter. In equilibrium it is a straight line through
the origin, of slope :math:`T`.

**Errors** are jackknife errors over the dimension ``realisation``; with a single realisation they are NaN.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise import _checks

if TYPE_CHECKING:
    from sgdnoise.temperature import Temperature

Array = NDArray[np.float64]

NEEDED = ("correlation", "integrated_response", "norm")
NO_NUMBERS = "dataset must hold numbers from every waiting time on, got NaN or infinity, as in a run that diverged"
LAYOUT = ("realisation", "waiting_time", "time")


class TemperatureError(ArithmeticError):
    """No temperature can be given; what was computed is carried along.

    Parameters
    ----------
    curve
        FDT curve with dimensions (realisation, lag), averaged over the waiting times that came closest.
    local
        Slope of that curve against lag, with errors, as :func:`~sgdnoise.local_temperature` returns it.
    estimate
        The :class:`~sgdnoise.Temperature` that would have been returned; None if a slope against lag was asked for.
    """

    def __init__(
        self, message: str, curve: xr.Dataset, local: xr.Dataset, estimate: "Temperature | None" = None
    ) -> None:
        super().__init__(message)
        self.curve = curve
        self.local = local
        self.estimate = estimate


class NotStationaryError(TemperatureError):
    """At no waiting time can a drift be excluded, or the waiting times that were asked for show one."""


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
    time, known = check_dataset(dataset)
    single = waiting_time is not None and np.ndim(waiting_time) == 0
    wanted: Any = known
    if waiting_time is not None:
        wanted = [waiting_time] if single else _checks.several("waiting_time", waiting_time)
        if len(wanted) == 0:
            raise ValueError(f"waiting_time must have at least one value, or be None, got {waiting_time!r}")
    rows = np.array([_position(known, value) for value in wanted], dtype=np.intp)
    starts = np.array([_position(time, value, "waiting_time of the dataset") for value in known[rows]])
    lags = np.arange(time.size - starts.min())
    ends = starts[:, None] + lags
    inside = ends < time.size
    ends = np.where(inside, ends, 0)

    def aligned(values: Array) -> Array:
        return np.where(inside, values[:, rows[:, None], ends], np.nan)

    C = aligned(_ordered(dataset.correlation))
    chi = aligned(_ordered(dataset.integrated_response))
    q = dataset.norm.transpose("realisation", "time").values
    if not (np.isfinite(np.stack([C, chi])[:, :, inside]).all() and np.isfinite(q).all()):
        raise ValueError(NO_NUMBERS)
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


def check_dataset(dataset: object) -> tuple[Array, Array]:
    """Refuse what is not the dataset of a run with waiting times; return its evenly spaced times and waiting times."""
    if not isinstance(dataset, xr.Dataset):
        raise TypeError(f"dataset must be an xarray.Dataset of solve_dmft or simulate, got {type(dataset).__name__}")
    missing = [name for name in NEEDED if name not in dataset]
    if missing:
        raise ValueError(
            f"dataset must hold {', '.join(NEEDED)} (run the engine with waiting times), got one without "
            f"{', '.join(missing)}"
        )
    for name in LAYOUT:
        if not dataset.sizes.get(name):
            held = ", ".join(f"{dimension} ({size})" for dimension, size in dataset.sizes.items())
            raise ValueError(f"dataset must have values along the dimension {name}, got one with {held or 'none'}")
    for name in NEEDED:
        layout = [axis for axis in LAYOUT if axis != "waiting_time" or name != "norm"]
        held = ", ".join(map(str, dataset[name].dims))
        if sorted(map(str, dataset[name].dims)) != sorted(layout):
            raise ValueError(f"dataset must hold {name} along {', '.join(layout)}, got one along {held or 'none'}")
    for name in (*NEEDED, "time", "waiting_time"):
        if name not in dataset.variables or dataset[name].dtype.kind not in "iuf":
            kind = dataset[name].dtype if name in dataset.variables else "nothing"
            raise ValueError(f"dataset must hold real numbers as {name}, got {kind}")
    time = _even(dataset.time.values)
    steps = np.diff(time)
    if not (steps.size and steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-6)):
        raise ValueError(f"dataset must have at least two times, evenly spaced, got time {_preview(time)}")
    return time, dataset.waiting_time.values


def slopes(curve: xr.Dataset, lags: Array | None, window: int) -> xr.Dataset:
    """Least-squares slope of a pooled curve through the points within ``window`` steps of each lag, with errors."""
    grid = curve.lag.values
    lags = grid if lags is None else lags
    reach = (window + 1e-6) * (grid[1] - grid[0])
    near = [np.flatnonzero(np.abs(grid - lag) <= reach) for lag in lags]

    def each(x: Array, y: Array) -> Array:
        return np.stack([line(x[..., points], y[..., points])[0] for points in near], axis=-1)

    slope, error = jackknife(each, curve.integrated_response.values, curve.displacement.values)
    return xr.Dataset(
        {"slope": ("lag", slope), "error": ("lag", error)},
        coords={"lag": lags},
        attrs={**averages(curve), "window": window},
    )


def averages(curve: xr.Dataset) -> dict[str, Any]:
    """Attributes that say what a pooled curve is averaged over: waiting times and, for shuffled epochs, their steps."""
    return {name: curve.attrs[name] for name in ("waiting_times", "epoch") if name in curve.attrs}


def line(x: Array, y: Array) -> tuple[Array, Array]:
    """Slope and intercept of the least-squares line of ``y`` on ``x`` along the last axis; NaN if ``x`` is constant."""
    centre = x.mean(axis=-1, keepdims=True)
    square = ((x - centre) ** 2).sum(axis=-1)
    slope = ((x - centre) * y).sum(axis=-1) / np.where(square > 0, square, np.nan)
    return slope, y.mean(axis=-1) - slope * centre[..., 0]


def jackknife(estimate: Callable[..., Array], *columns: Array) -> tuple[Array, Array]:
    """Value of an estimate at the means over the first axis, and its error from leaving out one row at a time.

    ``estimate`` is called once, on means stacked along the first axis: first the mean over all rows, then the means
    without one row each.
    """
    value, parts = contributions(estimate, *columns)
    return value, np.sqrt((parts**2).sum(axis=0))


def contributions(estimate: Callable[..., Array], *columns: Array) -> tuple[Array, Array]:
    """Value of :func:`jackknife`, and what each row contributes to its error: the squares add up to that of the error.

    Of two estimates from the same rows, the products add up to the covariance.
    """
    n = len(columns[0])
    if n == 1:
        value = estimate(*columns)[0]
        return value, np.full_like(value, np.nan)[None]
    means = [np.concatenate([c.mean(axis=0)[None], (c.sum(axis=0) - c) / (n - 1)]) for c in columns]
    estimates = estimate(*means)
    without = estimates[1:]
    return estimates[0], np.sqrt((n - 1) / n) * (without.mean(axis=0) - without)


def _even(time: Array) -> Array:
    """Recorded times without a last one that is closer than the others, as a run of odd length leaves it."""
    steps = np.diff(time)
    return time[:-1] if time.size > 2 and steps[-1] < (1 - 1e-6) * steps[0] else time


def _ordered(array: xr.DataArray) -> Array:
    values: Array = array.transpose(*LAYOUT).values
    return values


def _position(grid: Array, waiting_time: float, name: str = "waiting_time") -> int:
    """Index of a waiting time on a grid of times, up to rounding."""
    value = _checks.real(name, waiting_time)
    index = int(np.abs(grid - value).argmin())
    spacing = np.diff(grid).min() if grid.size > 1 else max(1.0, abs(grid[0]))
    if abs(grid[index] - value) > 1e-6 * spacing:
        raise ValueError(f"{name} must be among {_preview(grid)}, got {value!r}")
    return index


def _preview(grid: Array) -> str:
    shown = [f"{value:g}" for value in grid]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:3], "...", *shown[-2:]])
