r"""Which runs have diverged, and why: such a run is never averaged into a figure.

Weights that pass :func:`norm_limit` grow without bound. Full-batch gradient
descent may also end in an oscillation of bounded size. Below its stability limit, 2 over the largest eigenvalue of the
Hessian, it decreases the loss at every step; therefore a full-batch run whose loss still rises in the second half of
its steps is over that limit, and counts as diverged too. This rule is never applied where batches change.

Full-batch descent with a ridge arrives. The loss is then strongly convex, and the distance to its minimum at most
:math:`|\nabla L|/\lambda`; where that has come down to the rounding of the weights, nothing can change any more, and
the run keeps what it has.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.divergence import norm_limit
from sgdnoise.simulation.plan import Plan

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A rise of the loss counts when it exceeds the rounding of float32 by far: this part of the loss, and this per feature.
RISE, RISE_FLOOR = 1e-5, 1e-10
RUNNING, STOPPED, ARRIVED, GROWN, RISING = range(5)
ROUNDING = 32  # in units of the last place of a number of order one


class Guard:
    """What became of every column (``state``) and the step at which that was found (``when``).

    ``seen`` is what :func:`judge` looks at, filled anew at every step: ``|w|^2/N``, the squared length of the gradient,
    and the loss of the batch (without ridge).
    """

    def __init__(self, plan: Plan) -> None:
        columns = plan.columns
        fractions = np.array([run.chain.batch for run in columns])
        self.steps = np.array([run.steps for run in columns])
        self.rates = np.array([run.rate for run in columns])
        self.state = np.zeros(len(columns), dtype=np.int64)
        self.when = np.zeros(len(columns), dtype=np.int64)
        self.norm, self.square, self.loss, self.previous = np.zeros((4, len(columns)))
        stop = -1.0 if plan.stop is None else plan.stop
        self.seen = (self.norm, self.square, self.loss)
        self.verdict = (self.state, self.when, self.previous)
        self.rule = (
            self.steps,
            fractions == 1.0,
            stop * fractions * plan.features,
            norm_limit(plan.problem),
            plan.problem.ridge,
            plan.features,
            (ROUNDING * float(np.finfo(plan.dtype).eps) * plan.problem.ridge) ** 2 * plan.features,
        )

    def alive(self, k: int) -> Mask:
        """Columns that take the step from ``k`` to ``k + 1``, or are about to be judged."""
        alive: Mask = (self.state == RUNNING) & (k < self.steps)
        return alive

    @property
    def lost(self) -> Mask:
        """Columns that have diverged."""
        return self.state >= GROWN

    def stopping_times(self) -> Array:
        """Time at which each column met the stopping rule, NaN if it did not."""
        return np.where(self.state == STOPPED, self.when * self.rates, np.nan)

    def sentence(self, c: int) -> str:
        """Why column ``c`` counts as diverged; nothing if it does not."""
        if self.state[c] < GROWN:
            return ""
        what = (
            f"the weights grew without bound and passed |w|^2/N = {self.norm[c]:.1e}"
            if self.state[c] == GROWN
            else "gradient descent does not settle, its loss still rises"
        )
        return (
            f"learning_rate must be smaller for this problem, got {self.rates[c]:g}: {what} at time "
            f"{self.when[c] * self.rates[c]:g}"
        )


@jit(nogil=True)
def judge(k: int, seen: Any, verdict: Any, rule: Any) -> int:
    """Decide which running columns have diverged or stopped at step ``k``; return how many go on."""
    norm, square, losses = seen
    state, when, previous = verdict
    steps, full, threshold, limit, ridge, features, rounding = rule
    going = 0
    for c in range(state.size):
        if state[c] != RUNNING or k > steps[c]:
            continue
        loss = losses[c] / features + 0.5 * ridge * norm[c]
        if not norm[c] <= limit:
            state[c] = GROWN
        elif k == steps[c]:
            continue
        elif full[c] and 2 * k > steps[c] and loss > (1 + RISE) * previous[c] + RISE_FLOOR:
            state[c] = RISING
        elif square[c] <= threshold[c]:
            state[c] = STOPPED
        elif full[c] and square[c] <= rounding:
            state[c] = ARRIVED
        else:
            going += 1
        when[c] = k
        previous[c] = loss
    return going
