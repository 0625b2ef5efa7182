r"""Vectors of fixed width for compiled kernels, which state explicitly what a loop keeps in registers.

A *strip* is 256 bytes of a row (64 numbers of float32, 32 of float64), a *lane* vector 64 bytes. Every function here is
plain NumPy, which defines it and is what runs without the compiler; compiled code gets the same operation on LLVM's
vectors, which any processor has, in as many registers as it needs. Their order of additions is fixed here, so that it
does not depend on the width that a compiler prefers.

For those who have not met SIMD before
--------------------------------------
A processor has some 16 or 32 *registers*, places for the numbers that it is working with. Modern ones are wide: 32
bytes (AVX2) or 64 (AVX-512) hold 8 or 16 numbers of float32, its *lanes*, and one instruction acts on all lanes at
once. The most useful one is the fused product ``a b + c`` (``fma``). A core starts two of them each cycle, and each
takes about four cycles to finish. Three things decide how near a loop gets to that rate:

1. *Loads.* An ``fma`` on numbers that must first be fetched from memory waits for them. A gradient needs each number
   of a data row once for every column of a run. So a strip of the row is loaded once and used for two columns, whose
   own strips stay in registers while the rows go by. With AVX-512 a strip is 4 of 32 registers, and two columns with a
   row take 12. With AVX2 it is 8 of 16, so that some are written to the cache and loaded again.
2. *Chains.* A dot product is a sum, and the next addition waits for the one before. Within :func:`add_product` the
   lanes are separate sums, and two chains of them alternate. Only :func:`lane_sum`, at the very end, adds the lanes.
3. *Order.* Floating-point sums depend on their order. A compiler may split a loop into lanes only if it may change the
   order (``fastmath``), and then the width of the machine decides the last bits. Here the order is part of the
   definition, so that a run has the same bits on every machine that has ``fma``, whatever shares its pass.

``make bench`` compares with plain Numba loops that may reorder their sums and take four rows at a time. With AVX-512
they need 1.7 to 2.3 times as long, so the vectors stay. With AVX2, where strips of this width do not fit, such loops
are as fast or faster; even there they cannot replace the vectors, because their last bits depend on the machine.

How to read the code below: for each operation there is the NumPy function; a ``type_callable``, which tells Numba the
type of the result; and a ``lower_builtin``, which writes LLVM's instructions through ``builder``: ``shuffle_vector``
picks lanes (:func:`_pick`), ``fma`` is :func:`_fused`, ``load`` and ``store`` move a whole strip at an address. A
:class:`Vector` is Numba's name of LLVM's type ``<64 x float>``, and LLVM splits it into registers of the width at hand.
These parts of Numba are not public: ``pyproject.toml`` has an upper bound for its version.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable
from numpy.typing import DTypeLike, NDArray

Floating = NDArray[np.floating[Any]]

STRIP_BYTES = 256
LANE_BYTES = 64
WORD = ir.IntType(32)


def padded(length: int) -> int:
    """Length of a vector as it is stored, with zeros at its end: a whole number of strips, of either precision."""
    return -(-length // 64) * 64


def pitch(length: int, dtype: DTypeLike) -> int:
    """Distance of the rows of a matrix: an odd number of strips, at least the padded length.

    With an even number, such as rows that are a page apart, the same strip of many rows would fall into the same few
    places of the first-level cache.
    """
    strip = STRIP_BYTES // np.dtype(dtype).itemsize
    return (padded(length) // strip | 1) * strip


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> Floating:
    """Zeros whose first element starts a cache line (64 bytes)."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    buffer = np.zeros(size + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size].view(dtype).reshape(shape)


def lanes(dtype: DTypeLike) -> int:
    """Numbers in a lane vector."""
    return LANE_BYTES // np.dtype(dtype).itemsize


def load(X: Floating, i: int, j: int) -> Any:
    """Return the strip of row ``i`` that starts at ``j``."""
    return X[i, j : j + STRIP_BYTES // X.itemsize].copy()


def load_lanes(X: Floating, i: int) -> Any:
    """Return the first lane vector of row ``i``."""
    return X[i, : lanes(X.dtype)].copy()


def store(X: Floating, i: int, j: int, v: Any) -> None:
    """Write a strip or a lane vector to row ``i``, from ``j`` on."""
    X[i, j : j + v.size] = v


def add_multiple(v: Any, p: Any, x: Any) -> Any:
    """Return ``v + p x``, rounded once, of strips ``v`` and ``x`` and a number ``p``."""
    return v + p * x


def add_product(v: Any, x: Any, w: Any) -> Any:
    """Return ``v + sum_k x_k w_k`` over the lane vectors ``x_k, w_k`` of two strips."""
    return v + (x * w).reshape(-1, v.size).sum(axis=0)


def lane_sum(v: Any) -> Any:
    """Sum of a lane vector."""
    return v.sum()


class Vector(types.Type):  # type: ignore[misc]
    """Numba's type of a strip or lane vector."""

    def __init__(self, dtype: types.Float, count: int) -> None:
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Vector({dtype}, {count})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, _llvm_type(kind))


