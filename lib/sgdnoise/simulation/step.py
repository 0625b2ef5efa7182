r"""Training on one data set: the loop over steps, and what it is given.

At step ``k`` the weights are :math:`w(k\,dt)` and the batch is :math:`s(k)`, drawn some steps ahead. In this order:
waiting times are marked and kicks applied, gradients are formed, the stopping rules decide which columns go on,
observables are recorded, and the step is taken.
"""

import math
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.parts import pick
from sgdnoise.random.batches import Batches, draw_batches, new_batches
from sgdnoise.random.normals import draw_data, fill_normal, fill_rows, new_buffers
from sgdnoise.random.threefry import Keys, stream_key, words
from sgdnoise.simulation.by_features import FeatureSpace, feature_space
from sgdnoise.simulation.by_samples import SampleSpace, sample_space
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.record import Log, Trace, new_log, record, traces
from sgdnoise.simulation.response import respond
from sgdnoise.simulation.state import Numbers, Objective, Start, Tangents, norm
from sgdnoise.simulation.stopping import RUNNING, Columns, Verdicts, judge, new_columns, new_verdicts
from sgdnoise.vectors.lanes import Floating, padded


class Cancelled(Exception):
    """Another thread asked for an end."""


class Streams(NamedTuple):
    """Keys of the random streams of one realisation; they do not depend on the algorithm."""

    data: Keys
    start: Keys
    batches: tuple[Keys, Keys]
    probes: Keys
    noise: tuple[Keys, Keys]


def streams(sequence: np.random.SeedSequence) -> Streams:
    """Spawn the streams of one realisation: data, start, batches of replica 1 and 2, probes, noise of both."""
    data, start, first, second, probes, *noise = (stream_key(child) for child in sequence.spawn(7))
    return Streams(data, start, (first, second), probes, (noise[0], noise[1]))


class Random(NamedTuple):
    """What is random in some steps, drawn ahead: the loop over steps need not be compiled for each way to draw it.

    Attributes
    ----------
    weight : of the samples, (steps, columns, samples)
    noise : standard normals of white noise, (columns, steps, features); no features where there is no noise
    amplitude : of the noise of each column
    """

    weight: Floating
    noise: NDArray[np.float32]
    amplitude: Numbers


def new_random(plan: Plan) -> Random:
    """Return memory for what is random in the steps of one compiled call."""
    runs, most = plan.columns, plan.steps_at_once
    amplitude = np.array([run.noise for run in runs])
    features = plan.features if amplitude.any() else 0  # runs with noise and runs without are not trained together
    noise = np.empty((len(runs), most, features), np.float32)
    return Random(np.zeros((most, len(runs), plan.samples), plan.dtype), noise, amplitude)


def draw_start(plan: Plan, keys: Streams) -> Start:
    """Draw the weights at time zero, and random signs as probes."""
    weights: Numbers = np.zeros((1, padded(plan.features)))
    fill_normal(keys.start, plan.features, weights, scale=math.sqrt(plan.problem.init_variance))
    times, half = len(plan.runs[0].waits), (plan.features + 1) // 2
    probes = np.zeros((times, plan.probes + plan.probes % 2, padded(plan.features)))
    pair = np.empty(half, np.uint32), np.empty(half, np.uint32)
    for i in range(times):
        for j in range(plan.probes):
            with np.errstate(over="ignore"):  # words of the generator wrap around
                words(keys.probes[0], keys.probes[1], np.uint32(i * plan.probes + j), *pair)
            probes[i, j, : plan.features] = 2.0 * (np.concatenate(pair)[: plan.features] >> 31) - 1.0
    return Start(weights[0], probes)


def train(
    plan: Plan, keys: Streams, data: Floating, tick: Callable[[int], None], cancel: threading.Event
) -> list[Trace]:
    """Train all columns on one data set, given or drawn into ``data``, and return a trace for every run."""
    if plan.problem.data is None:
        draw_data(plan.problem.delta, plan.features, keys.data, data)
    start = draw_start(plan, keys)
    found: dict[int, Trace] = {}
    for chosen, some in plan.alike():
        found |= zip(chosen, _train(some, keys, data, start, tick, cancel), strict=True)
    return [found[i] for i in range(len(plan.runs))]


