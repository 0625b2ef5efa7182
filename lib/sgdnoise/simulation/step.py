r"""Training on one data set: the loop over steps, and what it is given.

At step ``k`` the weights are :math:`w(k\,dt)` and the batch is :math:`s(k)`. In this order: waiting times are marked
and kicks applied, the batch is drawn, gradients are formed, the stopping rules decide which columns go on, observables
are recorded, and the step is taken.
"""

import math
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sgdnoise._jit import jit
from sgdnoise.parts import pick
from sgdnoise.random.batches import Batches, draw_batches, new_batches
from sgdnoise.random.normals import draw_data, fill_normal
from sgdnoise.random.threefry import Keys, stream_key, words
from sgdnoise.simulation.by_features import FeatureSpace, feature_space
from sgdnoise.simulation.by_samples import SampleSpace, sample_space
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.record import ALL, NOTHING, Log, Trace, due, new_log, next_due, record, traces
from sgdnoise.simulation.response import respond
from sgdnoise.simulation.state import Numbers, Objective, Start, Tangents, norm
from sgdnoise.simulation.stopping import RUNNING, Columns, Verdicts, judge, new_columns, new_verdicts
from sgdnoise.vectors.lanes import Floating, padded

MOST_STEPS, MOST_WORK = 100, 10**9  # steps and multiplications of one compiled call, which nothing can interrupt


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
    """Draw one data set into ``data``, train all columns on it and return a trace for every run."""
    draw_data(plan.problem.delta, plan.features, keys.data, data)
    start = draw_start(plan, keys)
    found: dict[int, Trace] = {}
    for chosen, part in plan.alike():
        found |= zip(chosen, _train(part, keys, data, start, tick, cancel), strict=True)
    return [found[i] for i in range(len(plan.runs))]


def _train(
    plan: Plan, keys: Streams, data: Floating, start: Start, tick: Callable[[int], None], cancel: threading.Event
) -> list[Trace]:
    problem, runs = plan.problem, plan.columns
    objective = Objective(problem.loss, plan.dtype(problem.margin), problem.ridge)  # type: ignore[arg-type]
    coordinates = sample_space if plan.in_sample_space else feature_space
    space, tangents, signal = coordinates(plan, data, start, objective)
    column_keys = np.array([keys.batches[c % plan.replicas] for c in range(len(runs))])
    batches = new_batches([run.sampling for run in runs], column_keys, plan.samples, plan.dtype)
    columns, log = new_columns(plan), new_log(plan, signal)
    verdicts = new_verdicts(columns)
    work = len(runs) * plan.samples * min(plan.samples, plan.features)
    most = max(1, min(MOST_STEPS, MOST_WORK // work))
    k = 0
    with np.errstate(over="ignore"):  # words of the random generator wrap around
        while k >= 0:
            if cancel.is_set():
                raise Cancelled
            before, running = k, verdicts.state == RUNNING
            k = advance(k, k + most, space, tangents if runs[0].waits else None, batches, columns, verdicts, log)
            after = k if k >= 0 else before + most
            tick(int(np.sum(np.clip(columns.steps[running], before, after) - before)))
    return traces(plan, columns, verdicts, log)


@jit(nogil=True)
def advance(
    first: int,
    last: int,
    space: FeatureSpace | SampleSpace,
    tangents: Tangents | None,
    batches: Batches,
    columns: Columns,
    verdicts: Verdicts,
    log: Log,
) -> int:
    """Take the steps from ``first`` to ``last``; return ``last``, or -1 when no column has a step left."""
    vectors, replicas, chosen = space.vectors, log.table.shape[2], np.empty(columns.steps.size, np.int64)
    for k in range(first, last):
        if tangents is not None:
            respond(k, vectors, tangents, columns, verdicts, log)
        n = 0
        for c in columns.order:
            if verdicts.state[c] == RUNNING and k < columns.steps[c]:
                chosen[n] = c
                n += 1
        draw_batches(k, chosen[:n], batches)
        if n > 0:
            space.gradients(k, chosen[:n], batches.weight, tangents)
        going = 0
        for c in columns.order:
            if verdicts.state[c] == RUNNING and k <= columns.steps[c]:
                verdicts.norm[c] = norm(c, vectors) / columns.features
                if columns.descends[c] and k < columns.steps[c]:
                    verdicts.loss[c] = space.loss(c)
                going += judge(k, c, vectors, columns, verdicts)
        for i in range(log.due.size):
            what = due(k, going == 0, i, verdicts, log)
            if what != NOTHING:
                record(k, i, vectors, tangents, log)
                if what == ALL:
                    for r in range(replicas):
                        space.record_loss(i * replicas + r, i, r, log.place[i], log)
                next_due(i, verdicts, log)
        if going == 0:
            space.settle(log)
            return -1
        for c in chosen[:n]:
            if verdicts.state[c] == RUNNING:
                space.descend(c, pick(columns.update, columns.updates, c), tangents)
    return last
