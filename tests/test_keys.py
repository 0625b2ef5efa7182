"""Keys of results: they change with everything a result depends on, and with nothing else."""

import contextlib
import enum
import functools
import importlib
import subprocess
import sys
import textwrap

import numba
import numpy as np
import pytest

import sgdnoise as sn
from sgdnoise.sweep import keys
from sgdnoise.sweep.keys import key_of

SCALE = 2.0
PROBLEM = sn.Problem(alpha=3)


def helper(x):
    return SCALE * x


def target(x, seed=0):
    return helper(x) + seed


def make(body, **names):
    """A function of the user's, compiled from text as a script or a notebook cell would be."""
    namespace = {"__name__": "__main__", "sn": sn, "np": np, **names}
    exec(textwrap.dedent(body), namespace)
    return namespace["f"]


class Size(enum.IntEnum):
    SMALL = 1


class Colour(enum.IntEnum):
    RED = 1


def test_key_changes_with_parameters_and_seed():
    values = [1, 1.0, "1", True, [1], (1,), {1}, {"1": 1}, None, b"1", 1j, np.float32(1), np.int64(1), Size.SMALL]
    values += [Colour.RED, sn.SGD(0.5), sn.SGD(0.25), np.arange(3), np.arange(3.0), np.array(["a", None])]
    found = {key_of(target, {"x": value}, 0) for value in values}
    found |= {key_of(target, {"x": 1}, 1), key_of(target, {"x": 1}, None), key_of(target, {"y": 1}, 0)}
    assert len(found) == len(values) + 3
    assert key_of(target, {"x": np.float64(1.0)}, 0) == key_of(target, {"x": 1.0}, 0)
    assert key_of(target, {"x": np.array(["a", None])}, 0) == key_of(target, {"x": np.array(["a", None])}, 0)


def test_key_changes_with_what_the_function_names(monkeypatch):
    before = key_of(target, {"x": 1}, 0)
    monkeypatch.setitem(helper.__globals__, "SCALE", 3.0)
    assert key_of(target, {"x": 1}, 0) != before


# What a user edits: the script, the module beside it, and the text that is replaced in either.
HELPERS = """
import deeper
K = 2
def g(x): return K * x
def through(x): return deeper.h(x)
class Tool:
    factor = 5
    def use(self, x): return 7 * x
"""
DEEPER = """
def h(x): return 11 * x
"""
SCRIPT = """
import dataclasses
import helpers, helpers as other
from helpers import Tool
LEVEL = 13
def near(x): return 17 * x
class Mine:
    size = 19
    def use(self, x): return 23 * x
    @property
    def half(self): return 29
    @staticmethod
    def fixed(): return 31
@dataclasses.dataclass
class Data:
    width: int = 37
    items: list = dataclasses.field(default_factory=list)
    def area(self): return 41 * self.width
@dataclasses.dataclass(frozen=True)
class Algorithm(sn.SGD):
    def twice(self): return 43 * self.batch
"""
EDITS = {
    "the function": ("def f(x): return 47 * x", "47", "48"),
    "a global number": ("def f(x): return LEVEL * x", "LEVEL = 13", "LEVEL = 14"),
    "a default": ("def f(x, y=53): return x + y", "53", "54"),
    "a function of the script": ("def f(x): return near(x)", "17", "18"),
    "helpers.g": ("def f(x): return helpers.g(x)", "return K * x", "return K + x"),
    "import helpers as other": ("def f(x): return other.g(x)", "return K * x", "return K + x"),
    "helpers.K": ("def f(x): return helpers.K * x", "K = 2", "K = 3"),
    "an import in the function": ("def f(x):\n  import helpers\n  return helpers.g(x)", "K = 2", "K = 3"),
    "a name imported in the function": ("def f(x):\n  from helpers import g\n  return g(x)", "K = 2", "K = 3"),
    "a module behind a module": ("def f(x): return helpers.through(x)", "11", "12"),
    "a class of a module": ("def f(x): return Tool().use(x)", "7 * x", "8 * x"),
    "a class of the script": ("def f(x): return Mine().use(x)", "23", "24"),
    "a property": ("def f(x): return Mine().half", "29", "30"),
    "a static method": ("def f(x): return Mine.fixed()", "31", "32"),
    "a method of a dataclass": ("def f(x): return Data().area()", "41", "42"),
    "a field of a dataclass": ("def f(x): return Data().area()", "37", "38"),
    "a subclass of sn.SGD": ("def f(x): return Algorithm(0.5).twice()", "43", "44"),
    "an attribute of a class": ("def f(x): return Mine.size * x", "19", "20"),
    "an attribute of a class of a module": ("def f(x): return Tool.factor * x", "factor = 5", "factor = 6"),
    "the arguments' names": (
        "def f(x, y=1): return x - 2 * y",
        "x, y=1): return x - 2 * y",
        "y, x=1): return y - 2 * x",
    ),
    "what is caught": ("def f(x):\n  try: return 1 / x\n  except ValueError: pass", "ValueError", "KeyError"),
}


