"""Compiling ahead: once for a source, again after a failure, and not at all where nothing can be kept."""

import pytest

from bookbuild import processes, runner
from sgdnoise import _jit


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Programs that take the place of the compilers, and how often each has run."""
    notes = tmp_path / "notes"
    notes.touch()
    program = f"open({str(notes)!r}, 'a').write('.'); raise SystemExit({{status}})"
    monkeypatch.setattr(_jit, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(runner.paths, "LOGS", tmp_path / "logs")

    def compile_all(status=0):
        monkeypatch.setattr(runner, "CALLS", [program.format(status=status), program.format(status=0)])
        runner.compile_all()
        return len(notes.read_text())

    return compile_all


def test_a_source_is_compiled_once(compiled):
    assert [compiled(), compiled()] == [2, 2]


def test_a_failure_is_not_taken_for_done(compiled):
    assert [compiled(status=1), compiled(), compiled()] == [2, 4, 4]


def test_without_a_cache_nothing_is_compiled_ahead(compiled, monkeypatch):
    monkeypatch.setattr(_jit, "cache_folder", lambda: None)
    assert compiled() == 0


@pytest.mark.parametrize("call", runner.CALLS)
def test_every_call_works(call):
    import sgdnoise as sn

    assert eval(call, {"sn": sn}).sizes["time"] == 3


def test_an_interrupt_ends_the_processes_and_starts_no_other(tmp_path):
    started = []

    def sleep(start):
        started.append(start(["sleep", "600"], tmp_path / "log"))
        started[-1].wait()

    def interrupt():
        if len(started) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        processes.in_parallel([sleep] * 5, 2, interrupt)
    assert len(started) == 2
    assert all(process.returncode for process in started)


def test_a_process_that_does_not_listen_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.2)
    with processes.children() as start:
        deaf = start(["sh", "-c", "trap '' TERM; echo ready; sleep 600"], tmp_path / "log")
        while not (tmp_path / "log").read_text():
            pass
    assert deaf.returncode == -9
