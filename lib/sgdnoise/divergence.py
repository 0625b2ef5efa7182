"""When a run has left every scale of its problem, in simulation and in theory."""

from sgdnoise.problem import Problem


class DivergedError(ArithmeticError):
    """The learning rate is too large for this problem: the weights grow without bound or never settle."""


def norm_limit(problem: Problem) -> float:
    """A norm ``|w|^2/N`` that nothing in the data can ask for."""
    return 1e12 * (1 + problem.init_variance + problem.margin**2) * (1 + 1 / problem.delta)
