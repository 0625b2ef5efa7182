r"""Moments of a standard normal variable below a threshold, accurate in the far tail too."""

import math

from scipy.special import ndtr

# Below this the closed forms lose digits to cancellation and the continued fraction has long converged.
TAIL = -2.0
DEPTH = 100


def hinge_moments(x: float) -> tuple[float, float, float]:
    r"""Return :math:`F_n(x) = E[(x-z)^n;\,z<x]` for :math:`n=0,1,2` and :math:`z` standard normal.

    .. math:: F_0=\Phi(x),\qquad F_1 = x\Phi+\varphi,\qquad F_2=(1+x^2)\Phi+x\varphi,\qquad F_n' = n F_{n-1}.

    In the tail, :math:`J_n = F_n/n!` is the decaying solution of :math:`n J_n - x J_{n-1} = J_{n-2}`, so that the
    ratios :math:`J_n/J_{n-1} = 1/(-x+(n+1)J_{n+1}/J_n)` form a continued fraction of positive terms.

    >>> hinge_moments(0.0)
    (0.5, 0.3989422804014327, 0.5)
    """
    below = float(ndtr(x))
    if x > TAIL:
        density = math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return below, x * below + density, (1 + x * x) * below + x * density
    first = second = 0.0
    for n in range(DEPTH, 0, -1):
        first, second = 1 / (-x + (n + 1) * first), first
    return below, below * first, 2 * below * first * second
