"""Random, extreme and ill-typed input of the public API: a finite result of the right shape, or one sentence."""

import contextlib
import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sgdnoise as sn

pytestmark = pytest.mark.faults

REFUSALS = (ValueError, TypeError, MemoryError, sn.DivergedError)
SETTINGS = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.complex_numbers(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.lists(st.floats(), max_size=3),
    st.sampled_from([np.nan, np.float32(0.5), np.int8(3), np.array(0.5), np.ones(3), np.array("x"), object(), sn, {}]),
)
positive = st.one_of(st.floats(0.01, 20.0), st.sampled_from([1e-300, 1e-12, 1e6, 1e12]))
fraction = st.floats(0.01, 1.0)
problems = st.builds(
    sn.Problem,
    alpha=st.floats(0.1, 8.0),
    delta=positive,
    ridge=st.one_of(st.just(0.0), positive),
    margin=st.one_of(st.floats(-3, 3), st.sampled_from([0.0, 1e6, -1e6])),
    init_variance=st.one_of(st.just(0.0), positive),
    loss=st.sampled_from([sn.squared_hinge, sn.square, sn.logistic]),
)
algorithms = st.one_of(
    st.builds(sn.GD),
    st.builds(sn.SGD, batch=fraction),
    st.builds(sn.PersistentSGD, batch=fraction, persistence=positive, embedding=st.sampled_from(["euler", "exact"])),
)


def refused(error):
    text = str(error)
    assert text
    assert "\n" not in text
    assert "numba" not in text.lower() or "numba.vectorize" in text


def attempt(call):
    """Return the result of a call, or None if it was refused in one sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="alpha=.* is .*, not a whole number")
        try:
            return call()
        except REFUSALS as error:
            refused(error)
            return None


@SETTINGS
@given(st.dictionaries(st.sampled_from(["alpha", "delta", "ridge", "margin", "init_variance", "loss"]), anything))
def test_problem(arguments):
    made = attempt(lambda: sn.Problem(**{"alpha": 1.0, **arguments}))
    if made is not None:
        assert all(math.isfinite(getattr(made, name)) for name in ("alpha", "delta", "ridge", "margin"))


@SETTINGS
@given(st.sampled_from([sn.SGD, sn.PersistentSGD]), anything, anything, anything, anything)
def test_algorithms(kind, batch, persistence, embedding, learning_rate):
    arguments = (batch,) if kind is sn.SGD else (batch, persistence, embedding)
    made = attempt(lambda: kind(*arguments))
    for algorithm in (made, sn.PersistentSGD(0.3, 2.0), sn.GD()):
        chain = (
            attempt(lambda algorithm=algorithm: algorithm.sampling(learning_rate)) if algorithm is not None else None
        )
        if chain is not None:
            assert all(0 <= value <= 1 for value in chain)


@SETTINGS
@given(problems, algorithms, st.sampled_from([1e-9, 0.01, 0.1, 0.5, 2.0, 1e5]), st.integers(1, 6), st.integers(2, 12))
def test_simulate_with_extreme_numbers(problem, algorithm, learning_rate, steps, features):
    made = attempt(
        lambda: sn.simulate(
            problem, algorithm, learning_rate, steps * learning_rate, features=features, realisations=2, replicas=2
        )
    )
    if made is not None:
        assert made.sizes == {"realisation": 2, "time": steps + 1}
        for name in made.data_vars:
            assert np.isfinite(made[name]).all(), (name, made[name].values)


@SETTINGS
@given(problems, algorithms, st.sampled_from([1e-9, 0.01, 0.1, 0.5, 2.0, 1e5]), st.integers(1, 5), st.integers(1, 2))
def test_theory_with_extreme_numbers(problem, algorithm, learning_rate, steps, replicas):
    options = {"paths": 20, "realisations": 2, "replicas": replicas}
    made = attempt(lambda: sn.solve_dmft(problem, algorithm, learning_rate, steps * learning_rate, **options))
    if made is not None:
        assert made.sizes == {"realisation": 2, "time": steps + 1, "waiting_time": steps + 1}
        for name in made.data_vars:
            known = made[name] if "waiting_time" not in made[name].dims else made[name].where(after(made), 0.0)
            assert np.isfinite(known).all(), (name, made[name].values)


def after(made):
    """Where time has reached the waiting time; before it there is nothing to know."""
    return made.time >= made.waiting_time - 1e-12


def arguments(*names):
    """Some of the arguments that both engines have, or of these, each replaced by anything."""
    shared = ["problem", "algorithm", "learning_rate", "duration", "replicas", "realisations", "seed"]
    return st.dictionaries(st.sampled_from([*shared, *names]), anything, min_size=1)


# Work that is legitimate but long is not what these tests are about.
MOST = {"realisations": 20, "features": 50, "paths": 5000, "duration": 10, "max_iterations": 50}


def engine_with_anything(engine, given, **size):
    usual = {"problem": sn.Problem(alpha=2), "algorithm": sn.SGD(0.5), "learning_rate": 0.1, "duration": 0.3}
    usual |= {"realisations": 2, "seed": 0, **size}
    for name, value in given.items():
        is_long = isinstance(value, int | float) and value > MOST.get(name, np.inf)
        is_long |= name == "learning_rate" and isinstance(value, float) and 0 < value < 1e-2
        usual |= {} if is_long else {name: value}
    made = attempt(lambda: engine(**usual))
    if made is not None:
        known = [made[name] for name in made.data_vars if "waiting_time" not in made[name].dims]
        assert all(np.isfinite(values).all() for values in known)


@SETTINGS
@given(arguments("features"))
def test_simulate_with_anything(given):
    engine_with_anything(sn.simulate, given, features=6)


@SETTINGS
@given(arguments("paths", "method", "waiting_times", "tolerance", "damping", "max_iterations", "variance_reduction"))
def test_theory_with_anything(given):
    engine_with_anything(sn.solve_dmft, given, paths=20)


@SETTINGS
@given(st.dictionaries(st.sampled_from(["function", "grid", "seeds", "fixed", "workers"]), anything, min_size=1))
def test_sweep_with_anything(tmp_path_factory, arguments):
    if isinstance(arguments.get("seeds"), int) and arguments["seeds"] > 20:
        del arguments["seeds"]
    usual = {"function": lambda x, seed=0: 1.0 * x + seed, "grid": {"x": [1, 2]}, "workers": 1}
    with contextlib.suppress(sn.SweepError):  # the function's own complaint about what it was given
        made = attempt(lambda: sn.sweep(**{**usual, **arguments}, store=tmp_path_factory.mktemp("store")))
        if made is None:
            return
        assert made.sizes["x"] == 2
