"""The built book: whole, from the build's own results, and independent of any network."""

import functools
import os
import re
import shutil

import nbformat
import pytest
from conftest import run

from bookbuild import book, check, notebooks, sphinx_ext
from bookbuild.__main__ import main
from bookbuild.paths import ROOT
from bookbuild.texts import Refusal

pytestmark = pytest.mark.endtoend

PARSED = functools.cache(check.Page)


def executed(project, name="the_model"):
    (path,) = (project / "_build" / "executed").glob(f"{name}-smoke-*.ipynb")
    return path


@pytest.mark.reads
def test_every_figure_has_alt_text_and_a_caption(html, notebook_pages):
    for page in notebook_pages:
        text = (html / f"{page}.html").read_text()
        for tag in re.findall(r"<img[^>]*_images[^>]*>", text):
            alt = re.search(r'alt="([^"]*)"', tag).group(1)
            if 'class="panel"' in tag and not alt:
                continue  # the first panel speaks for all
            assert len(alt) > 40, tag
            assert not alt.endswith((".svg", ".png")), tag
        assert text.count("<figure") == text.count("<figcaption") > 0


@pytest.mark.reads
def test_figures_of_the_paper_have_its_numbers_and_ours_have_letters(html, notebook_pages):
    numbers = {
        page: re.findall(r'caption-number">Figure (\w+)', (html / f"{page}.html").read_text())
        for page in notebook_pages
    }
    for page, found in numbers.items():
        name = page.removeprefix("notebooks/")
        if name.startswith("fig0"):
            assert found == [f"{name[4]}{further}" for further in ("", "b", "c")[: len(found)]], page
        else:
            letter = found[0][0]
            assert letter.isupper(), page
            assert found == [f"{letter}{place}" for place in range(1, len(found) + 1)], page
    every = [number for found in numbers.values() for number in found]
    assert len(set(every)) == len(every)


@pytest.mark.reads
def test_every_figure_offers_its_files_and_every_page_its_notebook(html, notebook_pages):
    for page in notebook_pages:
        text = (html / f"{page}.html").read_text()
        links = PARSED(text).downloads
        diagrams = 1 if page.endswith("/memory") else 0  # a drawing without numbers
        for ending, without in (("svg", 0), ("png", 0), ("csv", diagrams), ("nc", diagrams)):
            found = sum(link.endswith(f".{ending}") for link in links)
            assert found == text.count("<figure") - without, (page, ending)
        assert sum(link.endswith(".ipynb") for link in links) == 1, page


