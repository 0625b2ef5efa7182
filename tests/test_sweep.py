"""Sweeps: the same bits however they are run, nothing computed twice, failures named."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
import xarray as xr

import sgdnoise as sn
from sgdnoise.sweep.store import Store, StoreError

PROBLEM = sn.Problem(alpha=2)


def trained(batch, seed, log=None):
    """A small simulation that notes that it was computed."""
    if log:
        with open(log, "a") as file:
            file.write(f"{batch} {seed}\n")
    run = sn.simulate(PROBLEM, sn.SGD(batch), 0.1, 0.5, features=10, realisations=2, seed=seed)
    return run[["norm", "error"]]


def fragile(x, log):
    """Fails at two and four, kills its process at three, and at five unless it has done so before."""
    with open(log, "a") as file:
        file.write(f"{x}\n")
    if x == 2:
        raise ValueError("no twos")
    if x == 3 or (x == 5 and Path(log).read_text().split().count("5") == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if x == 4:
        raise MemoryError
    return float(x)


def test_result_has_the_parameters_as_coordinates(tmp_path):
    result = sn.sweep(trained, {"batch": [0.3, 0.6]}, seeds=[4, 7], store=tmp_path, workers=1)
    assert dict(result.sizes) == {"batch": 2, "seed": 2, "realisation": 2, "time": 6}
    for batch in (0.3, 0.6):
        for seed in (4, 7):
            expected = trained(batch, seed)
            np.testing.assert_array_equal(result.norm.sel(batch=batch, seed=seed), expected.norm)
    assert result.attrs["alpha"] == 2.0


@pytest.mark.endtoend
def test_workers_order_and_the_store_do_not_change_a_bit(tmp_path):
    grid = {"batch": [0.3, 0.6, 0.9]}
    alone = sn.sweep(trained, grid, seeds=2, store=tmp_path / "a", workers=1)
    together = sn.sweep(trained, grid, seeds=2, store=tmp_path / "b", workers=2)
    stored = sn.sweep(trained, grid, seeds=2, store=tmp_path / "b", workers=1)
    xr.testing.assert_identical(alone, together)
    xr.testing.assert_identical(alone, stored)
    points = sn.sweep(trained, [{"batch": 0.9}, {"batch": 0.3}], seeds=2, store=tmp_path / "b", workers=1)
    np.testing.assert_array_equal(points.norm[0], alone.norm[2])
    np.testing.assert_array_equal(points.batch, [0.9, 0.3])


def test_only_what_is_missing_is_computed(tmp_path):
    log = str(tmp_path / "log")
    calls = {"fixed": {"log": log}, "store": tmp_path / "store", "workers": 1}

    def lines():
        with open(log) as file:
            return file.read().splitlines()

    sn.sweep(trained, {"batch": [0.3, 0.6]}, seeds=2, **calls)
    assert len(lines()) == 4
    sn.sweep(trained, {"batch": [0.3, 0.6]}, seeds=2, **calls)
    assert len(lines()) == 4
    sn.sweep(trained, {"batch": [0.3, 0.6, 0.9]}, seeds=2, **calls)
    assert lines()[4:] == ["0.9 0", "0.9 1"]
    sn.sweep(trained, {"batch": [0.3]}, seeds=3, **calls)
    assert lines()[6:] == ["0.3 2"]
    store = Store(tmp_path / "store")
    store.path(store.entries()[0]).write_bytes(b"damaged")
    sn.sweep(trained, {"batch": [0.3, 0.6, 0.9]}, seeds=2, **calls)
    sn.sweep(trained, {"batch": [0.3]}, seeds=3, **calls)
    assert len(lines()) == 8, "the damaged entry, and no other, was computed again"


@pytest.mark.endtoend
def test_failed_points_are_named_the_others_kept_and_a_killed_one_is_tried_once_more(tmp_path):
    log = tmp_path / "log"
    call = {"fixed": {"log": str(log)}, "store": tmp_path / "store"}
    with pytest.raises(sn.SweepError) as caught:
        sn.sweep(fragile, {"x": [1, 2, 3, 4, 5]}, workers=2, **call)
    text = str(caught.value)
    assert text.startswith("3 of 5 points failed; the others are kept")
    assert "x=2: ValueError: no twos" in text
    assert "x=3: its process was killed twice by SIGKILL, perhaps for lack of memory" in text
    assert "x=4: MemoryError: out of memory" in text
    assert len(Store(tmp_path / "store").entries()) == 2
    assert "raise ValueError" in next(trace for point, _, trace in caught.value.failures if point.endswith("x=2"))
    begun = log.read_text().split()
    assert [begun.count(x) for x in "135"] == [1, 2, 2], "five died once and was then computed"
    with pytest.raises(sn.SweepError, match="1 of 2 points failed"):
        sn.sweep(fragile, {"x": [1, 2]}, workers=1, **call)


KINDS = {
    "number": (lambda x: 1.5 * x, np.float64),
    "integer": (lambda x: 3 * x, np.int64),
    "int64": (lambda x: np.int64(3 * x), np.int64),
    "float32": (lambda x: np.float32(1.5 * x), np.float32),
    "truth": (lambda x: x > 1, np.bool_),
    "complex": (lambda x: 1j * x, np.complex128),
    "array": (lambda x: np.full(2, x, dtype=np.float32), np.float32),
    "mapping": (lambda x: {"value": 1.5 * x}, np.float64),
    "mapping of arrays": (lambda x: {"value": np.full((2, 3), x, dtype=np.int32)}, np.int32),
    "mapping of lists": (lambda x: {"value": [x, x]}, np.int64),
    "mapping with dimensions": (lambda x: {"value": ("k", [x, x])}, np.int64),
    "text": (lambda x: "αβγ"[:x], np.dtype("<U2")),
    "list": (lambda x: [x, 2.5], np.float64),
    "labelled": (lambda x: xr.DataArray(1.5 * x), np.float64),
    "dataset": (lambda x: xr.Dataset({"value": 1.5 * x}), np.float64),
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_of_every_kind(tmp_path, kind):
    function, dtype = KINDS[kind]
    result = sn.sweep(function, {"x": [1, 2]}, store=tmp_path, workers=1)
    for x in (1, 2):
        expected = function(x)
        expected = expected["value"] if isinstance(expected, dict | xr.Dataset) else expected
        expected = expected[1] if isinstance(expected, tuple) else expected
        np.testing.assert_array_equal(result.value.sel(x=x), expected)
    assert result.value.dtype == dtype


def odd(x, log):
    """Returns what no store keeps, from the second point on; the last kind cannot be sent between processes either."""
    with open(log, "a") as file:
        file.write(f"{x}\n")
    return [1.0, {1, 2}, (one for one in "ab")][min(x, 2)]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.endtoend)])
@pytest.mark.parametrize(("first", "returned"), [(1, {1, 2}), (2, None)])
def test_after_a_result_that_cannot_be_kept_no_point_is_begun(tmp_path, workers, first, returned):
    log = str(tmp_path / "log")
    call = {"fixed": {"log": log}, "store": tmp_path / "store", "workers": workers}
    with pytest.raises(sn.SweepError, match="TypeError: function must return an xarray") as caught:
        sn.sweep(odd, {"x": [0, first, *range(10, 20)]}, **call)
    with open(log) as file:
        begun = len(file.read().split())
    assert 2 <= begun <= 2 * workers, "only points that were under way"
    assert f"cannot be kept, so that {12 - begun} of 12 points were not computed" in str(caught.value)
    assert len(Store(tmp_path / "store").entries()) == 1, "what came before is kept"
    if returned is not None or workers == 2:
        assert caught.value.results[0] == returned
    else:
        assert list(caught.value.results[0]) == ["a", "b"], "what was computed is not lost"


def test_names_that_parameters_have_too(tmp_path):
    def named(x, y):
        return xr.Dataset({"x": 10 * x, "seed": ("y", [y, y])}, coords={"point": 3.0})

    options = {"store": tmp_path, "workers": 1}
    result = sn.sweep(named, {"x": [1, 2], "y": [5]}, **options)
    np.testing.assert_array_equal(result.x_result.sel(y=5), [10, 20])
    assert result.seed.dims == ("x", "y", "y_result")
    listed = sn.sweep(named, [{"x": 1, "y": 5}, {"x": 2, "y": 6}], **options)
    np.testing.assert_array_equal(listed.x_result, [10, 20])
    np.testing.assert_array_equal(listed.x, [1, 2])
    chosen = sn.sweep(lambda x: xr.DataArray([1.0, 2.0], coords={"x": [1, 2]}).sel(x=x), {"x": [1, 2]}, **options)
    np.testing.assert_array_equal(chosen.value, [1.0, 2.0])
    assert list(chosen.variables) == ["value", "x"]


def test_parameters_that_are_not_numbers(tmp_path):
    algorithms = [sn.GD(), sn.SGD(0.5)]
    fixed = {"problem": PROBLEM, "learning_rate": 0.1, "duration": 0.2, "features": 10, "realisations": 2}
    result = sn.sweep(sn.simulate, {"algorithm": algorithms}, fixed=fixed, store=tmp_path, workers=1)
    assert result.algorithm.values.tolist() == ["GD()", "SGD(batch=0.5)"]


def test_different_time_axes_are_joined(tmp_path):
    fixed = {"problem": PROBLEM, "algorithm": sn.GD(), "duration": 0.4, "features": 10, "realisations": 2}
    result = sn.sweep(sn.simulate, {"learning_rate": [0.1, 0.2]}, fixed=fixed, store=tmp_path, workers=1)
    assert result.sizes["time"] == 5
    assert int(result.norm.sel(learning_rate=0.2).isnull().sum()) == 4


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"function": 3}, TypeError, "function must be a function, got 3"),
        ({"grid": {}}, ValueError, "grid must name at least one parameter, got {}"),
        ({"grid": {"batch": []}}, ValueError, "grid must have a list of at least one value for 'batch', got []"),
        ({"grid": {"batch": 0.3}}, ValueError, "grid must have a list of at least one value for 'batch', got 0.3"),
        ({"grid": 3}, TypeError, "grid must be lists of values by name or a list of points, got 3"),
        ({"grid": [{"batch": 1}, {"b": 1}]}, ValueError, "grid must have the same names at every point (batch)"),
        ({"grid": {"seed": [1]}}, ValueError, "grid must name parameters that are neither fixed nor the seed"),
        ({"fixed": {"batch": 1}}, ValueError, "grid must name parameters that are neither fixed nor the seed"),
        ({"grid": {"bach": [1]}}, TypeError, "grid, fixed and seeds must name the parameters of the function"),
        ({"fixed": 3}, TypeError, "fixed must be values by name, got 3"),
        ({"store": 3}, TypeError, "store must be the path of a folder, got 3"),
        ({"store": ""}, ValueError, "store must be the path of a folder, got ''"),
        ({"scheduler": "foo"}, ValueError, "scheduler must be an address such as tcp://host:8786, got 'foo'"),
        ({"seeds": [2**63]}, ValueError, "seeds must be a whole number of at least 0 and at most 9223372036854775807"),
        ({"seeds": 0}, ValueError, "seeds must be a whole number of at least 1 and at most 1000000, got 0"),
        ({"seeds": 10**30}, ValueError, "seeds must be a whole number of at least 1 and at most 1000000, got 1000"),
        ({"seeds": 2.5}, TypeError, "seeds must be a number or a list of different whole numbers, got 2.5"),
        ({"workers": 0}, ValueError, "workers must be a whole number of at least 1, got 0"),
        (
            {"label": "../x"},
            ValueError,
            "label must be made of at most 60 letters, digits, dots and dashes, got '../x'",
        ),
        ({"seeds": [1, 1]}, ValueError, "seeds must be a number or a list of different whole numbers, got [1, 1]"),
        ({"seeds": [0.5]}, TypeError, "seeds must be a whole number of at least 0 and at most 9223372036854775807"),
        ({"grid": {"batch": [float("nan")]}}, ValueError, "batch must not be NaN, got nan"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(tmp_path, arguments, error, sentence):
    with pytest.raises(error) as caught:
        sn.sweep(**{"function": trained, "grid": {"batch": [0.3]}, "seeds": 1, "store": tmp_path, **arguments})
    assert str(caught.value).startswith(sentence)
    assert list(tmp_path.glob("*.nc")) == []


def test_a_store_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="must be writable"):
        sn.sweep(trained, {"batch": [0.3]}, seeds=1, store=tmp_path / "file", workers=1)


def test_the_number_of_workers_in_the_environment_is_checked(tmp_path, monkeypatch):
    for text in ("abc", "0", "-1", "1.5"):
        monkeypatch.setenv("SGDNOISE_WORKERS", text)
        with pytest.raises(ValueError, match=rf"SGDNOISE_WORKERS must be a whole number of at least 1, got '{text}'"):
            sn.sweep(trained, {"batch": [0.3]}, seeds=1, store=tmp_path)


@contextmanager
def somebody_else():
    """Root may write everywhere: be another user for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_store_that_has_every_point_is_enough():
    def double(x):
        return 2.0 * x

    with tempfile.TemporaryDirectory() as place:  # pytest's own folder is closed to others
        os.chmod(place, 0o755)
        folder = Path(place) / "store"
        sn.sweep(double, {"x": [1, 2, 3]}, store=folder, workers=1)
        (folder / "used" / "double.json").unlink()
        folders = [folder, *(path for path in folder.iterdir() if path.is_dir())]
        for path in folders:
            path.chmod(0o555)
        with somebody_else():
            result = sn.sweep(double, {"x": [1, 2]}, store=folder, workers=1)
            with pytest.raises(StoreError, match="must be writable and have room: Permission denied"):
                sn.sweep(double, {"x": [1, 4]}, store=folder, workers=1)
        for path in folders:
            path.chmod(0o755)
    np.testing.assert_array_equal(result.value, [2.0, 4.0])


