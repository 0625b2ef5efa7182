"""Keys of results: they change with everything a result depends on, and with nothing else."""

import functools
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import sgdnoise as sn
from sgdnoise import fingerprint
from sgdnoise.fingerprint import key_of

SCALE = 2.0
PROBLEM = sn.Problem(alpha=3)


def helper(x):
    return SCALE * x


def target(x, seed=0):
    return helper(x) + seed


def make(body, **names):
    """A function of the user's, compiled from text as a notebook cell would be."""
    namespace = {"sn": sn, "np": np, **names}
    exec(textwrap.dedent(body), namespace)
    return namespace["f"]


def test_key_changes_with_parameters_and_seed():
    keys = {
        key_of(target, {"x": 1}, 0),
        key_of(target, {"x": 1.0}, 0),
        key_of(target, {"x": "1"}, 0),
        key_of(target, {"x": True}, 0),
        key_of(target, {"x": [1]}, 0),
        key_of(target, {"x": 1}, 1),
        key_of(target, {"x": 1}, None),
        key_of(target, {"y": 1}, 0),
        key_of(target, {"x": sn.SGD(0.5)}, 0),
        key_of(target, {"x": sn.SGD(0.25)}, 0),
        key_of(target, {"x": np.arange(3)}, 0),
        key_of(target, {"x": np.arange(3.0)}, 0),
    }
    assert len(keys) == 12
    assert key_of(target, {"x": np.float64(1.0)}, 0) == key_of(target, {"x": 1.0}, 0)


def test_key_changes_with_what_the_function_names(monkeypatch):
    before = key_of(target, {"x": 1}, 0)
    monkeypatch.setitem(helper.__globals__, "SCALE", 3.0)
    assert key_of(target, {"x": 1}, 0) != before


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("def f(x): return x + 1", "def f(x): return x + 2"),
        ("def f(x): return np.sin(x)", "def f(x): return np.cos(x)"),
        ("def f(x, y=1): return x", "def f(x, y=2): return x"),
        ("def f(x):\n  def g(y): return y + 1\n  return g(x)", "def f(x):\n  def g(y): return y + 2\n  return g(x)"),
        ("def f(x): return sn.critical(x)", "def f(x): return sn.simulate(x)"),
    ],
)
def test_key_changes_with_the_code(first, second):
    assert key_of(make(first), {"x": 1}, 0) == key_of(make(first), {"x": 1}, 0)
    assert key_of(make(first), {"x": 1}, 0) != key_of(make(second), {"x": 1}, 0)


def test_closures_and_partials_count():
    def outer(n):
        return lambda x: x + n

    assert key_of(outer(1), {"x": 1}, 0) != key_of(outer(2), {"x": 1}, 0)
    one, two = functools.partial(target, seed=1), functools.partial(target, seed=2)
    assert key_of(one, {"x": 1}, None) != key_of(two, {"x": 1}, None)


def test_functions_on_one_line_are_told_apart():
    same_line = {"linear": lambda x: x, "square": lambda x: x**2}
    assert key_of(same_line["linear"], {"x": 1}, 0) != key_of(same_line["square"], {"x": 1}, 0)


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


def test_only_the_part_of_the_library_that_is_used_counts(monkeypatch, tmp_path):
    used = fingerprint.used_modules(sn.simulate, {"problem": PROBLEM})
    assert {"sgdnoise.simulate", "sgdnoise.algorithms", "sgdnoise.losses", "sgdnoise._checks"} <= set(used)
    assert not {"sgdnoise.plotting", "sgdnoise.sweep", "sgdnoise.store"} & set(used)
    mine = make("def f(x): return sn.simulate(PROBLEM, x)", PROBLEM=PROBLEM)
    assert set(used) <= set(fingerprint.used_modules(mine, {}))
    # An edit of a module that is used changes the key; one of a module that is not does not.
    real = fingerprint.module_path
    before = key_of(sn.simulate, {"x": 1}, 0)
    for name, changes in (("sgdnoise.plotting", False), ("sgdnoise._checks", True)):
        edited = tmp_path / "edited.py"
        edited.write_bytes(real(name).read_bytes() + b"\n# edited\n")
        monkeypatch.setattr(fingerprint, "module_path", lambda n, name=name, e=edited: e if n == name else real(n))
        assert (key_of(sn.simulate, {"x": 1}, 0) != before) is changes


def test_functions_of_other_packages_count_by_their_version(monkeypatch):
    from scipy.optimize import linprog

    mine = make("def f(x): return linprog(x)", linprog=linprog)
    before = key_of(mine, {"x": 1}, 0)
    assert any("scipy.optimize" in str(part) and "of scipy 1" in str(part) for part in fingerprint.describe(mine))
    monkeypatch.setattr(fingerprint, "package_version", lambda _: "scipy 99")
    assert key_of(mine, {"x": 1}, 0) != before


def test_key_is_the_same_in_another_process():
    code = "import test_fingerprint as t; print(t.key_of(t.target, {'x': 1.5}, 3), t.key_of(t.sn.simulate, {}, 0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="tests")
    from test_fingerprint import target as imported

    assert done.stdout.split() == [key_of(imported, {"x": 1.5}, 3), key_of(sn.simulate, {}, 0)]


@pytest.mark.parametrize(
    ("value", "error", "sentence"),
    [
        (float("nan"), ValueError, "x must not be NaN, got nan"),
        (object(), TypeError, "x must be made of numbers, strings, lists, functions or dataclasses, got <object"),
        ({1, 2}, TypeError, "x must be made of numbers"),
    ],
)
def test_values_that_cannot_be_told_apart_are_refused(value, error, sentence):
    with pytest.raises(error) as caught:
        key_of(target, {"x": value}, 0)
    assert str(caught.value).startswith(sentence)


def test_a_global_that_cannot_be_told_apart_is_refused():
    with pytest.raises(TypeError, match="thing must be made of numbers"):
        key_of(make("def f(x): return thing", thing=object()), {"x": 1}, 0)
