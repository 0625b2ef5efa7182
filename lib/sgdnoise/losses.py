r"""Losses of the pre-activation :math:`h = y\,x\cdot w/\sqrt N`, each with its first two derivatives.

A loss is a record of its parameters with three scalar methods of :math:`(h, \kappa)`: ``value``, ``slope``
:math:`=\ell'` and ``curvature`` :math:`=\ell''`. A class of your own works everywhere:

>>> from typing import NamedTuple
>>> import sgdnoise as sn
>>> @sn.loss
... class HuberHinge(NamedTuple):
...     width: float = 1.0
...
...     def value(self, h, margin):
...         gap = max(margin - h, 0.0)
...         near = min(gap, self.width)
...         return near * (gap - 0.5 * near)
...
...     def slope(self, h, margin):
...         return -min(max(margin - h, 0.0), self.width)
...
...     def curvature(self, h, margin):
...         inside = 0.0 < margin - h < self.width
...         return 1.0 if inside else 0.0
>>> sn.Problem(alpha=6, loss=HuberHinge(0.5)).loss
HuberHinge(width=0.5)
"""

import functools
import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import ArrayLike, NDArray

from sgdnoise import parts
from sgdnoise._jit import jit

T = TypeVar("T", bound=type)
Array = NDArray[np.float64]
NAMES = ("value", "slope", "curvature")


class Loss(Protocol):
    """What a loss must have: three methods of a pre-activation and the margin. Make one with :func:`loss`."""

    def value(self, h: Any, margin: float) -> Any:
        """Loss of a sample."""

    def slope(self, h: Any, margin: float) -> Any:
        """Return its first derivative in ``h``."""

    def curvature(self, h: Any, margin: float) -> Any:
        """Return its second derivative in ``h``."""


def loss(cls: T) -> T:
    """Decorate a NamedTuple with scalar methods ``value``, ``slope`` and ``curvature`` to make it a loss.

    Inside kernels the methods act on numbers; called from Python they also take arrays.
    """
    missing = [name for name in NAMES if not callable(vars(cls).get(name))]
    if missing or not hasattr(cls, "_fields"):
        what = f"has no {missing[0]}" if missing else "is no NamedTuple"
        raise TypeError(f"a loss must be a NamedTuple with methods value, slope and curvature, and {cls!r} {what}")
    parts.part(cls)
    for name in NAMES:
        setattr(cls, name, _elementwise(getattr(cls, name), _KERNELS[name]))
    return cls


def check(record: Any, margin: float) -> None:
    """Refuse anything but a loss whose functions are consistent with each other."""
    if not parts.is_part(record) or not all(hasattr(record, name) for name in NAMES):
        raise TypeError(f"loss must be a loss such as sgdnoise.squared_hinge (see sgdnoise.loss), got {record!r}")
    if not isinstance(record, SquaredHinge | Square | Logistic):
        parts.check_fields(record)
        _check_functions(record, margin)


@cache
def _check_functions(record: Any, margin: float) -> None:
    r"""Compare the functions of a loss with each other, within eight of the margin.

    Sums over a fine grid stand for the integrals in
    :math:`\ell(b)-\ell(a)=\int_a^b\ell'` and :math:`\ell'(b)-\ell'(a)=\int_a^b\ell''`. A kink of the integrand costs
    at most its jump times one step; a wrong function, or a slope that jumps, costs a whole jump.
    """
    h, step = np.linspace(margin - 8, margin + 8, 6401, retstep=True)
    middle = 0.5 * (h[1:] + h[:-1])
    kind = parts.name_of(record)
    found: dict[str, Array] = {}
    for name in NAMES:
        try:
            found[name], found[f"d{name}"] = getattr(record, name)(h, margin), getattr(record, name)(middle, margin)
        except NumbaError as error:
            raise TypeError(f"{name} of {kind} must compile to a function of two numbers: {_first(error)}") from None
        except Exception as error:
            raise ValueError(f"{name} of {kind} must not raise, got {type(error).__name__}: {error}") from None
        bad = ~np.isfinite(found[name])
        if bad.any():
            at = h[np.argmax(bad)]
            raise ValueError(
                f"{name} of {kind} must be finite, got {found[name][bad][0]} at h={at:g}, margin={margin:g}"
            )
    for name, derivative, why in (
        ("value", "slope", "slope must be the derivative of value"),
        ("slope", "curvature", "curvature must be the derivative of a continuous slope"),
    ):
        rate = found[f"d{derivative}"]
        gap = np.abs(found[name] - found[name][0] - np.append(0.0, np.cumsum(step * rate)))
        allowed = 4 * step * (1 + np.max(np.abs(rate)))
        if np.max(gap) > allowed:
            at = h[np.argmax(gap > allowed)]
            raise ValueError(f"{derivative} of {kind}: {why}, and is not near h={at:g} for margin={margin:g}")


