"""The effective noise of stochastic gradient descent, by theory and by simulation.

>>> import sgdnoise as sn
>>> problem = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
>>> run = sn.simulate(problem, sn.SGD(batch=0.1), learning_rate=0.1, duration=1.0, features=100, realisations=4)
>>> run.error.mean("realisation").shape
(11,)
"""

from sgdnoise.algorithms import GD, SGD, PersistentSGD
from sgdnoise.losses import Loss, logistic, square, squared_hinge
from sgdnoise.problem import Problem
from sgdnoise.simulate import DivergedError, simulate, simulate_paired

__all__ = [
    "GD",
    "SGD",
    "DivergedError",
    "Loss",
    "PersistentSGD",
    "Problem",
    "__version__",
    "logistic",
    "simulate",
    "simulate_paired",
    "square",
    "squared_hinge",
]

__version__ = "0.1.0"