@pytest.fixture
def key_after(tmp_path, monkeypatch):
    """The key of f in a script, with its modules, after the replacement of a text in all of them."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def key(definition, old="", new=""):
        for name in ("helpers", "deeper"):
            sys.modules.pop(name, None)
            text = {"helpers": HELPERS, "deeper": DEEPER}[name]
            (tmp_path / f"{name}.py").write_text(text.replace(old, new))
        importlib.invalidate_caches()
        return key_of(make((SCRIPT + definition).replace(old, new)), {"x": 1}, 0)

    yield key
    for name in ("helpers", "deeper"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_of_what_the_function_reaches_is_noticed(key_after, edit):
    definition, old, new = EDITS[edit]
    assert old in HELPERS + DEEPER + SCRIPT + definition
    assert key_after(definition) == key_after(definition)
    assert key_after(definition) != key_after(definition, old, new)


def test_edits_of_a_script_that_the_function_does_not_reach_leave_its_results(key_after):
    definition = "def f(x): return near(x)"
    for old, new in (("LEVEL = 13", "LEVEL = 14"), ("23", "24"), ("def near", "# a comment\ndef near")):
        assert key_after(definition) == key_after(definition, old, new)


def plus(number):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x) + number

        return wrapper

    return decorate


def doubled(function):
    return functools.wraps(function)(lambda x: 2 * function(x))


DECORATED = {
    "plain": "def f(x): return x",
    "plus one": "@plus(1)\ndef f(x): return x",
    "plus two": "@plus(2)\ndef f(x): return x",
    "doubled": "@doubled\ndef f(x): return x",
    "plus one, of another": "@plus(1)\ndef f(x): return 3 * x",
    "cached": "@functools.lru_cache\ndef f(x): return x",
    "a context": "@contextlib.contextmanager\ndef f(x): yield x",
    "compiled": "@numba.njit\ndef f(x): return x",
    "compiled, fast": "@numba.njit(fastmath=True)\ndef f(x): return x",
    "compiled, of another": "@numba.njit\ndef f(x): return 3 * x",
    "elementwise": "@numba.vectorize\ndef f(x): return x",
}


def test_decorated_functions_are_told_apart(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    names = {"plus": plus, "doubled": doubled, "functools": functools, "contextlib": contextlib, "numba": numba}
    found = {kind: key_of(make(text, **names), {"x": 1}, 0) for kind, text in DECORATED.items()}
    assert len(set(found.values())) == len(DECORATED)
    assert found == {kind: key_of(make(text, **names), {"x": 1}, 0) for kind, text in DECORATED.items()}


def test_closures_and_partials_count():
    def outer(n):
        return lambda x: x + n

    assert key_of(outer(1), {"x": 1}, 0) != key_of(outer(2), {"x": 1}, 0)
    one, two = functools.partial(target, seed=1), functools.partial(target, seed=2)
    assert key_of(one, {"x": 1}, None) != key_of(two, {"x": 1}, None)
    a, b = outer(1), outer(2)
    both = "def f(x): return first(x) - second(x)"
    assert key_of(make(both, first=a, second=b), {"x": 1}, 0) != key_of(make(both, first=b, second=a), {"x": 1}, 0)


def test_functions_on_one_line_are_told_apart():
    same_line = {"linear": lambda x: x, "square": lambda x: x**2}
    assert key_of(same_line["linear"], {"x": 1}, 0) != key_of(same_line["square"], {"x": 1}, 0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("def f(x): return np.sin(x)", "def f(x): return np.cos(x)"),
        ("def f(x):\n  def g(y): return y + 1\n  return g(x)", "def f(x):\n  def g(y): return y + 2\n  return g(x)"),
        ("def f(x): return sn.critical(x)", "def f(x): return sn.simulate(x)"),
        ("def f(x): return x in {'a', 'b', 'c'}", "def f(x): return x in {'a', 'b', 'd'}"),
    ],
)
def test_key_changes_with_the_code(first, second):
    assert key_of(make(first), {"x": 1}, 0) == key_of(make(first), {"x": 1}, 0)
    assert key_of(make(first), {"x": 1}, 0) != key_of(make(second), {"x": 1}, 0)


@pytest.mark.parametrize(
    "body", ["def f(x): return sn.simulate(x)", "def f(x):\n  import sgdnoise\n  return sgdnoise.simulate(x)"]
)
def test_key_changes_with_any_part_of_the_library(monkeypatch, body):
    before = key_of(make(body), {"x": 1}, 0), key_of(sn.simulate, {}, 0)
    monkeypatch.setattr(keys, "LIBRARY", "edited")
    after = key_of(make(body), {"x": 1}, 0), key_of(sn.simulate, {}, 0)
    assert not set(before) & set(after)


def test_functions_of_other_packages_count_by_their_version(monkeypatch):
    from scipy.optimize import linprog

    mine = make("def f(x): return linprog(x)", linprog=linprog)
    before = key_of(mine, {"x": 1}, 0)
    monkeypatch.setattr(keys, "_version", lambda _: "scipy 99")
    assert key_of(mine, {"x": 1}, 0) != before


@pytest.mark.endtoend
def test_key_is_the_same_in_another_process_with_another_order_of_sets():
    code = (
        'import test_keys as t; literal = \'def f(x): return x in {"a", "b", "c", "d"} or NAMES\'\n'
        "mine = t.make(literal, NAMES={'k', 'l', 'm', 'n'})\n"
        "print(t.key_of(t.target, {'x': 1.5}, 3), t.key_of(t.sn.simulate, {}, 0), t.key_of(mine, {}, 0))"
    )
    said = set()
    for order in ("1", "2"):
        environment = {"PYTHONHASHSEED": order, "PYTHONPATH": "../lib"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="tests", env=environment
        )
        said.add(done.stdout)
    from test_keys import target as imported

    assert len(said) == 1
    assert said.pop().split()[:2] == [key_of(imported, {"x": 1.5}, 3), key_of(sn.simulate, {}, 0)]


class Stateful:
    def __init__(self, k):
        self.k = k

    def run(self, x):
        return self.k * x

    __call__ = run


@pytest.mark.parametrize("function", [Stateful(1.0).run, Stateful(1.0)], ids=["method", "callable"])
def test_functions_that_may_hold_a_state_are_refused(function):
    for candidate in (function, make("def f(x): return inner(x)", inner=function)):
        with pytest.raises(TypeError, match="function must be a plain function"):
            key_of(candidate, {"x": 1}, 0)


@pytest.mark.parametrize("body", ["eval('x')", "exec('x')", "__import__('os')", "importlib.import_module('os')"])
def test_code_that_cannot_be_seen_is_refused(body):
    with pytest.raises(TypeError, match="function must name the code that it runs, and f calls"):
        key_of(make(f"def f(x): return {body}", importlib=importlib), {"x": 1}, 0)


@pytest.mark.parametrize(("old", "new"), [("return K * x", "return K + x"), ("K = 2", "K = 3")])
def test_a_module_that_was_edited_after_its_import_is_refused(key_after, tmp_path, old, new):
    definition = "def f(x): return helpers.g(x)"
    key_after(definition)
    function = make(SCRIPT + definition)
    key_of(function, {"x": 1}, 0)
    path = tmp_path / "helpers.py"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(RuntimeError, match="module helpers was edited after it was imported; start Python"):
        key_of(function, {"x": 1}, 0)


@pytest.mark.parametrize(
    ("value", "error", "sentence"),
    [
        (float("nan"), ValueError, "x must not be NaN, got nan"),
        (object(), TypeError, "x must be made of numbers, strings, lists, functions or dataclasses, got <object"),
    ],
)
def test_values_that_cannot_be_told_apart_are_refused(value, error, sentence):
    with pytest.raises(error) as caught:
        key_of(target, {"x": value}, 0)
    assert str(caught.value).startswith(sentence)


def test_a_global_that_cannot_be_told_apart_is_refused():
    with pytest.raises(TypeError, match="thing must be made of numbers"):
        key_of(make("def f(x): return thing", thing=object()), {"x": 1}, 0)
