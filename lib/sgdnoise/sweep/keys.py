"""The key of a stored result: a hash of all that the result depends on.

That is the function, its parameters, the seed, the whole library, and every piece of code of the user's own that the
function reaches. Code in a script or a notebook counts function by function, as Python has compiled it; a module of the
user's counts as a whole file, with the modules that it imports; an installed package counts by its version. What
can be put in none of these ways is refused, because an edit of it would go unnoticed.
"""

import collections
import dataclasses
import dis
import enum
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sgdnoise._jit import source_hash
from sgdnoise.data import Data

Function = Callable[..., Any]
Imports = set[tuple[int, str, tuple[str, ...]]]  # level, module, names
PACKAGE = "sgdnoise"
#: Hash of the library, taken when it was imported: an edit made later does not run in this process.
LIBRARY = source_hash()
# Their versions can change the last bits of a result.
PACKAGES = ("numpy", "scipy", "numba", "xarray")
PLAIN = (types.NoneType, types.EllipsisType, bool, int, float, complex, str, bytes)
# The files of the user's modules as last seen here, with the mark that Python renews when it reads one again.
_READ: dict[str, tuple[Any, bytes]] = {}
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
UNSEEN = {"eval", "exec", "__import__", "import_module"}
WRAPPERS: dict[type, tuple[str, ...]] = {property: ("fget", "fset", "fdel"), functools.cached_property: ("func",)}
WRAPPERS |= {classmethod: ("__func__",), staticmethod: ("__func__",)}
SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType, type(vars(collections.namedtuple("_", "x"))["x"]))


def key_of(function: Function, parameters: Mapping[str, Any], seed: int | None) -> str:
    """Return the key of one result."""
    return _hash(ingredients(function, parameters, seed))[:32]


def ingredients(function: Function, parameters: Mapping[str, Any], seed: int | None) -> dict[str, str]:
    """Return what a key is made of, by name: two processes that agree on all of it compute the same result."""
    parts = {PACKAGE: LIBRARY, **{name: _version(name) for name in PACKAGES}, "seed": str(seed)}
    parts |= {"Python": ".".join(platform.python_version_tuple()[:2]), "machine": platform.machine()}
    for name, value in {"code": function, "parameters": dict(sorted(parameters.items()))}.items():
        reached = _Reached()
        parts[name] = _hash([reached.value(name, value), sorted(reached.modules.items())])
    return parts


