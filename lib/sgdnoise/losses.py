r"""Losses of the pre-activation :math:`h = y\,x\cdot w/\sqrt N`, each with its first two derivatives.

A loss is three elementwise functions of :math:`(h, \kappa)` under one name. Decorate a scalar function with
:func:`numba.vectorize` to make one:

>>> import numba, sgdnoise as sn
>>> @numba.vectorize
... def value(h, k):
...     gap = max(k - h, 0.0)
...     return gap - 0.5 if gap > 1 else 0.5 * gap**2
>>> @numba.vectorize
... def slope(h, k):
...     return 0.0 if h > k else (-1.0 if h < k - 1 else h - k)
>>> @numba.vectorize
... def curvature(h, k):
...     return 1.0 if k - 1 <= h <= k else 0.0
>>> huber = sn.Loss("huber", value, slope, curvature)
>>> sn.Problem(alpha=6, loss=huber).loss
Loss('huber')
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from sgdnoise._jit import elementwise

Elementwise = Callable[..., Any]
_COMPILING = threading.Lock()


@dataclass(frozen=True)
class Loss:
    """A per-sample loss and its derivatives with respect to ``h``, as elementwise functions of ``(h, margin)``.

    Parameters
    ----------
    name
        Short name; it identifies the loss in stored results.
    value
        The loss: a function of an array ``h`` and a number ``margin`` that returns an array like ``h``. A scalar
        function decorated with :func:`numba.vectorize` is one.
    slope
        Its first derivative in ``h``, a function of the same kind.
    curvature
        Its second derivative.
    """

    name: str
    value: Elementwise
    slope: Elementwise
    curvature: Elementwise

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise ValueError(f"name of a loss must be an identifier such as 'squared_hinge', got {self.name!r}")
        for part in ("value", "slope", "curvature"):
            if not _is_elementwise(getattr(self, part)):
                raise TypeError(
                    f"{part} of loss {self.name!r} must map an array h and a number margin to an array of finite "
                    f"numbers like h (see numba.vectorize), got {getattr(self, part)!r}"
                )

    def __repr__(self) -> str:
        return f"Loss({self.name!r})"

    def compile(self) -> None:
        """Have the functions compiled, by one thread at a time; call it before several threads use them."""
        with _COMPILING:
            for function in (self.value, self.slope, self.curvature):
                function(np.zeros(1), 1.0)


def _is_elementwise(function: Elementwise) -> bool:
    if isinstance(function, np.ufunc | DUFunc):  # by construction, and not to be compiled before it is needed
        return bool(function.nin == 2)
    h = np.array([-2.0, 0.5, 3.0])
    try:
        out = np.asarray(function(h, 1.0), dtype=np.float64)
    except Exception:  # whatever it raises, it is not a function of an array
        return False
    return out.shape == h.shape and bool(np.isfinite(out).all())


@elementwise
def _squared_hinge(h: float, margin: float) -> float:
    return 0.5 * (margin - h) ** 2 if h < margin else 0.0 * h


@elementwise
def _squared_hinge_slope(h: float, margin: float) -> float:
    return h - margin if h < margin else 0.0 * h


@elementwise
def _squared_hinge_curvature(h: float, margin: float) -> float:
    return 1.0 if h < margin else 0.0


@elementwise
def _square(h: float, margin: float) -> float:
    return 0.5 * (margin - h) ** 2


@elementwise
def _square_slope(h: float, margin: float) -> float:
    return h - margin


@elementwise
def _square_curvature(h: float, margin: float) -> float:  # noqa: ARG001
    return 1.0


@elementwise
def _logistic(h: float, margin: float) -> float:
    return (margin - h if h < margin else 0.0) + math.log1p(math.exp(-abs(margin - h)))


@elementwise
def _logistic_slope(h: float, margin: float) -> float:
    decay = math.exp(-abs(margin - h))  # at most 1, so that nothing overflows
    return -(1.0 if h < margin else decay) / (1.0 + decay)


@elementwise
def _logistic_curvature(h: float, margin: float) -> float:
    decay = math.exp(-abs(margin - h))
    return decay / (1.0 + decay) ** 2


#: :math:`\ell(h) = (\kappa-h)_+^2/2`, the loss of the paper.
squared_hinge = Loss("squared_hinge", _squared_hinge, _squared_hinge_slope, _squared_hinge_curvature)
#: :math:`\ell(h) = (\kappa-h)^2/2`; every equation becomes linear, which makes it an exact test.
square = Loss("square", _square, _square_slope, _square_curvature)
#: :math:`\ell(h) = \log(1+e^{\kappa-h})`.
logistic = Loss("logistic", _logistic, _logistic_slope, _logistic_curvature)
