"""What a stored result depends on: the function, its parameters, and the code that it runs.

The key of a result is a hash of all of these, so that a result is found again exactly as long as computing it anew
would give the same bits. Of the library, only the modules count that the function can reach by imports: an edit of the
plotting style leaves a simulation valid.
"""

import ast
import dataclasses
import functools
import hashlib
import importlib.util
import inspect
import json
import math
import os
import platform
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PACKAGE = "sgdnoise"
ROOT = Path(__file__).resolve().parent
# Their versions can change the last bits of a result.
PACKAGES = ("numpy", "scipy", "numba", "xarray")
Function = Callable[..., Any]


def canonical(name: str, value: Any) -> Any:
    """Turn a parameter into plain JSON that distinguishes every two values; refuse what cannot be told apart.

    >>> canonical("x", 0.1), canonical("x", np.float64(1)), canonical("x", (1, "a"))
    ({'float': '0.1'}, {'float': '1.0'}, [1, 'a'])
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError(f"{name} must not be NaN, got {value!r}")
        return {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        return [canonical(name, item) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": [[canonical(name, k), canonical(name, v)] for k, v in value.items()]}
    if isinstance(value, np.ndarray):
        return {"array": [str(value.dtype), list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: canonical(f"{name}.{f.name}", getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {type(value).__qualname__: fields}
    if callable(value):
        return {"function": describe(value)}
    raise TypeError(f"{name} must be made of numbers, strings, lists, functions or dataclasses, got {value!r}")


def describe(function: Function) -> list[Any]:
    """Say which function this is and what its result depends on besides its arguments."""
    if isinstance(function, functools.partial):
        arguments = canonical("arguments", [function.args, function.keywords])
        return ["partial", describe(function.func), arguments]
    plain = unwrap(function)
    module = getattr(plain, "__module__", "") or ""
    name = getattr(plain, "__qualname__", type(plain).__qualname__)
    if module == PACKAGE or module.startswith(PACKAGE + "."):
        return [module, name, module_hashes([module])]
    return [name, *sorted(user_code(plain, set()), key=json.dumps)]


def unwrap(function: Any) -> Any:
    """Return the Python function behind a decorated or compiled one."""
    function = inspect.unwrap(function)
    dispatcher = getattr(function, "_dispatcher", function)  # of a Numba ufunc
    return getattr(dispatcher, "py_func", dispatcher)


def user_code(function: Any, seen: set[int]) -> Iterator[str | dict[str, str]]:
    """List the code of a function of the user's, and everything outside of it that this code names."""
    function = unwrap(function)
    if id(function) in seen:
        return
    seen.add(id(function))
    if is_installed(function):
        yield f"{function.__module__}.{function.__qualname__} of {package_version(function.__module__)}"
        return
    if isinstance(function, BuiltinFunctionType | np.ufunc):
        yield f"builtin {getattr(function, '__module__', 'numpy')}.{function.__name__}"
        return
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"function must be a plain function, and use only such: a method or a callable object may hold what a key "
            f"cannot see, got {function!r}"
        )
    # Of the compiled code, not of the text: two functions may share a line, and a comment changes nothing.
    yield "code " + code_hash(function.__code__)
    defaults = [function.__defaults__, function.__kwdefaults__]
    yield "defaults " + json.dumps(canonical(f"defaults of {function.__qualname__}", defaults), sort_keys=True)
    names = set(code_names(function.__code__))
    outside = {name: function.__globals__[name] for name in names if name in function.__globals__}
    cells = function.__closure__ or ()
    outside |= {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, cells, strict=True)}
    for name, value in sorted(outside.items()):
        if isinstance(value, ModuleType):
            yield from module_uses(value, names)
        elif getattr(value, "__module__", "").split(".")[0] == PACKAGE and callable(value):
            yield module_hashes([unwrap(value).__module__])
        elif isinstance(value, type):
            yield f"class {value.__module__}.{value.__qualname__}"
        elif callable(value) and not dataclasses.is_dataclass(value):
            yield from user_code(value, seen)
        else:
            described = canonical(name, value)
            yield f"{name} = {json.dumps(described, sort_keys=True)}"
            yield modules_in(described)