class _Reached:
    """Describes values by plain lists that differ wherever results could, and collects the modules on the way."""

    def __init__(self) -> None:
        self.modules: dict[str, str] = {}
        self.known: dict[int, Any] = {}

    def value(self, name: str, value: Any) -> Any:
        """Describe anything; ``name`` is for the sentence that refuses it."""
        value = float(value) if type(value) is np.float64 else value
        kind = type(value)
        if kind in PLAIN:
            if value != value:
                raise ValueError(f"{name} must not be NaN, got {value!r}")
            return [kind.__name__, repr(value)]
        if kind in (list, tuple):
            return [kind.__name__, *(self.value(name, item) for item in value)]
        if kind in (set, frozenset):  # their order changes from process to process
            return [kind.__name__, *sorted((self.value(name, item) for item in value), key=json.dumps)]
        if kind is dict:
            return ["dict", *([self.value(name, key), self.value(str(key), item)] for key, item in value.items())]
        if kind is np.ndarray or isinstance(value, np.generic):
            array = np.asarray(value)
            content = self.value(name, array.tolist()) if array.dtype.hasobject else _hash(array.tobytes())
            return [kind.__name__, str(array.dtype), array.shape, content]
        if kind is Data:
            return ["data", value.digest]
        if isinstance(value, enum.Enum):
            return [self.code(name, kind), str(value.name), self.value(name, value.value)]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [f.name for f in dataclasses.fields(value)]
            return [self.code(name, kind), *([f, self.value(f"{name}.{f}", getattr(value, f))] for f in fields)]
        if isinstance(value, tuple):
            return [self.code(name, kind), *(self.value(name, item) for item in value)]
        if isinstance(value, types.ModuleType):
            if _place(value.__name__) == "":
                raise TypeError(f"{name} must be a module that has a file, got {value!r}")
            self.module(value.__name__)
            return ["module", value.__name__]
        if isinstance(value, functools.partial):
            return ["partial", *(self.value(name, part) for part in (value.func, value.args, value.keywords))]
        if kind.__module__ == "dataclasses":  # the marks that it puts into the methods it writes
            return kind.__qualname__
        if callable(value):
            return self.code(name, value)
        raise TypeError(
            f"{name} must be made of numbers, strings, lists, functions or dataclasses, got {value!r}; "
            f"anything else is to be made inside the function"
        )

    def code(self, name: str, value: Any) -> Any:
        """Describe a function or a class, once."""
        if id(value) not in self.known:
            self.known[id(value)] = ["itself", getattr(value, "__qualname__", name)]  # met again on the way down
            self.known[id(value)] = self._code(name, value)
        return self.known[id(value)]

    def _code(self, name: str, value: Any) -> Any:
        compiler = getattr(value, "_dispatcher", value)  # of a ufunc that Numba has made
        if type(value).__module__.startswith("numba.") and hasattr(compiler, "py_func"):
            options = self.value(name, dict(compiler.targetoptions))
            return [type(value).__name__, options, self.code(name, compiler.py_func)]
        home, title = _home(value), getattr(value, "__qualname__", name)
        if home is not None:
            self.module(home)
            if isinstance(value, type) or not _is_users(home):
                return [home, title]
        if isinstance(value, type):
            return self.body(value)
        if isinstance(value, functools._lru_cache_wrapper):
            return ["cached", self.code(name, value.__wrapped__)]
        if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, type):
            return [title, self.code(name, value.__self__)]
        if not isinstance(value, types.FunctionType):
            raise TypeError(
                f"function must be a plain function, and use only such: a method or a callable object may hold what a "
                f"key cannot see, got {value!r}"
            )
        loads, imports = _scan(value.__code__)
        package = value.__globals__.get("__package__") or ""
        for module in _resolved(imports, package):
            self.module(module)
        if unseen := sorted(loads & UNSEEN):
            raise TypeError(f"function must name the code that it runs, and {title} calls {unseen[0]}")
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        return [
            title,
            self.compiled(value.__code__),
            self.value(f"defaults of {title}", [value.__defaults__, value.__kwdefaults__, vars(value)]),
            [[n, self.value(n, value.__globals__[n])] for n in sorted(loads) if n in value.__globals__],
            [[n, self.value(n, cell.cell_contents)] for n, cell in cells],
        ]

    def compiled(self, code: types.CodeType) -> str:
        """Hash compiled code. Lines and addresses do not count, so that two functions may share a line."""
        parts: list[Any] = [getattr(code, f"co_{name}") for name in ("names", "varnames", "freevars", "cellvars")]
        parts += [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
        parts += [code.co_code.hex(), code.co_exceptiontable.hex()]
        for constant in code.co_consts:
            nested = isinstance(constant, types.CodeType)
            parts.append(self.compiled(constant) if nested else self.value("constant", constant))
        return _hash(parts)

    def body(self, cls: type) -> Any:
        """Describe a class of a script or a notebook: what it inherits, holds and does."""
        found = []
        for name, member in sorted(vars(cls).items()):
            inner = [getattr(member, part) for part in WRAPPERS.get(type(member), ())] or [member]
            added = re.fullmatch(r"_.*_|_abc_impl", name) and not isinstance(inner[0], types.FunctionType)  # by Python
            if not added and not isinstance(member, SLOTS):
                found.append([name, type(member).__name__, self.value(f"{cls.__qualname__}.{name}", inner)])
        return [cls.__qualname__, [self.value("base", base) for base in (*cls.__bases__, type(cls))], found]

    def module(self, name: str) -> None:
        """Note a module: an installed one by its version, the user's as a file, with all that it imports."""
        top, package = name.partition(".")[0], name.rpartition(".")[0]
        if not _is_users(top):
            self.modules[top] = _version(top)
        elif name not in self.modules and (place := _place(name)):
            if package:
                self.module(package)
            source = Path(place).read_bytes() if Path(place).is_file() else b""
            self.modules[name] = _hash(source)
            mark = getattr(sys.modules.get(name), "__spec__", None)
            before = _READ.get(name, (None, b""))
            if mark is not None and before[0] is mark and before[1] != source:
                raise RuntimeError(
                    f"module {name} was edited after it was imported; start Python, or the kernel, again"
                )
            _READ[name] = mark, source
            if place.endswith(".py"):
                for module in _resolved(_imports_of(source), name if place.endswith("__init__.py") else package):
                    self.module(module)


def _hash(description: Any) -> str:
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    return hashlib.sha256(text).hexdigest()


def _home(value: Any) -> str | None:
    """Return the module in which Python finds this very object; names alone may be those of a decorated function."""
    title = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))
    for module in (getattr(value, "__module__", None), "numpy", "scipy.special"):
        found: Any = sys.modules.get(module or "")
        for part in title.split("."):
            found = getattr(found, part, None)
        if found is value and module != "__main__":
            return module
    return None


def _place(name: str) -> str | None:
    """Return the file of a module, or the folder of a package without one; None if it is built in, "" if none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return getattr(sys.modules.get(name), "__file__", "")
    if spec is None:
        return ""
    return spec.origin if spec.has_location else next(iter(spec.submodule_search_locations or ()), None)


def _is_users(module: str) -> bool:
    """Tell whether a module is the user's own: neither Python's nor of an installed package nor of the library."""
    top = module.partition(".")[0]
    place = _place(top)
    if top == PACKAGE or not place or {"site-packages", "dist-packages"} & set(Path(place).parts):
        return False
    roots = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    return not any(Path(place).resolve().is_relative_to(root) for root in roots)


@functools.cache
def _version(top: str) -> str:
    """Return the version of the installed package that provides a module; Python's own modules have none."""
    if top in sys.stdlib_module_names or top == PACKAGE:
        return ""
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:  # it has another name than its module; looking that up is slow
        names = importlib.metadata.packages_distributions().get(top, [])
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names)))


def _scan(code: types.CodeType) -> tuple[set[str], Imports]:
    """Return the global names that code uses and the imports in it, those of the functions inside it included."""
    loads, imports, constants = set[str](), Imports(), [None, None]
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_CONST":
            constants = [constants[1], step.argval]
        elif step.opname in LOADS or step.argval in UNSEEN:
            loads.add(step.argval)
        elif step.opname == "IMPORT_NAME":
            imports.add((constants[0] or 0, step.argval, constants[1] or ()))
    for nested in (item for item in code.co_consts if isinstance(item, types.CodeType)):
        more_loads, more_imports = _scan(nested)
        loads, imports = loads | more_loads, imports | more_imports
    return loads, imports


def _resolved(imports: Imports, package: str) -> list[str]:
    """Return the modules that imports may mean: of ``from a import b``, a and a.b."""
    found = set()
    for level, name, parts in imports:
        try:
            base = importlib.util.resolve_name("." * level + name, package)
        except ImportError:  # it fails in the same way when it is run
            continue
        found |= {base, *(f"{base}.{part}" for part in parts)}
    return sorted(found)


@functools.lru_cache(maxsize=256)
def _imports_of(source: bytes) -> Imports:
    return _scan(compile(source, "file", "exec", dont_inherit=True))[1]