def _first(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _elementwise(scalar: Callable[..., Any], kernel: Callable[..., None]) -> Callable[..., Any]:
    """Let a scalar method take arrays too."""

    @functools.wraps(scalar)
    def method(self: Any, h: ArrayLike, margin: float) -> Any:
        if np.ndim(h) == 0:
            return scalar(self, h, margin)
        values = np.ascontiguousarray(h, dtype=np.float64)
        out = np.empty(values.shape)
        kernel(self, values.ravel(), float(margin), out.ravel())
        return out

    return method


@jit(nogil=True)
def _values(loss: Loss, h: Array, margin: float, out: Array) -> None:
    for i in range(h.size):
        out[i] = loss.value(h[i], margin)


@jit(nogil=True)
def _slopes(loss: Loss, h: Array, margin: float, out: Array) -> None:
    for i in range(h.size):
        out[i] = loss.slope(h[i], margin)


@jit(nogil=True)
def _curvatures(loss: Loss, h: Array, margin: float, out: Array) -> None:
    for i in range(h.size):
        out[i] = loss.curvature(h[i], margin)


_KERNELS = {"value": _values, "slope": _slopes, "curvature": _curvatures}


@loss
class SquaredHinge(NamedTuple):
    r""":math:`\ell(h) = (\kappa-h)_+^2/2`, the loss of the paper."""

    def value(self, h: float, margin: float) -> float:  # noqa: D102
        return 0.5 * min(h - margin, 0.0) ** 2

    def slope(self, h: float, margin: float) -> float:  # noqa: D102
        return min(h - margin, 0.0)

    def curvature(self, h: float, margin: float) -> float:  # noqa: D102
        return 1.0 if h < margin else 0.0


@loss
class Square(NamedTuple):
    r""":math:`\ell(h) = (\kappa-h)^2/2`; every equation becomes linear, which makes it an exact test."""

    def value(self, h: float, margin: float) -> float:  # noqa: D102
        return 0.5 * (h - margin) ** 2

    def slope(self, h: float, margin: float) -> float:  # noqa: D102
        return h - margin

    def curvature(self, h: float, margin: float) -> float:  # noqa: ARG002, D102
        return 1.0


@loss
class Logistic(NamedTuple):
    r""":math:`\ell(h) = \log(1+e^{\kappa-h})`."""

    def value(self, h: float, margin: float) -> float:  # noqa: D102
        decay = math.exp(-abs(margin - h))
        whole = 1.0 + decay  # its rounding is taken back below; log1p itself takes twice as long as a logarithm
        return max(margin - h, 0.0) + (math.log(whole) - ((whole - 1.0) - decay) / whole)

    def slope(self, h: float, margin: float) -> float:  # noqa: D102
        decay = math.exp(-abs(margin - h))  # at most 1, so that nothing overflows
        return -(1.0 if h < margin else decay) / (1.0 + decay)

    def curvature(self, h: float, margin: float) -> float:  # noqa: D102
        decay = math.exp(-abs(margin - h))
        return decay / (1.0 + decay) ** 2


squared_hinge, square, logistic = SquaredHinge(), Square(), Logistic()