def is_installed(function: Any) -> bool:
    """Tell whether a function belongs to an installed package or to Python itself, which a version identifies."""
    if not isinstance(function, FunctionType):
        return False
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    file = os.path.abspath(function.__code__.co_filename)
    return any(file.startswith(place + os.sep) for place in places)


@functools.cache
def package_version(module: str) -> str:
    """Return the version of the installed package that a module belongs to, or that of Python."""
    for distribution in distributions().get(module.split(".")[0], []):
        return f"{distribution} {version(distribution)}"
    return f"Python {platform.python_version()}"


@functools.cache
def distributions() -> Mapping[str, list[str]]:
    """Return which installed packages provide which top-level modules."""
    return packages_distributions()


def code_hash(code: CodeType) -> str:
    """Hash the compiled code of a function; addresses in memory and line numbers do not count."""
    constants = [code_hash(item) if isinstance(item, CodeType) else repr(item) for item in code.co_consts]
    return hashlib.sha256(repr((code.co_code, code.co_names, constants)).encode()).hexdigest()


def code_names(code: CodeType) -> Iterator[str]:
    """List the global names and attributes that a function's code, and any function inside it, mentions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_names(constant)


def module_uses(module: ModuleType, names: set[str]) -> Iterator[str | dict[str, str]]:
    """Say what the use of a module makes a result depend on: for the library, the modules behind the names used."""
    top = module.__name__.split(".")[0]
    if top != PACKAGE:
        yield f"{module.__name__} of {package_version(module.__name__)}"
        return
    modules = {module.__name__} if module.__name__ != PACKAGE else set()
    for name in names:
        value = getattr(module, name, None)
        owner = value.__name__ if isinstance(value, ModuleType) else getattr(unwrap(value), "__module__", None)
        if isinstance(owner, str) and owner.split(".")[0] == PACKAGE:
            modules.add(owner)
    yield module_hashes(sorted(modules))


def module_hashes(modules: list[str]) -> dict[str, str]:
    """Hash the source of modules of the library and of all that they import from it.

    >>> sorted(module_hashes(["sgdnoise.problem"]))
    ['sgdnoise._checks', 'sgdnoise._jit', 'sgdnoise.losses', 'sgdnoise.problem']
    """
    found: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = module_path(name)
        if name in found or path is None:
            continue
        source = path.read_bytes()
        found[name] = hashlib.sha256(source).hexdigest()
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += imports_of(package, source)
    return found


def module_path(name: str) -> Path | None:
    """Return the file of a module of the library; the package itself, which imports everything, has none."""
    parts = name.split(".")[1:]
    if not parts:
        return None
    path = ROOT.joinpath(*parts)
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@functools.cache
def imports_of(package: str, source: bytes) -> tuple[str, ...]:
    """List what a module in a package imports from the library, wherever in its text; some may be names in a module.

    Parsing takes longer than all else about a key, and every point of a sweep asks for the same modules.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(relative, package) if node.level else relative
            # `from sgdnoise.a import b`: b may be a module of its own or a name in a.
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(module for module in found if module.startswith(PACKAGE + "."))


def modules_in(described: Any) -> dict[str, str]:
    """Collect the modules of the library, with their hashes, that a description mentions."""
    found: dict[str, str] = {}
    if isinstance(described, dict):
        for name, value in described.items():
            found |= {name: value} if name.startswith(PACKAGE + ".") else modules_in(value)
    elif isinstance(described, list):
        for value in described:
            found |= modules_in(value)
    return found


def used_modules(function: Function, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the modules of the library that a result depends on, with the hash of each."""
    return modules_in([describe(function), [canonical(name, value) for name, value in parameters.items()]])


@functools.cache
def environment() -> dict[str, str]:
    """Return what else of the machine can change the last bits."""
    return {name: version(name) for name in PACKAGES} | {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": platform.machine(),
    }


def key_of(function: Function, parameters: Mapping[str, Any], seed: int | None) -> str:
    """Return the key of one result."""
    parts = {
        "function": describe(function),
        "parameters": {name: canonical(name, value) for name, value in parameters.items()},
        "seed": seed,
        "environment": environment(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
