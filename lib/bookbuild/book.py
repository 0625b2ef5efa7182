"""Render the book, check it, and only then put it in place of the one before."""

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from bookbuild import notebooks, paths
from bookbuild.texts import Refusal, read_yaml, say

# What only a build needs is imported where it is used: nothing to do, and a refusal, are then said at once.
STAMP = ".finished.json"
EXCHANGE, AT_FDCWD = 2, -100  # of the system: swap two names; relative to the current folder
INPUTS = ("_config.yml", "_toc.yml", "book", "lib", "requirements.lock")


def build(profile: str, need_pdf: bool = False) -> Path:
    """Run the notebooks, render and check the book; return its first page. What is up to date is left alone.

    The book has a PDF where there is a Chromium to print it; with ``need_pdf`` it must.
    """
    from bookbuild import ledger, maths
    from bookbuild.printing import MISSING, browser

    notebooks.check_profile(profile)
    if need_pdf and browser() is None:
        raise Refusal(MISSING)
    ledger.read_ledger(paths.LEDGER)  # texts that cannot be read are refused before any work
    maths.read_symbols(paths.SYMBOLS)
    read_yaml(paths.TOC)
    notebooks.read_all()
    writable(paths.BUILD)
    lock = FileLock(paths.BUILD / ".lock")  # it ends with the process, however that ends
    with contextlib.suppress(Timeout):
        lock.acquire(timeout=0)
    if not lock.is_locked:
        say("Another build is at work in this folder; waiting for it to end.")
    with lock:
        key = book_key(profile)
        if finished(key) and (not need_pdf or pdf_file(profile).is_file()):
            say("The book is up to date.")
        else:
            make(profile, key, need_pdf)
    return paths.HTML / "index.html"


def make(profile: str, key: str, need_pdf: bool) -> None:
    """Run what is missing, and render."""
    from bookbuild import ledger
    from bookbuild.printing import browser
    from bookbuild.run import USUAL_SECONDS, Job, compile_all, known_durations, run_all, save_timings

    began = time.monotonic()
    for path in paths.SCRATCH.iterdir():  # what killed runs left behind; nothing in there is ever read again
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    jobs = [Job(notebook, notebook.parameters(profile)) for notebook in notebooks.read_all()]
    from_scratch = not any(job.done() for job in jobs) and not any(paths.RESULTS.glob("*.sgdnoise.nc"))
    forget_without_results(jobs)
    if not all(job.done() for job in jobs):
        compile_all()
    steps, known = ["render", "print"] if browser() else ["render"], known_durations()
    run_all(jobs, sum(known.get(f"{step}/{profile}", USUAL_SECONDS) for step in steps))
    ledger.check(*ledger.collect(job.output for job in jobs), profile)
    render(profile, key, need_pdf, behind(jobs))
    if from_scratch:
        each = sum(known_durations()[job.timed] for job in jobs)
        save_timings({f"book/{profile}": time.monotonic() - began, f"notebooks/{profile}": each})


def pdf_file(profile: str, html: Path | None = None) -> Path:
    """Return where the PDF of a book belongs."""
    return (html or paths.HTML) / "downloads" / f"effective-noise-of-sgd-{profile}.pdf"


def forget_without_results(jobs: Iterable[Any]) -> None:
    """Remove executed copies whose results are damaged or not in this store: running again computes what is missing."""
    from sgdnoise.sweep.store import Store

    store = Store(paths.RESULTS)
    for job in jobs:
        executed = notebooks.read_executed(job.output)
        keys = [] if executed is None else executed.metadata.get(notebooks.USED, [])
        if not set(keys) <= set(filter(store.has, store.uses(job.results_label))):
            say(f"Stored results behind notebook {job.notebook.name} are damaged or gone; it runs again.")
            job.output.unlink(missing_ok=True)


def behind(jobs: Iterable[Any]) -> list[Path]:
    """Return the files that a book is made from, besides the project's own: executed notebooks and stored results."""
    from sgdnoise.sweep.store import Store

    store = Store(paths.RESULTS)
    found = []
    for job in jobs:
        keys = store.uses(job.results_label)
        found += [job.output, *map(store.path, keys)]
        found += [store.folder / "used" / f"{job.results_label}.json"] if keys else []
    return found


