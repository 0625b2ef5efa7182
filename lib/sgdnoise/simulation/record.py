"""What is written down during training, in compiled code, and how it becomes the trace of a run."""

import math
from typing import NamedTuple, Protocol

import numpy as np

from sgdnoise._jit import jit
from sgdnoise.simulation.plan import Plan, record_steps
from sgdnoise.simulation.state import Numbers, Objective, Rows, Tangents, Vectors, distance, norm
from sgdnoise.simulation.stopping import GROWN, RUNNING, Columns, Verdicts, sentence, stopping_times
from sgdnoise.vectors.lanes import Floating
from sgdnoise.vectors.rows import inner

NEVER = 2**62
NAMES = ["magnetization", "norm", "loss", "unsatisfied", "distance", "error"]
TWO_TIMES = ["correlation", "integrated_response"]


class Space(Protocol):
    """What the recorder needs of either space."""

    @property
    def vectors(self) -> Vectors:
        """Weights of all columns."""

    def record_loss(self, c: int, i: int, replica: int, at: int, log: "Log") -> None:
        """Record the loss of a column, now or later."""


class Log(NamedTuple):
    """Observables of all runs, and what is due next. Replicas of a run are neighbouring columns."""

    table: Numbers  # observables in the order of NAMES, then projections, (names, runs, replicas, recorded steps)
    two_times: Numbers  # in the order of TWO_TIMES, (2, runs, replicas, waiting times, recorded steps)
    response: Numbers  # integrated up to now, (columns, waiting times)
    waits: Rows  # steps of the waiting times, (runs, waiting times)
    probes: int
    place: Rows  # where in the table each run is written next
    due: Rows  # the step at which that is, or NEVER
    following: Rows  # the step that is due after each recorded one, (runs, recorded steps)
    last: Rows  # the last step of each run
    loss_every: int  # losses are written down at multiples of this number of steps
    samples: int
    features: int
    signals: Numbers  # y of the vector v, whose product with x is v.w, and of the directions


class Trace(NamedTuple):
    """What one run recorded on one data set: observables as means over its replicas, when each replica stopped."""

    observables: dict[str, Numbers]
    stopping_time: Numbers
    diverged: str


def new_log(plan: Plan, signals: Numbers) -> Log:
    """Return an empty one."""
    grids = [record_steps(run, plan.record_every) for run in plan.runs]
    runs, longest, waits = len(plan.runs), max(grid.size for grid in grids), len(plan.runs[0].waits)
    following = np.full((runs, longest), NEVER)
    for row, grid in zip(following, grids, strict=True):
        row[: grid.size - 1] = grid[1:]
    return Log(
        table=np.full((len(NAMES) + len(plan.directions), runs, plan.replicas, longest), np.nan),
        two_times=np.full((2, runs, plan.replicas, waits, longest), np.nan),
        response=np.zeros((len(plan.columns), waits)),
        waits=np.array([run.waits for run in plan.runs], dtype=np.int64).reshape(runs, waits),
        probes=plan.probes,
        place=np.zeros(runs, np.int64),
        due=np.zeros(runs, np.int64),
        following=following,
        last=np.array([run.steps for run in plan.runs]),
        loss_every=plan.loss_every,
        samples=plan.samples,
        features=plan.features,
        signals=signals,
    )


@jit(nogil=True)
def record(k: int, finish: bool, i: int, space: Space, tangents: Tangents | None, verdicts: Verdicts, log: Log) -> None:
    """Write down the observables of run ``i`` at step ``k`` if they are due; a run that diverged never is.

    To ``finish``, what is not complete is written down in any case. A run whose replicas have all stopped keeps its
    values from then on.
    """
    replicas, resting = log.table.shape[2], True
    for c in range(i * replicas, (i + 1) * replicas):
        resting &= verdicts.state[c] != RUNNING
        if verdicts.state[c] >= GROWN:
            return
    if log.due[i] == NEVER or (log.due[i] != k and not finish):
        return
    at = log.place[i]
    _write(k, i, at, space.vectors, tangents, log)
    if finish or resting or k % log.loss_every == 0 or log.last[i] == k:
        for replica in range(replicas):
            space.record_loss(i * replicas + replica, i, replica, at, log)
    log.due[i] = NEVER if resting else log.following[i, at]
    log.place[i] = at + 1


