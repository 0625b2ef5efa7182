"""Compiling ahead: once for a source, again after a failure, and not at all where nothing can be kept."""

import signal
import subprocess
import sys

import pytest

from bookbuild import kernels


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """What would have been started, and how it ends."""
    started = {"status": 0, "words": [], "killed": 0}

    class Process:
        def __init__(self, words, env):
            assert {env[name] for name in kernels.THREAD_VARIABLES} == {"1"}
            started["words"].append(words[-1])

        def poll(self):
            return started["status"]

        def kill(self):
            started["killed"] += 1

        def wait(self):
            pass

    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(kernels, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(kernels.subprocess, "Popen", Process)
    return started


def test_an_interrupt_ends_the_compilers_and_starts_no_other(processes, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "cores", lambda: 2)
    monkeypatch.setattr(kernels.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernels.compile_all()
    assert (len(processes["words"]), processes["killed"]) == (2, 2)


def test_a_source_is_compiled_once(processes):
    kernels.compile_all()
    kernels.compile_all()
    assert sorted(processes["words"]) == sorted(
        f"{kernels.QUIETLY}; import sgdnoise as sn; {call}" for call in kernels.CALLS
    )


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


def test_an_interrupted_compiler_says_nothing():
    """The signal reaches it together with the build, which says one sentence for both."""
    command = [sys.executable, "-c", f"{kernels.QUIETLY}; print(flush=True); import time; time.sleep(60)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert complaint == b""
