"""Compiling ahead: once for a source, again after a failure, and not at all where nothing can be kept."""

import pytest

from bookbuild import kernels


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """What would have been started, and how it ends."""
    started = {"status": 0, "words": []}

    def call(words, env):
        assert {env[name] for name in kernels.THREAD_VARIABLES} == {"1"}
        started["words"].append(words[-1])
        return started["status"]

    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(kernels.subprocess, "call", call)
    return started


def test_a_source_is_compiled_once(processes):
    kernels.compile_all()
    kernels.compile_all()
    assert sorted(processes["words"]) == sorted(f"import sgdnoise as sn; {call}" for call in kernels.CALLS)


def test_a_failure_is_not_taken_for_done(processes):
    processes["status"] = 1
    kernels.compile_all()
    processes["status"] = 0
    kernels.compile_all()
    assert len(processes["words"]) == 2 * len(kernels.CALLS)


def test_without_a_cache_nothing_is_compiled_ahead(processes, monkeypatch):
    monkeypatch.setattr(kernels, "cache_folder", lambda: None)
    kernels.compile_all()
    assert processes["words"] == []


@pytest.mark.parametrize("call", kernels.CALLS)
def test_every_call_works(call):
    import sgdnoise as sn

    assert eval(call, {"sn": sn}).sizes["time"] == 3
