"""The whole book as one PDF: complete, with links and page numbers, all vectors, and never a dead offer."""

import re
import shutil
import unicodedata
from types import SimpleNamespace

import pikepdf
import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from bookbuild import book, check, downloads, printing, sphinx_ext
from bookbuild.__main__ import main
from bookbuild.check import Page
from bookbuild.paths import CONFIG
from bookbuild.texts import Refusal, read_yaml

CHAPTERS = check.toc_pages()


@pytest.fixture(scope="module")
def reader(html, profile):
    if printing.browser() is None:
        pytest.skip("no Chromium here, and so no PDF")
    return PdfReader(html / "downloads" / book.pdf_file(profile).name)


def title(html, chapter):
    soup = BeautifulSoup((html / f"{chapter}.html").read_text(), "html.parser")
    return printing.plain(soup.select_one("article h1"))


@pytest.mark.looks
def test_every_chapter_is_in_the_outline_and_on_the_page_that_the_contents_say(reader, html):
    with pikepdf.open(reader.stream) as pdf:
        places = printing.beginnings(pdf)
    outline = {entry.title for entry in reader.outline if not isinstance(entry, list)}
    contents = " ".join(page.extract_text() for page in reader.pages[1:4])
    for chapter in CHAPTERS:
        words = title(html, chapter)
        assert words in outline
        text = reader.pages[places[chapter.replace("/", "-")] - 1].extract_text().replace("\n", " ")
        assert words[:20] in unicodedata.normalize("NFKC", text)
    numbers = [int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.])", contents)]
    assert {places[chapter.replace("/", "-")] for chapter in CHAPTERS} <= set(numbers)


@pytest.mark.looks
def test_figures_are_vectors_and_the_file_has_no_date(reader):
    assert len(reader.pages) > len(CHAPTERS)
    assert [page for page in reader.pages if len(page.images)] == []
    assert reader.metadata.author == read_yaml(CONFIG)["author"]
    assert "/CreationDate" not in reader.metadata
    assert reader.trailer["/Root"]["/MarkInfo"]["/Marked"], "for those who have it read to them"


@pytest.mark.looks
def test_nothing_of_the_screen_is_printed(html, profile):
    page = BeautifulSoup(printing.assemble(html, profile), "html.parser")
    screen = "button, input, form, canvas, nav, script, .headerlink, .downloads, .screen-only, .panel-place"
    assert page.body.select(screen) == []
    names = {tag["id"] for tag in page.find_all(id=True)}
    within = [tag["href"] for tag in page.find_all("a", href=True) if tag["href"].startswith("#")]
    assert len(within) > 100
    assert {address[1:] for address in within} <= names
    assert all((html / tag["src"]).is_file() for tag in page.find_all("img"))


@pytest.mark.looks
def test_the_first_page_offers_the_pdf(reader, html, profile):  # noqa: ARG001
    assert f"../downloads/{book.pdf_file(profile).name}" in Page((html / "book/index.html").read_text()).downloads


def test_without_a_browser_a_pdf_is_refused_before_any_work(monkeypatch, capsys):
    monkeypatch.setenv(printing.BROWSER_VARIABLE, "")
    assert main(["pdf", "--profile", "smoke"]) == 2
    said = capsys.readouterr().err
    assert "install one (on Debian: apt-get install chromium)" in said
    assert len(said.strip().splitlines()) == 1


def filled(text, root="book/first"):
    """A page of prose as Sphinx reads it."""
    environment = SimpleNamespace(doc2path=lambda name: f"{name}.md")
    page = [text]
    sphinx_ext.fill(SimpleNamespace(config=SimpleNamespace(root_doc=root), env=environment), "book/first", page)
    return page[0]


@pytest.fixture
def render(tmp_path, monkeypatch):
    """Render a book of one page, as Sphinx would; return the page that is then in place."""
    monkeypatch.setattr(book.paths, "SCRATCH", tmp_path)
    monkeypatch.setattr(book.paths, "HTML", tmp_path / "html")
    monkeypatch.setattr(check, "check_book", lambda *_: None)
    monkeypatch.setattr(downloads, "write", lambda _, folder: folder.mkdir())

    def rendered(profile, scratch, offer_pdf, *beside):
        for task in beside:
            function, *words = task.call
            function(*words)
        html = scratch / "html"
        shutil.rmtree(html, ignore_errors=True)
        html.mkdir()
        monkeypatch.setenv(sphinx_ext.PDF_VARIABLE, book.pdf_file(profile).name if offer_pdf else "")
        (html / "index.html").write_text(filled("{{ pdf() }}"))
        return html

    monkeypatch.setattr(book, "render_pages", rendered)

    def run(need_pdf):
        book.render("smoke", "key", need_pdf, [])
        return (tmp_path / "html" / "index.html").read_text()

    return run


def test_without_a_browser_the_first_page_says_how_to_make_one(render, monkeypatch):
    monkeypatch.setattr(printing, "browser", lambda: None)
    text = render(need_pdf=False)
    assert Page(text).links == []
    assert "<code>make pdf</code>" in text


def test_a_browser_that_fails_costs_the_pdf_and_not_the_book(render, monkeypatch, capsys):
    def fail(*_):
        raise Refusal("the PDF was not printed")

    monkeypatch.setattr(printing, "browser", lambda: "chromium")
    monkeypatch.setattr(printing, "make", lambda _, __, output: output.touch())
    assert Page(render(need_pdf=False)).downloads == ["../downloads/effective-noise-of-sgd-smoke.pdf"]
    monkeypatch.setattr(printing, "make", fail)
    assert Page(render(need_pdf=False)).links == []
    assert "The book has no PDF: the PDF was not printed." in capsys.readouterr().err
    with pytest.raises(Refusal, match="the PDF was not printed"):
        render(need_pdf=True)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("nothing", "the first page of the book must have the place {{ pdf() }}, where the PDF is offered"),
        ("{{ pdf() }} {{ nowhere }}", "the page book/first cannot be filled in: 'nowhere' is undefined"),
        ("{{ pdf() }} {% for %}", "the page book/first cannot be filled in: "),
    ],
)
def test_a_page_that_cannot_be_filled_in_is_refused(page, sentence):
    assert filled("nothing", root="book/other") == "nothing"
    with pytest.raises(Refusal) as caught:
        filled(page)
    assert str(caught.value).startswith(sentence)
