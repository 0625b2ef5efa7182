r"""The weight side of the theory: propagator, noise factor and correlation, one row of a triangle at a time.

All times are step numbers. The noise :math:`\zeta` of the weights has covariance :math:`M` and enters with a kick
:math:`dt\,\zeta(t)` at time :math:`t+1`; the start is a kick at time 0. With the propagator

.. math:: G(t,k) = \frac{\partial w(t)}{\partial w(k)}, \qquad G(k,k) = 1, \qquad
          G(t+1,k) = (1-dt\,\lambda)\,G(t,k) - dt\sum_{u=k}^{t}\Gamma(t,u)\,G(u,k)

(without momentum), the response is :math:`R(t,t') = G(t,t'+1)`, and a Cholesky factor :math:`M = \Lambda\Lambda^T`
gives one of the correlation, :math:`C = LL^T` with :math:`L(t,0)=\sqrt{R_0}\,G(t,0)` and
:math:`L(t,k+1) = dt\sum_{s=k}^{t-1}G(t,s+1)\Lambda(s,k)`. So :math:`C` is positive whatever the rounding, and only the
factor of :math:`M` needs care: its pivots are compared with the diagonal of :math:`M` at that very time, however small
the forces have become.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.algorithms import Update

Array = NDArray[np.float64]

#: A pivot of ``M`` below this fraction of its diagonal is set to zero: the direction has no new noise. The covariance
#: may lose this fraction. With a smaller one, later rows would divide rounding errors by the pivot.
NEGLIGIBLE = 1e-9
#: A pivot below minus this fraction is more than rounding: ``M`` was not positive, and that is counted as a repair.
REPAIR = 1e-6
#: The same, relative to ``M`` of one replica, for the difference of two, which is a difference of large numbers.
CANCELLED = 1e-14


@jit(fastmath={"contract"})
def propagator_row(t: int, update: Update, Gamma: Array, G: Array, velocity: Array) -> None:
    r"""Fill :math:`G(t+1,\cdot)` from :math:`\Gamma(t,\cdot)` and the rows up to ``t`` (``eq-G`` of the book).

    Every column is the displacement after a push at one time, and takes a step with the gradient
    :math:`\sum_u\Gamma(t,u)G(u,k)`. A push at ``t+1`` enters through the gradient of this step.

    Parameters
    ----------
    Gamma
        Row :math:`\Gamma(t,0\dots t)`.
    G
        Propagator, one row a time, lower triangular; row ``t+1`` is written.
    velocity
        Of each column, after the step before; after this one when it returns.
    """
    row = G[t + 1]
    for u in range(t + 1):
        for k in range(u + 1):
            row[k] += Gamma[u] * G[u, k]
    for k in range(t + 1):
        row[k], velocity[k] = update.step(G[t, k], velocity[k], row[k])
    push = update.step(0.0, 0.0, -1.0)
    row[t + 1], velocity[t + 1] = 1.0, push[1] / push[0]


@jit(fastmath={"contract", "reassoc"})
def noise_row(t: int, M: Array, scale: float, Lambda: Array) -> int:
    r"""Fill row ``t`` of the Cholesky factor :math:`\Lambda` of :math:`M`; return 1 if positivity was repaired.

    Parameters
    ----------
    M
        Row :math:`M(t,0\dots t)`.
    scale
        Size of :math:`M(t,t)` of one replica.
    Lambda
        Factor, shape (steps, steps); a zero on the diagonal marks a direction that carries no new noise.
    """
    row = Lambda[t]
    for k in range(t):
        if Lambda[k, k] == 0.0:
            row[k] = 0.0
            continue
        total = 0.0
        for j in range(k):
            total += row[j] * Lambda[k, j]
        row[k] = (M[k] - total) / Lambda[k, k]
    total = 0.0
    for j in range(t):
        total += row[j] * row[j]
    pivot = M[t] - total
    row[t] = math.sqrt(pivot) if pivot > max(NEGLIGIBLE * M[t], CANCELLED * scale) else 0.0
    return 1 if pivot < -max(REPAIR * M[t], CANCELLED * scale) else 0


@jit(fastmath={"contract"})
def factor_row(t: int, dt: float, start: float, G: Array, Lambda: Array, L: Array) -> None:
    r"""Fill row ``t`` of the factor :math:`L` of the correlation (``eq-C`` of the book).

    Parameters
    ----------
    start
        Standard deviation of the weights at time zero.
    """
    L[t, 0] = start * G[t, 0]
    L[t, 1 : t + 1] = 0.0
    for s in range(t):
        for k in range(s + 1):
            L[t, k + 1] += dt * G[t, s + 1] * Lambda[s, k]


@jit(fastmath={"contract", "reassoc"})
def correlate(L: Array, rows: NDArray[np.int64], out: Array) -> None:
    r"""Write :math:`C(t_w,t)=\sum_k L(t_w,k)L(t,k)` for chosen rows ``t_w`` and every ``t``, shape (rows, steps+1)."""
    for i in range(rows.size):
        tw = rows[i]
        for t in range(L.shape[0]):
            total = 0.0
            for k in range(min(t, tw) + 1):
                total += L[tw, k] * L[t, k]
            out[i, t] = total
