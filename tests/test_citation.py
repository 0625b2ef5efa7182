"""How to cite: one file, and everything that is made from it."""

import json
import re

import pytest
from jinja2 import DictLoader

from bookbuild import sphinx_ext
from bookbuild.paths import ROOT
from bookbuild.texts import citation, citation_files, templates
from sgdnoise import __version__


def test_the_files_made_from_the_citation_are_up_to_date_and_say_what_it_says():
    cited = citation()["cited"]
    for path, text in citation_files().items():
        assert path.read_text(encoding="utf-8") == text, f"`make citation` writes {path.name} anew"
        made = json.loads(text)
        assert made["version"] == __version__
        assert cited["license"] in made["license"]
        assert cited["preferred-citation"]["doi"] in text
        assert cited["title"] in (made.get("title"), made.get("name"))


def test_bibtex_has_the_paper_and_the_software():
    from pybtex.database import parse_string

    entries = parse_string(sphinx_ext.templates().globals["bibtex"](), "bibtex").entries
    ours = parse_string((ROOT / "book" / "references.bib").read_text(encoding="utf-8"), "bibtex").entries
    assert list(entries) == ["mignacco2022effective", "sgdnoise"]
    paper = entries["mignacco2022effective"]
    assert paper.fields["doi"] == ours["mignacco2022effective"].fields["doi"]
    assert [str(person) for person in paper.persons["author"]] == ["Mignacco, Francesca", "Urbani, Pierfrancesco"]
    assert __version__ in entries["sgdnoise"].fields["note"]


def page(name, **more):
    """Return what a template of the theme makes of a page."""
    environment = templates()
    own = environment.loader.get_source(environment, name)[0].replace("!layout", "theme")
    environment.loader = DictLoader({name: own, "theme.html": "{% block extrahead %}{% endblock %}"})
    known = {"docstitle": "A book", "copyright": "2026", "root_doc": "index", "pagename": "book/tour"}
    known |= {"title": 'A "page" &lt;b&gt;', "pathto": lambda place: f"{place}.html", **citation(), **more}
    return environment.get_template(name).render(known)


def test_every_page_has_tags_for_reference_managers():
    tags = page("layout.html")
    assert re.findall(r'name="(\w+)"', tags)[:2] == ["citation_title", "citation_author"]
    assert "&#34;page&#34; &lt;b&gt;" in tags


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ({}, "index.html#how-to-cite"),
        (
            {"repository-code": "https://example.org/sgdnoise/"},
            "https://example.org/sgdnoise/issues/new?title=Mistake+on+the+page+book/tour",
        ),
    ],
)
def test_mistakes_are_reported_where_the_project_is_or_as_the_first_page_says(repository, address):
    foot = page("extra-footer.html", cited=citation()["cited"] | repository)
    assert f'<a href="{address}">Report a mistake on this page</a>' in foot
    assert re.findall('<a href="([^"]*)">Repository</a>', foot) == list(repository.values())
    assert f"sgdnoise {__version__} · BSD-3-Clause licence" in foot


def test_the_list_of_changes_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([\d.]+)", text, re.MULTILINE)[0] == __version__
