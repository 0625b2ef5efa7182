"""Dynamical mean-field theory: training in the limit of many features, solved by one causal pass or by iteration."""

from sgdnoise.dmft.solve import ConvergenceError, solve_dmft

__all__ = ["ConvergenceError", "solve_dmft"]
