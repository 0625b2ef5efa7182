"""The dataset that theory and simulation both return: same names, same dimensions, every parameter inside."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import ndtr

from sgdnoise import parts
from sgdnoise.algorithms import Algorithm
from sgdnoise.problem import Problem

#: Variable -> (dimensions, what it is). ``time`` is in units where the learning rate is the time step.
VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "magnetization": (("realisation", "time"), "m = v.w/N"),
    "norm": (("realisation", "time"), "q = |w|^2/N"),
    "loss": (("realisation", "time"), "full loss per feature L/N, ridge included"),
    "error": (("realisation", "time"), "generalisation error"),
    "unsatisfied": (("realisation", "time"), "fraction of samples inside the margin"),
    "distance": (("realisation", "time"), "distance between replicas |w1-w2|/sqrt(N)"),
    "correlation": (("realisation", "waiting_time", "time"), "C(t,tw) = w(t).w(tw)/N"),
    "response": (("realisation", "waiting_time", "time"), "R(t,tw), what a push at tw does at t; R(tw+dt,tw) = 1"),
    "integrated_response": (("realisation", "waiting_time", "time"), "chi(t,tw), the response summed from tw to t"),
    "cross_correlation": (("realisation", "waiting_time", "time"), "correlation of two replicas w1(t).w2(tw)/N"),
    "projection": (("realisation", "direction", "time"), "w.u for each of the given directions u"),
    "stopping_time": (("realisation", "replica"), "time at which a replica met the stopping rule"),
}


def generalisation_error(magnetization: ArrayLike, norm: ArrayLike, delta: float) -> Any:
    r"""Probability that a new sample is misclassified, :math:`\Phi(-m/\sqrt{\Delta q})`; one half at :math:`w=0`.

    >>> float(generalisation_error(0.0, 1.0, delta=1.0))
    0.5
    """
    m, q = np.asarray(magnetization, dtype=float), np.asarray(norm, dtype=float)
    spread = np.sqrt(delta * q)
    return ndtr(-np.divide(m, spread, out=np.zeros(np.broadcast(m, q).shape), where=spread > 0))


def dataset(
    time: ArrayLike,
    variables: Mapping[str, ArrayLike],
    problem: Problem,
    algorithm: Algorithm,
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Label arrays by the names and dimensions of :data:`VARIABLES` and attach every parameter as an attribute."""
    from sgdnoise import __version__

    data = {name: (*VARIABLES[name][:1], values) for name, values in variables.items()}
    result = xr.Dataset(data, coords={"time": np.asarray(time, dtype=float)})
    result = result.assign_coords(realisation=np.arange(result.sizes["realisation"]))
    for name in variables:
        result[name].attrs["long_name"] = VARIABLES[name][1]
    result["time"].attrs["long_name"] = "training time (learning rate x steps)"
    result.attrs = {
        **{f.name: getattr(problem, f.name) for f in dataclasses.fields(problem) if f.name not in ("loss", "data")},
        **({"data": problem.data.digest} if problem.data is not None else {}),
        "loss": parts.title(problem.loss),
        "algorithm": type(algorithm).__name__,
        "batch": algorithm.batch,
        **dataclasses.asdict(algorithm),
        **attributes,
        "version": __version__,
    }
    return result
