"""What is written down during training, and how columns become the trace of a run."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._lanes import Floating
from sgdnoise.losses import squared_hinge
from sgdnoise.simulation.feature_space import FeatureSpace
from sgdnoise.simulation.guard import RUNNING, Guard
from sgdnoise.simulation.plan import Plan, record_steps
from sgdnoise.simulation.sample_space import SampleSpace

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_STEPS = 100  # in one compiled call, which nothing can interrupt
NEVER = 2**62
NAMES = ["magnetization", "norm", "loss", "unsatisfied"]
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
        runs, waits, longest = len(plan.runs), len(plan.runs[0].waits), max(grid.size for grid in self.grids)
        self.names = [*NAMES, "distance"] if plan.replicas == 2 else NAMES
        self.table = np.full((len(self.names), runs, plan.replicas, longest), np.nan)
        self.two_times = np.full((2, runs, plan.replicas, waits, longest), np.nan)
        self.values = np.empty((len(self.names), runs, plan.replicas))  # what is written next
        self.place = np.zeros(runs, dtype=np.int64)
        self.following = np.full((runs, longest), NEVER)  # the step that is due after each one that is written down
        for following, grid in zip(self.following, self.grids, strict=True):
            following[: grid.size - 1] = grid[1:]
        self.due = np.zeros(len(plan.runs), dtype=np.int64)  # next step at which a run is written down, or NEVER
        self.last = np.array([run.steps for run in plan.runs])
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
        events = [wait for run in self.plan.runs for wait in run.waits] + self.due.tolist()
        return min([MOST_STEPS, *(event - k for event in events if event > k)])

    def record(self, k: int, guard: Guard, everything: bool) -> None:
        """Write down the runs whose turn it is at step ``k``, or all that are not complete; diverged ones never."""
        due = (self.due < NEVER if everything else self.due == k) & ~self._by_run(guard.lost).any(axis=1)
        if not due.any():
            return
        resting: Mask = np.all(self._by_run(guard.state != RUNNING), axis=1)
        full = due if everything or k % self.plan.loss_every == 0 else due & ((self.last == k) | resting)
        values = self.values
        values[0] = self._by_run(self.space.magnetization())
        values[1] = self._by_run(guard.norm)
        loss, unsatisfied = self._losses(np.repeat(full, self.plan.replicas), guard.norm)
        values[2], values[3] = self._by_run(loss), self._by_run(unsatisfied)
        if self.plan.replicas == 2:
            values[4] = np.sqrt(self.space.square_distances())[:, None]
        runs = np.flatnonzero(due)
        at = self.place[runs]
        self.table[:, runs, :, at] = values[:, runs].transpose(1, 0, 2)
        for i in runs.tolist():
            self._write_two_times(i, k, self.place[i])
        self.place[runs] += 1
        self.due[runs] = np.where(resting[runs], NEVER, self.following[runs, at])

    def traces(self, guard: Guard) -> list[Trace]:
        """Average over replicas. After all its replicas have stopped a run keeps its values; if it diverged, none."""
        traces = []
        stopped = guard.stopping_times()
        for i, grid in enumerate(self.grids):
            part = self._part(i)
            diverged = next(filter(None, map(guard.sentence, range(part.start, part.stop))), "")
            table = dict(zip(self.names, self.table[:, i, :, : grid.size], strict=True))
            if self.plan.runs[i].waits:
                table |= dict(zip(TWO_TIMES, self.two_times[:, i, ..., : grid.size], strict=True))
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

    def _by_run(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the columns, (runs, replicas)."""
        return values.reshape(-1, self.plan.replicas)

    def _write_two_times(self, i: int, k: int, at: int) -> None:
        part = self._part(i)
        for j, wait in enumerate(self.plan.runs[i].waits):
            if k >= wait:
                for r, c in enumerate(range(part.start, part.stop)):
                    self.two_times[:, i, r, j, at] = self.space.overlap(c, j), self.chi[c, j]

    def _losses(self, wanted: Mask, norm: Array) -> tuple[Array, Array]:
        """Loss and unsatisfied fraction of the columns that are wanted, NaN for the others."""
        loss, unsatisfied = np.full((2, norm.size), np.nan)
        columns = np.flatnonzero(wanted)
        if columns.size == 0:
            return loss, unsatisfied
        problem, samples = self.plan.problem, self.plan.samples
        h = self.space.preactivations(wanted)
        if problem.loss is squared_hinge:
            _hinge_totals(h, columns, samples, problem.margin, loss, unsatisfied)
        else:
            chosen = h[columns, :samples]
            loss[columns] = np.sum(problem.loss.value(chosen, problem.margin), axis=1, dtype=np.float64)
            unsatisfied[columns] = np.count_nonzero(chosen < problem.margin, axis=1)
        return loss / self.plan.features + 0.5 * problem.ridge * norm, unsatisfied / samples


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def _hinge_totals(
    H: Floating, columns: NDArray[np.int64], samples: int, kappa: float, loss: Array, unsatisfied: Array
) -> None:
    """Squared hinge summed over the samples, and the number of them below the margin, of the chosen columns."""
    for c in columns:
        total, count = 0.0, 0.0
        for mu in range(samples):
            slope = min(np.float64(H[c, mu]) - kappa, 0.0)
            total += slope * slope
            count += slope < 0.0
        loss[c], unsatisfied[c] = 0.5 * total, count
