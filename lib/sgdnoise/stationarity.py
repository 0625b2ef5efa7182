r"""Which waiting times of a run are stationary: those for which the data exclude a relevant drift.

A run that has not forgotten its start has no temperature. With :math:`B=|w(t)-w(t_w)|^2/2N`, the displacement is
exactly

.. math:: C(t_w,t_w)-C(t,t_w)=B-\tfrac12[q(t)-q(t_w)] .

The squared displacement :math:`B` shows a drift best. The distance that the weights still have to travel adds to it,
whereas the part of the weights that never moves enters the norm :math:`q` only, and makes it noisy.

**Test.** The memory of the start decays within the relaxation time :math:`t_r` of the run. We define it as the lag
:math:`u` at which :math:`x(2u)-x(u)=x(u)/e`, as for an exponential, and take the longer of the values for displacement
and response. For each
first waiting time, displacement and response are divided by their means, averaged over three lags (a quarter, half and
the whole of the longest), and fitted in every realisation by

.. math:: x(t_w) = x + e\,\exp(-t_w/t_r) .

The fit begins two relaxation times before the first waiting time, where a drift is larger. The mean of the second term
over the waiting times in question is the bias of the temperature; the spread over realisations gives its error. The
first waiting time is accepted if, for displacement and for response, this bias *plus its standard error* is at most
half the error of the temperature, or at most ``drift_tolerance`` times the temperature. All waiting times from there on
are used. If none is accepted, :class:`~sgdnoise.NotStationaryError` is raised: a run that is too short or too noisy
cannot show that it is stationary.

**Rates.** The page of Figure 5 measures how often a long run is refused, how often a short run is accepted, and
how the bias compares with the quoted error.

Waiting times given by the caller are used unless the bias exceeds the allowed value by two standard errors. With a
single waiting time only the norm can be tested. With a single realisation there are no errors: the
largest difference between waiting times takes their place, and only ``drift_tolerance`` is allowed.

**Shuffled epochs.** The state of :class:`~sgdnoise.ShuffledSGD` is periodic with the epoch, and its temperature depends
on the step of the epoch at which the waiting time lies. Chosen waiting times begin where they cover whole epochs, if
there is such a place: every step of the epoch equally often. Waiting times given by the caller are all used. In either
case the attribute ``epoch`` of the result says which steps of the epoch were averaged over.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise import _checks
from sgdnoise.fdt import Array, NotStationaryError, fdt_curve, jackknife, line, slopes

#: Part of the temperature that a drift may always move it by.
DRIFT_TOLERANCE = 0.002
#: Part of the temperature's error that a drift may move it by.
SHARE = 0.5
#: Relaxation times before the first waiting time from which the drift is fitted.
LOOKBACK = 2.0
#: Displacements below this part of the norm are rounding errors, not motion.
FLOOR = 1e-12


class Drift(NamedTuple):
    """Effect of a drift on the temperature, as a fraction: the bias, its standard error, and the allowed bias."""

    bias: Array
    error: Array
    allowed: float

    def excluded(self) -> bool:
        """Whether the data exclude a bias larger than allowed."""
        return bool((np.abs(self.bias) + self.error <= self.allowed).all())

    def shown(self) -> bool:
        """Whether the data show a bias larger than allowed."""
        return bool((np.abs(self.bias) - 2 * self.error > self.allowed).any())

    def limit(self) -> float:
        """Largest bias that is not excluded."""
        return float((np.abs(self.bias) + self.error).max())


def stationary_curve(
    dataset: xr.Dataset,
    longest: float | None = None,
    waiting_times: Sequence[float] | None = None,
    *,
    symmetric: bool = True,
    drift_tolerance: float = DRIFT_TOLERANCE,
) -> xr.Dataset:
    """FDT curve up to the lag ``longest``, averaged over the stationary waiting times: dimensions (realisation, lag).

    The averaged ``displacement`` is the squared displacement :math:`B`, or without ``symmetric`` that of
    :func:`~sgdnoise.fdt_curve`, which is the same in a stationary state and much noisier.
    """
    _checks.real("drift_tolerance", drift_tolerance, above=0)
    _checks.flag("symmetric", symmetric)
    if waiting_times is not None:
        for wait in _checks.several("waiting_times", waiting_times):
            _checks.real("waiting_times", wait)
        if len(waiting_times) == 0:
            raise ValueError(f"waiting_times must have at least one value, or be None, got {waiting_times!r}")
    curve = fdt_curve(dataset, waiting_times)[["displacement", "integrated_response", "drift"]]
    curve = curve.drop_duplicates("waiting_time").sortby("waiting_time")
    longest = _longest_lag(curve) if longest is None else longest
    available = curve.lag.values[-1]
    if longest > available * (1 + 1e-9):
        raise ValueError(f"lags must be at most {available:g}, where the run ends, got {longest:g}")
    curve = curve.isel(lag=curve.lag.values <= longest * (1 + 1e-9))
    curve = curve.isel(waiting_time=np.isfinite(curve.drift[0, :, -1].values))
    square = curve.displacement + 0.5 * curve.drift
    if symmetric:
        curve["displacement"] = square
    if not curve.integrated_response.values.any():
        raise ValueError("dataset must hold a response above zero at long lag, got 0")
    moved = np.stack([square, curve.integrated_response, *([] if symmetric else [curve.displacement])])
    times, floor = curve.waiting_time.values, FLOOR * float(dataset.norm.mean())
    named = waiting_times is not None
    if times.size == 1:
        drifts = [_drift_of_norm(curve.drift.values[:, 0, -1], square.values[:, 0, -1], drift_tolerance, floor)]
    else:
        most = 1 if named else times.size
        drifts = _drifts(moved, times, curve.lag.values, drift_tolerance, floor, most=most)
    accepted = drifts[-1].excluded() or (named and not drifts[0].shown())
    first = len(drifts) - 1 if accepted else int(np.argmin([drift.limit() / drift.allowed for drift in drifts]))
    turn = _epoch(dataset)
    if turn is not None and not named:
        first += _whole_epochs(times[first:], *turn)
    used = curve.isel(waiting_time=slice(first, None))
    pooled = used.mean("waiting_time")
    pooled.attrs = {**dataset.attrs, "waiting_times": used.waiting_time.values.tolist()}
    if turn is not None:
        pooled.attrs["epoch"] = _averaged(used.waiting_time.values, *turn)
    if not accepted:
        words = _refusal(drifts[first], times[first:], named)
        if turn is not None and np.ptp(_visits(used.waiting_time.values, *turn)) > 0:
            words += f"; the state is periodic, and these are {pooled.attrs['epoch']}"
        raise NotStationaryError(words, pooled, slopes(pooled, None, 1))
    return pooled


def _epoch(dataset: xr.Dataset) -> tuple[int, float] | None:
    """Steps of an epoch and the learning rate where the state is periodic: runs and theory of shuffled epochs.

    A sweep over algorithms has the algorithm as a coordinate. The linear response is an average over the epoch.
    """
    name = str(dataset.coords["algorithm"].item() if "algorithm" in dataset.coords else dataset.attrs.get("algorithm"))
    if not name.startswith("ShuffledSGD") or dataset.attrs.get("engine") == "linear response":
        return None
    found = re.search(r"batch=([^,)]+)", name)
    batch, dt = found[1] if found else dataset.attrs.get("batch"), dataset.attrs.get("learning_rate")
    if "learning_rate" in dataset.coords:
        dt = dataset.coords["learning_rate"].item()
    return (round(1 / float(batch)), float(dt)) if batch and dt and float(batch) < 1 else None


def _visits(times: Array, steps: int, dt: float) -> NDArray[np.intp]:
    """How many of the times lie at each step of the epoch."""
    return np.bincount(np.round(times / dt).astype(np.intp) % steps, minlength=steps)


def _whole_epochs(times: Array, steps: int, dt: float) -> int:
    """Return how many of the first times to leave out so that every step of the epoch is there equally often."""
    for first in range(len(times) - steps + 1):
        if np.ptp(_visits(times[first:], steps, dt)) == 0:
            return first
    return 0


def _averaged(times: Array, steps: int, dt: float) -> str:
    """Say in words which steps of the epoch the times lie at."""
    visits = _visits(times, steps, dt)
    if np.ptp(visits) == 0:
        return f"each of the {steps} steps of an epoch equally often"
    missing = np.count_nonzero(visits == 0)
    if not missing:
        return f"the {steps} steps of an epoch, some more often than others"
    where = np.flatnonzero(visits)
    shown = ", ".join(map(str, where[:6])) + (", ..." if where.size > 6 else "")
    return f"step{'s' * (where.size > 1)} {shown} of the {steps} steps (from 0) of an epoch only"


def _drifts(moved: Array, times: Array, lag: Array, tolerance: float, floor: float, *, most: int) -> list[Drift]:
    """Drift from each of the first ``most`` waiting times on, up to the first that is accepted.

    ``moved`` has dimensions (quantity, realisation, waiting time, lag). The quantities are squared displacement,
    response and, if it is another, the displacement that the temperature is made of.
    """
    ends = np.unique(np.maximum(1, np.round((lag.size - 1) * np.array([0.25, 0.5, 1.0])).astype(int)))
    samples = moved[..., ends]
    slowest = 10 * max(lag[-1], times[-1] - times[0])
    found: list[Drift] = []
    for first in range(most):
        pooled = moved[:, :, first:].mean(axis=2)
        mean = pooled.mean(axis=1)
        relaxation = min(slowest, max(relaxation_time(rows, lag) for rows in mean[:2]))
        scale = mean[:, None, None, ends]
        relative = np.divide(samples, scale, out=np.ones_like(samples), where=scale > floor).mean(axis=3)
        back = int(np.argmax(times >= times[first] - LOOKBACK * relaxation * (1 + 1e-9)))
        since = times[back:] - times[first]
        bias = relative[:, :, back:] @ _contrast(since, relaxation)
        if len(moved) == 3:  # the norm is linear in what is left of the start, where the square fades in half the time
            bias[2] = relative[2, :, back:] @ _contrast(since, 2 * relaxation)
        slope, error = jackknife(lambda x, y: line(x, y)[0], pooled[1], pooled[2 if len(moved) == 3 else 0])
        part = float(error / abs(slope)) if error > 0 else 0.0
        spread = _standard_error(bias.T) if bias.shape[1] > 1 else np.ptp(relative[:, 0, back:], axis=1)
        found.append(Drift(bias.mean(axis=1), spread, max(tolerance, SHARE * part)))
        if found[-1].excluded():
            break
    return found


def _contrast(since: Array, relaxation: float) -> Array:
    """Weights that make of values at these times the mean, from time zero on, of the part that fades."""
    fading = np.exp(-since / relaxation)
    centred = fading - fading.mean()
    weights: Array = centred / (centred @ centred) * fading[since >= 0].mean()
    return weights


def _drift_of_norm(drift: Array, square: Array, tolerance: float, floor: float) -> Drift:
    """What the drift of the norm over the longest lag does to the displacement, where there is one waiting time."""
    bias = 0.5 * drift / max(float(square.mean()), floor) if np.abs(drift).max() > floor else np.zeros_like(drift)
    return Drift(bias.mean(axis=0, keepdims=True), _standard_error(bias[:, None]), tolerance)


def relaxation_time(values: Array, lag: Array) -> float:
    """Return the lag h with x(2h) - x(h) = x(h)/e, or beyond half of the lags what an exponential makes of the last h.

    >>> lag = np.linspace(0.0, 4.0, 401)
    >>> round(relaxation_time(1 - np.exp(-lag / 0.5), lag), 2), round(relaxation_time(1 - np.exp(-lag / 3), lag), 2)
    (0.5, 3.0)
    """
    half = np.arange(1, max(2, (values.size + 1) // 2))
    start, gain = values[half], values[np.minimum(2 * half, values.size - 1)] - values[half]
    reached = np.flatnonzero(gain <= start / math.e * (1 + 1e-9))
    if reached.size:
        return float(lag[half[reached[0]]])
    left = gain[-1] / start[-1]
    return float(lag[half[-1]] / -np.log(left)) if 0 < left < 1 else np.inf


def _standard_error(rows: Array) -> Array:
    """Standard error of the mean over the first axis; zero for a single row, which has none."""
    n = len(rows)
    return rows.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(rows.shape[1:])


def _refusal(drift: Drift, times: Array, named: bool) -> str:
    state = "waiting_times must lie in a stationary state: "
    allowed = f"where {100 * drift.allowed:.2g} per cent are allowed"
    if named:
        worst = int(np.argmax(np.abs(drift.bias) - 2 * drift.error))
        moves = f"{100 * drift.bias[worst]:.2g} ± {100 * drift.error[worst]:.1g} per cent"
        return f"{state}over those given a drift moves the temperature by {moves}, {allowed}"
    moves = f"moves the temperature by {100 * drift.limit():.2g} per cent"
    return (
        f"{state}from {times[0]:g} on a drift that {moves} cannot be excluded, {allowed}; run for longer, record more "
        f"waiting times, or name those to be used"
    )


def _longest_lag(curve: xr.Dataset) -> float:
    """Lag from the first waiting time in the second half of the run (or else the last one) to its end."""
    reach = np.isfinite(curve.drift.values[0]).sum(axis=1) - 1
    end = curve.waiting_time.values[0] + curve.lag.values[reach[0]]
    late = np.flatnonzero(curve.waiting_time.values >= 0.5 * end - 1e-9 * end)
    return float(curve.lag.values[reach[late[0] if late.size else -1]])
