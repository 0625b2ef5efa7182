"""The book as one PDF: its pages put together as one page, which Chromium prints.

Nothing is rendered a second time, so that the PDF cannot say anything else than the book: the articles are taken in
the order of the table of contents, what only a screen can use is left out, and links between pages become links within
the one page. For that, every name (``id``) is given its page in front.

Chromium numbers the pages by itself but cannot write into a table of contents on which page a chapter is. So it prints
twice: once to learn where each chapter begins, and again with these numbers in place.
"""

import json
import os
import posixpath
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from bookbuild import paths
from bookbuild.check import is_outside, toc_pages
from bookbuild.texts import Refusal, citation, fill, read_yaml

if TYPE_CHECKING:
    from bs4 import Tag

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
BROWSERS += [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in ("Chromium", "Google Chrome")]
# Names another browser; empty, none.
BROWSER_VARIABLE = "SGDNOISE_BROWSER"
# The sandbox of Chromium does not start for root, as which containers run.
FLAGS = ("--no-sandbox", "--disable-background-networking")
MISSING = "a PDF needs Chromium or Google Chrome, and none is here; install one (on Debian: apt-get install chromium)"
# What a reader of paper cannot use. Folded cells are plumbing; the title page says that they are left out.
SCREEN_ONLY = (
    "script, style, button, form, input, canvas, nav, template, .headerlink, .downloads, .screen-only, "
    ".toctree-wrapper, .prev-next-area, details.hide, .cell.tag_hide-cell, img.panel, .panel-place"
)
# Upright, bold, slanted, bold and slanted.
FONTS = {
    "Book Serif": ("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"),
    "Book Sans": ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique"),
    "Book Mono": ("DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSansMono-Oblique", "DejaVuSansMono-BoldOblique"),
}
REFERENCES = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "headers")
# Millimetres of A4 between the margins of print.css, in the pixels of a browser: what is measured is what is printed.
TEXT_WIDTH = round(166 / 25.4 * 96)
PATIENCE = 120  # seconds, for the whole book on a slow machine
# Where letters and lines are in the PDF: Chromium writes seven digits, and a hundredth of a point is enough.
PLACED = re.compile(rb"^[-\d. ]+ (?=(?:m|l|c|re|Td)\b)", re.MULTILINE)
DIGITS = re.compile(rb"-?\d*\.\d{3,}")


def browser() -> str | None:
    """Return the path of Chromium or of Google Chrome, or None."""
    names = (os.environ[BROWSER_VARIABLE],) if BROWSER_VARIABLE in os.environ else BROWSERS
    return next(filter(None, map(shutil.which, names)), None)


def make(html: Path, profile: str, output: Path) -> None:
    """Print the book in a folder to a file."""
    if browser() is None:
        raise Refusal(MISSING)
    from bookbuild.run import Task, do

    page, task = html / "print.html", Task("pdf", f"print/{profile}", print_page, html / "print.html", output)
    page.write_text(assemble(html, profile), encoding="utf-8")
    printed = do([task], "Printing the book")
    page.unlink()
    if not printed or not output.is_file():
        raise Refusal(f"the PDF was not printed; all that was said is in {os.path.relpath(task.log)}")


def print_page(page: Path, output: Path) -> None:
    """Print, find where each chapter begins, and print again with these numbers."""
    import pikepdf
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory(dir=output.parent) as scratch:
        chromium = playwright.chromium.launch(executable_path=browser(), args=list(FLAGS))
        view = chromium.new_page(viewport={"width": TEXT_WIDTH, "height": 900}, color_scheme="light", offline=True)
        view.set_default_timeout(1000 * PATIENCE)
        view.emulate_media(media="print")
        view.goto(page.as_uri())
        view.evaluate("document.fonts.ready.then(() => true)")
        complain(view)
        view.add_script_tag(path=Path(__file__).with_name("print.js"))
        view.evaluate("fitFormulas()")
        first = Path(scratch) / "first.pdf"
        settings: dict[str, Any] = {"prefer_css_page_size": True, "print_background": True}
        view.pdf(path=first, **settings)
        with pikepdf.open(first) as pdf:
            view.evaluate("pages => numberPages(pages)", beginnings(pdf))
        view.pdf(path=first, outline=True, tagged=True, **settings)
        headings = view.locator("h1, h2, h3, h4, h5, h6").all_text_contents()
        chromium.close()
        finish(first, output, headings)


def complain(view: Any) -> None:
    """Refuse to print without the font of the formulas or a picture."""
    if view.locator("math").count() and not view.evaluate("document.fonts.check('12px Book Math')"):
        raise Refusal("the font of the formulas could not be read")
    if not view.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)"):
        raise Refusal("a picture of the book could not be read")


def beginnings(pdf: Any) -> dict[str, int]:
    """Return the number of the page on which each target of a link is."""
    numbers = {page.objgen: number for number, page in enumerate(pdf.pages, 1)}
    return {name.removeprefix("/"): numbers[target[0].objgen] for name, target in pdf.Root.Dests.items()}


