"""What goes wrong on real machines: kills, interruptions, read-only folders, full disks, two builds at once."""

import errno
import json
import os
import shutil
import signal
import time

import pytest
from conftest import run, small_project, start, write_notebook

from bookbuild import book
from bookbuild.texts import Refusal
from sgdnoise.sweep.store import Store

pytestmark = pytest.mark.faults

SWEEP = 'import sgdnoise as sn; sn.sweep(sn.critical_alpha, {"delta": [1.0]}, workers=1)'


@pytest.fixture
def small(tmp_path):
    """A project with two quick notebooks and one page."""
    return small_project(tmp_path / "small", one="import time; time.sleep(0.3)", two="seed")


def snapshot(project):
    """Names and keys of the executed notebooks."""
    return {path.name for path in (project / "_build" / "executed").glob("*.ipynb")}


def test_interrupting_says_how_to_go_on(small):
    write_notebook(small, "one", "import time; time.sleep(60)")
    process = start(small, "book", "--profile", "smoke")
    deadline = time.monotonic() + 600
    while not any("two" in name for name in snapshot(small)) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)  # the notebook that was under way needs a minute
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert {name.split("-")[0] for name in snapshot(small)} == {"two"}, "what was finished is kept"


def test_failing_notebooks_are_named_and_the_others_are_kept(small):
    write_notebook(small, "one", 'raise RuntimeError("the reason")')
    write_notebook(small, "three", "import os; os.kill(os.getpid(), 9)")
    done = run(small, "book", "--profile", "smoke")
    assert done.returncode == 2
    assert "Notebook one failed: RuntimeError: the reason" in done.stderr
    assert "Notebook three failed: its process died, perhaps for lack of memory" in done.stderr
    assert "2 of 3 notebooks failed" in done.stderr
    assert {name.split("-")[0] for name in snapshot(small)} == {"two"}
    assert "the reason" in (small / "_build" / "logs" / "one.log").read_text()
    assert not (small / "_build" / "html").exists()


def test_a_warning_fails_the_build_and_keeps_the_old_book(small):
    assert run(small, "book", "--profile", "smoke").returncode == 0
    before = (small / "_build" / "html" / "book" / "index.html").read_bytes()
    (small / "book" / "index.md").write_text("# A book\n\n{{ pdf() }} {doc}`nowhere`\n" + "Words. " * 50)
    done = run(small, "book", "--profile", "smoke")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert (small / "_build" / "html" / "book" / "index.html").read_bytes() == before


def test_damaged_results_are_computed_again(small):
    write_notebook(small, "one", SWEEP)
    done = run(small, "book", "--profile", "smoke")
    assert done.returncode == 0, done.stderr
    results = small / "_build" / "results"
    (key,) = json.loads((results / "used" / "one-smoke.json").read_text())
    (results / f"{key}.sgdnoise.nc").write_bytes((results / f"{key}.sgdnoise.nc").read_bytes()[:100])
    assert not Store(results).has(key)
    done = run(small, "book", "--profile", "smoke")
    assert done.returncode == 0, done.stderr
    assert "Stored results behind notebook one are damaged or gone; it runs again." in done.stderr
    assert Store(results).has(key)


def test_every_file_of_the_site_is_watched(small):
    """One that is gone or altered is made again; one that somebody has put there is no reason to."""
    html = small / "_build" / "html"

    def build():
        done = run(small, "book", "--profile", "smoke")
        assert done.returncode == 0, done.stderr
        return "The book is up to date." not in done.stderr

    assert build()
    first, search = (html / "index.html").read_bytes(), (html / "search.html").read_bytes()
    (html / "index.html").unlink()
    assert build()
    assert (html / "index.html").read_bytes() == first
    (html / "search.html").write_bytes(search[:-1])
    assert build()
    assert (html / "search.html").read_bytes() == search
    (html / "robots.txt").touch()
    assert not build()


def test_the_store_of_the_environment_is_used(small):
    write_notebook(small, "one", SWEEP)
    for words in (("notebook", "one"), ("book",)):
        store = small / "elsewhere" / words[0]
        done = run(small, *words, "--profile", "smoke", SGDNOISE_STORE=str(store))
        assert done.returncode == 0, done.stderr
        assert len(Store(store).entries()) == len(Store(store).uses("one-smoke")) == 1
    assert not (small / "_build" / "results").exists()
    assert (small / "_build" / "html" / "downloads" / "one-smoke.zip").is_file()
    shutil.rmtree(store)
    done = run(small, "book", "--profile", "smoke", SGDNOISE_STORE=str(store))
    assert done.returncode == 0, done.stderr
    assert len(Store(store).entries()) == 1


def test_a_library_that_changes_during_the_run_is_noticed(small):
    write_notebook(small, "one", 'open("lib/sgdnoise/_new.py", "w").write("x = 1\\n")')
    done = run(small, "notebook", "one", "--profile", "smoke")
    assert done.returncode == 2
    assert "the library changed while notebook one ran" in done.stderr
    assert snapshot(small) == set()


def test_two_builds_at_once_take_turns(small):
    first, second = (start(small, "book", "--profile", "smoke") for _ in range(2))
    said = [process.communicate(timeout=600)[1] for process in (first, second)]
    assert first.returncode == second.returncode == 0, said
    assert sum("Another build is at work" in text for text in said) == 1
    assert sum("up to date" in text for text in said) == 1


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    class Full:
        def __init__(self, *_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(book.paths, "SCRATCH", tmp_path / "scratch")
    monkeypatch.setattr(book.tempfile, "TemporaryFile", Full)
    with pytest.raises(Refusal, match="must be writable and have room: No space left on device"):
        book.writable(tmp_path)


def test_a_read_only_folder_is_one_sentence(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(Refusal, match="must be writable and have room"):
        book.writable(blocker / "_build")