def _train(
    plan: Plan, keys: Streams, data: Floating, start: Start, tick: Callable[[int], None], cancel: threading.Event
) -> list[Trace]:
    problem, runs = plan.problem, plan.columns
    objective = Objective(problem.loss, plan.dtype(problem.margin), problem.ridge)  # type: ignore[arg-type]
    coordinates = sample_space if plan.in_sample_space else feature_space
    space, tangents, signals = coordinates(plan, data, start, objective)
    batches, most = new_batches_by_kind(plan, keys), plan.steps_at_once
    random, buffers = new_random(plan), new_buffers(plan.features)
    columns, log = new_columns(plan), new_log(plan, signals)
    verdicts = new_verdicts(columns)
    moved = tangents if runs[0].waits else None
    k = done = 0
    with np.errstate(over="ignore"):  # words of the random generator wrap around
        while k >= 0:
            if cancel.is_set():
                raise Cancelled
            for kind in batches:
                draw_steps(k, kind, columns, verdicts, random.weight)
            for c in range(len(runs) if random.noise.size else 0):
                key = keys.noise[c % plan.replicas]
                fill_rows(key, k, np.float32(0), np.float32(1), plan.features, buffers, random.noise[c])
            k = advance(k, k + most, space, moved, random, columns, verdicts, log)
            tick(verdicts.when.sum() - done)
            done = verdicts.when.sum()
    return traces(plan, columns, verdicts, log)


def new_batches_by_kind(plan: Plan, keys: Streams) -> list[Batches]:
    """Return the batches of the columns of each class of sampling process."""
    runs = plan.columns
    kinds: dict[type, list[int]] = {}
    for c in plan.neighbours:
        kinds.setdefault(type(runs[c].sampling), []).append(c)
    found = []
    for places in kinds.values():
        column_keys = np.array([keys.batches[c % plan.replicas] for c in places])
        found.append(new_batches([runs[c].sampling for c in places], column_keys, plan.samples, places))
    return found


@jit(nogil=True)
def draw_steps(first: int, batches: Batches, columns: Columns, verdicts: Verdicts, weight: Floating) -> None:
    """Draw batches of the steps from ``first`` on, as many as ``weight`` has."""
    places, chosen = batches.places, columns.chosen
    for i in range(weight.shape[0]):
        n = 0
        for j in range(places.size):
            if verdicts.state[places[j]] == RUNNING and first + i < columns.steps[places[j]]:
                chosen[n] = j
                n += 1
        draw_batches(first + i, chosen[:n], batches, weight[i])


@jit(nogil=True)
def advance(
    first: int,
    last: int,
    space: FeatureSpace | SampleSpace,
    tangents: Tangents | None,
    random: Random,
    columns: Columns,
    verdicts: Verdicts,
    log: Log,
) -> int:
    """Take the steps from ``first`` to ``last``; return ``last``, or -1 when no column has a step left."""
    vectors, chosen = space.vectors, columns.chosen
    for k in range(first, last):
        if tangents is not None:
            respond(k, vectors, tangents, columns, verdicts, log)
        n = 0
        for c in columns.order:
            if verdicts.state[c] == RUNNING and k < columns.steps[c]:
                chosen[n] = c
                n += 1
        if n > 0:
            space.gradients(k, chosen[:n], random.weight[k - first], tangents)
        going = 0
        for c in columns.order:
            if verdicts.state[c] == RUNNING and k <= columns.steps[c]:
                verdicts.norm[c] = norm(c, vectors) / columns.features
                if columns.descends[c] and k < columns.steps[c]:
                    verdicts.loss[c] = space.loss(c)
                going += judge(k, c, vectors, columns, verdicts)
        for i in range(log.due.size):
            record(k, going == 0, i, space, tangents, verdicts, log)
        if going == 0:
            space.record_pending(log)
            return -1
        for c in chosen[:n]:
            if verdicts.state[c] == RUNNING:
                for j in range(random.noise.shape[2]):
                    vectors.x_gradient[c, j] += random.amplitude[c] * random.noise[c, k - first, j]
                space.descend(c, pick(columns.update, columns.updates, c), tangents)
    return last