def finish(printed_file: Path, output: Path, headings: list[str]) -> None:
    """Say in the file whose it is, take out the date, and make it small: the same book gives the same file."""
    from pikepdf import Dictionary, Name, ObjectStreamMode, settings
    from pikepdf import open as read

    # Where a heading goes on in a second line, its bookmark has lost a blank.
    whole = {"".join(text.split()): " ".join(text.split()) for text in headings}
    with read(printed_file) as pdf:
        for page in pdf.pages:
            drawn = page.Contents.read_bytes()
            page.Contents.write(PLACED.sub(lambda line: DIGITS.sub(_short, line[0]), drawn))
        about = {"Title": pdf.docinfo.Title, "Author": read_yaml(paths.CONFIG)["author"], "Producer": "Chromium"}
        pdf.trailer.Info = pdf.make_indirect(Dictionary(**about))
        pdf.Root.PageMode = Name.UseOutlines
        with pdf.open_outline() as outline:
            bookmarks = list(outline.root)
            for bookmark in bookmarks:
                bookmark.title = whole.get("".join(bookmark.title.split()), bookmark.title)
                bookmarks += bookmark.children
        # What says of every word which element of the text it belongs to is more than half of the file, as plain text.
        settings.set_flate_compression_level(9)
        generate = ObjectStreamMode.generate
        pdf.save(output, object_stream_mode=generate, recompress_flate=True, deterministic_id=True)


def _short(number: re.Match[bytes]) -> bytes:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".").encode()


def assemble(html: Path, profile: str) -> str:
    """Return the whole book as one page, to be put at the top of the book's folder."""
    import matplotlib as mpl
    from bs4 import BeautifulSoup

    pages = {page: BeautifulSoup((html / f"{page}.html").read_bytes(), "html.parser") for page in toc_pages()}
    known = {page: {str(tag["id"]) for tag in soup.find_all(id=True)} for page, soup in pages.items()}
    parts = {part["chapters"][0]["file"]: part["caption"] for part in read_yaml(paths.TOC).get("parts", [])}
    printed = []
    for page, soup in pages.items():
        article = soup.select_one("article")
        if article is None or article.find("h1") is None:
            raise Refusal(f"page {page} has no article with a title, and cannot be printed")
        title = plain(article.find("h1"))
        _for_print(article, page, known)
        words = {"title": title, "quoted": json.dumps(title, ensure_ascii=False), "body": article.decode_contents()}
        printed.append({"name": _name(page), "part": parts.get(page), **words})
    fonts = (Path(mpl.get_data_path()) / "fonts" / "ttf").as_uri()
    about = {"config": read_yaml(paths.CONFIG), "profile": profile, "fonts": FONTS, "folder": fonts}
    return fill("print.html", chapters=printed, **about, **citation())


def plain(heading: Any) -> str:
    """Return the words of a heading, without the mark that links to it."""
    return "".join(text for text in heading.find_all(string=True) if not text.find_parent(class_="headerlink")).strip()


def _for_print(article: "Tag", page: str, known: dict[str, set[str]]) -> None:
    """Take out what only a screen can use, and point addresses into the one page."""
    for tag in article.select("noscript"):
        tag.unwrap()
    for tag in article.select(SCREEN_ONLY):
        tag.decompose()
    for tag in article.select("details"):
        tag["open"] = ""
    for tag in article.find_all(True):
        if tag.get("id"):
            tag["id"] = f"{_name(page)}--{tag['id']}"
        for attribute in REFERENCES:
            if tag.get(attribute):
                tag[attribute] = " ".join(f"{_name(page)}--{word}" for word in str(tag[attribute]).split())
        if tag.name == "img" and not is_outside(str(tag["src"])):
            tag["src"] = _from_top(page, str(tag["src"]))
        if tag.name == "a" and tag.get("href"):
            target = link_target(str(tag["href"]), page, known)
            if target is None:
                tag.unwrap()
            else:
                tag["href"] = target


def link_target(address: str, page: str, known: dict[str, set[str]]) -> str | None:
    """Return where a link of a page leads in print, or None if to a file that the print does not have.

    >>> known = {"book/a": {"x"}, "book/b": {"y"}}
    >>> [link_target(to, "book/a", known) for to in ("#x", "b.html#y", "b.html", "../files/z.csv", "https://c.example")]
    ['#book-a--x', '#book-b--y', '#book-b', None, 'https://c.example']
    """
    if is_outside(address) or address.startswith("mailto:"):
        return address
    parts = urlsplit(address)
    target = _from_top(page, parts.path).removesuffix(".html") if parts.path else page
    if target not in known:
        return None
    name = unquote(parts.fragment)
    return f"#{_name(target)}--{name}" if name in known[target] else f"#{_name(target)}"


def _name(page: str) -> str:
    return page.replace("/", "-")


def _from_top(page: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), address))
