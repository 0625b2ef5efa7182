"""Render the book, check it, and only then put it in place of the one before."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat

from bookbuild import figures, kernels, ledger, paths, source
from bookbuild.check import check_book
from bookbuild.progress import load_timings, save_timings
from bookbuild.refusal import Refusal
from bookbuild.runner import Job, results_label, run_all, say
from bookbuild.sphinx_ext import DOWNLOADS, PROFILE_VARIABLE, strip

MATHJAX = re.compile(r"_static/mathjax/([\w-]+\.js)")
STAMP = ".finished.json"
INPUTS = ("_config.yml", "_toc.yml", "book", "lib", "requirements.lock")


def build(profile: str) -> Path:
    """Run the notebooks, render and check the book; return its first page. What is up to date is left alone."""
    source.check_profile(profile)
    writable(paths.BUILD)
    with only_one():
        began = time.monotonic()
        clear_scratch()
        jobs = [Job(notebook, notebook.parameters(profile)) for notebook in source.read_all()]
        from_scratch = not any(job.done() for job in jobs) and not any(paths.RESULTS.glob("*.nc"))
        forget_without_results(jobs)
        if not all(job.done() for job in jobs):
            kernels.compile_all()
        run_all(jobs)
        ledger.check(*ledger.collect(job.output for job in jobs), profile)
        key = book_key(profile, [job.output for job in jobs])
        if finished(key):
            say("The book is up to date.")
        else:
            render(profile, key)
            if from_scratch:
                notebooks = sum(load_timings()[job.label] for job in jobs)
                save_timings({f"book/{profile}": time.monotonic() - began, f"notebooks/{profile}": notebooks})
    return paths.HTML / "index.html"


def forget_without_results(jobs: list[Job]) -> None:
    """Remove executed copies whose stored results are damaged or gone: running again computes what is missing."""
    from sgdnoise.store import Store

    store = Store(paths.RESULTS)
    for job in jobs:
        if job.done() and not all(store.has(key) for key in store.uses(job.results_label)):
            say(f"Stored results behind notebook {job.notebook.name} are damaged or gone; it runs again.")
            job.output.unlink(missing_ok=True)


def book_key(profile: str, executed: list[Path]) -> str:
    """Hash of everything that the rendered book depends on."""
    inputs = source.tree_hash(*(paths.ROOT / name for name in INPUTS))
    parts = [profile, inputs, source.tree_hash(*executed)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def finished(key: str) -> bool:
    """Tell whether the book in place was made from these very inputs, and is whole."""
    try:
        stamp = json.loads((paths.HTML / STAMP).read_text(encoding="utf-8"))
        if stamp["key"] != key:
            return False
        check_book(paths.HTML, stamp["profile"])
    except (OSError, ValueError, KeyError, TypeError, Refusal):
        return False
    return True


def render(profile: str, key: str) -> None:
    """Render into a scratch folder with warnings as errors, check, then swap."""
    say("Rendering the book.")
    with tempfile.TemporaryDirectory(dir=paths.SCRATCH) as scratch:
        log = paths.BUILD / "logs" / "book.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
        command += ["build", str(paths.ROOT), "--path-output", scratch, "--all", "--warningiserror", "--keep-going"]
        # Jupyter Book writes beside its configuration and reads the user's; give it a place of its own for both.
        environment = {**os.environ, PROFILE_VARIABLE: profile, "HOME": scratch, "PYTHONUNBUFFERED": "1"}
        with open(log, "w", encoding="utf-8") as file:
            status = subprocess.call(command, stdout=file, stderr=subprocess.STDOUT, env=environment, cwd=paths.ROOT)
        text = log.read_text(encoding="utf-8")
        made = Path(scratch) / "_build" / "html"
        if status != 0 or not (made / "index.html").is_file():
            complaints = [line for line in text.splitlines() if "WARNING" in line or "ERROR" in line]
            for line in complaints[:20] or text.splitlines()[-20:]:
                say("  " + line)
            raise Refusal(f"the book was not rendered; all that was said is in {os.path.relpath(log)}")
        drop_spare_mathjax(made)
        export_results(profile, made)
        check_book(made, profile)
        (made / STAMP).write_text(json.dumps({"key": key, "profile": profile}), encoding="utf-8")
        swap(made, paths.HTML, Path(scratch) / "previous")


def drop_spare_mathjax(html: Path) -> None:
    """Remove the bundles of MathJax that no page loads, two thirds of an otherwise small site."""
    used = {name for page in html.rglob("*.html") for name in MATHJAX.findall(page.read_text(encoding="utf-8"))}
    if used:  # otherwise something has changed, and nothing is safe to remove
        for bundle in (html / "_static" / "mathjax").glob("*.js"):
            if bundle.name not in used:
                bundle.unlink()


def export_results(profile: str, html: Path) -> None:
    """Put into the book, for each notebook, itself, its figures with their numbers, and a zip of the results behind."""
    from sgdnoise.__main__ import write_zip
    from sgdnoise.store import Store

    store = Store(paths.RESULTS)
    (html / DOWNLOADS).mkdir()
    for notebook in source.read_all():
        label = results_label(notebook, notebook.parameters(profile))
        keys = store.uses(label)
        executed = source.read_executed(notebook.executed(notebook.parameters(profile)))
        if executed is None:
            raise Refusal(f"the copy of notebook {notebook.name} is damaged or gone; the same command mends it")
        figures.write_downloads(executed, html / DOWNLOADS, label)
        strip(executed)
        nbformat.write(executed, html / DOWNLOADS / f"{label}.ipynb")
        if keys:
            write_zip(store, keys, html / DOWNLOADS / f"{label}.zip")


def swap(new: Path, place: Path, aside: Path) -> None:
    """Put a finished folder in place; the old one is moved aside first, so that the two never mix."""
    if place.exists():
        os.replace(place, aside)
    os.replace(new, place)


def writable(folder: Path) -> None:
    """Refuse, before any work, a folder that cannot be written to or a disk that is full."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths.SCRATCH.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=paths.SCRATCH) as file:
            file.write(b"\0" * 2**20)
            file.flush()
    except OSError as error:
        raise Refusal(f"the folder {folder} must be writable and have room: {error.strerror}") from error
    free = shutil.disk_usage(folder).free
    if free < 200e6:
        raise Refusal(f"the disk of {folder} must have 200 MB free, and has {free / 1e6:.0f} MB")


def clear_scratch() -> None:
    """Remove what killed runs left behind; nothing in there is ever read again."""
    for path in paths.SCRATCH.iterdir():
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def only_one() -> Iterator[None]:
    """Let one build work at a time; a second one waits. The lock ends with the process, however it ends."""
    with open(paths.BUILD / ".lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another build is at work in this folder; waiting for it to end.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
