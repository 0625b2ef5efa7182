"""How to cite: one file, and everything that is made from it."""

import json
import re

from bookbuild import citation
from bookbuild.paths import ROOT
from sgdnoise import __version__


def test_the_files_made_from_the_citation_are_up_to_date():
    for path, text in citation.files().items():
        assert path.read_text(encoding="utf-8") == text, f"`make citation` writes {path.name} anew"


def test_the_files_say_what_the_citation_says():
    cited = citation.read()
    archive, engine = (json.loads(text) for text in citation.files().values())
    for made in (archive, engine):
        assert made["version"] == __version__
        assert cited["license"] in made["license"]
        assert cited["preferred-citation"]["doi"] in json.dumps(made)
    assert archive["title"] == engine["name"] == cited["title"]


def test_bibtex_has_the_paper_and_the_software():
    from pybtex.database import parse_string

    entries = parse_string(citation.bibtex(), "bibtex").entries
    ours = parse_string((ROOT / "book" / "references.bib").read_text(encoding="utf-8"), "bibtex").entries
    assert list(entries) == ["mignacco2022effective", "sgdnoise"]
    paper = entries["mignacco2022effective"]
    assert paper.fields["doi"] == ours["mignacco2022effective"].fields["doi"]
    assert [str(person) for person in paper.persons["author"]] == ["Mignacco, Francesca", "Urbani, Pierfrancesco"]
    assert __version__ in entries["sgdnoise"].fields["note"]


def test_every_page_has_tags_for_reference_managers():
    tags = citation.meta_tags('A "page" <b>')
    names = re.findall(r'name="(\w+)"', tags)
    assert names[:2] == ["citation_title", "citation_author"]
    assert "&quot;page&quot; &lt;b&gt;" in tags


def test_mistakes_are_reported_where_the_project_is(monkeypatch):
    without = citation.footer("x.html#how-to-cite", "book/tour")
    assert '<a href="x.html#how-to-cite">Report a mistake on this page</a>' in without, "where the first page says how"
    known = {**citation.read(), "repository-code": "https://example.org/sgdnoise/"}
    monkeypatch.setattr(citation, "read", lambda: known)
    words = citation.footer("x.html", "book/tour")
    assert 'href="https://example.org/sgdnoise/issues/new?title=Mistake+on+the+page+book/tour"' in words


def test_the_list_of_changes_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([\d.]+)", text, re.MULTILINE)[0] == __version__
