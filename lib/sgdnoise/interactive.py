"""Figures of the book that answer to the reader: the numbers that a published figure gives to its scripts.

A figure is published as a picture, which is all that paper and a browser without scripts have. :func:`offer`
gives it numbers besides; the page then shows a view of them below the picture. The views are the scripts in
``book/alive``.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import xarray as xr

from sgdnoise.algorithms import SGD, PersistentSGD
from sgdnoise.decay import forgetting_rate, response_decay
from sgdnoise.estimates import Estimate
from sgdnoise.fdt import fdt_curve
from sgdnoise.frequency import frequency_temperature
from sgdnoise.linear_response import linear_response
from sgdnoise.problem import Problem
from sgdnoise.report import tell
from sgdnoise.simulation.simulate import simulate
from sgdnoise.statics import solve_statics
from sgdnoise.stationarity import stationary_curve
from sgdnoise.temperature import NoPlateauError, Temperature, effective_temperature, local_temperature

#: What the views are, for those who do not see them.
VIEWS = {
    "reading": "Read a temperature off an FDT plot",
    "persistence": "Persistent SGD for any memory and batch",
    "batch": "Temperature against batch size",
    "pairs": "Distance and support vectors of each pair of parameters",
}


def offer(figure: str, view: str, content: dict[str, Any]) -> None:
    """Have a published figure answer to the reader in the book.

    Parameters
    ----------
    figure
        Name under which the figure was published.
    view
        Which script of ``book/alive`` shows it.
    content
        What that script reads: numbers, lists, text, and arrays by :func:`packed`.
    """
    if view not in VIEWS:
        raise ValueError(f"view must be {', '.join(VIEWS)}, got {view!r}")
    words = f"Figure {figure!r} answers to the reader in the book"
    tell("interactive", figure, words, view=view, label=VIEWS[view], content=content)


def packed(values: Any) -> str:
    """Return numbers as text: 32-bit floats in base64, in a quarter of the letters.

    >>> packed([1.0, 2.0])
    'AACAPwAAAEA='
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def rounded(values: Any, digits: int = 4) -> list[float | None]:
    """Return numbers to a few digits, None for what is no number.

    >>> rounded([0.123456, float("nan")])
    [0.1235, None]
    """
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in np.ravel(values)]


def reading(
    dataset: xr.Dataset,
    label: str,
    *,
    paper: float,
    waiting_times: Sequence[float],
    longest: float,
    window: tuple[float, float],
) -> dict[str, Any]:
    """Return a run for the view "reading": response and squared displacement at each waiting time and lag.

    ``paper`` is the temperature that the paper quotes, ``window`` the lags to begin with.
    """
    curve = fdt_curve(dataset, list(waiting_times))
    curve = curve.isel(lag=curve.lag.values <= longest * (1 + 1e-9)).transpose("realisation", "waiting_time", "lag")
    lag = curve.lag.values
    return {
        "label": label,
        "paper": paper,
        "window": list(window),
        "first": float(waiting_times[0]),
        "step": float(lag[1]),
        "lags": lag.size,
        "waits": [float(wait) for wait in curve.waiting_time],
        "realisations": curve.sizes["realisation"],
        "end": float(dataset.time[-1]),
        "response": packed(curve.integrated_response),
        "displacement": packed(curve.displacement + 0.5 * curve.drift),
    }