SLOW = """
import time, sys
import sgdnoise as sn

def slow(x):
    time.sleep(0.05 if x < 2 else 60)
    return float(x)

print(sn.sweep(slow, {"x": list(range(int(sys.argv[2])))}, store=sys.argv[1], workers=2).value.values.tolist())
"""


@pytest.mark.endtoend
def test_interrupting_ends_the_workers_and_says_how_to_go_on(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    store = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, script, store, "4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(list(store.glob("*.nc"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)  # the points that were under way need a minute
    assert process.returncode != 0
    assert "Interrupted: slow: 2 of 4 points" in said
    assert "The same call goes on from there." in said
    done = subprocess.run([sys.executable, script, store, "2"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0.0, 1.0]"


EVERYTHING = """
import abc, dataclasses, enum, functools, sys, typing
import numba
import numpy as np
import sgdnoise as sn
import beside

class Kind(enum.IntEnum):
    ONE = 1
    @property
    def half(self): return 0.5 * self
class Pair(typing.NamedTuple):
    a: float = 1.0
    b: float = 2.0
    def sum(self): return self.a + self.b
@dataclasses.dataclass
class Data:
    kind: Kind
    items: list = dataclasses.field(default_factory=list)
    @property
    def size(self): return len(self.items) + beside.K
class Base(abc.ABC):
    @abc.abstractmethod
    def use(self): ...
class Tool(Base):
    __slots__ = ("x",)
    @classmethod
    def make(cls): return cls()
    def use(self): return super().__class__ and 3.0
@dataclasses.dataclass(frozen=True)
class Mine(sn.SGD):
    extra: float = 1.0
@numba.njit
def compiled(x): return 2.0 * x
def enclosed(n):
    return lambda x: n * x
triple = enclosed(3.0)

def point(x, data, pair, algorithm, kind):
    import beside as inner
    total = compiled(x) + triple(x) + Tool.make().use() + data.size + data.kind.half + pair.sum() + kind
    return {"total": total + inner.twice(x) + algorithm.extra + sn.critical_alpha(1.0), "set": x in {"a", "b", "c"}}

fixed = {"data": Data(Kind.ONE, [1, 2]), "pair": Pair(), "algorithm": Mine(0.5), "kind": Kind.ONE}
for workers in (1, 2):
    found = sn.sweep(point, {"x": [1.0, 2.0]}, fixed=fixed, store=f"{sys.argv[1]}/{workers}", workers=workers)
    print(found.total.values.tolist(), flush=True)
"""


@pytest.mark.endtoend
def test_whatever_a_script_defines_is_the_same_in_a_worker(tmp_path):
    (tmp_path / "script.py").write_text(EVERYTHING)
    (tmp_path / "beside.py").write_text("K = 7\ndef twice(x): return 2 * x\n")
    words = [sys.executable, tmp_path / "script.py", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    alone, together = done.stdout.splitlines()
    assert alone == together
    assert Store(tmp_path / "1").entries() == Store(tmp_path / "2").entries()


@pytest.mark.endtoend
def test_two_sweeps_at_once_share_the_work(tmp_path):
    code = (
        "import sys, time, sgdnoise as sn\n"
        "def f(x):\n"
        "    time.sleep(0.2)\n"
        "    open(sys.argv[1] + '/log', 'a').write('x')\n"
        "    return float(x)\n"
        "r = sn.sweep(f, {'x': list(range(12))}, store=sys.argv[1] + '/store', workers=1)\n"
        "print(r.value.values.sum())\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    both = [subprocess.Popen([sys.executable, script, tmp_path], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in both] == ["66.0", "66.0"]
    assert len((tmp_path / "log").read_text()) == 12


PROCESSES = "import time; from sgdnoise.sweep.executors import Processes; Processes(1).submit(time.sleep, 600).result()"


@pytest.mark.endtoend
def test_a_process_that_is_being_started_ends_with_the_one_that_starts_it():
    parent = psutil.Popen([sys.executable, "-c", PROCESSES], stderr=subprocess.PIPE)
    while not (workers := [child for child in parent.children() if "--pipe" in " ".join(child.cmdline())]):
        time.sleep(0.01)
    time.sleep(0.1)  # it has what it was told, and imports what it needs
    parent.kill()
    parent.communicate(timeout=60)
    assert psutil.wait_procs(workers, timeout=60)[1] == []
