"""The whole book as one PDF: complete, with links and page numbers, all vectors, and never a dead offer."""

import json
import re
import unicodedata

import pytest
import yaml
from bs4 import BeautifulSoup
from pypdf import PdfReader

from bookbuild import book, browser, pdf, printed
from bookbuild.__main__ import main
from bookbuild.check import Page
from bookbuild.paths import TOC
from bookbuild.refusal import Refusal

CHAPTERS = list(printed.chapters(yaml.safe_load(TOC.read_text())))
OFFER = f'<html><body><article><h1>A</h1><p class="screen-only">{book.PDF_PLACE}.</p></article></body></html>'


@pytest.fixture(scope="module")
def profile(built):
    return json.loads((built / book.STAMP).read_text())["profile"]


@pytest.fixture(scope="module")
def reader(built, profile):
    if browser.find() is None:
        pytest.skip("no Chromium here, and so no PDF")
    return PdfReader(built / "downloads" / pdf.file_name(profile))


def title(html, chapter):
    soup = BeautifulSoup((html / f"{chapter.page}.html").read_text(), "html.parser")
    return printed.plain(soup.select_one("article h1"))


@pytest.mark.looks
def test_every_chapter_is_in_the_outline_and_on_the_page_that_the_contents_say(reader, built):
    places = pdf.beginnings(reader)
    outline = {entry.title for entry in reader.outline if not isinstance(entry, list)}
    contents = " ".join(page.extract_text() for page in reader.pages[1:4])
    for chapter in CHAPTERS:
        words = title(built, chapter)
        assert words in outline
        text = reader.pages[places[chapter.name] - 1].extract_text().replace("\n", " ")
        assert words[:20] in unicodedata.normalize("NFKC", text)
    numbers = [int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.])", contents)]
    assert {places[chapter.name] for chapter in CHAPTERS} <= set(numbers)


@pytest.mark.looks
def test_figures_are_vectors_and_the_file_has_no_date(reader):
    assert len(reader.pages) > len(CHAPTERS)
    assert [page for page in reader.pages if len(page.images)] == []
    assert reader.metadata.author == printed.settings()["author"]
    assert "/CreationDate" not in reader.metadata


@pytest.mark.looks
def test_nothing_of_the_screen_is_printed(built, profile):
    page = BeautifulSoup(printed.assemble(built, profile), "html.parser")
    assert page.body.select("button, input, form, canvas, nav, script, .headerlink, .downloads, .screen-only") == []
    names = {tag["id"] for tag in page.find_all(id=True)}
    within = [tag["href"] for tag in page.find_all("a", href=True) if tag["href"].startswith("#")]
    assert len(within) > 100
    assert {address[1:] for address in within} <= names
    assert all((built / tag["src"]).is_file() for tag in page.find_all("img"))


@pytest.mark.looks
def test_the_first_page_offers_the_pdf(reader, built, profile):  # noqa: ARG001
    assert f"../downloads/{pdf.file_name(profile)}" in Page((built / "book/index.html").read_text()).downloads


def test_without_a_browser_a_pdf_is_refused_before_any_work(monkeypatch, capsys):
    monkeypatch.setenv(browser.VARIABLE, "")
    assert main(["pdf", "--profile", "smoke"]) == 2
    said = capsys.readouterr().err
    assert "install one (on Debian: apt-get install chromium)" in said
    assert len(said.strip().splitlines()) == 1


@pytest.fixture
def rendered(tmp_path):
    """A book of one page."""
    (tmp_path / "book").mkdir()
    (tmp_path / "downloads").mkdir()
    (tmp_path / "book" / "index.html").write_text(OFFER)
    return tmp_path


def test_without_a_browser_the_first_page_says_how_to_make_one(rendered, monkeypatch):
    monkeypatch.setattr(browser, "find", lambda: None)
    book.offer_pdf("smoke", rendered, need_pdf=False)
    page = Page((rendered / "book/index.html").read_text())
    assert page.links == []
    assert "<code>make pdf</code>" in (rendered / "book/index.html").read_text()


def test_a_browser_that_fails_costs_the_pdf_and_not_the_book(rendered, monkeypatch, capsys):
    def fail(*_):
        raise Refusal("the PDF was not printed")

    monkeypatch.setattr(browser, "find", lambda: "chromium")
    monkeypatch.setattr(pdf, "make", fail)
    book.offer_pdf("smoke", rendered, need_pdf=False)
    assert "The book has no PDF: the PDF was not printed." in capsys.readouterr().err
    assert Page((rendered / "book/index.html").read_text()).links == []
    (rendered / "book/index.html").write_text(OFFER)
    with pytest.raises(Refusal, match="the PDF was not printed"):
        book.offer_pdf("smoke", rendered, need_pdf=True)


def test_a_first_page_without_a_place_for_the_offer_is_refused(rendered, monkeypatch):
    monkeypatch.setattr(browser, "find", lambda: None)
    (rendered / "book/index.html").write_text("<p>nothing</p>")
    with pytest.raises(Refusal, match="must have the place"):
        book.offer_pdf("smoke", rendered, need_pdf=False)
