"""The results store: whole entries or none, every change of a bit noticed, nothing lost."""

import errno
import os
import pickle
import random
import zipfile

import numpy as np
import pytest
import xarray as xr

import sgdnoise as sn
from sgdnoise import store as module
from sgdnoise.__main__ import main
from sgdnoise.store import DamagedEntryError, Store, StoreError, decode, encode

RESULT = xr.Dataset(
    {"a": (("x", "y"), np.random.default_rng(0).standard_normal((3, 4))), "b": ("x", np.arange(3))},
    coords={"x": [0.1, 0.2, 0.3]},
    attrs={"alpha": 0.1, "name": "é", "flag": True, "none": None},
)
DATA = encode(RESULT, {"version": "1", "note": "ü"})


def test_round_trip_is_exact():
    result, note = decode(DATA)
    assert note == {"version": "1", "note": "ü"}
    xr.testing.assert_equal(result, RESULT)
    assert result.a.values.tobytes() == RESULT.a.values.tobytes()
    assert result.attrs == {"alpha": 0.1, "name": "é", "flag": "True", "none": "None"}


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
    assert "pickle" not in vars(module)


def test_a_full_disk_keeps_what_was_there(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write("k", DATA)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(StoreError, match=r"has no room left; entry k was not written"):
        store.write("k", encode(RESULT + 1, {}))
    xr.testing.assert_equal(store.read("k")[0], RESULT)
    assert [path.name for path in tmp_path.iterdir()] == ["k.nc"]


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


def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch):
    def area(x):
        return 2.0 * x

    first = sn.sweep(area, {"x": [1, 2]}, store=tmp_path, workers=1)
    monkeypatch.setattr(module.time, "gmtime", lambda: (1969, 12, 31, 0, 0, 0, 0, 365, 0))
    second = sn.sweep(area, {"x": [1, 2, 3]}, store=tmp_path, workers=1)
    xr.testing.assert_identical(first, second.sel(x=[1, 2]))


def test_a_claim_is_exclusive_and_ends(tmp_path):
    one, two = Store(tmp_path), Store(tmp_path)
    with one.claim("k") as mine, two.claim("k") as theirs, two.claim("other") as free:
        assert (mine, theirs, free) == (True, False, True)
    with two.claim("k") as mine:
        assert mine


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
    assert main(["store", "export", "figure", "--folder", folder]) == 0
    with zipfile.ZipFile("figure.zip") as archive:
        assert len(archive.namelist()) == 3
        assert archive.read("results.csv").decode().count("x=") == 2
    assert main(["store", "export", "nothing", "--folder", folder]) == 2
    assert "label must be one that a sweep has used (figure), got 'nothing'" in capsys.readouterr().err
    assert main(["store", "prune", "--dry-run", "--folder", folder]) == 0
    assert len(store.entries()) == 3
    assert main(["store", "prune", "--folder", folder]) == 0
    assert len(store.entries()) == 2


def test_prune_removes_what_other_code_has_made(tmp_path, capsys):
    store = Store(tmp_path)
    note = {"wall_time": 0.0, "function": "f", "point": "", "modules": {"sgdnoise._checks": "of another day"}}
    store.write("old", encode(RESULT, note))
    assert main(["store", "list", "--folder", str(tmp_path)]) == 0
    assert "stale" in capsys.readouterr().out
    assert main(["store", "prune", "--folder", str(tmp_path)]) == 0
    assert store.entries() == []
