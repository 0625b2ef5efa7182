"""The estimate of the time left, and what is drawn."""

import io
import subprocess
import sys
import time

import pytest

from bookbuild import progress, runner
from bookbuild.progress import remaining_seconds
from bookbuild.runner import Job
from bookbuild.source import Notebook


def job(name, expected, **times):
    return Job(Notebook(name, ""), {"profile": "smoke"}, expected, **times)


def test_estimate_deals_the_tasks_to_the_workers():
    tasks = [job("a", 30.0), job("b", 20.0), job("c", 10.0)]
    assert remaining_seconds(tasks, workers=2, now=0.0) == 30.0
    assert remaining_seconds(tasks, workers=1, now=0.0) == 60.0


def test_estimate_follows_the_pace_of_the_machine():
    done = job("a", 10.0, started=0.0, seconds=20.0)
    running = job("b", 10.0, started=100.0)
    assert remaining_seconds([done, running], workers=2, now=105.0) == 15.0
    assert remaining_seconds([done, running], workers=2, now=105.0, later=7.0) == 29.0


def test_a_late_task_is_not_about_to_end():
    assert remaining_seconds([job("a", 10.0, started=0.0)], workers=1, now=100.0) == 10.0


def test_no_estimate_without_a_basis():
    assert remaining_seconds([job("a", None), job("b", 1.0)], workers=2, now=0.0) is None


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def display(tmp_path, monkeypatch):
    """Draw two notebooks, one of which has ended and one of which is in a sweep, many times; return what was drawn."""
    monkeypatch.setattr(runner.paths, "LOGS", tmp_path)
    monkeypatch.setattr(runner.paths, "SCRATCH", tmp_path)
    monkeypatch.setattr(Job, "results_label", "label")

    def draw(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        jobs = [job("a", 61.0, started=0.0, seconds=61.0), job("bb", 100.0, started=time.monotonic())]
        jobs[1].log.write_text("\rcell 1 of 9\rcell 2 of 9")
        jobs[1].progress_file.write_text("\rpoint: 12 of 40 points")
        shown = runner._Display(jobs, workers=2, later=20.0)
        for _ in range(50):
            shown.update()
        shown.line.close()
        return stream.getvalue()

    return draw


def test_a_log_gets_one_line_a_notebook_and_few_of_the_whole(display, monkeypatch):
    assert [line.split() for line in display(io.StringIO()).splitlines()] == [["a", "done", "1", "min", "01", "s"]]
    monkeypatch.setattr(progress, "QUIET_SECONDS", -1.0)
    lines = display(io.StringIO()).splitlines()
    assert lines[-1].startswith("[############............] 1 of 2 notebooks, 00:0")
    assert lines[-1].endswith("about 2 min 00 s left; bb, cell 2 of 9, point: 12 of 40 points")


def test_a_terminal_is_drawn_over(display):
    drawn = display(Terminal())
    assert drawn.count("\n") == 1
    assert "\r[############............] 1 of 2 notebooks" in drawn
    assert "about 2 min 00 s left" in drawn


def test_a_long_step_shows_that_it_is_alive(tmp_path, monkeypatch):
    monkeypatch.setattr(progress.paths, "TIMINGS", tmp_path / "timings.json")
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)
    for first in (True, False):
        monkeypatch.setattr(sys, "stderr", Terminal())
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"])
        assert progress.watch(process, "Rendering the book", "render/smoke") == 0
        drawn = sys.stderr.getvalue()
        assert drawn.startswith("Rendering the book.\n" if first else "Rendering the book (the last time it took ")
        assert drawn.count("\rRendering the book ") > 3
    assert 0.4 < progress.load_timings()["render/smoke"] < 60


def test_a_step_that_fails_is_not_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(progress.paths, "TIMINGS", tmp_path / "timings.json")
    assert progress.watch(subprocess.Popen(["false"]), "Rendering the book", "render/smoke") == 1
    assert progress.load_timings() == {}


def test_damaged_timings_count_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr(progress.paths, "TIMINGS", tmp_path / "timings.json")
    assert progress.load_timings() == {}
    for damage in ("", "{", "[1]", '{"a": "fast"}', '{"a": null}'):
        progress.paths.TIMINGS.write_text(damage)
        assert progress.load_timings() == {}
    progress.save_timings({"a": 1.5})
    progress.save_timings({"b": 2.5})
    assert progress.load_timings() == {"a": 1.5, "b": 2.5}
