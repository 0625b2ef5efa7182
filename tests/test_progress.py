"""The estimate of the time left, and what is drawn."""

import io

from bookbuild import progress
from bookbuild.progress import Display, Task, remaining_seconds


def test_estimate_deals_the_tasks_to_the_workers():
    tasks = [Task("a", 30.0), Task("b", 20.0), Task("c", 10.0)]
    assert remaining_seconds(tasks, workers=2, now=0.0) == 30.0
    assert remaining_seconds(tasks, workers=1, now=0.0) == 60.0


def test_estimate_follows_the_pace_of_the_machine():
    done = Task("a", 10.0, state="done", seconds=20.0)
    running = Task("b", 10.0, state="running", started=100.0)
    assert remaining_seconds([done, running], workers=2, now=105.0) == 15.0


def test_a_late_task_is_not_about_to_end():
    late = Task("a", 10.0, state="running", started=0.0)
    assert remaining_seconds([late], workers=1, now=100.0) == 10.0


def test_no_estimate_without_a_basis():
    assert remaining_seconds([Task("a", None), Task("b", 1.0)], workers=2, now=0.0) is None


def test_a_log_gets_one_line_a_notebook():
    stream = io.StringIO()
    tasks = [Task("a", 1.0), Task("bb", 1.0)]
    display = Display(tasks, workers=2, stream=stream)
    for _ in range(50):
        display.update()
    for task in tasks:
        task.state, task.started, task.seconds = "done", 0.0, 61.0
        display.finished(task)
    display.update(force=True)
    lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["a", "bb"]
    assert "1 min 01 s" in lines[0]
    assert lines[2].startswith("[########################] 2 of 2 notebooks")
    assert len(lines) == 3


def test_a_terminal_is_drawn_over():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    display = Display([Task("a", 100.0)], workers=1, stream=stream)
    display.update(force=True)
    display.update(force=True)
    assert stream.getvalue().count("\x1b[2A") == 1
    assert "about 1 min 40 s left" in stream.getvalue()


def test_damaged_timings_count_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr(progress.paths, "TIMINGS", tmp_path / "timings.json")
    assert progress.load_timings() == {}
    for damage in ("", "{", "[1]", '{"a": "fast"}', '{"a": null}'):
        progress.paths.TIMINGS.write_text(damage)
        assert progress.load_timings() == {}
    progress.save_timings({"a": 1.5})
    progress.save_timings({"b": 2.5})
    assert progress.load_timings() == {"a": 1.5, "b": 2.5}
