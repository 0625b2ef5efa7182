r"""Oscillators that are weakly coupled to the weights in training, and read the temperature of their frequency.

After Cugliandolo, Kurchan and Peliti (1997): oscillators :math:`y_i` are attached to weights of their own,

.. math:: \ddot y_i = -\omega_i^2 y_i + k_i(w_i-\bar w_i) ,\qquad \mathcal L \to \mathcal L - \sum_i k_i\,y_i w_i ,

and moved by leapfrog steps of length :math:`dt`; :math:`\bar w_i` is the mean of the weight before. With the mean of
the velocities before and after a step the weak-coupling limit of :math:`\langle\dot y^2\rangle` is
:func:`~sgdnoise.frequency_temperature` exactly, sine included. At finite coupling an oscillator samples a band of
frequencies, and as far as the weights respond linearly it reads

.. math:: \langle\dot y^2\rangle = \int_{-\pi}^{\pi}\frac{d\theta}{2\pi}\,\frac{\sin^2\theta}{dt^2}\,
          \frac{k^2\,\hat C(\theta)}{|\omega^2-(2-2\cos\theta)/dt^2-k^2\hat\chi(\theta)|^2} ,

with the sums :math:`\hat C` of :math:`C_n\cos n\theta` over all lags and :math:`\hat\chi` of
:math:`dt\,R_ne^{in\theta}`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise import _checks
from sgdnoise.algorithms import PersistentSGD
from sgdnoise.fdt import Array
from sgdnoise.problem import Problem

GRID = 2**16  # frequencies of the integral
WARM = 20.0  # time before the oscillators are attached
UNUSED = 0.25  # part of the time with oscillators in which they adjust


class Oscillators(NamedTuple):
    """Frequencies at which they oscillate while coupled, couplings, and squared frequencies on their own."""

    frequency: Array
    coupling: Array
    square: Array


class Size(NamedTuple):
    """Size of the experiment: features; oscillators of each frequency; copies of a network; networks; duration."""

    features: int
    each: int
    copies: int
    networks: int
    duration: float


def oscillators(dataset: xr.Dataset, frequencies: Sequence[float], damping: float) -> Oscillators:
    """Return oscillators that lose this part of their amplitude in a unit of phase.

    ``dataset`` is a stationary one, with the single waiting time 0; its response sets damping and shift.
    """
    dt, omega = float(dataset.learning_rate), np.array([_checks.real("frequencies", x, above=0) for x in frequencies])
    R = dataset.response.values[:, 0].mean(axis=0)
    chi = dt * np.exp(1j * dt * np.outer(omega, np.arange(R.size))) @ R
    k = np.sqrt(2 * damping * omega * np.sin(omega * dt) / dt / chi.imag)
    return Oscillators(omega, k, (2 - 2 * np.cos(omega * dt)) / dt**2 + k**2 * chi.real)


def expected_reading(dataset: xr.Dataset, dials: Oscillators) -> Array:
    """Return the mean squared velocity of the oscillators at this coupling, by the integral above."""
    dt = float(dataset.learning_rate)
    C, R = (dataset[name].values[:, 0].mean(axis=0) for name in ("correlation", "response"))
    C = C - C[-1]
    theta = 2 * np.pi * np.arange(GRID) / GRID
    power, chi = 2 * np.fft.fft(C, GRID).real - C[0], dt * np.fft.fft(R, GRID).conj()
    force = np.sin(theta) ** 2 / dt**2 * np.maximum(power, 0)
    spring = (2 - 2 * np.cos(theta)) / dt**2
    pairs = zip(dials.coupling, dials.square, strict=True)
    return np.array([(k**2 * force / np.abs(own - spring - k**2 * chi) ** 2).mean() for k, own in pairs])


def read_temperature(
    problem: Problem,
    algorithm: PersistentSGD,
    learning_rate: float,
    dials: Oscillators,
    begin: Sequence[float],
    size: Size,
    seed: int = 0,
) -> Array:
    """Train networks with oscillators attached; return their mean squared velocity, (network, frequency).

    ``begin`` are temperatures at which the oscillators start, near the expected ones, so that they adjust sooner. The
    algorithm is SGD or persistent SGD, whose batch is a chain of two states, with the sum of the gradients.
    """
    streams = np.random.SeedSequence(seed).spawn(size.networks)
    energies = [
        _train(problem, algorithm, learning_rate, dials, np.asarray(begin, float), size, np.random.default_rng(stream))
        for stream in streams
    ]
    return np.array(energies)


def _train(
    problem: Problem,
    algorithm: PersistentSGD,
    dt: float,
    dials: Oscillators,
    begin: Array,
    size: Size,
    rng: np.random.Generator,
) -> Array:
    """Return the mean squared velocity of the oscillators of each frequency in one network."""
    own, k, square, heat = (np.repeat(values, size.each)[:, None] for values in (*dials, begin))
    samples, chain = round(problem.alpha * size.features), algorithm.sampling(dt)
    data = np.sqrt(problem.delta) * rng.standard_normal((samples, size.features)) + 1 / np.sqrt(size.features)
    data = (data / np.sqrt(size.features)).astype(np.float32)
    batch = rng.random((samples, size.copies)) < chain.batch
    start = np.sqrt(problem.init_variance) * rng.standard_normal((size.features, size.copies))
    w: NDArray[np.float32] = start.astype(np.float32)
    velocity, y = np.sqrt(heat) * rng.standard_normal((2, k.size, size.copies))
    y /= own
    rest, energy = np.zeros_like(y), np.zeros_like(y)
    warm, steps, first = (round(t / dt) for t in (WARM, size.duration, UNUSED * size.duration))
    stay, enter = np.float32(1 - chain.leave), np.float32(chain.enter)
    for step in range(-warm, steps):
        slope = batch * problem.loss.slope(data @ w, problem.margin)
        gradient = data.T @ slope.astype(np.float32) + np.float32(problem.ridge) * w
        if step < 0:
            # The mean of the weights, from which the oscillators feel deviations.
            rest += w[: k.size] * (step >= -warm // 2) / (warm - warm // 2)
        else:
            gradient[: k.size] -= k * y
            later = velocity + dt * (k * (w[: k.size] - rest) - square * y)
            y = y + dt * later
            energy += ((velocity + later) / 2) ** 2 * (step >= first) / (steps - first)
            velocity = later
        w -= np.float32(dt) * gradient
        batch = rng.random(batch.shape, dtype=np.float32) < np.where(batch, stay, enter)
    mean: Array = energy.reshape(dials.frequency.size, -1).mean(axis=1)
    return mean
