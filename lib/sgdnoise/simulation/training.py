r"""The loop over steps: what is recorded, when a run stops, when it counts as diverged.

At step ``k`` the weights are :math:`w(k\,dt)` and the batch is :math:`s(k)`. In this order: waiting times are marked
and kicks applied, the batch is drawn, gradients are formed, the guard decides which columns go on, observables are
recorded, and the step is taken. Between two records many steps are taken in one compiled call.

The response of a kick at :math:`t_w` is :math:`R(t_w+dt, t_w) = 1` and its integral
:math:`\chi(t,t_w) = dt\sum_{t_w < t' \le t} R(t',t_w)`, estimated as the mean of :math:`\xi\cdot\delta w/N` over random
signs :math:`\xi`, for which the first value is exact.
"""

import math
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._lanes import Floating, padded
from sgdnoise.simulation import batches
from sgdnoise.simulation.feature_space import FeatureSpace
from sgdnoise.simulation.guard import Guard
from sgdnoise.simulation.normals import draw_data, fill_normal
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.record import Log, Trace
from sgdnoise.simulation.sample_space import SampleSpace
from sgdnoise.simulation.threefry import Keys, stream_key, words

Array = NDArray[np.float64]


class Cancelled(Exception):
    """Another thread asked for an end."""


class Streams(NamedTuple):
    """Keys of the random streams of one realisation; they do not depend on the algorithm."""

    data: Keys
    start: Keys
    batches: tuple[Keys, Keys]
    probes: Keys


def streams(sequence: np.random.SeedSequence) -> Streams:
    """Spawn the streams of one realisation: data, start, batches of replica 1 and 2, probes."""
    data, start, first, second, probes = (stream_key(child) for child in sequence.spawn(5))
    return Streams(data, start, (first, second), probes)


def draw_start(plan: Plan, key: Keys) -> Array:
    """Draw the weights at time zero, padded with zeros."""
    out: Array = np.zeros((1, padded(plan.features)))
    fill_normal(key, plan.features, out, scale=math.sqrt(plan.problem.init_variance))
    start: Array = out[0]
    return start


def draw_probes(plan: Plan, key: Keys) -> Array:
    """Draw random signs, (waiting times, probes made even by a zero one, padded features)."""
    times = len(plan.runs[0].waits)
    out = np.zeros((times, plan.probes + plan.probes % 2, padded(plan.features)))
    half = (plan.features + 1) // 2
    pair = np.empty(half, np.uint32), np.empty(half, np.uint32)
    for i in range(times):
        for j in range(plan.probes):
            with np.errstate(over="ignore"):  # words of the generator wrap around
                words(key[0], key[1], np.uint32(i * plan.probes + j), *pair)
            out[i, j, : plan.features] = 2.0 * (np.concatenate(pair)[: plan.features] >> 31) - 1.0
    return out


def train(
    plan: Plan, keys: Streams, data: Floating, tick: Callable[[int], None], cancel: threading.Event
) -> list[Trace]:
    """Draw one data set into ``data``, train all columns on it and return a trace for every run."""
    draw_data(plan.problem.delta, plan.features, keys.data, data)
    columns = plan.columns
    sampling = (
        np.array([keys.batches[c % plan.replicas] for c in range(len(columns))]),
        np.array([batches.thresholds(run.chain) for run in columns]),
    )
    guard = Guard(plan)
    space = (SampleSpace if plan.in_sample_space else FeatureSpace)(
        plan, data, draw_start(plan, keys.start), sampling, guard, draw_probes(plan, keys.probes)
    )
    log = Log(plan, space)
    k, kicks = 0, bool(plan.runs[0].waits)
    with np.errstate(over="ignore"):  # words of the random generator wrap around
        log.wait(0, guard.lost)
        space.look(0)
        while True:
            if cancel.is_set():
                raise Cancelled
            going = guard.alive(k)
            log.record(k, guard, everything=not going.any())
            if not going.any():
                return log.traces(guard)
            n = log.until_next(k)
            space.go(k, n, look=not kicks)
            tick(int(np.minimum(guard.steps[going] - k, n).sum()))
            k += n
            if kicks:  # between the step and the look
                log.wait(k, guard.lost)
                space.look(k)
