"""The book as one PDF, printed by Chromium: ``python -m bookbuild.pdf PAGE OUTPUT`` prints, ``make`` decides.

Chromium numbers the pages by itself but cannot write into a table of contents on which page a chapter is. So it prints
twice: once to learn where each chapter begins, and again with these numbers in place. The maths is typeset once.
"""

import hashlib
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from bookbuild import browser, paths, printed, processes, source
from bookbuild.progress import watch
from bookbuild.refusal import Refusal

# Millimetres of A4 between the margins of print.css, in the pixels of a browser: what is measured is what is printed.
TEXT_WIDTH = round(166 / 25.4 * 96)
PATIENCE = 120  # seconds, for all maths of the book on a slow machine
# Formulas wider than the text are made smaller, until they fit.
FIT = """() => {
  for (const formula of document.querySelectorAll('mjx-container')) {
    const box = formula.closest('td, th, li, dd, p, div, figcaption');
    const wide = formula.querySelector('mjx-math').getBoundingClientRect().width;
    const tag = formula.parentElement.querySelector('.eqno');
    const room = box.clientWidth - (tag ? tag.getBoundingClientRect().width + 12 : 0);
    if (formula.hasAttribute('display') && wide > room) formula.style.fontSize = 100 * room / wide + '%';
  }
}"""
NUMBER = """pages => {
  for (const place of document.querySelectorAll('[data-page-of]')) place.textContent = pages[place.dataset.pageOf];
}"""


def make(html: Path, profile: str, output: Path) -> None:
    """Print the book in a folder to a file; what was printed before from the same input is taken again."""
    program = browser.find()
    if program is None:
        raise Refusal(browser.MISSING)
    text = printed.assemble(html, profile)
    kept = paths.PDF / f"{_key(html, text)}.pdf"
    if not kept.is_file():
        paths.PDF.mkdir(parents=True, exist_ok=True)
        page = html / "print.html"
        page.write_text(text, encoding="utf-8")
        try:
            with tempfile.TemporaryDirectory(dir=paths.SCRATCH) as scratch:
                _run(page, Path(scratch) / kept.name, profile)
                for old in paths.PDF.glob("*.pdf"):
                    old.unlink()
                os.replace(Path(scratch) / kept.name, kept)
        finally:
            page.unlink()
    output.write_bytes(kept.read_bytes())


def _key(html: Path, text: str) -> str:
    """Hash of what the print depends on: the page, its pictures and how it is typeset."""
    digest = hashlib.sha256(text.encode())
    for folder in ("_images", "_static"):
        for path in sorted((html / folder).rglob("*")):
            if path.is_file():
                digest.update(path.relative_to(html).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    digest.update(source.tree_hash(Path(__file__)).encode())
    return digest.hexdigest()[:20]


def _run(page: Path, output: Path, profile: str) -> None:
    """Print in a process of its own."""
    log = paths.LOGS / "pdf.log"
    command = [sys.executable, "-m", "bookbuild.pdf", str(page), str(output)]
    with processes.children() as start:
        status = watch(start(command, log), "Printing the book", f"print/{profile}")
    if status != 0 or not output.is_file():
        raise Refusal(f"the PDF was not printed; all that was said is in {os.path.relpath(log)}")


def print_page(page: Path, output: Path) -> None:
    """Typeset the maths, print, find where each chapter begins, and print again with these numbers."""
    from playwright.sync_api import sync_playwright
    from pypdf import PdfReader

    with sync_playwright() as playwright, tempfile.TemporaryDirectory(dir=output.parent) as scratch:
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=list(browser.FLAGS))
        view = chromium.new_page(viewport={"width": TEXT_WIDTH, "height": 900}, color_scheme="light", offline=True)
        view.set_default_timeout(1000 * PATIENCE)
        view.emulate_media(media="print")
        view.goto(page.as_uri())
        view.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
        view.evaluate("MathJax.startup.promise.then(() => document.fonts.ready).then(() => true)")
        complain(view)
        view.evaluate(FIT)
        first = Path(scratch) / "first.pdf"
        settings: dict[str, Any] = {"prefer_css_page_size": True, "print_background": True}
        view.pdf(path=first, **settings)
        view.evaluate(NUMBER, beginnings(PdfReader(first)))
        view.pdf(path=first, outline=True, tagged=True, **settings)
        headings = view.locator("h1, h2, h3, h4, h5, h6").all_text_contents()
        chromium.close()
        finish(first, output, headings)


def complain(view: Any) -> None:
    """Refuse to print a formula that could not be typeset or a picture that is not there."""
    if view.locator("mjx-merror").count() or view.locator(".math").count() > view.locator("mjx-container").count():
        raise Refusal("a formula of the book could not be typeset")
    if not view.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)"):
        raise Refusal("a picture of the book could not be read")


def beginnings(reader: Any) -> dict[str, int]:
    """Return the number of the page on which each target of a link is."""
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(reader.pages, 1)}
    targets = reader.named_destinations.items()
    return {name.removeprefix("/"): numbers[target.page.idnum] for name, target in targets}


def finish(printed_file: Path, output: Path, headings: list[str]) -> None:
    """Say in the file whose it is, and take out the date: the same book gives the same file."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import NameObject, TextStringObject

    reader = PdfReader(printed_file)
    assert reader.metadata is not None
    title = str(reader.metadata.title)
    writer = PdfWriter(clone_from=reader)
    writer.metadata = {"/Title": title, "/Author": printed.settings()["author"], "/Producer": "Chromium"}
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    # Where a heading goes on in a second line, its bookmark has lost a blank.
    whole = {"".join(text.split()): " ".join(text.split()) for text in headings}
    bookmarks: list[Any] = [writer.root_object["/Outlines"].get_object()]
    while bookmarks:
        bookmark = bookmarks.pop()
        words = "".join(str(bookmark.get("/Title", "")).split())
        if words in whole:
            bookmark[NameObject("/Title")] = TextStringObject(whole[words])
        bookmarks += [bookmark[near].get_object() for near in ("/First", "/Next") if near in bookmark]
    writer.write(output)


def main(page: str, output: str) -> int:
    """Print one page; return the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    processes.stop_with_parent()
    try:
        print_page(Path(page), Path(output))
    except Refusal as refusal:
        print(refusal)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
