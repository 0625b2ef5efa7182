r"""The state of the weights: magnetization, propagator and correlation, grown by one row a step."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise.algorithms import Update
from sgdnoise.divergence import DivergedError, norm_limit
from sgdnoise.dmft import triangles
from sgdnoise.dmft.population import Averages
from sgdnoise.problem import Problem
from sgdnoise.vectors.lanes import pitch

Array = NDArray[np.float64]


class Rule(NamedTuple):
    """How the weights move: update rule, learning rate, and white noise on the gradient of each weight."""

    update: Update
    dt: float
    noise: float = 0.0


class Weights:
    r"""Solution of the equations of the weights up to some time.

    Attributes
    ----------
    m
        Magnetization, shape (steps+1,).
    G
        Propagator, shape (steps+1, at least steps+1), zero where a push comes later than the time it is felt; the
        response is :math:`R(t,t')=G(t,t'+1)`.
    L
        Factors of the correlation without its part :math:`mm^T`, shape (layers, steps+1, steps+1): of :math:`C` for one
        replica, of :math:`C_\pm=C_{11}\pm C_{12}` for two.
    repairs
        Number of times that the covariance of the noise was not positive.
    """

    def __init__(self, problem: Problem, rule: Rule, steps: int, replicas: int) -> None:
        """Start at time zero, with zero velocity."""
        self.problem, self.rule, self.dt = problem, rule, rule.dt
        # Two replicas start at the same point: their sum over sqrt(2) has twice the variance, their difference none.
        self.start = np.sqrt(problem.init_variance * np.array([1.0] if replicas == 1 else [2.0, 0.0]))
        self.m = np.zeros(steps + 1)
        self.m_velocity = 0.0
        self.velocity = np.zeros(steps + 1)
        self.G = np.zeros((steps + 1, pitch(steps + 1, np.float64)))
        self.L = np.zeros((replicas, steps + 1, steps + 1))
        self.Lambda = np.zeros((replicas, steps, steps))
        self.G[0, 0] = 1.0
        self.L[:, 0, 0] = self.start
        self.repairs = 0

    def step(self, t: int, averages: Averages) -> None:
        """Go from ``t`` to ``t+1`` with the averages over paths at ``t``."""
        mu, M, scale, Gamma = averages
        M = M.copy()
        M[:, t] += self.rule.noise**2  # independent in two replicas, so it is the same in their sum and difference
        self.m[t + 1], self.m_velocity = self.rule.update.step(self.m[t], self.m_velocity, mu)
        triangles.propagator_row(t, self.rule.update, Gamma, self.G, self.velocity)
        for a, start in enumerate(self.start):
            self.repairs += triangles.noise_row(t, M[a], scale, self.Lambda[a])
            triangles.factor_row(t + 1, self.dt, start, self.G, self.Lambda[a], self.L[a])
        self._check(t + 1)

    def _check(self, t: int) -> None:
        q = self.m[t] ** 2 + np.sum(self.L[:, t, : t + 1] ** 2) / len(self.L)
        limit = norm_limit(self.problem)
        if not q <= limit:
            raise DivergedError(
                f"learning_rate must be smaller for this problem, got {self.dt:g}: the weights grew without bound "
                f"and passed |w|^2/N = {q:.1e} at time {t * self.dt:g}"
            )

    def correlations(self, waiting: NDArray[np.intp]) -> Array:
        r"""Correlations at chosen waiting times, shape (layers, waiting, steps+1), without :math:`mm^T`.

        For two replicas the layers are :math:`C_{11}` and :math:`C_{12}`.
        """
        out = np.empty((len(self.L), waiting.size, self.m.size))
        for L, C in zip(self.L, out, strict=True):
            for i in range(waiting.size):  # one by one: nothing can interrupt a compiled call
                triangles.correlate(L, waiting[i : i + 1], C[i : i + 1])
        return out if len(out) == 1 else np.stack([out[0] + out[1], out[0] - out[1]]) / 2

    def norm(self) -> Array:
        """Squared norm of the weights over the number of features, shape (steps+1,)."""
        return np.asarray(self.m**2 + np.mean(np.sum(self.L**2, axis=2), axis=0))

    def distance(self) -> Array:
        r"""Distance between two replicas, :math:`d=\sqrt{2C_-(t,t)}` (``eq-distance`` of the book)."""
        return np.asarray(math.sqrt(2) * np.sqrt(np.sum(self.L[1] ** 2, axis=1)))

    def response(self, waiting: NDArray[np.intp]) -> Array:
        r"""Return :math:`R(t,t_w)`, shape (waiting, steps+1); zero up to ``t_w``, then :math:`R(t_w+1,t_w)=1`."""
        response = np.pad(self.G[:, 1 : self.m.size], ((0, 0), (0, 1)))  # a push at the last step has no effect
        return np.ascontiguousarray(response[:, waiting].T)
