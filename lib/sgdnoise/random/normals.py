r"""Standard normals from counter-based bits, and the data set made of them.

Box and Muller's map :math:`z_1 + i z_2 = \sqrt{-2\ln u}\;e^{i\theta}`, with the logarithm and the rotation written as
polynomials of float32 accuracy, so that the loop runs on eight lanes. The tail reaches :math:`|z| = 6.6`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise.random.threefry import Keys, words
from sgdnoise.vectors.lanes import Floating

Single = NDArray[np.float32]

F = np.float32
HALF_PI, LN2 = F(math.pi / 2), F(math.log(2))
SQRT_HALF_BITS = np.int32(0x3F3504F3)


@jit(nogil=True)
def _rotation(b: NDArray[np.uint32], cosine: Floating, sine: Floating) -> None:
    """Cosine and sine of a turn by ``b / 2^32``."""
    for j in range(b.size):
        # Within an eighth of a turn from zero the series are short; the top two bits then choose the quarter.
        x = HALF_PI * (F(np.int32(b[j] & np.uint32(0x3FFFFFFF))) * F(2.0**-30) - F(0.5))
        y = x * x
        s = x * (F(1) + y * (F(-1 / 6) + y * (F(1 / 120) + y * F(-1 / 5040))))
        c = F(1) + y * (F(-1 / 2) + y * (F(1 / 24) + y * (F(-1 / 720) + y * F(1 / 40320))))
        quarter = np.int32(b[j] >> np.uint32(30))
        odd = F(quarter & np.int32(1))
        sign = F(np.int32(1) - (quarter & np.int32(2)))
        cosine[j] = sign * ((F(1) - odd) * c - odd * s)
        sine[j] = sign * ((F(1) - odd) * s + odd * c)


@jit(nogil=True)
def _uniform(a: NDArray[np.uint32], u: Floating) -> None:
    """Uniform numbers ``a / 2^32``, never zero; converted by halves, since vectors convert signed words only."""
    for j in range(a.size):
        high, low = np.int32(a[j] >> np.uint32(16)), np.int32(a[j] & np.uint32(0xFFFF))
        u[j] = (F(high) * F(65536) + (F(low) + F(0.5))) * F(2.0**-32)


@jit(nogil=True)
def _split(bits: NDArray[np.int32], mantissa: NDArray[np.int32], exponent: Floating) -> None:
    """Split floats, seen as bits, into ``2^exponent mantissa`` with the mantissa from sqrt(1/2) to sqrt(2)."""
    for j in range(bits.size):
        e = np.int32(np.int32(bits[j] - SQRT_HALF_BITS) >> np.int32(23))
        mantissa[j] = np.int32(bits[j] - np.int32(e << np.int32(23)))
        exponent[j] = F(e)


@jit(nogil=True)
def _radius(mantissa: Floating, exponent: Floating, radius: Floating) -> None:
    r"""Radius :math:`\sqrt{-2\ln u}`; the polynomial is that of the Cephes library."""
    for j in range(radius.size):
        f = mantissa[j] - F(1)
        g = f * f
        p = F(7.0376836292e-2) * f - F(1.1514610310e-1)
        p = p * f + F(1.1676998740e-1)
        p = p * f - F(1.2420140846e-1)
        p = p * f + F(1.4249322787e-1)
        p = p * f - F(1.6668057665e-1)
        p = p * f + F(2.0000714765e-1)
        p = p * f - F(2.4999993993e-1)
        p = p * f + F(3.3333331174e-1)
        square = F(-2) * (f + (p * f * g - F(0.5) * g) + exponent[j] * LN2)
        radius[j] = np.sqrt(square if square > F(0) else F(0))


@jit(nogil=True)
def _place(mean: np.float32, scale: np.float32, radius: Single, c: Single, out: Single) -> None:
    for j in range(out.size):
        out[j] = mean + scale * (radius[j] * c[j])


@jit(nogil=True)
def inverse_normal(u: float) -> float:
    r"""Return :math:`z` with :math:`\Phi(z)=u`, to seven digits (Wichura's algorithm AS 241, its shorter form)."""
    centred = u - 0.5
    if abs(centred) <= 0.425:
        t = 0.180625 - centred * centred
        top = ((5.9109374720e1 * t + 1.5929113202e2) * t + 5.0434271938e1) * t + 3.3871327179
        return centred * top / (((6.7187563600e1 * t + 7.8757757664e1) * t + 1.7895169469e1) * t + 1.0)
    # The smallest random number, zero, stands for the interval up to the next. So the far tail, where the algorithm
    # has a third branch, is never reached.
    t = math.sqrt(-math.log(max(min(u, 1.0 - u), 2.0**-31))) - 1.6
    top = ((1.7023821103e-1 * t + 1.3067284816) * t + 2.7568153900) * t + 1.4234372777
    z = top / ((1.2021132975e-1 * t + 7.3700164250e-1) * t + 1.0)
    return z if centred > 0 else -z


class Buffers(NamedTuple):
    """Memory for half a row; the last two are two of the others, seen as words."""

    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    u: Single
    cosine: Single
    sine: Single
    mantissa: Single
    exponent: Single
    u_bits: NDArray[np.int32]
    mantissa_bits: NDArray[np.int32]


def new_buffers(length: int) -> Buffers:
    """Return memory for rows of this length."""
    # One cache line between the arrays, so that the compiler's test for overlap never sees them touch.
    half = (length + 1) // 2
    first, second = np.empty((2, half + 16), np.uint32)[:, :half]
    u, cosine, sine, mantissa, exponent = np.empty((5, half + 16), np.float32)[:, :half]
    views = u.view(np.int32), mantissa.view(np.int32)
    return Buffers(first, second, u, cosine, sine, mantissa, exponent, *views)


@jit(nogil=True)
def fill_rows(
    key: Keys, first_row: int, mean: np.float32, scale: np.float32, length: int, buffers: Buffers, out: Single
) -> None:
    """Fill rows with ``mean + scale z``, from ``first_row`` of a stream on; the counter is (place in the row, row)."""
    first, second, u, cosine, sine, mantissa, exponent, u_bits, mantissa_bits = buffers
    half = first.size
    for row in range(out.shape[0]):
        words(key[0], key[1], np.uint32(first_row + row), first, second)
        _uniform(first, u)
        _rotation(second, cosine, sine)
        _split(u_bits, mantissa_bits, exponent)
        _radius(mantissa, exponent, u)
        _place(mean, scale, u, cosine, out[row, :half])
        _place(mean, scale, u, sine, out[row, half:length])


def fill_normal(key: Keys, length: int, out: Floating, mean: float = 0.0, scale: float = 1.0) -> Floating:
    r"""Fill the first ``length`` columns of every row with :math:`\text{mean} + \text{scale}\,z`.

    The normals :math:`z` are those of float32 whatever the type of ``out``: both precisions see the same data.
    """
    buffers = new_buffers(length)
    with np.errstate(over="ignore"):  # words of the generator wrap around
        if out.dtype == np.float32:
            fill_rows(key, 0, F(mean), F(scale), length, buffers, out)
        else:
            z = np.empty((out.shape[0], length), np.float32)
            fill_rows(key, 0, F(0), F(1), length, buffers, z)
            np.multiply(z, scale, out=out[:, :length], dtype=np.float64)
            out[:, :length] += mean
    return out


def draw_data(delta: float, features: int, key: Keys, out: Floating) -> Floating:
    r"""Draw the rows :math:`A_\mu = y_\mu x_\mu/\sqrt N = v/N + \sqrt{\Delta/N}\,z_\mu`, so that :math:`h = A w`.

    Columns of ``out`` from ``features`` on stay zero.
    """
    return fill_normal(key, features, out, 1.0 / features, math.sqrt(delta / features))
