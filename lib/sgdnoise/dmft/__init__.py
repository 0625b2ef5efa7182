"""Dynamical mean-field theory: training in the limit of many features, from its start or in its stationary state."""

from sgdnoise.dmft.solve import ConvergenceError, solve_dmft
from sgdnoise.dmft.stationary import solve_stationary

__all__ = ["ConvergenceError", "solve_dmft", "solve_stationary"]