def book_key(profile: str) -> str:
    """Hash of everything of the project's own that the book depends on, and of where its results are."""
    from bookbuild.printing import browser

    inputs = notebooks.tree_hash(*(paths.ROOT / name for name in INPUTS), *sorted(paths.NOTEBOOKS.glob("*.py")))
    parts = [profile, inputs, os.path.relpath(paths.RESULTS, paths.ROOT), f"a browser: {browser() is not None}"]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def finished(key: str) -> bool:
    """Tell whether the book in place was made from these inputs, and no file of it or behind it is gone or altered."""
    try:
        stamp = json.loads((paths.HTML / STAMP).read_text(encoding="utf-8"))
        files = [paths.ROOT / name for name in stamp["files"]]
        return bool(stamp["key"] == key and stamp["files"] == notebooks.digests(*files))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def render(profile: str, key: str, need_pdf: bool, made_from: list[Path]) -> None:
    """Render into a scratch folder, print, check, then swap."""
    from bookbuild import downloads, printing
    from bookbuild.check import check_book
    from bookbuild.run import Task

    with tempfile.TemporaryDirectory(dir=paths.SCRATCH) as scratch:
        offer_pdf = printing.browser() is not None
        apart = Path(scratch) / pdf_file(profile).parent.name
        packing = Task("downloads", f"pack/{profile}", downloads.write, profile, apart)
        html = render_pages(profile, Path(scratch), offer_pdf, packing)
        files = pdf_file(profile, html).parent
        shutil.move(apart, files)
        if offer_pdf:
            try:
                printing.make(html, profile, pdf_file(profile, html))
            except Refusal as refusal:
                if need_pdf:
                    raise
                say(f"The book has no PDF: {refusal}.")
                shutil.move(files, scratch)
                html = render_pages(profile, Path(scratch), offer_pdf=False)
                shutil.move(Path(scratch) / files.name, html)
        check_book(html, profile)
        site = os.path.relpath(paths.HTML, paths.ROOT)
        written = (path for path in html.rglob("*") if path.is_file())
        made = {f"{site}/{path.relative_to(html)}": notebooks.digest(path) for path in written}
        stamp = {"key": key, "profile": profile, "files": made | notebooks.digests(*made_from)}
        (html / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
        swap(html, paths.HTML, Path(scratch) / "previous")


def render_pages(profile: str, scratch: Path, offer_pdf: bool, *beside: Any) -> Path:
    """Render every page, with warnings as errors, and do tasks at the same time; return the folder of the pages."""
    from bookbuild.run import Task, do

    html = scratch / "_build" / "html"
    words = ["build", str(paths.ROOT), "--path-output", str(scratch), "--all", "--warningiserror", "--keep-going"]
    # Jupyter Book writes beside its configuration and reads the user's; give it a place of its own for both.
    environment = {"SGDNOISE_PROFILE": profile, "HOME": str(scratch)}
    environment["SGDNOISE_PDF"] = pdf_file(profile).name if offer_pdf else ""
    task = Task("book", f"render/{profile}", jupyter_book, words, **environment)
    do([task, *beside], "Rendering the book")
    if failure := next(filter(None, (other.failure for other in beside)), None):
        raise Refusal(failure)
    if task.failure or not (html / "index.html").is_file():
        lines = task.log.read_text(encoding="utf-8").splitlines()
        complaints = [line for line in lines if "WARNING" in line or "ERROR" in line or "Refusal" in line]
        for line in complaints[:20] or lines[-20:]:
            say("  " + line)
        raise Refusal(f"the book was not rendered; all that was said is in {os.path.relpath(task.log)}")
    return html


def jupyter_book(words: list[str]) -> None:
    """Call Jupyter Book, in a process of its own."""
    from jupyter_book.cli.main import main

    main(words, standalone_mode=False)


def swap(new: Path, place: Path, aside: Path) -> None:
    """Put a finished folder in place of the old one: in one step, where the system has one.

    Elsewhere (Windows, network disks) the old one is moved aside first, and for that moment there is none.
    """
    if place.exists():
        libc: Any = ctypes.CDLL(None) if os.name == "posix" else None
        both = os.fsencode(new), os.fsencode(place)
        if hasattr(libc, "renameat2") and libc.renameat2(AT_FDCWD, both[0], AT_FDCWD, both[1], EXCHANGE) == 0:  # Linux
            return
        if hasattr(libc, "renamex_np") and libc.renamex_np(*both, EXCHANGE) == 0:  # macOS
            return
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
