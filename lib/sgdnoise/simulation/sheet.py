"""The table in which observables are written down: whose turn it is, and the writing itself, for compiled loops."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._lanes import Floating
from sgdnoise.simulation.guard import GROWN, RUNNING
from sgdnoise.simulation.plan import Plan, record_steps

Array = NDArray[np.float64]
Steps = NDArray[np.int64]

NEVER = 2**62
NAMES = ["magnetization", "norm", "loss", "unsatisfied"]


class Sheet(NamedTuple):
    """Observables of all runs, and what has to be written next.

    Attributes
    ----------
    table : observables by their place in ``names``, (names, runs, replicas, recorded steps)
    values : what is written next, (names, runs, replicas)
    turns : of the runs: written down now, at rest, with their losses, (3, runs)
    place : where in the table each run is written next
    following : the step that is due after each one that is written down, (runs, recorded steps)
    due : next step at which a run is written down, or NEVER
    last : the last step of each run
    loss_every : losses are written down at multiples of this number of steps
    """

    table: Array
    values: Array
    turns: NDArray[np.bool_]
    place: Steps
    following: Steps
    due: Steps
    last: Steps
    loss_every: int


def new_sheet(plan: Plan) -> Sheet:
    """Return an empty one."""
    grids = [record_steps(run, plan.record_every) for run in plan.runs]
    names, runs, longest = len(observables(plan)), len(plan.runs), max(grid.size for grid in grids)
    following = np.full((runs, longest), NEVER)
    for row, grid in zip(following, grids, strict=True):
        row[: grid.size - 1] = grid[1:]
    return Sheet(
        table=np.full((names, runs, plan.replicas, longest), np.nan),
        values=np.empty((names, runs, plan.replicas)),
        turns=np.zeros((3, runs), dtype=bool),
        place=np.zeros(runs, dtype=np.int64),
        following=following,
        due=np.zeros(runs, dtype=np.int64),
        last=np.array([run.steps for run in plan.runs]),
        loss_every=plan.loss_every,
    )


def observables(plan: Plan) -> list[str]:
    """Names of what is recorded at every time."""
    return [*NAMES, "distance"] if plan.replicas == 2 else NAMES


@jit(nogil=True)
def take_turns(k: int, everything: bool, state: Steps, sheet: Sheet) -> int:
    """Find out of every run whether it is written down at step ``k``, is at rest, needs its loss; count the first."""
    many, replicas = 0, sheet.values.shape[2]
    for i in range(sheet.due.size):
        lost, resting = False, True
        for c in range(i * replicas, (i + 1) * replicas):
            lost |= state[c] >= GROWN
            resting &= state[c] != RUNNING
        now = not lost and (sheet.due[i] < NEVER if everything else sheet.due[i] == k)
        sheet.turns[0, i], sheet.turns[1, i] = now, resting
        sheet.turns[2, i] = now and (everything or resting or k % sheet.loss_every == 0 or sheet.last[i] == k)
        many += now
    return many


@jit(nogil=True)
def write(sheet: Sheet) -> None:
    """Write the values of the runs whose turn it is to the next place of the table; a run at rest needs no more."""
    names, runs, replicas = sheet.values.shape
    for i in range(runs):
        if sheet.turns[0, i]:
            at = sheet.place[i]
            for name in range(names):
                for r in range(replicas):
                    sheet.table[name, i, r, at] = sheet.values[name, i, r]
            sheet.place[i] = at + 1
            sheet.due[i] = NEVER if sheet.turns[1, i] else sheet.following[i, at]


@jit(fastmath={"reassoc", "contract"}, nogil=True)
def hinge_totals(h: Floating, kappa: float) -> tuple[float, float]:
    """Squared hinge summed over the samples, and the number of them below the margin."""
    total, count = 0.0, 0.0
    for mu in range(h.size):
        slope = min(np.float64(h[mu]) - kappa, 0.0)
        total += slope * slope
        count += slope < 0.0
    return 0.5 * total, count
