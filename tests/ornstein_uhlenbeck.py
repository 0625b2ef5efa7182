"""Synthetic runs with a known temperature: independent weights in a parabola, laid out as the engines do."""

import math

import numpy as np
import xarray as xr


def run(
    rng,
    *,
    a=1.0,
    force=1.0,
    memory=0.0,
    dt=0.1,
    steps=120,
    weights=100,
    realisations=8,
    start=None,
    every=5,
    static=0.0,
):
    """Discrete Ornstein-Uhlenbeck process, w(t+1) = (1 - a dt) w(t) + dt xi(t), with <xi(t) xi(0)> = force memory^t.

    It starts in its stationary law, or with all weights at ``start``. Waiting times are every ``every`` steps. Half of
    the weights fluctuate around ``static``, half around minus that, which makes the norm noisy.
    """
    phi = 1 - a * dt
    shape = (realisations, weights)
    xi = math.sqrt(force) * rng.standard_normal(shape)
    # Stationary weight given the force: the part correlated with it, and the rest.
    slope = dt * memory / (1 - phi * memory)
    rest = variance(a, force, memory, dt) - slope**2 * force
    w = slope * xi + math.sqrt(rest) * rng.standard_normal(shape) if start is None else np.full(shape, float(start))
    path = np.empty((steps + 1, *shape))
    for n in range(steps + 1):
        path[n] = w
        w = phi * w + dt * xi
        xi = memory * xi + math.sqrt(force * (1 - memory**2)) * rng.standard_normal(shape)
    path += static * (-1.0) ** np.arange(weights)
    correlation = path[::every].transpose(1, 0, 2) @ path.transpose(1, 2, 0) / weights
    return layout(correlation, (path**2).mean(axis=2).T, a, dt, every)


def exact(*, a=1.0, force=1.0, memory=0.0, dt=0.1, steps=120):
    """The same process, averaged over its noise: one stationary realisation, waiting time 0."""
    phi = 1 - a * dt
    correlation = [variance(a, force, memory, dt)]
    for n in range(steps):
        correlation.append(phi * correlation[-1] + dt**2 * force * memory ** (n + 1) / (1 - phi * memory))
    correlation = np.array(correlation)[None, None]
    return layout(correlation, np.full((1, steps + 1), correlation[0, 0, 0]), a, dt, steps + 1)


def variance(a, force, memory, dt):
    phi = 1 - a * dt
    return dt * force / (a * (2 - a * dt)) * (1 + phi * memory) / (1 - phi * memory)


def layout(correlation, norm, a, dt, every):
    realisations, _, count = correlation.shape
    time = dt * np.arange(count)
    lag = np.arange(count) - np.arange(0, count, every)[:, None]
    past = lag < 0
    response = np.where(past, np.nan, (1 - (1 - a * dt) ** np.maximum(lag, 0)) / a)
    dims = ("realisation", "waiting_time", "time")
    return xr.Dataset(
        {
            "correlation": (dims, np.where(past, np.nan, correlation)),
            "integrated_response": (dims, np.broadcast_to(response, correlation.shape)),
            "norm": (("realisation", "time"), norm),
        },
        coords={"time": time, "waiting_time": time[::every], "realisation": np.arange(realisations)},
        attrs={"learning_rate": dt},
    )
