"""Formulas are converted or refused, and their font has every character; symbols say what they mean, from one table."""

import re
from runpy import run_path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from fontTools.ttLib import TTFont

from bookbuild import maths, paths, sphinx_ext
from bookbuild.maths import Symbol, mathml
from bookbuild.texts import Refusal

BATCH = Symbol(["b"], "batch fraction", "here", "batch")
START = Symbol(["R", "R_0"], "variance at the start", "here", "init_variance")
RESPONSE = Symbol(["R"], "response", "there", pages=["book/dmft"])


@pytest.mark.parametrize("tex", [r"\nowhere", r"\frac{1}{2", r"\begin{nowhere}x\end{nowhere}", r"x^2^3"])
def test_what_cannot_be_converted_is_refused_by_name(tex):
    with pytest.raises(Refusal, match="cannot be typeset") as refused:
        mathml(tex, display=True)
    assert tex in str(refused.value)


def test_a_character_that_the_font_lacks_is_refused():
    with pytest.raises(Refusal, match="has the character 'Ж', which the font of formulas lacks"):
        mathml(r"\text{Ж}", display=False)


def test_every_symbol_of_the_glossary_is_one_formula():
    for symbol in maths.read_symbols(paths.SYMBOLS):
        for tex in symbol.tex:
            assert mathml(tex, display=False).count("<math>") == 1


def test_the_font_is_the_one_that_its_program_makes():
    program, known = run_path(str(paths.ROOT / "tools" / "math_font.py")), TTFont(maths.FONT)
    assert known["name"].getDebugName(1) == "Book Math", "the licence wants another name for a changed font"
    assert set("αΔ∑√⟨⟩∂ℓ′″ˆ¯˜→≤𝑥𝐐𝒩") <= maths.letters()
    assert all(known.getBestCmap()[prime].endswith(".st") for prime in program["PRIMES"])
    sizes = [len(glyph.MathGlyphVariantRecord) for glyph in known["MATH"].table.MathVariants.VertGlyphConstruction]
    assert max(sizes) == program["SIZES"]
    outlines, limits = known["glyf"], known["MATH"].table.MathConstants
    for letter in "𝑥𝑦𝑝𝑔𝑓𝑑ℎ𝜇𝜉":
        glyph = outlines[known.getBestCmap()[ord(letter)]]
        assert limits.SubscriptBaselineDropMin.Value - glyph.yMin <= limits.SubscriptShiftDown.Value
        assert glyph.yMax - limits.SuperscriptBaselineDropMax.Value <= limits.SuperscriptShiftUp.Value


class Writer:
    """What the renderers need of Sphinx's writer."""

    def __init__(self):
        self.body = []
        config = type("config", (), {"math_numfig": False, "numfig": False})
        self.builder = type("builder", (), {"config": config})

    def starttag(self, node, tag, suffix, CLASS):
        return f'<{tag} class="{CLASS}" id="{" ".join(node["ids"])}">{suffix}'

    def add_permalink_ref(self, node, title):
        self.body.append(f'<a href="#{node["ids"][0]}" title="{title}"></a>')


def test_a_numbered_equation_has_its_number_and_its_target():
    writer = Writer()
    with pytest.raises(nodes.SkipNode):
        maths.visit_display(writer, nodes.math_block("", "a &= b\\\\ &+ c", ids=["equation-one"], number=7))
    page = "".join(writer.body)
    assert 'id="equation-one"' in page
    assert '</div><span class="eqno">(7)<a href="#equation-one"' in page
    assert page.count("<mtr>") == 2
    assert '<mo form="infix">+</mo><mi>c</mi>' in page
    assert 'display="block"' in page


def page(*formulas, kind=nodes.paragraph):
    document = new_document("page")
    for formula in formulas:
        document += kind("", "", nodes.math(formula, formula))
    return document


def wrapped(document):
    return [(node.astext(), node["meaning"], node["first"]) for node in document.findall(maths.symbol)]


def test_only_what_is_a_symbol_is_wrapped():
    document = page("b", r"b\,", "b=0.3", "N b", "b=0.3+a", "b^2")
    maths.wrap(document, maths.meanings([BATCH], "book/index"))
    assert [formula for formula, _, _ in wrapped(document)] == ["b", r"b\,", "b=0.3"]
    assert len(list(document.findall(nodes.math))) == 6, "no formula is lost"


def test_only_the_first_of_a_kind_is_reached_with_the_keyboard():
    document = page("b", "R", "b", "R_0", "b=0.1")
    maths.wrap(document, maths.meanings([BATCH, START], "book/index"))
    assert [first for _, _, first in wrapped(document)] == [True, True, False, False, False]


@pytest.mark.parametrize("kind", [nodes.title, nodes.reference])
def test_headings_and_links_are_left_alone(kind):
    document = page("b", kind=kind)
    maths.wrap(document, maths.meanings([BATCH], "book/index"))
    assert wrapped(document) == []


@pytest.mark.parametrize(("name", "meaning"), [("book/dmft", "response"), ("book/index", START.title())])
def test_a_letter_means_what_it_means_on_its_page(name, meaning):
    for order in ([START, RESPONSE], [RESPONSE, START]):
        document = page("R")
        maths.wrap(document, maths.meanings(order, name))
        assert wrapped(document) == [("R", meaning, True)]


def test_a_symbol_in_html_has_its_meaning_and_may_be_reached():
    def starttag(_, tag, __, **attributes):
        return f"<{tag} {sorted(attributes.items())}>"

    translator = SimpleNamespace(body=[], starttag=starttag)
    document = page("b", "b")
    maths.wrap(document, maths.meanings([BATCH], "book/index"))
    for node in document.findall(maths.symbol):
        maths.open_abbr(translator, node)
    assert all("batch fraction; in the library: batch" in tag for tag in translator.body)
    assert ["tabindex" in tag for tag in translator.body] == [True, False]


def test_two_meanings_on_one_page_are_refused(tmp_path):
    entry = "- {tex: [a], meaning: one, where: x}\n"
    (tmp_path / "symbols.yml").write_text(entry + entry.replace("one", "two"))
    with pytest.raises(Refusal, match="symbol a must have one meaning on a page"):
        maths.read_symbols(tmp_path / "symbols.yml")


def test_the_table_of_the_project_is_in_order():
    found = maths.read_symbols(paths.SYMBOLS)
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