def persistence(
    problem: Problem,
    learning_rate: float,
    batches: Sequence[float],
    persistences: Sequence[float],
    measured: Mapping[PersistentSGD, xr.Dataset],
    *,
    longest: float = 4.0,
    drift_tolerance: float,
) -> dict[str, Any]:
    """Return the content of the view "persistence": linear response at all settings, stationary theory at some."""
    lags = np.arange(0.0, longest + 1e-9, max(0.1, learning_rate)).round(9).tolist()
    frequencies = np.geomspace(0.3, min(30.0, np.pi / learning_rate), 25).tolist()
    weak = []
    for batch in batches:
        for tau in persistences:
            duration = learning_rate * round(max(40.0, 8 * batch * tau) / learning_rate)
            solved = linear_response(problem, PersistentSGD(batch, tau), learning_rate, duration)
            curve = fdt_curve(solved, 0.0).isel(realisation=0).sel(lag=lags, method="nearest")
            found = {
                "response": curve.integrated_response,
                "displacement": curve.displacement,
                "slope": local_temperature(solved, lags=lags).slope,
                "frequency": frequency_temperature(solved, frequencies).temperature,
            }
            about = {"chord": rounded([solved.integrated_temperature], 3)[0], "softest": solved.softest_stiffness}
            weak.append({"batch": batch, "persistence": tau, **about, **{k: packed(v) for k, v in found.items()}})
    runs = [_measured(problem, a, run, lags, drift_tolerance) for a, run in measured.items()]
    offs = [each.pop("off") for each in runs]
    return {
        "off": f"{min(offs):+.0f} to {max(offs):+.0f}",
        "batches": list(batches),
        "persistences": list(persistences),
        "start": {"batch": 0.3, "persistence": 2.0},
        "lags": rounded(lags),
        "frequencies": rounded(frequencies),
        "range": [1e-3, 10.0],
        "weak": weak,
        "measured": runs,
    }


def _measured(
    problem: Problem, algorithm: PersistentSGD, run: xr.Dataset, lags: Any, drift_tolerance: float
) -> dict[str, Any]:
    """Return FDT curve, local temperature and T(omega) of a run, with errors, and what is known of its plateau."""
    options: dict[str, Any] = {"drift_tolerance": drift_tolerance}
    step, longest, lags = float(run.time[1] - run.time[0]), float(lags[-1]), lags[2::3]
    local = local_temperature(run, lags=lags, window=max(1, round(0.1 / step)), **options)
    curve = stationary_curve(run, float(lags[-1]), local.attrs["waiting_times"], **options)
    curve = curve.sel(lag=lags, method="nearest")
    spread = curve.displacement.std("realisation", ddof=1) / np.sqrt(curve.sizes["realisation"])
    spectrum = frequency_temperature(run, **options)
    spectrum = spectrum.isel(frequency=(spectrum.frequency.values > 0) & (spectrum.error < spectrum.temperature).values)
    spectrum = spectrum.isel(frequency=slice(None, None, 2))
    mean = curve.mean("realisation")
    weak = linear_response(problem, algorithm, step, step).integrated_temperature
    chord = Estimate.of(effective_temperature(run, "chord", **options))
    off = 100 * (weak / chord.value - 1)
    temperatures = f"T_int = {chord} (linear response: {weak:.3g}, off by {off:+.0f} per cent)."
    return {
        "off": off,
        "told": [temperatures, _plateau(algorithm, run, longest, options)],
        "batch": algorithm.batch,
        "persistence": algorithm.persistence,
        "lags": rounded(lags),
        "response": rounded(mean.integrated_response),
        "displacement": rounded(mean.displacement),
        "displacementError": rounded(spread),
        "slope": rounded(local.slope),
        "slopeError": rounded(local.error),
        "frequencies": rounded(spectrum.frequency),
        "temperature": rounded(spectrum.temperature),
        "temperatureError": rounded(spectrum.error),
    }


def _plateau(algorithm: PersistentSGD, run: xr.Dataset, longest: float, options: dict[str, Any]) -> str:
    """Say whether the slope has a limit, formally and in practice."""
    a, later = (response_decay(run, start) for start in (2.0, 3.0))
    a = Estimate(a.value, float(np.hypot(a.error, later.value - a.value)), a.freedom)
    forgets = forgetting_rate(algorithm, float(run.time[1]))
    formally = "whether the slope has a limit is not decided by these errors"
    if abs(forgets - a.value) > 2 * a.error:
        formally = f"the slope has {'a' if forgets > a.value else 'no'} limit"
    try:
        tail = effective_temperature(run, "tail", (0.0, longest), **options)
    except NoPlateauError as refusal:
        tail = cast(Temperature, refusal.estimate)
    found = "exclude" if tail.established else "show" if tail.refuted else "neither show nor exclude"
    return (
        f"A push decays at the rate a = {a}, and the batch is forgotten at the rate γ = {forgets:.3f}. Formally, at "
        f"infinite lag, {formally}. In practice, at lags up to {tail.lags[1]:.3g}, the data {found} a change of the "
        f"slope by more than {100 * tail.tolerance:.0f} per cent."
    )


