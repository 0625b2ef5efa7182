r"""Which runs have stopped or diverged, and why. A diverged run never enters an average.

Weights that pass :func:`norm_limit` grow without bound. Full-batch gradient descent may also end in an oscillation of
bounded size. Below its stability limit, 2 over the largest eigenvalue of the Hessian, it decreases the loss at every
step; therefore a full-batch run whose loss still rises in the second half of its steps is over that limit, and counts
as diverged too. This rule is applied to full batches without momentum only.

Full-batch descent with a ridge arrives. The loss is then strongly convex, and the distance to its minimum at most
:math:`|\nabla L|/\lambda`; where that has come down to the rounding of the weights, nothing can change any more, and
the run keeps what it has.
"""

from typing import NamedTuple

import numpy as np

from sgdnoise._jit import jit
from sgdnoise.algorithms import Update
from sgdnoise.divergence import norm_limit
from sgdnoise.simulation.plan import Plan
from sgdnoise.simulation.state import Flags, Numbers, Rows, Vectors, square_gradient

# A rise of the loss counts when it exceeds the rounding of float32 by far: this part of the loss, and this per feature.
RISE, RISE_FLOOR = 1e-5, 1e-10
RUNNING, STOPPED, ARRIVED, GROWN, RISING = range(5)
ROUNDING = 32  # in units of the last place of a number of order one


class Columns(NamedTuple):
    """What every column does, and the rules that end it."""

    order: Rows  # neighbours have many batch rows in common
    steps: Rows
    rates: Numbers
    update: Update  # any record of the update rule, which tells its class
    updates: Numbers  # fields of the record of each column
    descends: Flags  # full batches without momentum: the loss must not rise, and the run may arrive
    stop: Numbers  # squared gradient at which a column stops; negative where it never does
    arrived: float  # squared gradient at which descent has arrived
    limit: float  # of the norm
    ridge: float
    features: int
    chosen: Rows  # memory for the numbers of those that take a step


class Verdicts(NamedTuple):
    """What became of every column, the step at which that was found, and what was seen then."""

    state: Rows
    when: Rows
    norm: Numbers  # |w|^2/N
    loss: Numbers  # of full batches, without ridge
    previous: Numbers  # loss per feature at the step before


def new_columns(plan: Plan) -> Columns:
    """Return the rules of a plan."""
    runs, problem = plan.columns, plan.problem
    # The rule is that of a summed gradient, whatever the weights of the samples in a batch.
    units = np.array([run.algorithm.mean_weight**2 / run.algorithm.batch for run in runs])
    arrived = ROUNDING * float(np.finfo(plan.dtype).eps) * problem.ridge
    return Columns(
        order=plan.neighbours,
        steps=np.array([run.steps for run in runs]),
        rates=np.array([run.rate for run in runs]),
        update=runs[0].update,
        updates=np.array([list(run.update) for run in runs], dtype=np.float64),  # type: ignore[call-overload]
        descends=np.array([run.quiet and run.algorithm.momentum == 0 for run in runs]),
        stop=(-1.0 if plan.stop is None else plan.stop) * units * plan.features,
        # A response keeps changing after the weights have converged, and needs their gradients.
        arrived=arrived**2 * plan.features if not runs[0].waits else -1.0,
        limit=norm_limit(problem),
        ridge=problem.ridge,
        features=plan.features,
        chosen=np.zeros(len(runs), np.int64),
    )


def new_verdicts(columns: Columns) -> Verdicts:
    """All columns run."""
    count = columns.steps.size
    return Verdicts(np.zeros(count, np.int64), np.zeros(count, np.int64), *np.zeros((3, count)))


@jit(nogil=True)
def judge(k: int, c: int, vectors: Vectors, columns: Columns, verdicts: Verdicts) -> bool:
    """Decide what becomes of a running column at step ``k``; return whether it goes on."""
    square = np.inf
    if k < columns.steps[c] and (columns.stop[c] >= 0 or columns.descends[c]):
        square = square_gradient(c, columns.ridge, vectors)
    loss = verdicts.loss[c] / columns.features + 0.5 * columns.ridge * verdicts.norm[c]
    previous, verdicts.previous[c] = verdicts.previous[c], loss
    verdicts.when[c] = k
    if not verdicts.norm[c] <= columns.limit:
        verdicts.state[c] = GROWN
    elif k == columns.steps[c]:
        return False
    elif columns.descends[c] and 2 * k > columns.steps[c] and loss > (1 + RISE) * previous + RISE_FLOOR:
        verdicts.state[c] = RISING
    elif square <= columns.stop[c]:
        verdicts.state[c] = STOPPED
    elif columns.descends[c] and square <= columns.arrived:
        verdicts.state[c] = ARRIVED
    return bool(verdicts.state[c] == RUNNING)


def stopping_times(columns: Columns, verdicts: Verdicts) -> Numbers:
    """Time at which each column met the stopping rule, NaN if it did not."""
    return np.where(verdicts.state == STOPPED, verdicts.when * columns.rates, np.nan)


def sentence(c: int, columns: Columns, verdicts: Verdicts) -> str:
    """Why column ``c`` counts as diverged; nothing if it does not."""
    if verdicts.state[c] < GROWN:
        return ""
    what = (
        f"the weights grew without bound and passed |w|^2/N = {verdicts.norm[c]:.1e}"
        if verdicts.state[c] == GROWN
        else "gradient descent does not settle, its loss still rises"
    )
    return (
        f"learning_rate must be smaller for this problem, got {columns.rates[c]:g}: {what} at time "
        f"{verdicts.when[c] * columns.rates[c]:g}"
    )
