"""Work in processes: how far it is, how long it takes, that an interrupt ends it, that compiling is done once."""

import io
import math
import os
import sys
import time
from concurrent.futures import Future

import psutil
import pytest
from conftest import Terminal

from bookbuild import run
from bookbuild.notebooks import Notebook
from bookbuild.run import Job, Task, remaining_seconds
from sgdnoise import _jit


def job(name, expected, **times):
    made = Job(Notebook(name, "# %% tags=['parameters']\nprofile = 'smoke'\nseed = 0"), {"profile": "smoke", "seed": 0})
    vars(made).update(expected=expected, **times)
    return made


def test_the_estimate_deals_tasks_to_workers_and_follows_the_pace_of_the_machine():
    tasks = [job("a", 30.0), job("b", 20.0), job("c", 10.0)]
    assert [remaining_seconds(tasks, workers, now=0.0) for workers in (2, 1)] == [30.0, 60.0]
    tasks = [job("a", 10.0, started=0.0, seconds=20.0), job("b", 10.0, started=100.0)]
    assert [remaining_seconds(tasks, 2, 105.0, later) for later in (0.0, 7.0)] == [15.0, 29.0]
    late = job("a", 10.0, started=0.0)
    assert remaining_seconds([late], workers=1, now=100.0) == 10.0, "a late task is not about to end"
    assert remaining_seconds([late, job("b", 1.0)], workers=1, now=100.0) == 20.0, "and tells how slow the machine is"
    assert remaining_seconds([job("a", math.inf), job("b", 1.0)], workers=2, now=0.0) == math.inf


@pytest.fixture
def display(tmp_path, monkeypatch):
    """Draw two notebooks, one of which ends and one of which is in a sweep, many times; return what was drawn."""
    monkeypatch.setattr(run.paths, "LOGS", tmp_path)
    monkeypatch.setattr(run.paths, "SCRATCH", tmp_path)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)  # durations do not depend on how busy the machine is

    def draw(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        jobs = [job("a", 61.0, started=time.monotonic() - 61), job("bb", 100.0, started=time.monotonic())]
        jobs[1].log.write_text("\rcell 1 of 9\rcell 2 of 9\na warning")
        jobs[1].progress_file.write_text("\rpoint: 1 of 40 points\rpoint: 12 of 40 points")
        futures = [Future(), Future()]
        futures[0].set_result(None)
        shown = run.Display(jobs, 2, "Running 2 notebooks", later=20.0)
        shown.began -= 102
        for _ in range(50):
            shown.update(futures)
        shown.bar.close()
        return stream.getvalue()

    return draw


def test_a_log_gets_one_line_a_notebook_and_few_of_the_whole_and_a_terminal_is_drawn_over(display, monkeypatch):
    assert [line.split() for line in display(io.StringIO()).splitlines()] == [["a", "done", "1", "min", "01", "s"]]
    drawn = display(Terminal())
    assert drawn.count("\n") == 1
    assert "\rRunning 2 notebooks [############............] " in drawn
    monkeypatch.setattr(run, "QUIET_SECONDS", -1.0)
    lines = display(io.StringIO()).splitlines()
    assert lines[-1].startswith("Running 2 notebooks [############............] 00:0")
    assert lines[-1].endswith("1 of 2, about 2 min 00 s left; bb, cell 2 of 9, point: 12 of 40 points")


@pytest.fixture
def timings(tmp_path, monkeypatch):
    monkeypatch.setattr(run.paths, "LOGS", tmp_path)
    monkeypatch.setattr(run.paths, "TIMINGS", tmp_path / "timings.json")
    return tmp_path / "timings.json"


@pytest.mark.endtoend
def test_a_long_step_has_a_log_shows_that_it_is_alive_and_is_timed_unless_it_fails(timings, monkeypatch):
    log = timings.with_name("book.log")
    monkeypatch.setattr(run, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert not run.do([Task("book", "render", os.remove, "nowhere")], "Rendering the book")
    assert "FileNotFoundError" in log.read_text()
    assert run.load_timings(timings) == {}
    run.save_timings({"render": 75.0})
    monkeypatch.setattr(sys, "stderr", Terminal())
    step = Task("book", "render", os.system, "sleep 0.5; echo $WORDS", WORDS="said")
    assert run.do([step], "Rendering the book")
    drawn = sys.stderr.getvalue()
    assert drawn.startswith("Rendering the book.\n")
    assert drawn.count("\rRendering the book ") > 3
    assert "about 1 min 15 s left" in drawn
    assert log.read_text() == "said\n", "what its own processes say is in the log, too"
    assert run.load_timings(timings)["render"] != 75.0


def test_damaged_timings_count_as_none(timings):
    for damage in ("", "{", "[1]", '{"a": "fast"}', '{"a": null}'):
        timings.write_text(damage)
        assert run.load_timings(timings) == {}
    run.save_timings({"a": 1.5})
    run.save_timings({"b": 2.5})
    assert run.load_timings(timings) == {"a": 1.5, "b": 2.5}


def alive(number):
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.endtoend
def test_an_interrupt_ends_the_processes_with_all_that_they_have_started_and_starts_no_other(tmp_path):
    def numbers():
        return [int(path.read_text()) for path in tmp_path.glob("task-*") if path.read_text()]

    def interrupted():
        with run.Pool(2) as processes:
            for task in range(5):
                processes.submit(os.system, f"echo $$ > {tmp_path}/task-{task}; sleep 600")
            while len(numbers()) < 2:
                time.sleep(0.05)
            assert all(map(alive, numbers()))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    deadline = time.monotonic() + 10
    while any(map(alive, numbers())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [alive(number) for number in numbers()] == [False, False]


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """A function that takes the place of the compilers, and how often it has run."""
    notes = tmp_path / "notes"
    notes.touch()
    monkeypatch.setattr(_jit, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(run.paths, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(run.paths, "TIMINGS", tmp_path / "timings.json")
    monkeypatch.setattr(run, "CALLS", (1,))

    def compile_all(succeed=True):
        def call(_):
            with notes.open("a") as file:
                file.write(".")
            return 1 / succeed

        monkeypatch.setattr(run, "call", call)
        run.compile_all()
        return len(notes.read_text())

    return compile_all


@pytest.mark.endtoend
def test_a_source_is_compiled_once_and_a_failure_is_not_taken_for_done(compiled):
    assert [compiled(succeed=False), compiled(), compiled()] == [1, 2, 2]


def test_without_a_cache_nothing_is_compiled_ahead(compiled, monkeypatch):
    monkeypatch.setattr(_jit, "cache_folder", lambda: None)
    assert compiled() == 0


@pytest.mark.parametrize("number", range(len(run.CALLS)))
def test_every_call_compiles_something_that_works(number):
    assert run.call(number).sizes["time"] == 3
