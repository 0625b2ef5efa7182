"""The results store: whole entries or none, every change of a bit noticed, nothing lost."""

import errno
import os
import pickle
import random
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
import xarray as xr

import sgdnoise as sn
from sgdnoise.__main__ import main
from sgdnoise.sweep import store as module
from sgdnoise.sweep.entry import DamagedEntryError, decode, encode
from sgdnoise.sweep.store import Store, StoreError

RESULT = xr.Dataset(
    {"a": (("x", "y"), np.random.default_rng(0).standard_normal((3, 4))), "b": ("x", np.arange(3))},
    coords={"x": [0.1, 0.2, 0.3]},
    attrs={"alpha": 0.1, "name": "é", "flag": True, "none": None},
)
DATA = encode(RESULT, {"version": "1", "note": "ü"})


def test_round_trip_is_exact():
    result, note = decode(DATA)
    assert note == {"version": "1", "note": "ü"}
    xr.testing.assert_identical(result, RESULT)


EXACT = {
    "types": {
        kind: ("x", np.array([0, 1, 100]).astype(kind))
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "?", ">f8", "M8[ns]")
    },
    "large integers": {"a": ("x", np.array([2**62 + 1, -(2**62) - 1, 0]))},
    "largest unsigned": {"a": ("x", np.array([2**64 - 1, 0], dtype=np.uint64))},
    "not numbers": {"a": ("x", np.array([np.nan, -0.0, np.inf, 5e-324]))},
    "text": {"a": ("x", np.array(["", "é", "日本 "])), "b": ("x", np.array(["a", "", "c"], dtype=object))},
    "single values": {"a": 3, "b": np.float32(0.1), "c": "word", "d": True, "e": 1j},
    "a single time": {"a": np.datetime64("2020-01-01", "ns"), "b": np.timedelta64(1, "ns")},
    "Greek names": {"λ": ("α", [1.0, 2.0]), "σ²": ("α", [3, 4]), "name_0": ("α", [5, 6])},
    "other names": {"a b": 1, "1": 2, "bytes_0": ("data", ["x", "y"]), "dimensions": 3, "variables": ("shape", [1])},
    "nothing": {"a": ("x", np.zeros(0)), "b": (("x", "y"), np.zeros((0, 2), dtype=np.int16)), "c": ("y", [1, 2])},
    "meanings": {
        "scaled": ("x", np.array([1, 2], dtype=np.int16), {"scale_factor": 0.1, "add_offset": 5.0}),
        "missing": ("x", [1.0, -9.0], {"missing_value": -9.0, "_FillValue": 1.0, "valid_range": [0.0, 1.0]}),
        "dates": ("x", [1.0, 2.0], {"units": "days since 2000-01-01", "calendar": "noleap"}),
        "spans": ("x", [1, 2], {"units": "seconds", "dtype": "bool", "coordinates": "x", "_Unsigned": "true"}),
    },
}
ATTRIBUTES = {
    "none": None, "true": True, "int": 2**70, "float": 0.1, "nan": np.inf, "text": "é", "empty": "", "λ": 1,
    "list": [1, "a", None], "tuple": (1, 2.5), "nested": {"a": [1], 2: (3,)}, "numpy": np.float32(0.1),
    "array": np.arange(3), "units": "days since 1900", "dimensions": 1, "close": 2, "layout": 3, "provenance": "mine",
}  # fmt: skip


@pytest.mark.parametrize("case", EXACT)
def test_results_of_every_kind_come_back_exactly(case):
    result = xr.Dataset(EXACT[case]).assign_attrs(ATTRIBUTES)
    found = decode(encode(result, {}))[0]
    xr.testing.assert_identical(found.drop_attrs(), result.drop_attrs())
    np.testing.assert_equal(found.attrs, result.attrs)
    assert {n: type(v) for n, v in found.attrs.items()} == {n: type(v) for n, v in result.attrs.items()}
    for name, variable in result.variables.items():
        assert found.variables[name].dtype == variable.dtype
        assert found.variables[name].attrs == variable.attrs
        assert variable.dtype == object or found.variables[name].values.tobytes() == variable.values.tobytes()


def test_a_result_that_cannot_be_kept_is_refused_by_name():
    with pytest.raises(TypeError, match="variable a of a result must hold numbers, strings or times, got object"):
        encode(xr.Dataset({"a": ("x", np.array([1, None], dtype=object))}), {})
    with pytest.raises(TypeError, match=r"attributes\['a'\] of a result must be numbers, strings, arrays or lists"):
        encode(xr.Dataset(attrs={"a": object()}), {})


def test_an_entry_is_plain_netcdf(tmp_path):
    store = Store(tmp_path)
    store.write("k", DATA)
    with xr.open_dataset(store.path("k"), engine="scipy") as opened:
        xr.testing.assert_equal(opened.drop_attrs(), RESULT.drop_attrs())


def test_every_truncation_and_every_kind_of_flip_is_noticed(tmp_path):
    """All lengths, and a flip of a random bit of every byte: none is read as a result."""
    store, rng = Store(tmp_path), random.Random(0)
    for length in range(0, len(DATA), 7):
        with pytest.raises(DamagedEntryError):
            decode(DATA[:length])
    for position in range(len(DATA)):
        flipped = bytearray(DATA)
        flipped[position] ^= 1 << rng.randrange(8)
        with pytest.raises(DamagedEntryError):
            decode(bytes(flipped))
    store.path("k").write_bytes(bytes(flipped))
    assert store.read("k") is None
    assert not store.has("k")


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("content", [b"", b"CDF\x01", pickle.dumps(Bomb()), b"\x89HDF\r\n\x1a\n" + b"x" * 300])
def test_a_malicious_file_is_no_entry_and_runs_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path)
    store.path("k").write_bytes(content)
    assert store.read("k") is None
    assert not (tmp_path / "exploded").exists()