@pytest.mark.reads
def test_the_site_is_small(html):
    """All of it, with the archives of results; and the pages alone, without what they offer."""
    sizes = {path: path.stat().st_size for path in html.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 25e6
    assert sum(size for path, size in sizes.items() if path.parent.name != "downloads") < 12e6


@pytest.mark.reads
def test_the_page_shows_the_parameters_that_were_used(html, profile):
    text = re.sub(r"<[^>]+>", "", (html / "notebooks/the_model.html").read_text())
    assert re.findall('profile = "(\\w+)"', text.replace("&quot;", '"')) == [profile]


@pytest.mark.reads
def test_nothing_is_fetched_from_outside(html):
    """Every html, css and script of the book: no address that a browser would fetch by itself."""
    pages = sorted(html.rglob("*.html"))
    assert len(pages) > len(check.toc_pages())
    for page in pages:
        text = page.read_text()
        assert [address for address in PARSED(text).fetched if check.is_outside(address)] == [], page
        assert "unpkg" not in text
        assert "cdn" not in text
    for sheet in html.rglob("*.css"):
        outside = [address for address in check.style_addresses(sheet.read_text()) if check.is_outside(address)]
        assert outside == [], sheet


def test_the_audit_would_notice():
    """Negative control: each way in which a page can fetch something is seen."""
    for tag in (
        '<script src="https://a.example/x.js"></script>',
        '<link rel="stylesheet" href="//a.example/x.css">',
        '<img src="http://a.example/x.png">',
        '<div style="background: url(https://a.example/x.png)">',
        "<style>@import 'https://a.example/x.css';</style>",
    ):
        assert any(check.is_outside(address) for address in check.Page(tag).fetched), tag
    assert check.Page('<a href="https://a.example">a link is fine</a>').fetched == []


def rewrite(path, old, new):
    text = path.read_text()
    path.unlink()  # the copy of the book shares its files with the book
    path.write_text(text.replace(old, new, 1))


def gone(name):
    return lambda html: (html / name).unlink()


def empty(html):
    image = next((html / "_images").iterdir())
    image.unlink()
    image.touch()


def linked(link):
    return lambda html: rewrite(html / "book/api.html", "</article>", f"{link}here</a></article>")


def unshown(html):
    page = html / "notebooks/the_model.html"
    rewrite(page, re.search(r"<img[^>]*_images[^>]*>", page.read_text())[0], "")


def fetching(html):
    rewrite(html / "search.html", "</body>", "<img src='https://a.example/x'></body>")


@pytest.fixture
def read_once(project, monkeypatch):
    """The checks of the book, which parse a page that they have met before no second time."""
    monkeypatch.setattr(check.paths, "EXECUTED", project / "_build" / "executed")
    monkeypatch.setattr(check.paths, "NOTEBOOKS", project / "notebooks")
    monkeypatch.setattr(check, "Page", PARSED)


@pytest.mark.usefixtures("read_once")
def test_a_whole_book_is_not_complained_of(html):
    check.check_book(html, "smoke")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (gone("book/api.html"), "page book/api of the table of contents is missing"),
        (empty, "of page .* is missing"),
        (gone("downloads/the_model-smoke.zip"), "of page notebooks/the_model is missing"),
        (unshown, "shows . figures, and its notebook made"),
        (fetching, "needs? no network"),
        (linked('<a href="nowhere.html">'), "nowhere.html leads to no file"),
        (linked('<a href="#nowhere">'), "#nowhere leads to no place in api.html"),
        (linked('<a href="dmft.html#nowhere">'), "dmft.html#nowhere leads to no place in dmft.html"),
        (linked('<a href="javascript:alert(1)">'), "leads to no file"),
        (linked('<a href="http://a.example/">'), "http://a.example/ is no proper https address"),
    ],
)
@pytest.mark.usefixtures("read_once")
def test_a_damaged_book_is_noticed(html, tmp_path, damage, sentence):
    shutil.copytree(html, tmp_path / "html", copy_function=os.link)
    damage(tmp_path / "html")
    with pytest.raises(Refusal, match=sentence):
        check.check_book(tmp_path / "html", "smoke")


def test_a_second_build_does_nothing(project):
    def written():
        files = (project / "_build" / "html").rglob("*")
        return {path: path.stat().st_mtime_ns for path in files if path.is_file()}

    before = written()
    done = run(project, "book", "--profile", "smoke")
    assert done.returncode == 0
    assert "up to date" in done.stderr
    assert before == written()


def test_a_damaged_notebook_is_noticed(project):
    """An executed notebook that was cut short or altered is never shown."""
    path = executed(project)
    whole = path.read_text()
    for damaged in ("", whole[:5000], whole.replace("±", "+-")):
        path.write_text(damaged)
        assert notebooks.read_executed(path) is None
    path.write_text(whole)
    assert notebooks.read_executed(path) is not None


def test_notebook_results_are_finite_and_deterministic(project):
    """The numbers that the page quotes, from the executed notebook itself."""
    told = notebooks.told(nbformat.read(executed(project), as_version=4), "value")
    values = {name: content["text"] for name, content in told.items()}
    for name in ("scatter_exact", "scatter_euler"):
        # Root mean square of 63 Gaussian deviations; with ten independent ones, beyond 1.8 in less than 5e-4 of seeds.
        assert 0.3 < float(values[name]) < 1.8
    value, error = (float(part) for part in values["loss_sgd"].split("±"))
    assert value > 5 * error > 0


