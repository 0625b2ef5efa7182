"""The effective noise of stochastic gradient descent, by theory and by simulation.

>>> import sgdnoise as sn
>>> problem = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
>>> size = {"features": 100, "realisations": 4}
>>> run = sn.simulate(problem, sn.SGD(batch=0.1), 0.1, duration=1.0, **size)
>>> run.error.mean("realisation").shape
(11,)
"""

from sgdnoise.algorithms import GD, SGD, Algorithm, GaussianSGD, Langevin, PersistentSGD, ShuffledSGD
from sgdnoise.divergence import DivergedError
from sgdnoise.dmft import ConvergenceError, solve_dmft, solve_stationary
from sgdnoise.empirical import EmpiricalSpectrum
from sgdnoise.fdt import NotStationaryError, TemperatureError, fdt_curve
from sgdnoise.frequency import frequency_temperature
from sgdnoise.linear_response import linear_response
from sgdnoise.losses import Loss, logistic, loss, square, squared_hinge
from sgdnoise.problem import Problem
from sgdnoise.random.batches import Covariance, sampling
from sgdnoise.simulation.simulate import simulate, simulate_paired
from sgdnoise.spectrum import Spectrum, hessian_spectrum
from sgdnoise.statics import Statics, critical_alpha, solve_statics
from sgdnoise.sweep import Store, SweepError, sweep
from sgdnoise.temperature import NoPlateauError, Temperature, effective_temperature, local_temperature, tail_slopes

__all__ = [
    "GD",
    "SGD",
    "Algorithm",
    "ConvergenceError",
    "Covariance",
    "DivergedError",
    "EmpiricalSpectrum",
    "GaussianSGD",
    "Langevin",
    "Loss",
    "NoPlateauError",
    "NotStationaryError",
    "PersistentSGD",
    "Problem",
    "ShuffledSGD",
    "Spectrum",
    "Statics",
    "Store",
    "SweepError",
    "Temperature",
    "TemperatureError",
    "__version__",
    "critical_alpha",
    "effective_temperature",
    "fdt_curve",
    "frequency_temperature",
    "hessian_spectrum",
    "linear_response",
    "local_temperature",
    "logistic",
    "loss",
    "sampling",
    "simulate",
    "simulate_paired",
    "solve_dmft",
    "solve_statics",
    "solve_stationary",
    "square",
    "squared_hinge",
    "sweep",
    "tail_slopes",
]

__version__ = "0.1.0"
