r"""How likely a random step from a point keeps linear constraints: orthant probabilities of Gaussian vectors.

A step :math:`\varepsilon g` with standard normal :math:`g` changes the slacks :math:`u=Aw-\kappa` of the constraints
by :math:`\varepsilon Ag`, a Gaussian vector with covariance :math:`\varepsilon^2AA^T`. The probability that all slacks
stay above zero is exponentially small in their number, so that it cannot be found by counting. The sampler of Geweke,
Hajivassiliou and Keane draws the components of :math:`Ag` one after the other, each from its normal law *given* that
its constraint is kept, and multiplies the probabilities of these conditions. The mean of the products is the
probability, without bias.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]


class Steps(NamedTuple):
    """Random steps that keep every constraint.

    Attributes
    ----------
    log_probability
        Logarithm of the probability that a step keeps all of them.
    changes
        What the drawn steps change each slack by, for a step of size one, (constraints, draws).
    weights
        How often each of them stands for a step that keeps the constraints; their sum is one.
    """

    log_probability: float
    changes: Array
    weights: Array


def allowed_steps(
    rows: ArrayLike, slack: ArrayLike, size: float, rng: np.random.Generator, *, draws: int = 1000
) -> Steps:
    """Return the probability that a random step keeps all constraints, and a sample of such steps.

    Parameters
    ----------
    rows
        Normals of the constraints, (constraints, features), linearly independent.
    slack
        By how much each is kept, (constraints,). Those at zero are tight.
    size
        Standard deviation of each component of the step. At 0, the limit of small steps, tight constraints alone
        matter: whatever is kept with room to spare must not be among the rows.
    rng
        Generator of random numbers.
    draws
        Number of steps.

    Examples
    --------
    With covariance one half between any two of n, the probability is 1/(n+1).

    >>> rows = np.linalg.cholesky(0.5 + 0.5 * np.eye(9))
    >>> steps = allowed_steps(rows, np.zeros(9), 0.0, np.random.default_rng(0), draws=20_000)
    >>> round(float(np.exp(steps.log_probability)), 3)
    0.1
    """
    matrix, room = np.asarray(rows, dtype=float), np.asarray(slack, dtype=float)
    order = np.argsort(room)  # the tightest first: later conditions then change little
    factor = np.linalg.cholesky(matrix[order] @ matrix[order].T)
    lowest = -room[order] / size if size > 0 else np.zeros(len(room))
    noise, log_weight = np.empty((len(room), draws)), np.zeros(draws)
    for i, row in enumerate(factor):
        # P(x >= bound) of a standard normal x, which is then drawn from that tail.
        chance: Any = ndtr((row[:i] @ noise[:i] - lowest[i]) / row[i])
        log_weight += np.log(chance)
        noise[i] = -ndtri(chance * (1.0 - rng.random(draws)))
    top = log_weight.max()
    weights = np.exp(log_weight - top)
    changes = np.empty_like(noise)
    changes[order] = factor @ noise
    return Steps(float(top + np.log(weights.mean())), changes, weights / weights.sum())
