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


NAN, INF = math.nan, math.inf
NUMBER = [None, "x", "1", NAN, INF, -INF, -1e300, True, 1j, [], [0.5], {}, np.ones(2), object(), b"1"]
POSITIVE = [*NUMBER, 0, -1]
FRACTION = [*POSITIVE, 1.5, 1e300]
WHOLE = ["x", "3", NAN, INF, 2.5, 8.0, -1, 10**30, True, 1j, [], [3], {}, np.array([1, 2]), object()]
COUNT = [None, *WHOLE, 0]
OBJECT = ["x", 3, NAN, [], {}, object(), np.ones(3), int, sn, None]
TEXT = [None, "x", "", 3, NAN, [], ["line"], b"line", object()]
FLAG = ["x", "yes", 3, 1, 0, NAN, [], object()]
TIMES = [
    "x",
    3,
    NAN,
    [NAN],
    [INF],
    [-1.0],
    [[]],
    ["a"],
    [None],
    [True],
    {},
    object(),
    np.ones((2, 2)),
    [1e300],
    [0.101],
]
SMALL = {"problem": sn.Problem(alpha=4, delta=0.7, ridge=0.5), "algorithm": sn.SGD(0.5), "learning_rate": 0.1}
RUN = {"problem": OBJECT, "duration": [*POSITIVE, 0.55, 1e300], "replicas": [*COUNT, 3], "realisations": COUNT}
RUN |= {"seed": [None, *WHOLE], "progress": FLAG}
ONE = RUN | {"algorithm": [*OBJECT, sn.SGD], "learning_rate": [*POSITIVE, 1e300]}
TRAINED = {"features": [*WHOLE, 0, 1], "record_every": COUNT, "loss_every": [*WHOLE, 0], "precision": TEXT}
TRAINED |= {"probes": COUNT, "stop_gradient": [*NUMBER[1:], 0.0], "on_divergence": TEXT, "workers": [*WHOLE[:7], 0]}
TRAINED |= {"waiting_times": [*TIMES, [0.2, 0.1], [0.1, 0.1]]}
TRAINED |= {"directions": ["x", 3, NAN, np.ones(10), np.ones((2, 9)), np.full((1, 10), NAN), [[None] * 10]]}
READ = {"waiting_times": [*TIMES, []], "drift_tolerance": POSITIVE}
LAGS = ["x", 3, NAN, [], [NAN], [INF], [-1.0], [99.0], ["a"], [None], {}, object(), [[0.5]], [True]]
PAIR = [*LAGS, (1.0, 0.5), (0.5, 0.5), (0.0, NAN), (0.0, 99.0), (0.0, 0.1), (0.0, True), (0.0, 0.5, 1.0)]
ROWS, SIGNS = np.ones((40, 5)) * np.arange(40)[:, None], np.resize([-1, 1], 40)


def damaged(run):
    """What is not the dataset of a run, or no longer is."""
    yield from (None, "x", 3, [], {}, object(), np.ones(3), type(run)(), run.correlation, run * NAN, run * INF)
    yield from (run.drop_vars(name) for name in ("correlation", "integrated_response", "norm", "time", "waiting_time"))
    yield from (run.isel({name: slice(0)}) for name in ("time", "waiting_time", "realisation"))
    yield from (run.isel(time=[0]), run.isel(time=slice(None, None, -1)), run.rename(time="t"), run.expand_dims(p=[0]))
    for name in ("correlation", "integrated_response", "norm"):
        yield from (run.assign({name: run[name].astype(kind)}) for kind in (str, complex, object))
        yield from (run.assign({name: run[name].isel(realisation=0)}), run.assign({name: run[name].isel(time=-1)}))
        yield run.assign({name: run[name] * NAN})
    for time in (run.time * NAN, run.time * 0, run.time.astype(str), run.time**2, run.time.astype("M8[s]")):
        yield run.assign_coords(time=time.values)
    yield from (run.assign_coords(waiting_time=run.waiting_time.values + shift) for shift in (NAN, 0.033))


