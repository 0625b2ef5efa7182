"""Render the book, check it, and only then put it in place of the one before."""

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from bookbuild import browser, paths, processes, source
from bookbuild.refusal import Refusal, say

# What only a build needs is imported where it is used: nothing to do, and a refusal, are then said at once.
STAMP = ".finished.json"
EXCHANGE, AT_FDCWD = 2, -100  # of the system: swap two names; relative to the current folder
INPUTS = ("_config.yml", "_toc.yml", "book", "lib", "requirements.lock")
PROFILE_VARIABLE, PDF_VARIABLE = "SGDNOISE_PROFILE", "SGDNOISE_PDF"
DOWNLOADS = "downloads"
RENDER = "from bookbuild.processes import stop_with_parent; stop_with_parent()"
RENDER += "; from jupyter_book.cli.main import main; main()"
USUAL_SECONDS = 25.0  # of rendering, and of printing, before they were measured here


def build(profile: str, need_pdf: bool = False) -> Path:
    """Run the notebooks, render and check the book; return its first page. What is up to date is left alone.

    The book has a PDF where there is a Chromium to print it; with ``need_pdf`` it must.
    """
    source.check_profile(profile)
    if need_pdf and browser.find() is None:
        raise Refusal(browser.MISSING)
    check_texts()
    writable(paths.BUILD)
    with only_one():
        key = book_key(profile)
        if finished(key) and (not need_pdf or pdf_file(profile).is_file()):
            say("The book is up to date.")
        else:
            make(profile, key, need_pdf)
    return paths.HTML / "index.html"


def check_texts() -> None:
    """Refuse texts that cannot be read, before any work."""
    from bookbuild import ledger, symbols, texts

    ledger.read_ledger(paths.LEDGER)
    symbols.read_symbols(paths.SYMBOLS)
    texts.read_yaml(paths.TOC)
    source.read_all()


def make(profile: str, key: str, need_pdf: bool) -> None:
    """Run what is missing, and render."""
    from bookbuild import ledger
    from bookbuild.progress import load_timings, save_timings
    from bookbuild.runner import Job, compile_all, run_all

    began = time.monotonic()
    clear_scratch()
    jobs = [Job(notebook, notebook.parameters(profile)) for notebook in source.read_all()]
    from_scratch = not any(job.done() for job in jobs) and not any(paths.RESULTS.glob("*.sgdnoise.nc"))
    forget_without_results(jobs)
    if not all(job.done() for job in jobs):
        compile_all()
    steps = ["render", "print"] if browser.find() else ["render"]
    run_all(jobs, sum(load_timings().get(f"{step}/{profile}", USUAL_SECONDS) for step in steps))
    ledger.check(*ledger.collect(job.output for job in jobs), profile)
    render(profile, key, need_pdf, behind(jobs))
    if from_scratch:
        notebooks = sum(load_timings()[job.label] for job in jobs)
        save_timings({f"book/{profile}": time.monotonic() - began, f"notebooks/{profile}": notebooks})


def pdf_file(profile: str, html: Path = paths.HTML) -> Path:
    """Return where the PDF of a book belongs."""
    return html / DOWNLOADS / f"effective-noise-of-sgd-{profile}.pdf"


