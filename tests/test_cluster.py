"""Sweeps on a real Dask scheduler with worker processes: the same bits, and nothing lost when something is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr
from own_parts import HuberHinge

import sgdnoise as sn
from bookbuild.paths import ROOT
from sgdnoise.simulation import step
from sgdnoise.sweep import executors, keys
from sgdnoise.sweep.store import Store

pytestmark = pytest.mark.faults

SCRIPT = """
import sys, time
import sgdnoise as sn

def point(batch, delay, seed):
    time.sleep(delay)
    return sn.simulate(sn.Problem(alpha=2), sn.SGD(batch), 0.1, 0.5, features=10, realisations=2, seed=seed)

if __name__ == "__main__":
    store, scheduler, delay = sys.argv[1:]
    result = sn.sweep(point, {"batch": [0.2, 0.4, 0.6, 0.8]}, seeds=3, fixed={"delay": float(delay)},
                      store=store, scheduler=scheduler or None, workers=1)
    result.to_netcdf(store + "/../result.nc", engine="scipy")
"""
POINTS = 12


def environment():
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), str(ROOT / "tests")]),
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    }


def dask(*words):
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    # A session of its own, so that a kill reaches the nanny's worker as well.
    return subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two worker processes, as a user would start them."""
    address_file = tmp_path / "scheduler.json"
    scheduler = dask("dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(address_file))
    deadline = time.monotonic() + 60
    while not address_file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.2)
    address = json.loads(address_file.read_text())["address"]

    def worker():
        words = (address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path / "dask"))
        return dask("dask_worker", *words)

    processes = [scheduler, worker(), worker()]
    yield address, processes, worker
    for process in processes:
        kill(process)


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "sweeping.py"
    path.write_text(SCRIPT)
    return path


def sweep(script, folder, address, delay):
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, script, folder / "store", address, str(delay)]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process, folder):
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    with xr.open_dataset(folder / "result.nc", engine="scipy") as opened:
        return opened.load()


def wait_for(count, folder):
    deadline = time.monotonic() + 120
    while len(Store(folder / "store").entries()) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(Store(folder / "store").entries()) >= count


def test_cluster_gives_the_same_bits_and_survives_kills(cluster, script, tmp_path):
    address, processes, worker = cluster
    here = result(sweep(script, tmp_path / "here", "", 0.0), tmp_path / "here")
    there = result(sweep(script, tmp_path / "there", address, 0.0), tmp_path / "there")
    xr.testing.assert_identical(here, there)

    # A worker is killed in the middle: its point is computed by the other, and the result is the same.
    folder = tmp_path / "worker_killed"
    process = sweep(script, folder, address, 0.4)
    wait_for(2, folder)
    kill(processes[1])
    after = result(process, folder)
    xr.testing.assert_identical(after.drop_attrs(), here.drop_attrs())

    # The client is killed and started again: what was finished is not computed again.
    processes.append(worker())
    folder = tmp_path / "client_killed"
    process = sweep(script, folder, address, 0.3)
    wait_for(3, folder)
    process.kill()
    process.communicate()
    store = Store(folder / "store")
    finished = {key: store.path(key).stat().st_mtime_ns for key in store.entries()}
    again = result(sweep(script, folder, address, 0.3), folder)
    assert len(store.entries()) == POINTS
    assert all(store.path(key).stat().st_mtime_ns == when for key, when in finished.items())
    xr.testing.assert_identical(again.drop_attrs(), here.drop_attrs())


def twice(x):
    return 2.0 * x


def test_another_version_on_a_worker_is_refused(cluster, tmp_path, monkeypatch):
    address, *_ = cluster
    monkeypatch.setattr(keys, "LIBRARY", "another")
    with pytest.raises(sn.SweepError, match=r"at x=1: its worker has another version of sgdnoise;"):
        sn.sweep(twice, {"x": [1]}, store=tmp_path / "store", scheduler=address)


def fatal(x):
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2.0 * x


def test_a_point_that_kills_its_workers_is_named(cluster, tmp_path):
    address, *_ = cluster
    with pytest.raises(sn.SweepError, match="1 of 3 points failed") as caught:
        sn.sweep(fatal, {"x": [1, 2, 3]}, store=tmp_path / "store", scheduler=address)
    assert "at x=2: its worker died, and so did all others that tried" in str(caught.value)


def test_a_scheduler_without_workers_says_so(cluster, tmp_path, monkeypatch):
    address, processes, _ = cluster
    for process in processes[1:]:
        kill(process)
    monkeypatch.setattr(executors, "WORKERLESS_SECONDS", 1.0)
    sentence = f"scheduler must have workers, and {address} has had none for 1 seconds; start some with: dask worker"
    with pytest.raises(ConnectionError, match=sentence):
        sn.sweep(twice, {"x": [1]}, store=tmp_path / "store", scheduler=address)


def test_an_address_without_a_scheduler_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 0.5)
    with pytest.raises(ConnectionError, match="scheduler must be the address of a running Dask scheduler"):
        sn.sweep(twice, {"x": [1]}, store=tmp_path, scheduler="tcp://127.0.0.1:9")


# The engines, with their parts as parameters: these go through pickle on the way to a worker.
PROBLEM = sn.Problem(alpha=0.5, ridge=0.5)
OWN = sn.Problem(alpha=0.5, ridge=0.5, loss=HuberHinge(0.5))


def statics(problem, algorithm):
    found = sn.solve_statics(problem, algorithm)
    return {"loss": found.loss, "slope": found.temperature_slope}


def responses(problem, algorithm):
    return sn.linear_response(problem, algorithm, 0.1, 1.0)


def simulated(problem, algorithm):
    size = {"features": 10, "realisations": 2, "workers": 1}
    known = sum(step.advance.stats.cache_misses.values())
    found = sn.simulate(problem, algorithm, 0.1, 0.5, **size).drop_attrs(deep=False)
    return found.assign(compiled=sum(step.advance.stats.cache_misses.values()) - known)


@pytest.mark.parametrize(
    ("function", "problem"), [(statics, PROBLEM), (responses, PROBLEM), (simulated, PROBLEM), (simulated, OWN)]
)
def test_parts_are_the_same_in_every_process(cluster, tmp_path, function, problem):
    """One worker, two, and a cluster: same keys, same bits, and nothing that was compiled before is compiled again."""
    address, *_ = cluster
    function(problem, sn.SGD(0.5))
    found = []
    for name, options in {"one": {"workers": 1}, "two": {"workers": 2}, "cluster": {"scheduler": address}}.items():
        grid = {"algorithm": [sn.GD(), sn.SGD(0.5)]}
        result = sn.sweep(function, grid, fixed={"problem": problem}, store=tmp_path / name, **options)
        found.append((Store(tmp_path / name).entries(), result))
    (keys_here, here), *others = found
    for keys_there, there in others:
        assert keys_there == keys_here
        xr.testing.assert_identical(there, here)
    if function is simulated:
        np.testing.assert_array_equal(here.compiled, 0)