def calls():
    """Every function and class of the package: its usual arguments, and bad values of each parameter."""
    run = sn.simulate(
        **SMALL, duration=4.0, features=40, realisations=4, waiting_times=np.arange(0, 2.01, 0.1).tolist()
    )
    linear = sn.linear_response(sn.Problem(alpha=6), sn.SGD(0.5), 0.1, 8.0)
    spectrum = sn.hessian_spectrum(sn.Problem(alpha=4))
    read = {"dataset": run, "waiting_times": [1.0, 1.5], "drift_tolerance": 1e6}
    bad_run = {"dataset": list(damaged(run))}
    sampled = {"batch": FRACTION, "gradient": TEXT, "momentum": [*NUMBER, -0.1, 1.0]}
    yield sn.Problem, {"alpha": 4.0}, {"alpha": POSITIVE, "delta": POSITIVE, "ridge": [*NUMBER, -1], "loss": OBJECT}
    yield sn.Problem, {"alpha": 4.0}, {"margin": NUMBER, "init_variance": [*NUMBER, -1], "data": OBJECT[:-1]}
    wrong = [
        "x",
        3,
        [],
        ROWS[0],
        ROWS * NAN,
        ROWS * 1j,
        ROWS[:0],
        ROWS[:3],
        ROWS[:, :0],
        ROWS.astype(str),
        [[1], [2, 3]],
    ]
    labels = [None, "x", 3, [], 0 * SIGNS, 2 * SIGNS, SIGNS * NAN, SIGNS[:39], ROWS, SIGNS * 1j, SIGNS.astype(str)]
    tests = ["x", 3, (ROWS,), (ROWS, SIGNS, SIGNS), (ROWS[:, :3], SIGNS), (ROWS[:0], SIGNS[:0]), (None, None), []]
    given = {"X": wrong, "y": labels, "test": tests, "loss": OBJECT, "ridge": [*NUMBER, -1], "margin": NUMBER}
    yield sn.Problem.from_data, {"X": ROWS, "y": SIGNS}, given
    yield sn.GD, {}, {"momentum": sampled["momentum"]}
    yield sn.SGD, {"batch": 0.5}, sampled
    yield sn.GaussianSGD, {"batch": 0.5}, sampled
    yield sn.ShuffledSGD, {"batch": 0.5}, sampled | {"batch": [*FRACTION, 0.3, 1e-9]}
    yield sn.PersistentSGD, {"batch": 0.5, "persistence": 1.0}, sampled | {"persistence": POSITIVE, "embedding": TEXT}
    yield sn.Langevin, {"temperature": 0.1}, {"temperature": [*NUMBER, -1], "momentum": sampled["momentum"]}
    yield sn.simulate, {**SMALL, "duration": 0.5, "features": 10, "realisations": 2}, ONE | TRAINED
    pair = {"problem": SMALL["problem"], "runs": [(sn.GD(), 0.1)], "duration": 0.5, "features": 10, "realisations": 2}
    runs = ["x", None, 3, [], [sn.GD()], [(sn.GD(),)], [(sn.GD(), 0.1, 3)], {}, (sn.GD(), 0.1), [None], object()]
    yield sn.simulate_paired, pair, RUN | TRAINED | {"runs": runs}
    theory = {**SMALL, "duration": 0.5, "paths": 30, "realisations": 2}
    solved = {"paths": [*COUNT, 3], "tolerance": POSITIVE, "seed": ONE["seed"]}
    iterated = {"method": TEXT, "damping": [*NUMBER, -1, 1.0], "max_iterations": COUNT, "variance_reduction": FLAG}
    yield sn.solve_dmft, theory, ONE | solved | iterated | {"waiting_times": [*TIMES, [], [0.2, 0.1]]}
    steady = {**SMALL, "duration": 8.0, "paths": 128, "realisations": 1, "tolerance": 10.0}
    own = {name: values for name, values in ONE.items() if name != "replicas"}
    yield sn.solve_stationary, steady, own | solved | {"memories": [*POSITIVE, 0.5], "paths": [*COUNT, 127, 129]}
    near = {name: ONE[name] for name in ("problem", "algorithm", "learning_rate", "duration")}
    yield sn.linear_response, {**SMALL, "duration": 1.0}, near | {"duration": [*near["duration"], 1e7]}
    for end in (sn.solve_statics, sn.hessian_spectrum):
        yield end, {"problem": SMALL["problem"]}, {"problem": OBJECT, "algorithm": [*OBJECT, sn.SGD]}
    yield sn.critical_alpha, {"delta": 1.0}, {"delta": POSITIVE}
    yield sn.Spectrum, {"statics": spectrum.statics}, {"statics": OBJECT}
    yield spectrum.quadrature, {}, {"nodes": COUNT}
    yield spectrum.resolvent, {"z": 1.0}, {"z": ["x", None, {}, object(), NAN, INF, [[1], [2, 3]]]}
    yield spectrum.density, {"eigenvalue": 1.0}, {"eigenvalue": ["x", None, {}, object(), NAN, INF, 1j]}
    yield (
        sn.fdt_curve,
        {"dataset": run},
        bad_run | {"waiting_time": ["x", INF, -1, 99.0, 0.05, True, [NAN], {}, [], 1j]},
    )
    line = read | {"lags": (0.0, 1.0), "tolerance": 9.0}
    asked = READ | bad_run | {"lags": PAIR, "method": TEXT, "tolerance": POSITIVE[1:], "symmetric": [None, *FLAG]}
    yield sn.effective_temperature, line, asked | {"points": [*COUNT, 1]}
    yield sn.effective_temperature, line | {"method": "tail", "points": 4}, bad_run | {"points": [*COUNT, 1]}
    yield sn.effective_temperature, line | {"method": "chord"}, bad_run
    window = {"lags": LAGS, "window": COUNT, "symmetric": [None, *FLAG]}
    yield sn.local_temperature, read | {"lags": (0.5, 1.0)}, READ | bad_run | window
    bad_rate = [linear.assign_attrs(learning_rate=rate) for rate in (NAN, "x", None, 0, -1, INF, [1], True, 0.05)]
    asked = {"dataset": [*damaged(run), *bad_rate], "frequencies": [*LAGS[:-1], [1e9]], "longest": POSITIVE[1:]}
    yield sn.frequency_temperature, {"dataset": linear, "frequencies": [1.0]}, asked
    yield sn.tail_slopes, {"dataset": run}, bad_run | {"points": [*LAGS, [0], [1], [2.5], [10**9]]}
    grid = {"function": lambda x, seed=0: x + seed, "grid": {"x": [1]}, "workers": 1}
    swept = {"grid": ["x", None, 3, [], {}, {"x": []}, {"y": [1]}, {"x": 1}, {"x": "ab"}, {1: [1]}, {"seed": [1]}]}
    swept |= {"function": OBJECT[:7], "seeds": [NAN, "x", -1, 0, [], [-1], [1, 1], 2.5, {}, object(), 10**30]}
    swept |= {
        "fixed": ["x", 3, [], {"y": 1}, {"x": 1}, {1: 2}, object()],
        "scheduler": ["", 3, "foo", NAN, [], object()],
    }
    swept |= {"workers": WHOLE[:7], "label": ["", 3, NAN, [], "a/b", object(), "x" * 300]}
    swept |= {"store": ["", 3, NAN, [], object(), b"x"]}
    yield sn.sweep, grid, swept
    yield sn.Store, {}, {"folder": ["", 3, NAN, [], object(), b"x"]}


