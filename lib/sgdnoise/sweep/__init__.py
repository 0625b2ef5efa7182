"""Sweeps: a function over a grid of parameters, its results kept in a store under keys of all that they depend on."""

from sgdnoise.sweep.run import SweepError, sweep
from sgdnoise.sweep.store import Store

__all__ = ["Store", "SweepError", "sweep"]