def test_a_full_disk_keeps_what_was_there(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write("k", DATA)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(StoreError, match=r"has no room left; entry k was not written"):
        store.write("k", encode(RESULT + 1, {}))
    xr.testing.assert_equal(store.read("k")[0], RESULT)
    assert [path.name for path in tmp_path.iterdir()] == ["k.sgdnoise.nc"]


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "store")
    for attempt in (lambda: store.write("k", DATA), store.check_writable):
        with pytest.raises(StoreError, match="must be writable"):
            attempt()


def test_the_folder_is_the_one_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SGDNOISE_STORE", str(tmp_path / "elsewhere"))
    assert Store().folder == tmp_path / "elsewhere"
    monkeypatch.delenv("SGDNOISE_STORE")
    assert Store().folder.as_posix() == "_build/results"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store("~/mine").folder == tmp_path / "mine"
    with pytest.raises(ValueError, match="store must be the path of a folder, got ''"):
        Store("")


def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch):
    def area(x):
        return 2.0 * x

    first = sn.sweep(area, {"x": [1, 2]}, store=tmp_path, workers=1)
    monkeypatch.setattr(module.time, "gmtime", lambda: (1969, 12, 31, 0, 0, 0, 0, 365, 0))
    second = sn.sweep(area, {"x": [1, 2, 3]}, store=tmp_path, workers=1)
    xr.testing.assert_identical(first, second.sel(x=[1, 2]))


def test_a_claim_is_exclusive_and_ends(tmp_path):
    one, two = Store(tmp_path), Store(tmp_path)
    mine = one.claim("k")
    assert mine is not None
    assert two.claim("k") is None
    assert two.claim("other") is not None
    one.release(mine)
    assert two.claim("k") is not None


def scaled(x):
    return {"value": 2.0 * x}


def test_commands_list_verify_prune_export(tmp_path, capsys, monkeypatch):
    folder = str(tmp_path / "store")
    sn.sweep(scaled, {"x": [1, 2, 3]}, store=folder, workers=1, label="figure")
    assert main(["store", "list", "--folder", folder]) == 0
    said = capsys.readouterr().out
    assert said.count("valid") == 3
    assert "scaled(x=2)" in said
    assert main(["store", "verify", "--folder", folder]) == 0
    store = Store(folder)
    damaged = store.entries()[0]
    store.path(damaged).write_bytes(b"damaged")
    assert main(["store", "verify", "--folder", folder]) == 1
    assert damaged in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert main(["store", "export", "figure", "--folder", folder]) == 2
    said = capsys.readouterr().err
    assert f"1 of the 3 results of figure are damaged or gone ({damaged}); the sweep computes them again" in said
    assert sorted(os.listdir(tmp_path)) == ["store"], "a failed export leaves nothing behind"
    assert main(["store", "export", "nothing", "--folder", folder]) == 2
    assert "label must be one that a sweep has used (figure), got 'nothing'" in capsys.readouterr().err
    assert main(["store", "prune", "--dry-run", "--folder", folder]) == 0
    assert f"{damaged}  damaged" in capsys.readouterr().out
    assert len(store.entries()) == 3
    assert main(["store", "prune", "--folder", folder]) == 0
    assert len(store.entries()) == 2
    sn.sweep(scaled, {"x": [1, 2, 3]}, store=folder, workers=1, label="figure")
    assert main(["store", "export", "figure", "--folder", folder]) == 0
    with zipfile.ZipFile("figure.zip") as archive:
        assert len(archive.namelist()) == 4
        assert archive.read("results.csv").decode().count("x=") == 3


def test_an_export_that_fails_leaves_nothing_behind(tmp_path, capsys, monkeypatch):
    sn.sweep(scaled, {"x": [1]}, store=tmp_path / "store", workers=1, label="figure")
    (tmp_path / "out").mkdir()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    words = ["export", "figure", "--folder", str(tmp_path / "store"), "--output", str(tmp_path / "out" / "a.zip")]
    assert main(["store", *words]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_prune_removes_only_what_the_store_has_written(tmp_path, capsys):
    store = Store(tmp_path)
    note = {"wall_time": 0.0, "function": "f", "point": "", "library": "of another day"}
    store.write("old", encode(RESULT, note))
    foreign = ["thesis.nc", "0123456789abcdef0123456789abcdef.nc", ".download.part"]
    for name in foreign:
        (tmp_path / name).write_bytes(b"CDF\x01")
    for name, age in ((".sgdnoise-x.part", 0), (".sgdnoise-y.part", 7200)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    assert main(["store", "list", "--folder", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "stale" in said
    assert "thesis" not in said
    assert main(["store", "verify", "--folder", str(tmp_path)]) == 0
    assert main(["store", "prune", "--folder", str(tmp_path)]) == 0
    assert store.entries() == []
    assert sorted(os.listdir(tmp_path)) == sorted([*foreign, ".sgdnoise-x.part"])


LABELLING = """
import sys
from sgdnoise.sweep.store import Store
print("ready", flush=True)
sys.stdin.readline()
for number in range(30):
    Store(sys.argv[1]).remember_use("figure", [f"{sys.argv[2]}-{number}"])
"""


@pytest.mark.endtoend
def test_processes_that_share_a_label_lose_nothing(tmp_path):
    for name in ("a", "b"):
        for number in range(30):
            (tmp_path / f"{name}-{number}.sgdnoise.nc").touch()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", LABELLING, tmp_path, name], **pipes) for name in ("a", "b")]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in both:
        process.communicate()
    assert len(Store(tmp_path).uses("figure")) == 60