def test_every_parameter_of_every_function_refuses_what_it_cannot_use(tmp_path, monkeypatch):
    """One sentence that says what is allowed, before any work. A wrong dataset is refused for what is wrong in it."""
    monkeypatch.setenv("SGDNOISE_STORE", str(tmp_path))
    flaws, tried, refusals = [], 0, (ValueError, TypeError, MemoryError)
    for function, usual, bad in calls():
        with contextlib.suppress(sn.TemperatureError):
            function(**usual)
        for parameter, value in [(name, value) for name, values in bad.items() for value in values]:
            tried += 1
            what = f"{function.__qualname__}({parameter}={' '.join(repr(value).split())[:60]})"
            try:
                flaws.append(f"{what} returned {type(function(**{**usual, parameter: value})).__name__}")
            except Exception as error:
                known = isinstance(error, refusals) or (parameter == "dataset" and isinstance(error, sn.NoPlateauError))
                words = str(error)
                named = parameter in words or (parameter == "dataset" and "waiting_time" in words)
                named |= parameter in ("runs", "fixed", "folder", "waiting_times", "memories", "data")
                if not (known and named and "must" in words and "\n" not in words):
                    flaws.append(f"{what}: {type(error).__name__}: {words[:200]}")
        with pytest.raises(TypeError, match="colour"):
            function(**usual, colour=1)
    assert not flaws, "\n".join(flaws)
    assert tried > 2000
