"""What is written down during training, and how columns become the trace of a run."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._lanes import Floating
from sgdnoise.losses import squared_hinge
from sgdnoise.simulation.feature_space import FeatureSpace
from sgdnoise.simulation.guard import Guard
from sgdnoise.simulation.plan import TOGETHER, Plan, record_steps
from sgdnoise.simulation.sample_space import SampleSpace
from sgdnoise.simulation.sheet import hinge_totals, new_sheet, observables, take_turns, write

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_STEPS, MOST_WORK = 100, 10**10  # steps and multiplications of one compiled call, which nothing can interrupt
TWO_TIMES = ["correlation", "integrated_response"]


class Trace(NamedTuple):
    """What one run recorded on one data set: observables as means over its replicas, when each replica stopped."""

    observables: dict[str, Array]
    stopping_time: Array
    diverged: str


class Log:
    """Records every column; replicas of a run are neighbouring columns."""

    def __init__(self, plan: Plan, space: FeatureSpace | SampleSpace) -> None:
        self.plan, self.space, self.columns = plan, space, plan.columns
        self.grids = [record_steps(run, plan.record_every) for run in plan.runs]
        self.names, self.sheet = observables(plan), new_sheet(plan)
        waits = len(plan.runs[0].waits)
        self.two_times = np.full((2, len(plan.runs), plan.replicas, waits, self.sheet.table.shape[-1]), np.nan)
        self.later: list[tuple[Any, Floating, Array]] = []  # places in the table, weights and norms of postponed losses
        self.chi = np.zeros((len(self.columns), waits))
        self.compiled = isinstance(space, SampleSpace) and space.fused and not waits
        if isinstance(space, SampleSpace):
            space.sheet = self.sheet
        work = len(self.columns) * plan.samples * min(plan.samples, plan.features)
        self.most_steps: int = max(1, min(MOST_STEPS, MOST_WORK // work))

    def wait(self, k: int, frozen: Mask) -> None:
        """Mark waiting times, apply kicks and integrate the response up to step ``k``."""
        for c, run in enumerate(self.columns):
            for i, wait in enumerate(run.waits):
                if frozen[c] or not wait <= k <= run.steps:
                    continue
                if k == wait:
                    self.space.mark(c, i)
                elif k == wait + 1:
                    self.space.kick(c, i)
                if k > wait:
                    self.chi[c, i] += run.rate * self.space.response(c, i, self.plan.probes)

    def until_next(self, k: int) -> int:
        """Steps from ``k`` to the next one at which something is left for us to record, mark or integrate."""
        if self.compiled:
            return self.most_steps
        if any(wait <= k < run.steps for run in self.plan.runs for wait in run.waits):
            return 1
        events: list[int] = [wait for run in self.plan.runs for wait in run.waits] + self.sheet.due.tolist()
        return min([self.most_steps, *(event - k for event in events if event > k)])

    def record(self, k: int, guard: Guard, everything: bool) -> None:
        """Write down the runs whose turn it is at step ``k``, or all that are not complete; diverged ones never."""
        plan, space, sheet, values = self.plan, self.space, self.sheet, self.sheet.values
        if not take_turns(k, everything, guard.state, sheet):
            return
        if self.compiled and isinstance(space, SampleSpace):
            space.write_down()
            return
        values[0] = self._by_run(space.magnetization())
        values[1] = self._by_run(guard.norm)
        values[2:4] = np.nan
        wanted = np.repeat(sheet.turns[2], plan.replicas)
        known = np.flatnonzero(wanted & space.known)
        if known.size:
            values[2:4].reshape(2, -1)[:, known] = self._losses(space.h, known, guard.norm[known])
        if plan.replicas == 2:
            values[4] = np.sqrt(space.square_distances())[:, None]
        if self.plan.runs[0].waits:
            for i in np.flatnonzero(sheet.turns[0]).tolist():
                self._write_two_times(i, k, sheet.place[i])
        self._postpone(np.flatnonzero(wanted & ~space.known), guard.norm)
        write(sheet)
        if sum(norm.size for _, _, norm in self.later) >= TOGETHER:
            self._settle()

    def traces(self, guard: Guard) -> list[Trace]:
        """Average over replicas. After all its replicas have stopped a run keeps its values; if it diverged, none."""
        self._settle()
        traces = []
        stopped = guard.stopping_times()
        for i, grid in enumerate(self.grids):
            part = self._part(i)
            diverged = next(filter(None, map(guard.sentence, range(part.start, part.stop))), "")
            table = dict(zip(self.names, self.sheet.table[:, i, :, : grid.size], strict=True))
            if self.plan.runs[i].waits:
                table |= dict(zip(TWO_TIMES, self.two_times[:, i, ..., : grid.size], strict=True))
            last = self.sheet.place[i] - 1
            for values in table.values():
                values[..., last + 1 :] = np.nan if diverged else values[..., last : last + 1]
                if diverged:
                    values[:] = np.nan
            averages = {name: values.mean(axis=0) for name, values in table.items()}
            traces.append(Trace(averages, stopped[part], diverged))
        return traces

    def _part(self, i: int) -> slice:
        return slice(i * self.plan.replicas, (i + 1) * self.plan.replicas)

    def _by_run(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the columns, (runs, replicas)."""
        return values.reshape(-1, self.plan.replicas)

    def _write_two_times(self, i: int, k: int, at: int) -> None:
        part = self._part(i)
        for j, wait in enumerate(self.plan.runs[i].waits):
            if k >= wait:
                for r, c in enumerate(range(part.start, part.stop)):
                    self.two_times[:, i, r, j, at] = self.space.overlap(c, j), self.chi[c, j]

    def _postpone(self, columns: NDArray[np.int64], norm: Array) -> None:
        """Keep the weights of columns whose losses are to be worked out later, together with others."""
        if columns.size == 0 or not isinstance(self.space, FeatureSpace):  # in sample space all are known
            return
        runs, replicas = np.divmod(columns, self.plan.replicas)
        self.later.append(((runs, replicas, self.sheet.place[runs]), self.space.weights_of(columns), norm[columns]))

    def _settle(self) -> None:
        """Work out the losses that were postponed: one pass over the data for all."""
        if not self.later or not isinstance(self.space, FeatureSpace):
            return
        places, weights, norms = zip(*self.later, strict=True)
        self.later.clear()
        norm = np.concatenate(norms)
        found = self._losses(self.space.project(np.concatenate(weights)), np.arange(norm.size), norm)
        runs, replicas, at = np.concatenate(places, axis=1)
        self.sheet.table[2:4, runs, replicas, at] = found

    def _losses(self, H: Floating, rows: NDArray[np.int64], norm: Array) -> Array:
        """Loss and unsatisfied fraction, (2, rows), from these rows of pre-activations, where the norms are given."""
        problem, samples = self.plan.problem, self.plan.samples
        out = np.empty((2, rows.size))
        if problem.loss is squared_hinge:
            out[:] = np.array([hinge_totals(H[c, :samples], problem.margin) for c in rows]).T
        else:
            chosen = H[rows, :samples]
            out[0] = np.sum(problem.loss.value(chosen, problem.margin), axis=1, dtype=np.float64)
            out[1] = np.count_nonzero(chosen < problem.margin, axis=1)
        out[0] = out[0] / self.plan.features + 0.5 * problem.ridge * norm
        out[1] /= samples
        return out
