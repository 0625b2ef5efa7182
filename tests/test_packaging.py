"""The library as others install it."""

import doctest
import pydoc
import re
import subprocess
import sys
import zipfile

import numba
import numpy as np
import pytest

import sgdnoise
from bookbuild.paths import ROOT
from sgdnoise import _jit, _machine

pytestmark = pytest.mark.endtoend

# A system that has neither fork nor the modules of Unix: every module is imported there, and a sweep runs.
ELSEWHERE = """
import os, pkgutil, sys
for name in ("fcntl", "termios", "pwd", "grp", "resource"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "register_at_fork", "sched_getaffinity", "sysconf", "getuid", "geteuid", "killpg"):
    if hasattr(os, name):
        delattr(os, name)
import numpy as np
import sgdnoise as sn
for module in pkgutil.walk_packages(sn.__path__, "sgdnoise."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
found = sn.sweep(sn.critical_alpha, {"delta": [1.0]}, store="store", workers=1)
print(sn.__file__, np.array2string(found.value.values, precision=3, floatmode="fixed"))
"""


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
    run = [sys.executable, "-W", "error", "-W", "ignore:only soft file lock", "-c", ELSEWHERE]
    site = {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path)}
    done = subprocess.run(run, cwd=tmp_path, env=site, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "site") in done.stdout
    assert done.stdout.strip().endswith("[3.700]")


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


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("folder", [None, "somewhere"])
def test_a_person_is_told_once_that_kernels_are_compiled(folder, monkeypatch, capsys):
    monkeypatch.setattr(_jit, "cache_folder", lambda: None)
    function = _jit.jit()(lambda x: x + 1)  # compiled at every run of this test
    monkeypatch.setattr(function.py_func, "__module__", "sgdnoise.simulation.step")
    monkeypatch.setattr(_jit, "someone_watches", lambda: True)
    monkeypatch.setattr(_jit, "cache_folder", lambda: folder)
    monkeypatch.setattr(_jit.TELL, "told", False)
    assert [function(1.0), function(1)] == [2.0, 2]
    said = "(once), some seconds" if folder else "(set NUMBA_CACHE_DIR to a folder to do so once)"
    assert capsys.readouterr().err == f"sgdnoise: compiling kernels {said}\n"


def test_the_build_of_the_book_is_no_person(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.delenv(_machine.PROGRESS_FILE, raising=False)
    assert _machine.someone_watches()
    monkeypatch.setenv(_machine.PROGRESS_FILE, "somewhere")
    assert not _machine.someone_watches()


@_jit.jit()
def _first(x):
    return x[0]


@_jit.jit()
def _first_of_first(x):
    return _first(x[0])


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_function_within_a_kernel_is_not_compiled_by_itself_and_borrows_its_arrays():
    values = np.arange(6.0).reshape(2, 3)
    before = sys.getrefcount(values)
    assert [_first_of_first(values) for _ in range(3)] == [0.0] * 3
    assert not _first.signatures, "it is part of the kernel that calls it"
    assert _first(values[1]) == 3.0
    assert len(_first.signatures) == 1, "called from Python it is a kernel of its own"
    assert sys.getrefcount(values) == before


def test_an_edit_anywhere_in_the_library_starts_a_new_kernel_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    first = _jit.source_hash()
    (tmp_path / "b.py").write_text("")
    second = _jit.source_hash()
    (tmp_path / "a.py").write_text("x = 2\n")
    assert len({first, second, _jit.source_hash()}) == 3


def documented():
    """What the page of reference documents, by its name."""
    return re.findall(r"auto(?:class|function|exception):: (\S+)", (ROOT / "book" / "api.md").read_text())


@pytest.mark.parametrize("name", documented())
def test_examples_of_the_reference_run_when_they_are_pasted(name):
    """Each by itself, in a session that has imported nothing."""
    thing = pydoc.locate(name)
    assert thing is not None, "the name that is shown is the one to import"
    for example in doctest.DocTestFinder(exclude_empty=True).find(thing, name, globs={}):
        found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
        assert found.failed == 0, example.name
