r"""Parts that a user can write: small immutable records whose methods run inside compiled kernels.

A part is a :class:`typing.NamedTuple` whose fields are numbers and whose methods are scalar mathematics. Decorated with
:func:`part`, its methods can be called in compiled code. A kernel is specialised for the class and inlines them:

>>> from typing import NamedTuple
>>> @part
... class Cubic(NamedTuple):
...     scale: float = 1.0
...
...     def value(self, h, margin):
...         return self.scale * max(margin - h, 0.0) ** 3
>>> Cubic(2.0).value(0.5, 1.0)
0.25

Parts compare by class and fields, and survive pickling. Numba's disk cache knows them by the name of the class and by a
hash of its code and of its file: an edited method is compiled anew, and a class that is gone does no harm.
"""

import hashlib
import inspect
import marshal
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import TupleModel
from numba.core.datamodel.registry import register_default
from numba.extending import lower_builtin, overload_method, type_callable, typeof_impl

from sgdnoise import _checks
from sgdnoise._jit import INNER

T = TypeVar("T", bound=type)
Method = Callable[..., Any]
Identity = tuple[str, str]

_TYPES: dict[Identity, type["PartType"]] = {}


class PartType(types.NamedTuple):  # type: ignore[misc]
    """Numba's type of a part; every class has a subclass of its own.

    It is pickled by the identity of the class. Loading a cache therefore imports nothing: where the class is not
    known, the entry is of a type that no record has.
    """

    record: type

    def __init__(self, identity: Identity, fields: tuple[str, ...], kinds: tuple[types.Type, ...]) -> None:
        self.identity, self.fields, self.types, self.count = identity, fields, tuple(kinds), len(kinds)
        super(types.NamedTuple, self).__init__(f"{'#'.join(identity)}({', '.join(map(str, kinds))})")

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells two of them apart."""
        return self.identity, self.types

    @property
    def instance_class(self) -> type:
        """The class of the records."""
        return self.record

    def __bool__(self) -> bool:  # Numba asks "is there a type?", and a record without fields has length zero
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return _part_type, (self.identity, self.fields, self.types)


def _part_type(identity: Identity, fields: tuple[str, ...], kinds: tuple[types.Type, ...]) -> PartType:
    return _TYPES.get(identity, PartType)(identity, fields, kinds)


def part(cls: T) -> T:
    """Make the methods of a NamedTuple callable in compiled kernels, and compare its records by class and fields."""
    code = "" if cls.__module__.split(".")[0] == "sgdnoise" else _code_hash(cls)
    identity = f"{cls.__module__}.{cls.__qualname__}", code
    kind = type(f"{cls.__name__}Type", (PartType,), {"record": cls})
    register_default(kind)(TupleModel)
    # Methods of the library need no tests for zero and no memory of their own; what those of users do is not known.
    options = {} if code else {"error_model": "numpy", "_nrt": False, **INNER}
    for key, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not key.startswith("_"):
            overload_method(kind, key, strict=False, jit_options=options)(_overload(method))
    _TYPES[identity] = kind
    for special, function in (("__eq__", _equal), ("__ne__", _differ), ("__hash__", _hash), ("__repr__", _repr)):
        setattr(cls, special, function)
    if code:  # Numba's dispatchers tell named tuples apart by this name, without a look at their module or code
        cls.__name__ = f"{cls.__name__}#{code}"

    @typeof_impl.register(cls)  # type: ignore[untyped-decorator]
    def _type_of(record: Any, context: Any) -> PartType:
        found: PartType = kind(identity, record._fields, tuple(typeof_impl(field, context) for field in record))
        return found

    return cls


def _equal(self: Any, other: object) -> bool:
    """Tuples compare by their fields alone, and all records without fields would be equal."""
    return type(self) is type(other) and bool(tuple.__eq__(self, other))  # type: ignore[operator]


def _differ(self: Any, other: object) -> bool:
    return not _equal(self, other)


def _hash(self: Any) -> int:
    return hash((type(self).__qualname__, *self))


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{name_of(self)}({fields})"


def name_of(record: object) -> str:
    """Name of the class of a record, as its author wrote it."""
    return type(record).__qualname__.rpartition(".")[2]


def is_part(record: object) -> bool:
    """Whether an object is a record of a class that was decorated with :func:`part`."""
    return any(kind.record is type(record) for kind in _TYPES.values())


def check_fields(record: Any) -> None:
    """Refuse a record with a field that is no finite number."""
    for name, value in zip(record._fields, record, strict=True):
        _checks.real(f"field {name} of {name_of(record)}", value)


def title(record: Any) -> str:
    """Name of a record in files: that of its class in small letters, with the fields if there are any."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", name_of(record)).lower()
    fields = ", ".join(f"{key}={value:.12g}" for key, value in zip(record._fields, record, strict=True))
    return f"{name}({fields})" if fields else name


def shown(record: Any) -> str:
    """How a dataclass prints: what is given by name only is left out where it has its default."""
    told = [f for f in fields(record) if not f.kw_only]
    told += [f for f in fields(record) if f.kw_only and getattr(record, f.name) != f.default]
    return f"{type(record).__name__}({', '.join(f'{f.name}={getattr(record, f.name)!r}' for f in told)})"


def pick(like: Any, table: Any, row: int) -> Any:
    """Return the record of the class of ``like`` whose fields are a row of a table: one row a column of a run."""
    return type(like)(*table[row, : len(like)])


@type_callable(pick)  # type: ignore[untyped-decorator]
def _type_pick(context: Any) -> Any:  # noqa: ARG001
    return lambda like, table, row: like  # noqa: ARG005


@lower_builtin(pick, PartType, types.Array, types.Integer)  # type: ignore[untyped-decorator]
def _lower_pick(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    like, table = signature.args[:2]
    array = context.make_array(table)(context, builder, arguments[1])
    values = []
    for i, kind in enumerate(like.types):
        index = [arguments[2], context.get_constant(types.intp, i)]
        place = cgutils.get_item_pointer(context, builder, table, array, index, wraparound=False)
        values.append(context.cast(builder, builder.load(place), table.dtype, kind))
    return context.make_tuple(builder, like, values)


def _overload(method: Method) -> Method:
    """Return the function that Numba calls to learn how to compile a method."""

    def implementation(*_: Any) -> Method:
        return method

    implementation.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return implementation


def _code_hash(cls: type) -> str:
    """Hash of what the methods of a class do: their code, what they close over, and the file that they stand in.

    The file stands for the functions and constants beside the class.
    """
    digest = hashlib.sha256()
    for method in filter(inspect.isfunction, vars(cls).values()):
        cells = [cell.cell_contents for cell in method.__closure__ or ()]
        digest.update(marshal.dumps(method.__code__) + repr((cells, method.__defaults__)).encode())
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file and Path(file).is_file():
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]
