"""Render the book, check it, and only then put it in place of the one before."""

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

from bookbuild import archives, browser, figures, kernels, ledger, paths, pdf, source
from bookbuild.check import check_book
from bookbuild.ledger import read_ledger
from bookbuild.links import check_links
from bookbuild.progress import load_timings, save_timings
from bookbuild.refusal import Refusal
from bookbuild.runner import Job, results_label, run_all, say
from bookbuild.spare import drop_spare
from bookbuild.sphinx_ext import DOWNLOADS, PDF_PLACE, PROFILE_VARIABLE
from bookbuild.symbols import read_symbols
from bookbuild.texts import read_yaml
from bookbuild.theme import mend

STAMP = ".finished.json"
EXCHANGE, AT_FDCWD = 2, -100  # of the system: swap two names; relative to the current folder
INPUTS = ("_config.yml", "_toc.yml", "book", "lib", "requirements.lock")


def build(profile: str, need_pdf: bool = False) -> Path:
    """Run the notebooks, render and check the book; return its first page. What is up to date is left alone.

    The book has a PDF where there is a Chromium to print it; with ``need_pdf`` it must.
    """
    source.check_profile(profile)
    if need_pdf and browser.find() is None:
        raise Refusal(pdf.MISSING)
    for read, path in ((read_ledger, paths.LEDGER), (read_symbols, paths.SYMBOLS), (read_yaml, paths.TOC)):
        read(path)
    source.read_all()
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
        if finished(key) and (not need_pdf or pdf_file(profile).is_file()):
            say("The book is up to date.")
        else:
            render(profile, key, need_pdf)
            if from_scratch:
                notebooks = sum(load_timings()[job.label] for job in jobs)
                save_timings({f"book/{profile}": time.monotonic() - began, f"notebooks/{profile}": notebooks})
    return paths.HTML / "index.html"


def pdf_file(profile: str, html: Path = paths.HTML) -> Path:
    """Return where the PDF of a book belongs."""
    return html / DOWNLOADS / pdf.file_name(profile)


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
    parts = [profile, inputs, source.tree_hash(*executed), f"a browser: {browser.find() is not None}"]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def finished(key: str) -> bool:
    """Tell whether the book in place was made from these very inputs, and no file of it is gone or altered."""
    try:
        stamp = json.loads((paths.HTML / STAMP).read_text(encoding="utf-8"))
        return bool(stamp["key"] == key and stamp["files"].items() <= checksums(paths.HTML).items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def checksums(html: Path) -> dict[str, str]:
    """Return a checksum of every file of a book, by name."""
    files = (path for path in html.rglob("*") if path.is_file() and path.name != STAMP)
    return {path.relative_to(html).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def render(profile: str, key: str, need_pdf: bool) -> None:
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
        drop_spare(made)
        mend(made)
        export_results(profile, made)
        offer_pdf(profile, made, need_pdf)
        check_book(made, profile)
        check_links(made, paths.OUTSIDE_LINKS)
        (made / STAMP).write_text(json.dumps({"key": key, "files": checksums(made)}), encoding="utf-8")
        swap(made, paths.HTML, Path(scratch) / "previous")


def export_results(profile: str, html: Path) -> None:
    """Put into the book, for each notebook, itself to run, its figures and their numbers, and the means behind."""
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
        for cell in executed.cells:
            if cell.cell_type == "code":  # pictures and numbers are offered beside it, and would double the site
                cell.outputs, cell.execution_count = [], None
        nbformat.write(executed, html / DOWNLOADS / f"{label}.ipynb")
        if keys:
            write_zip(store, keys, html / DOWNLOADS / f"{label}.zip", shorten=archives.summary)


def offer_pdf(profile: str, html: Path, need_pdf: bool) -> None:
    """Print the book, if that can be done here, and say on its first page where the PDF is, or how to make one."""
    offer = "<code>make pdf</code> makes one PDF of the whole book"
    if browser.find() is not None:
        say("Printing the book.")
        try:
            pdf.make(html, profile, pdf_file(profile, html))
            address = f"../{DOWNLOADS}/{pdf.file_name(profile)}"
            offer = (
                f'<a href="{address}" download>The whole book as one PDF</a>, to print or to read away from a screen'
            )
        except Refusal as refusal:
            if need_pdf:
                raise
            say(f"The book has no PDF: {refusal}.")
    page = html / "book" / "index.html"
    text = page.read_text(encoding="utf-8")
    if PDF_PLACE not in text:
        raise Refusal(f"the first page of the book must have the place {PDF_PLACE}, where the PDF is offered")
    page.write_text(text.replace(PDF_PLACE, offer), encoding="utf-8")


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
    with open(paths.BUILD / ".lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another build is at work in this folder; waiting for it to end.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