def _llvm_type(kind: Vector) -> Any:
    return ir.VectorType(ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType(), kind.count)


def _pointer(context: Any, builder: Any, kind: types.Array, array: Any, index: list[Any]) -> Any:
    array = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, array, index, wraparound=False)


def _load(context: Any, builder: Any, signature: Any, array: Any, index: list[Any]) -> Any:
    kind = _llvm_type(signature.return_type)
    place = _pointer(context, builder, signature.args[0], array, index)
    found = builder.load(builder.bitcast(place, kind.as_pointer()))
    found.align = signature.return_type.dtype.bitwidth // 8
    return found


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """``a b + c``, rounded once."""
    suffix = "f32" if isinstance(a.type.element, ir.FloatType) else "f64"
    name, kind = f"llvm.fma.v{a.type.count}{suffix}", ir.FunctionType(a.type, [a.type] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [a, b, c])


def _pick(builder: Any, v: Any, places: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(WORD, len(places)), places)
    return builder.shuffle_vector(v, ir.Constant(v.type, ir.Undefined), mask)


# What compiled code gets from each of them.
type_callable(load)(lambda _: lambda X, i, j: Vector(X.dtype, 8 * STRIP_BYTES // X.dtype.bitwidth))  # noqa: ARG005
type_callable(load_lanes)(lambda _: lambda X, i: Vector(X.dtype, 8 * LANE_BYTES // X.dtype.bitwidth))  # noqa: ARG005
type_callable(store)(lambda _: lambda X, i, j, v: types.none)  # noqa: ARG005
type_callable(add_multiple)(lambda _: lambda v, p, x: v)  # noqa: ARG005
type_callable(add_product)(lambda _: lambda v, x, w: v)  # noqa: ARG005
type_callable(lane_sum)(lambda _: lambda v: v.dtype)


@lower_builtin(load, types.Array, types.Integer, types.Integer)  # type: ignore[untyped-decorator]
def _lower_load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _load(context, builder, signature, arguments[0], list(arguments[1:]))


@lower_builtin(load_lanes, types.Array, types.Integer)  # type: ignore[untyped-decorator]
def _lower_load_lanes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _load(context, builder, signature, arguments[0], [arguments[1], context.get_constant(types.intp, 0)])


@lower_builtin(store, types.Array, types.Integer, types.Integer, Vector)  # type: ignore[untyped-decorator]
def _lower_store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, i, j, v = arguments
    place = _pointer(context, builder, signature.args[0], array, [i, j])
    builder.store(v, builder.bitcast(place, v.type.as_pointer())).align = signature.args[3].dtype.bitwidth // 8
    return context.get_dummy_value()


@lower_builtin(add_multiple, Vector, types.Float, Vector)  # type: ignore[untyped-decorator]
def _lower_add_multiple(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    v, p, x = arguments
    p = context.cast(builder, p, signature.args[1], signature.args[0].dtype)
    first = builder.insert_element(ir.Constant(v.type, ir.Undefined), p, ir.Constant(WORD, 0))
    return _fused(builder, _pick(builder, first, [0] * v.type.count), x, v)


@lower_builtin(add_product, Vector, Vector, Vector)  # type: ignore[untyped-decorator]
def _lower_add_product(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
    v, x, w = arguments
    size = v.type.count

    def parts(k: int) -> tuple[Any, Any]:
        places = list(range(k * size, (k + 1) * size))
        return _pick(builder, x, places), _pick(builder, w, places)

    # Two chains of half the length: one addition waits for the one before.
    even, odd = _fused(builder, *parts(0), v), builder.fmul(*parts(1))
    for k in range(2, x.type.count // size, 2):
        even, odd = _fused(builder, *parts(k), even), _fused(builder, *parts(k + 1), odd)
    return builder.fadd(even, odd)


@lower_builtin(lane_sum, Vector)  # type: ignore[untyped-decorator]
def _lower_lane_sum(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
    v = arguments[0]
    while v.type.count > 1:
        half = v.type.count // 2
        v = builder.fadd(_pick(builder, v, list(range(half))), _pick(builder, v, list(range(half, 2 * half))))
    return builder.extract_element(v, ir.Constant(WORD, 0))
