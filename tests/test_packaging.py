"""The library as others install it."""

import subprocess
import sys
import types
import zipfile

import pytest

import sgdnoise
from bookbuild.paths import ROOT
from sgdnoise import _jit

pytestmark = pytest.mark.endtoend


def test_the_wheel_holds_the_library_and_works_on_its_own(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"sgdnoise-{sgdnoise.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    assert "sgdnoise/py.typed" in names
    assert not any(name.startswith(("bookbuild", "tests", "lib")) for name in names)
    assert not any("__pycache__" in name for name in names)
    script = "import sgdnoise as sn; print(sn.__file__, f'{sn.critical_alpha(delta=1.0):.3f}')"
    run = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(
        run, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")}, capture_output=True, text=True, check=True
    )
    assert str(tmp_path / "site") in done.stdout
    assert done.stdout.strip().endswith("3.700")


def test_kernels_work_where_nothing_can_be_written(tmp_path, monkeypatch):
    """A read-only installation: kernels are compiled, not cached, and nothing complains."""
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocker))
    _jit.cache_folder.cache_clear()
    try:
        assert _jit.cache_folder() is None
        assert _jit.jit()(lambda x: x + 1)(1.0) == 2.0
    finally:
        _jit.cache_folder.cache_clear()


def test_where_the_library_is_read_only_kernels_go_to_the_users_cache(tmp_path, monkeypatch):
    blocker = tmp_path / "installed"
    blocker.write_text("")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_jit, "PACKAGE", blocker)
    _jit.cache_folder.cache_clear()
    try:
        assert _jit.cache_folder().parent == tmp_path / "cache" / "sgdnoise"
    finally:
        _jit.cache_folder.cache_clear()


@pytest.mark.parametrize("folder", [None, "somewhere"])
def test_a_person_is_told_once_that_kernels_are_compiled(folder, monkeypatch, capsys):
    monkeypatch.setattr(_jit, "someone_watches", lambda: True)
    monkeypatch.setattr(_jit, "cache_folder", lambda: folder)
    tell = _jit._Tell()
    kernel = types.SimpleNamespace(py_func=types.SimpleNamespace(__module__="sgdnoise.simulation.step"))
    for _ in range(2):
        tell.on_start(types.SimpleNamespace(data={"dispatcher": kernel}))
    said = "once; kept on disk" if folder else "set NUMBA_CACHE_DIR to a folder to keep the result"
    assert capsys.readouterr().err == f"sgdnoise: compiling kernels, some seconds ({said})\n"


def test_an_edit_anywhere_in_the_library_starts_a_new_kernel_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    first = _jit.source_hash()
    (tmp_path / "b.py").write_text("")
    second = _jit.source_hash()
    (tmp_path / "a.py").write_text("x = 2\n")
    assert len({first, second, _jit.source_hash()}) == 3