def batch(
    problem: Problem,
    rates: Sequence[float],
    momenta: Sequence[float],
    measured: Sequence[tuple[str, float, float, float, Estimate]],
) -> dict[str, Any]:
    r"""Return the content of the view "batch": :math:`T_\mathrm{int}` against batch size, in linear response.

    ``measured`` has gradient, learning rate, momentum, batch and temperature of each measurement. The view begins at
    the first of them.
    """

    def weak(gradient: str, rate: float, momentum: float, b: float) -> float:
        """Chord of linear response."""
        algorithm = SGD(b, gradient=gradient, momentum=momentum)
        found: float = linear_response(problem, algorithm, rate, rate).integrated_temperature
        return found

    batches = [*np.linspace(0.1, 0.95, 18), 0.975, 0.99]
    limits, curves = {}, []
    for gradient in ("sum", "mean"):
        statics = [solve_statics(problem, SGD(b, gradient=gradient)) for b in batches]
        limits[gradient] = rounded([s.temperature_slope / (1 + s.susceptibility) for s in statics])
        for rate in rates:
            for momentum in momenta:
                found = rounded([weak(gradient, rate, momentum, b) for b in batches])
                curves.append({"gradient": gradient, "rate": rate, "momentum": momentum, "T": found})
    points = [
        {"gradient": g, "rate": rate, "momentum": m, "b": [b], "T": rounded([T.value]), "error": rounded([T.error])}
        | {"off": 100 * (weak(g, rate, m, b) / T.value - 1)}
        for g, rate, m, b, T in measured
    ]
    start = {"rate": measured[0][1], "momentum": measured[0][2]}
    values = {"rates": list(rates), "momenta": list(momenta), "batches": rounded(batches)}
    return {**values, "start": start, "limits": limits, "curves": curves, "measured": points}


def chord(
    problem: Problem, gradient: str, learning_rate: float, momentum: float, batch: float, seed: Any, **size: Any
) -> xr.DataArray:
    r"""Return :math:`T_\mathrm{int}` of networks, one value a data set: half the squared distance over the response."""
    wait, end = (round(round(time / learning_rate) * learning_rate, 9) for time in (4.5, 7.5))
    options = {"replicas": 2, "waiting_times": [wait], "probes": 4, "loss_every": 1000, "seed": seed}
    run = simulate(problem, SGD(batch, gradient=gradient, momentum=momentum), learning_rate, end, **options, **size)
    response = run.integrated_response.isel(waiting_time=0).sel(time=slice(end - 0.5, None))
    square = (run.distance.sel(time=slice(wait, None)) ** 2).mean("time")
    temperature: xr.DataArray = 0.5 * square / response.mean("time")
    return temperature


def pairs(settings: Sequence[tuple[float, float]], distance: xr.DataArray, fraction: xr.DataArray) -> dict[str, Any]:
    """Return the content of the view "pairs": distance against support vectors at pairs of batch and persistence.

    ``distance`` and ``fraction`` have the dimensions ``point``, in the order of the settings, and ``realisation``.
    """
    points = []
    for i, (b, tau) in enumerate(settings):
        c, d = fraction.isel(point=i), distance.isel(point=i)
        x, y = Estimate.mean(c), Estimate.mean(d)
        about = {"label": f"b = {b:g}, τ = {tau:g}", "line": f"b = {b:g}", "xs": rounded(c), "ys": rounded(d)}
        points.append({**about, "x": x.value, "xError": x.error, "y": y.value, "yError": y.error})
    low, high = float(fraction.mean("realisation").min()), float(fraction.mean("realisation").max())
    top = float(distance.mean("realisation").max())
    return {
        "choose": "Batch fraction and persistence:",
        "names": {"x": "c₀", "y": "d₀"},
        "axes": {
            "x": {"label": "fraction of support vectors c₀", "from": 0.8 * low, "to": 1.1 * high},
            "y": {"label": "distance of the two runs d₀", "from": 0.0, "to": 1.2 * top},
        },
        "start": len(points) // 2,
        "points": points,
    }
