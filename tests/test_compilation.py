"""Compiling ahead: once for a source, again after a failure, and not at all where nothing can be kept."""

import pytest

from bookbuild import kernels


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Each call writes a line; return what reads them."""
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(kernels, "CALLS", (f"open({str(log)!r}, 'a').write('called\\n')",))
    return lambda: log.read_text().splitlines()


def test_a_source_is_compiled_once(calls):
    kernels.compile_all()
    kernels.compile_all()
    assert calls() == ["called"]


def test_a_failure_is_not_taken_for_done(calls, monkeypatch, capfd):
    working = kernels.CALLS
    monkeypatch.setattr(kernels, "CALLS", (*working, "raise SystemExit('no')"))
    kernels.compile_all()
    assert "no" in capfd.readouterr().err
    monkeypatch.setattr(kernels, "CALLS", working)
    kernels.compile_all()
    assert calls() == ["called", "called"]


def test_without_a_cache_nothing_is_compiled_ahead(calls, monkeypatch):
    monkeypatch.setattr(kernels, "cache_folder", lambda: None)
    kernels.compile_all()
    assert calls() == []
