r"""Which runs have diverged, and why: such a run is never averaged into a figure.

Weights that pass :func:`norm_limit` grow without bound. Full-batch gradient
descent may also end in an oscillation of bounded size. Below its stability limit, 2 over the largest eigenvalue of the
Hessian, it decreases the loss at every step; therefore a full-batch run whose loss still rises in the second half of
its steps is over that limit, and counts as diverged too. This rule is never applied where batches change.
"""

import numpy as np
from numpy.typing import NDArray

from sgdnoise.problem import Problem
from sgdnoise.simulation.plan import Plan

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A rise of the loss counts when it exceeds the rounding of float32 by far: this part of the loss, and this per feature.
RISE, RISE_FLOOR = 1e-5, 1e-10


def norm_limit(problem: Problem) -> float:
    """A norm ``|w|^2/N`` that nothing in the data can ask for."""
    return 1e12 * (1 + problem.init_variance + problem.margin**2) * (1 + 1 / problem.delta)


class Guard:
    """Tells which columns have diverged; ``lost`` marks them and ``sentences`` says why."""

    def __init__(self, plan: Plan, fractions: Array, steps: NDArray[np.int64]) -> None:  # noqa: D107
        self.limit, self.ridge = norm_limit(plan.problem), plan.problem.ridge
        self.rates = np.array([run.rate for run in plan.columns])
        self.full, self.steps = fractions == 1.0, steps
        self.previous = np.full(fractions.size, np.inf)
        self.sentences = [""] * fractions.size
        self.lost = np.zeros(fractions.size, dtype=bool)

    def diverged(self, k: int, running: Mask, norm: Array, batch_loss: Array) -> Mask:
        """Return the running columns found to diverge at step ``k``; those before their end have a batch loss."""
        grown = running & ~(norm <= self.limit)
        watched = running & ~grown & self.full & (k < self.steps)
        loss = np.full(norm.size, np.inf)
        loss[watched] = batch_loss[watched] + 0.5 * self.ridge * norm[watched]
        rising = watched & (2 * k > self.steps) & (loss > (1 + RISE) * self.previous + RISE_FLOOR)
        self.previous = loss
        for c in np.flatnonzero(grown | rising):
            what = (
                f"the weights grew without bound and passed |w|^2/N = {norm[c]:.1e} at"
                if grown[c]
                else "gradient descent does not settle, its loss still rises at"
            )
            self.sentences[c] = (
                f"learning_rate must be smaller for this problem, got {self.rates[c]:g}: {what} time "
                f"{k * self.rates[c]:g}"
            )
        found: Mask = grown | rising
        self.lost |= found
        return found
