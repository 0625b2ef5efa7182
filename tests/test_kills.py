"""Kills at random moments, counted: of a store write, of a sweep, of a build. Each rerun gives undisturbed results."""

import contextlib
import os
import random
import subprocess
import sys
import time

import nbformat
import psutil
import pytest
import xarray as xr
from conftest import run, small_project, start

from bookbuild.paths import ROOT
from sgdnoise.sweep.store import Store

pytestmark = pytest.mark.faults

WRITE_KILLS, SWEEP_KILLS, BUILD_KILLS = 12, 14, 11

WRITER = """
import sys, numpy as np, xarray as xr
from sgdnoise.sweep.entry import encode
from sgdnoise.sweep.store import Store
data = encode(xr.Dataset({"a": ("x", np.arange(400_000.0))}), {})
store = Store(sys.argv[1])
print("ready", flush=True)
while True:
    for key in ("a", "b", "c"):
        store.write(key, data)
"""

SWEEP = """
import sys, time
import sgdnoise as sn

def point(batch, seed):
    time.sleep(0.05)
    return sn.simulate(sn.Problem(alpha=2), sn.SGD(batch), 0.1, 1.0, features=20, realisations=2, seed=seed)

result = sn.sweep(point, {"batch": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, seeds=3, store=sys.argv[1] + "/store", workers=2)
result.to_netcdf(sys.argv[1] + "/result.nc", engine="scipy")
"""


def python(*words, **options):
    env = {**os.environ, "PYTHONPATH": str(ROOT / "lib")}
    return subprocess.Popen([sys.executable, *map(str, words)], env=env, **options)


def test_kills_of_store_writes(tmp_path):
    rng = random.Random(1)
    expected = None
    for _ in range(WRITE_KILLS):
        process = python("-c", WRITER, tmp_path, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.3))
        process.kill()
        process.wait()
        process.stdout.close()
        store = Store(tmp_path)
        contents = {store.path(key).read_bytes() for key in store.entries()}
        assert all(store.has(key) for key in store.entries()), "an entry is whole, whenever its writer was killed"
        expected = expected or contents
        assert contents == expected
    assert len(store.entries()) == 3


def read(folder):
    with xr.open_dataset(folder / "result.nc", engine="scipy") as opened:
        return opened.load()


def test_kills_of_sweeps(tmp_path):
    script = tmp_path / "sweeping.py"
    script.write_text(SWEEP)
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    for folder in (undisturbed, disturbed):
        folder.mkdir()
    assert python(script, undisturbed).wait() == 0
    rng = random.Random(2)
    killed = 0
    while killed < SWEEP_KILLS:
        process = python(script, disturbed, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(1.0, 4.0))
        killed += process.poll() is None
        process.kill()
        process.wait()
        store = Store(disturbed / "store")
        assert all(store.has(key) for key in store.entries())
        if len(store.entries()) == 18:  # finished: start again, as long as kills are due
            for key in store.entries()[::2]:
                store.path(key).unlink()
    assert python(script, disturbed, stderr=subprocess.DEVNULL).wait() == 0
    first, second = read(undisturbed), read(disturbed)
    xr.testing.assert_identical(first.drop_attrs(), second.drop_attrs())
    for name in first.data_vars:
        assert first[name].values.tobytes() == second[name].values.tobytes()


CODE = """\
import sgdnoise as sn

result = sn.sweep(
    sn.simulate,
    {{"algorithm": [sn.SGD(0.1 * k) for k in range(1, 6)]}},
    fixed={{"problem": sn.Problem(alpha=2), "learning_rate": 0.1, "duration": 1.0, "features": {size}, "seed": seed}},
)
print(result.norm.values.tobytes().hex()[:4000])
"""


def outputs(project):
    """What the executed notebooks printed: the bytes of their results."""
    found = {}
    for path in sorted((project / "_build" / "executed").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        found[path.name] = [o.text for cell in cells for o in cell.get("outputs", []) if o.output_type == "stream"]
    return found


def processes_of(project):
    """Processes of a build of this project that are still alive."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = process.environ().get("PYTHONPATH", "").startswith(f"{project}/build")
            found += [process] if ours and process.status() != psutil.STATUS_ZOMBIE else []
    return found


def test_kills_of_builds(tmp_path):
    notebooks = {"one": CODE.format(size=20), "two": CODE.format(size=40)}
    projects = [small_project(tmp_path / name, **notebooks) for name in ("undisturbed", "disturbed")]
    undisturbed, disturbed = projects
    assert run(undisturbed, "book", "--profile", "smoke").returncode == 0
    rng = random.Random(3)
    killed = 0
    while killed < BUILD_KILLS:
        process = start(disturbed, "book", "--profile", "smoke")
        time.sleep(rng.uniform(0.5, 7.0))
        killed += process.poll() is None
        process.kill()
        process.communicate(timeout=60)  # it waits for all that was started and has not ended
        if (disturbed / "_build" / "html").exists():  # finished: touch a page, as long as kills are due
            with open(disturbed / "book" / "index.md", "a") as file:
                file.write("\nMore words.\n")
    deadline = time.monotonic() + 30
    while processes_of(disturbed) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_of(disturbed) == [], "the processes of a build end with it"
    done = run(disturbed, "book", "--profile", "smoke")
    assert done.returncode == 0, done.stderr
    assert list((disturbed / "_build" / "scratch").iterdir()) == []
    assert outputs(disturbed) == outputs(undisturbed)
    first, second = (Store(project / "_build" / "results") for project in projects)
    assert first.entries() == second.entries()
    for key in first.entries():
        one, two = first.read(key)[0], second.read(key)[0]
        assert all(one[name].values.tobytes() == two[name].values.tobytes() for name in one.data_vars)