@jit(nogil=True)
def _write(k: int, i: int, at: int, vectors: Vectors, tangents: Tangents | None, log: Log) -> None:
    """Write down the observables of run ``i`` at step ``k``, except its losses."""
    replicas, waits = log.table.shape[2], log.waits.shape[1]
    for replica in range(replicas):
        c = i * replicas + replica
        log.table[0, i, replica, at] = inner(vectors.x[c], log.signals[0]) / log.features
        for j in range(1, log.signals.shape[0]):
            log.table[5 + j, i, replica, at] = inner(vectors.x[c], log.signals[j])
        log.table[1, i, replica, at] = norm(c, vectors) / log.features
        if replicas == 2:
            log.table[4, i, replica, at] = distance(2 * i, vectors) / math.sqrt(log.features)
        if tangents is not None:
            for j in range(waits):
                if k >= log.waits[i, j]:
                    log.two_times[0, i, replica, j, at] = (
                        inner(vectors.x[c], tangents.marks[c * waits + j]) / log.features
                    )
                    log.two_times[1, i, replica, j, at] = log.response[c, j]


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def write_loss(h: Floating, objective: Objective, i: int, replica: int, at: int, log: Log) -> None:
    """Write down loss and unsatisfied fraction, from the pre-activations of all samples and the norm in the table.

    Pre-activations of a test set come last: of its error, where zero is a guess.
    """
    total, below, wrong, margin = 0.0, 0.0, 0.0, np.float64(objective.margin)
    for sample in range(log.samples):
        total += objective.loss.value(np.float64(h[sample]), margin)
        below += np.float64(h[sample]) < margin
    log.table[2, i, replica, at] = total / log.features + 0.5 * objective.ridge * log.table[1, i, replica, at]
    log.table[3, i, replica, at] = below / log.samples
    if h.size > log.samples:
        for test in range(log.samples, h.size):
            wrong += 0.5 * (h[test] < 0) + 0.5 * (h[test] <= 0)
        log.table[5, i, replica, at] = wrong / (h.size - log.samples)


def traces(plan: Plan, columns: Columns, verdicts: Verdicts, log: Log) -> list[Trace]:
    """Average over replicas. After all its replicas have stopped a run keeps its values; if it diverged, none."""
    found = []
    stopped = stopping_times(columns, verdicts)
    # The model knows its error from magnetisation and norm; given data have no magnetisation.
    absent = {"error" if plan.problem.data is None else "magnetization", "distance" if plan.replicas == 1 else ""}
    for i, run in enumerate(plan.runs):
        part = range(i * plan.replicas, (i + 1) * plan.replicas)
        size = record_steps(run, plan.record_every).size
        table = {name: log.table[j, i, :, :size] for j, name in enumerate(NAMES) if name not in absent}
        if len(plan.directions):
            table["projection"] = log.table[len(NAMES) :, i, :, :size].swapaxes(0, 1)
        if run.waits:
            table |= {name: log.two_times[j, i, ..., :size] for j, name in enumerate(TWO_TIMES)}
        diverged = next(filter(None, (sentence(c, columns, verdicts) for c in part)), "")
        last = log.place[i] - 1
        for values in table.values():
            values[..., last + 1 :] = values[..., last : last + 1]
            if diverged:
                values[:] = np.nan
        averages = {name: values.mean(axis=0) for name, values in table.items()}
        found.append(Trace(averages, stopped[part.start : part.stop], diverged))
    return found
