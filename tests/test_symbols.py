"""Symbols that say what they mean: one table, wrapped maths, and a keyboard that is not drowned."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from bookbuild import paths, sphinx_ext, symbols
from bookbuild.symbols import Symbol
from bookbuild.texts import Refusal

BATCH = Symbol(["b"], "batch fraction", "here", "batch")
START = Symbol(["R", "R_0"], "variance at the start", "here", "init_variance")
RESPONSE = Symbol(["R"], "response", "there", pages=["book/dmft"])


def page(*formulas, kind=nodes.paragraph):
    document = new_document("page")
    for formula in formulas:
        document += kind("", "", nodes.math(formula, formula))
    return document


def wrapped(document):
    return [(node.astext(), node["meaning"], node["first"]) for node in document.findall(symbols.symbol)]


def test_only_what_is_a_symbol_is_wrapped():
    document = page("b", r"b\,", "b=0.3", "N b", "b=0.3+a", "b^2")
    symbols.wrap(document, symbols.meanings([BATCH], "book/index"))
    assert [formula for formula, _, _ in wrapped(document)] == ["b", r"b\,", "b=0.3"]
    assert len(list(document.findall(nodes.math))) == 6, "no formula is lost"


def test_only_the_first_of_a_kind_is_reached_with_the_keyboard():
    document = page("b", "R", "b", "R_0", "b=0.1")
    symbols.wrap(document, symbols.meanings([BATCH, START], "book/index"))
    assert [first for _, _, first in wrapped(document)] == [True, True, False, False, False]


@pytest.mark.parametrize("kind", [nodes.title, nodes.reference])
def test_headings_and_links_are_left_alone(kind):
    document = page("b", kind=kind)
    symbols.wrap(document, symbols.meanings([BATCH], "book/index"))
    assert wrapped(document) == []


@pytest.mark.parametrize(("name", "meaning"), [("book/dmft", "response"), ("book/index", START.title())])
def test_a_letter_means_what_it_means_on_its_page(name, meaning):
    for order in ([START, RESPONSE], [RESPONSE, START]):
        document = page("R")
        symbols.wrap(document, symbols.meanings(order, name))
        assert wrapped(document) == [("R", meaning, True)]


def test_a_symbol_in_html_has_its_meaning_and_may_be_reached():
    def starttag(_, tag, __, **attributes):
        return f"<{tag} {sorted(attributes.items())}>"

    translator = SimpleNamespace(body=[], starttag=starttag)
    document = page("b", "b")
    symbols.wrap(document, symbols.meanings([BATCH], "book/index"))
    for node in document.findall(symbols.symbol):
        symbols.open_abbr(translator, node)
    assert all("batch fraction; in the library: batch" in tag for tag in translator.body)
    assert ["tabindex" in tag for tag in translator.body] == [True, False]


def test_two_meanings_on_one_page_are_refused(tmp_path):
    entry = "- {tex: [a], meaning: one, where: x}\n"
    (tmp_path / "symbols.yml").write_text(entry + entry.replace("one", "two"))
    with pytest.raises(Refusal, match="symbol a must have one meaning on a page"):
        symbols.read_symbols(tmp_path / "symbols.yml")


def test_the_table_of_the_project_is_in_order():
    found = symbols.read_symbols(paths.SYMBOLS)
    assert len(found) >= 40
    text = "".join(path.read_text() for path in paths.NOTEBOOKS.glob("*.py"))
    text += "".join(path.read_text() for path in (paths.ROOT / "book").glob("*.md"))
    library = "".join(path.read_text() for path in paths.LIBRARY.rglob("*.py"))
    for entry in found:
        assert entry.tex[0] in text, f"{entry.tex[0]} is not used"
        for page in entry.pages:
            assert list(paths.ROOT.glob(f"{page}.*")), page
        for word in re.findall(r"\w+", entry.code):
            assert word in library, f"{word} is not in the library"
    glossary = sphinx_ext.templates().from_string((paths.ROOT / "book" / "glossary.md").read_text()).render()
    assert glossary.count("\n* - $") == len(found)
