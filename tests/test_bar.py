"""The one progress bar of the library: when it is drawn, and that threads may share it."""

import io
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Terminal
from tqdm import tqdm

from sgdnoise import progress
from sgdnoise.sweep.executors import Processes


@pytest.fixture(autouse=True)
def no_file(monkeypatch):
    monkeypatch.delenv(progress.PROGRESS_FILE, raising=False)


def drawn(monkeypatch, stream, show, quiet_seconds=0.0):
    """Return what a finished bar has written to a stream."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "QUIET_SECONDS", quiet_seconds)
    with progress.bar(40, "simulating", show=show, done=10) as bar:
        bar.mininterval = 0
        bar.update(5)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("stream", "show", "quiet_seconds", "is_drawn"),
    [
        (Terminal, None, 0.0, True),
        (io.StringIO, None, 0.0, False),
        (Terminal, None, 60.0, False),
        (io.StringIO, True, 60.0, True),
        (Terminal, False, 0.0, False),
    ],
    ids=["terminal", "log", "short work", "always", "never"],
)
def test_when_it_is_drawn(monkeypatch, stream, show, quiet_seconds, is_drawn):
    found = drawn(monkeypatch, stream(), show, quiet_seconds)
    assert ("simulating" in found, "15/40" in found) == (is_drawn, is_drawn) if is_drawn else found == ""


def test_drawn_in_a_notebook(monkeypatch):
    monkeypatch.setattr(progress, "someone_watches", lambda: True)
    assert "15/40" in drawn(monkeypatch, io.StringIO(), None)


def test_a_bar_within_a_bar_is_not_drawn(monkeypatch):
    outer = Terminal()
    with progress.bar(2, "sweeping", show=True):
        assert drawn(monkeypatch, outer, None) == ""


def test_threads_may_share_it(monkeypatch):
    switch = sys.getswitchinterval()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    sys.setswitchinterval(1e-6)
    try:
        with progress.bar(40_000, "simulating", show=True) as bar, ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: [bar.update() for _ in range(5_000)], range(8)))
            assert bar.n == 40_000
    finally:
        sys.setswitchinterval(switch)


def locks():
    return {type(kind.get_lock()).__name__ for kind in (tqdm, progress._Bar)}


@pytest.mark.endtoend
def test_a_process_has_no_semaphore_to_leave_behind():
    with Processes(1) as processes:
        assert processes.submit(locks).result() == {"RLock"}


def test_the_build_of_the_book_reads_a_file(monkeypatch, tmp_path):
    path = tmp_path / "progress"
    monkeypatch.setenv(progress.PROGRESS_FILE, str(path))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.bar(40, "fig", unit="point", done=10) as bar:
        bar.mininterval = 0
        bar.update(5)
        assert path.read_text().splitlines()[-1] == "fig: 15 of 40 points"
        with progress.bar(7, "inner", show=True):  # which would otherwise be drawn over it, or into the notebook
            assert "inner" not in path.read_text()
    assert not path.exists()
    assert sys.stderr.getvalue() == ""
