"""What is written down during training, and how columns become the trace of a run."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise.simulation.feature_space import FeatureSpace
from sgdnoise.simulation.guard import RUNNING, Guard
from sgdnoise.simulation.plan import Plan, record_steps
from sgdnoise.simulation.sample_space import SampleSpace

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_STEPS = 100  # in one compiled call, which nothing can interrupt


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
        self.tables = [self._table(len(run.waits), grid.size) for run, grid in zip(plan.runs, self.grids, strict=True)]
        self.place = [0] * len(plan.runs)
        self.complete = [False] * len(plan.runs)  # all replicas rest, and what they came to is written down
        self.chi = np.zeros((len(self.columns), len(plan.runs[0].waits)))

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
        """Steps from ``k`` to the next one at which something is recorded, marked or integrated."""
        if any(wait <= k < run.steps for run in self.plan.runs for wait in run.waits):
            return 1
        events = [wait for run in self.plan.runs for wait in run.waits if wait > k]
        events += [
            int(grid[place])
            for grid, place, complete in zip(self.grids, self.place, self.complete, strict=True)
            if place < grid.size and not complete
        ]
        return min([MOST_STEPS, *(event - k for event in events if event > k)])

    def record(self, k: int, guard: Guard, everything: bool) -> None:
        """Write down the runs whose turn it is at step ``k``, or all that are not complete; diverged ones never."""
        due = [
            i
            for i, grid in enumerate(self.grids)
            if self.place[i] < grid.size
            and not self.complete[i]
            and (everything or grid[self.place[i]] == k)
            and not guard.lost[self._part(i)].any()
        ]
        if not due:
            return
        running = guard.state == RUNNING
        full = [
            i
            for i in due
            if everything
            or k % self.plan.loss_every == 0
            or k == self.plan.runs[i].steps
            or not running[self._part(i)].any()
        ]
        losses = self._losses(full, guard.norm)
        magnetization = self.space.magnetization()
        for i in due:
            self._write(i, k, magnetization, guard.norm, losses)
            self.place[i] += 1
            self.complete[i] = not running[self._part(i)].any()

    def traces(self, guard: Guard) -> list[Trace]:
        """Average over replicas. After all its replicas have stopped a run keeps its values; if it diverged, none."""
        traces = []
        stopped = guard.stopping_times()
        for i, table in enumerate(self.tables):
            part = self._part(i)
            diverged = next(filter(None, map(guard.sentence, range(part.start, part.stop))), "")
            last = self.place[i] - 1
            for values in table.values():
                values[..., last + 1 :] = np.nan if diverged else values[..., last : last + 1]
                if diverged:
                    values[:] = np.nan
            averages = {name: values.mean(axis=0) for name, values in table.items()}
            traces.append(Trace(averages, stopped[part], diverged))
        return traces

    def _part(self, i: int) -> slice:
        return slice(i * self.plan.replicas, (i + 1) * self.plan.replicas)

    def _table(self, waits: int, size: int) -> dict[str, Array]:
        replicas = self.plan.replicas
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
            ("magnetization", "norm", "loss", "unsatisfied"), (replicas, size)
        )
        if replicas == 2:
            shapes["distance"] = (1, size)
        if waits:
            shapes |= dict.fromkeys(("correlation", "integrated_response"), (replicas, waits, size))
        return {name: np.full(shape, np.nan) for name, shape in shapes.items()}

    def _write(self, i: int, k: int, magnetization: Array, norm: Array, losses: dict[int, tuple[float, float]]) -> None:
        table, at, part = self.tables[i], self.place[i], self._part(i)
        table["magnetization"][:, at], table["norm"][:, at] = magnetization[part], norm[part]
        if self.plan.replicas == 2:
            table["distance"][0, at] = np.sqrt(self.space.square_distance(part.start, part.start + 1))
        for r, c in enumerate(range(part.start, part.stop)):
            if c in losses:
                table["loss"][r, at], table["unsatisfied"][r, at] = losses[c]
            for j, wait in enumerate(self.plan.runs[i].waits):
                if k >= wait:
                    table["correlation"][r, j, at] = self.space.overlap(c, j)
                    table["integrated_response"][r, j, at] = self.chi[c, j]

    def _losses(self, runs: list[int], norm: Array) -> dict[int, tuple[float, float]]:
        """Loss and unsatisfied fraction of the columns of these runs."""
        columns = [c for i in runs for c in range(self._part(i).start, self._part(i).stop)]
        if not columns:
            return {}
        wanted = np.zeros(norm.size, dtype=bool)
        wanted[columns] = True
        problem, plan = self.plan.problem, self.plan
        h = self.space.preactivations(wanted)[columns]
        data = np.sum(problem.loss.value(h, problem.margin), axis=1, dtype=np.float64) / plan.features
        unsatisfied = np.count_nonzero(h < problem.margin, axis=1) / plan.samples
        loss = data + 0.5 * problem.ridge * norm[columns]
        return dict(zip(columns, zip(loss.tolist(), unsatisfied.tolist(), strict=True), strict=True))