def forget_without_results(jobs: Iterable[Any]) -> None:
    """Remove executed copies whose results are damaged or not in this store: running again computes what is missing."""
    from sgdnoise.sweep.store import Store

    store = Store(paths.RESULTS)
    for job in jobs:
        executed = source.read_executed(job.output)
        keys = [] if executed is None else executed.metadata.get(source.USED, [])
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
    notebooks = sorted(paths.NOTEBOOKS.glob("*.py"))
    inputs = source.tree_hash(*(paths.ROOT / name for name in INPUTS), *notebooks)
    parts = [profile, inputs, os.path.relpath(paths.RESULTS, paths.ROOT), f"a browser: {browser.find() is not None}"]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def finished(key: str) -> bool:
    """Tell whether the book in place was made from these inputs, and no file of it or behind it is gone or altered."""
    try:
        stamp = json.loads((paths.HTML / STAMP).read_text(encoding="utf-8"))
        if stamp["key"] != key or not stamp["site"].items() <= checksums(paths.HTML).items():
            return False
        return all(checksum(paths.ROOT / name) == found for name, found in stamp["behind"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def checksum(path: Path) -> str:
    """Return the checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksums(html: Path) -> dict[str, str]:
    """Return a checksum of every file of a book, by name."""
    files = (path for path in html.rglob("*") if path.is_file() and path.name != STAMP)
    return {path.relative_to(html).as_posix(): checksum(path) for path in files}


def render(profile: str, key: str, need_pdf: bool, made_from: list[Path]) -> None:
    """Render into a scratch folder, print, check, then swap."""
    from bookbuild import pdf
    from bookbuild.check import check_book, check_links

    with tempfile.TemporaryDirectory(dir=paths.SCRATCH) as scratch:
        html = render_pages(profile, Path(scratch), offer_pdf=browser.find() is not None)
        export_results(profile, html)
        if browser.find() is not None:
            try:
                pdf.make(html, profile, pdf_file(profile, html))
            except Refusal as refusal:
                if need_pdf:
                    raise
                say(f"The book has no PDF: {refusal}.")
                shutil.move(html / DOWNLOADS, scratch)
                html = render_pages(profile, Path(scratch), offer_pdf=False)
                shutil.move(Path(scratch) / DOWNLOADS, html)
        check_book(html, profile)
        check_links(html, paths.OUTSIDE_LINKS)
        stamp: dict[str, Any] = {"key": key, "profile": profile, "site": checksums(html)}
        stamp["behind"] = {os.path.relpath(path, paths.ROOT): checksum(path) for path in made_from}
        (html / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
        swap(html, paths.HTML, Path(scratch) / "previous")


def render_pages(profile: str, scratch: Path, offer_pdf: bool) -> Path:
    """Render every page, with warnings as errors; return their folder."""
    from bookbuild.progress import watch

    log = paths.LOGS / "book.log"
    command = [sys.executable, "-c", RENDER, "build", str(paths.ROOT), "--path-output", str(scratch)]
    command += ["--all", "--warningiserror", "--keep-going"]
    # Jupyter Book writes beside its configuration and reads the user's; give it a place of its own for both.
    environment = {PROFILE_VARIABLE: profile, "HOME": str(scratch), "PYTHONUNBUFFERED": "1"}
    environment[PDF_VARIABLE] = pdf_file(profile).name if offer_pdf else ""
    with processes.children() as start:
        status = watch(start(command, log, **environment), "Rendering the book", f"render/{profile}")
    html = scratch / "_build" / "html"
    if status != 0 or not (html / "index.html").is_file():
        lines = log.read_text(encoding="utf-8").splitlines()
        complaints = [line for line in lines if "WARNING" in line or "ERROR" in line]
        for line in complaints[:20] or lines[-20:]:
            say("  " + line)
        raise Refusal(f"the book was not rendered; all that was said is in {os.path.relpath(log)}")
    return html


def export_results(profile: str, html: Path) -> None:
    """Put into the book, for each notebook, itself to run, its figures and their numbers, and the means behind."""
    import nbformat

    from bookbuild import archives, figures, runnable
    from bookbuild.printed import settings
    from bookbuild.runner import results_label
    from sgdnoise import __version__
    from sgdnoise.sweep.store import Store

    store = Store(paths.RESULTS)
    (html / DOWNLOADS).mkdir()
    for notebook in source.read_all():
        label = results_label(notebook, notebook.parameters(profile))
        keys = store.uses(label)
        executed = source.read_executed(notebook.executed(notebook.parameters(profile)))
        if executed is None:
            raise Refusal(f"the copy of notebook {notebook.name} is damaged or gone; the same command mends it")
        figures.write_downloads(executed, html / DOWNLOADS, label)
        about = f"version {__version__}, {profile} profile"
        # Without outputs: pictures and numbers are offered beside it, and would double the site.
        nbformat.write(runnable.convert(executed, settings()["title"], about), html / DOWNLOADS / f"{label}.ipynb")
        if keys:
            store.write_zip(keys, html / DOWNLOADS / f"{label}.zip", shorten=archives.summary)


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


def clear_scratch() -> None:
    """Remove what killed runs left behind; nothing in there is ever read again."""
    for path in paths.SCRATCH.iterdir():
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def only_one() -> Iterator[None]:
    """Let one build work at a time; a second one waits. The lock ends with the process, however it ends."""
    lock = FileLock(paths.BUILD / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say("Another build is at work in this folder; waiting for it to end.")
        lock.acquire()
    with lock:
        yield