def test_one_notebook_with_other_parameters(project):
    done = run(project, "notebook", "the_model", "--profile", "smoke", "-p", "seed", "3")
    assert done.returncode == 0, done.stderr
    path = project / re.search(r"Executed notebook: (.*)", done.stdout).group(1)
    assert len(list(path.parent.glob("the_model-smoke-*.ipynb"))) == 2, "the book keeps its own copy"
    assert any("seed = 3" in cell.source for cell in nbformat.read(path, as_version=4).cells)
    figures = [project / name for name in re.findall(r"Figure: (.*)", done.stdout)]
    assert len(figures) == 2
    assert all(b"<svg" in figure.read_bytes() for figure in figures)
    path.unlink()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["book", "--profile", "tiny"], "profile must be smoke, standard or paper, got 'tiny'"),
        (["notebook", "fig99"], r"NAME must be a notebook of the project \(.*the_model.*\), got 'fig99'"),
        (["notebook", "the_model", "-p", "sede", "1"], "notebook the_model has the parameters profile, seed, alpha,"),
        (["notebook", "the_model", "-p", "seed", "x"], "seed must be a whole number of at least 0 and at most"),
        (
            ["notebook", "the_model", "-p", "seed", "1", "-p", "seed", "2"],
            "each parameter must be given once, got -p seed",
        ),
    ],
)
def test_wrong_values_are_one_sentence(capsys, words, sentence):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert re.search(sentence, said)
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("words", [["notebook", "the_model", "-p", "seed"], ["notebook", "the_model", "-q"], ["bok"]])
def test_wrong_words_are_one_sentence(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("bookbuild: ")
    assert len(said.strip().splitlines()) == 1


def test_texts_that_cannot_be_read_are_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(notebooks.paths, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(notebooks.paths, "BUILD", tmp_path / "untouched")
    (tmp_path / "strange.py").write_bytes("# %% [markdown]\n# # Ein gr\xfcner Titel\n".encode("latin-1"))
    for words in (["book"], ["notebook", "strange"]):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert said.endswith("strange.py must be UTF-8 text, and its line 2 is not.\n")
        assert said.count("\n") == 1
    assert not (tmp_path / "untouched").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- name: [unfinished\n", "claims.yml, line 2 is not YAML: "),
        ("name: a\n", "claims.yml must be a list of entries, and is none."),
        ("- just words\n", "entry 1 of "),
        (
            "- {name: a, wher: b}\n",
            "must give name, where, statement, tests, page, verdict, remark, kind, and no others",
        ),
        ("- name: \x00\n", "claims.yml is not YAML: "),
    ],
)
def test_broken_claims_are_one_sentence_before_any_work(tmp_path, monkeypatch, capsys, text, sentence):
    monkeypatch.setattr(notebooks.paths, "LEDGER", tmp_path / "claims.yml")
    monkeypatch.setattr(notebooks.paths, "BUILD", tmp_path / "untouched")
    (tmp_path / "claims.yml").write_text(text)
    assert main(["book"]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "untouched").exists()


def test_a_scheduler_that_cannot_be_one_is_refused_at_once(capsys, monkeypatch):
    monkeypatch.setenv("SGDNOISE_SCHEDULER", "foo")
    assert main(["book"]) == 2
    assert capsys.readouterr().err == "bookbuild: SCHEDULER must be an address such as tcp://host:8786, got 'foo'.\n"


def test_stale_copies_are_never_shown(project, monkeypatch):
    """The reader finds a copy by the text itself: another text, library or profile has none."""
    monkeypatch.setattr(sphinx_ext.paths, "EXECUTED", project / "_build" / "executed")
    monkeypatch.setenv(sphinx_ext.PROFILE_VARIABLE, "smoke")
    text = notebooks.read("the_model").text
    assert sphinx_ext.read_executed(text).cells
    with pytest.raises(Refusal, match="has not been run with this text"):
        sphinx_ext.read_executed(text + "# one more line\n")
    monkeypatch.setenv(sphinx_ext.PROFILE_VARIABLE, "paper")
    with pytest.raises(Refusal, match="has not been run with this text"):
        sphinx_ext.read_executed(text)
    monkeypatch.setenv(sphinx_ext.PROFILE_VARIABLE, "smoke")
    monkeypatch.setattr(notebooks, "tree_hash", lambda *_: "another library")
    with pytest.raises(Refusal, match="has not been run with this text"):
        sphinx_ext.read_executed(text)


@pytest.mark.reads
def test_pages_name_no_machine(html):
    for page in html.rglob("*.html"):
        assert str(ROOT) not in page.read_text()
        assert os.path.expanduser("~/") not in page.read_text()


def test_a_book_is_in_place_at_every_moment(tmp_path, monkeypatch):
    """After every step of the swap."""
    gone = []

    def watched_step(*names):
        os.rename(*names)
        gone.append(not (place / "index.html").exists())

    place, new = tmp_path / "html", tmp_path / "new"
    monkeypatch.setattr(book.os, "replace", watched_step)
    for version in ("first", "second", "third"):
        new.mkdir()
        (new / "index.html").write_text(version)
        book.swap(new, place, tmp_path / f"before {version}")
        assert (place / "index.html").read_text() == version
        shutil.rmtree(new, ignore_errors=True)
    assert not any(gone)
