"""Formulas of the book as MathML: converted or refused, numbered, and set in a font that has every character."""

import pytest
from docutils import nodes

from bookbuild import font
from bookbuild.formulas import FONT, letters, mathml
from bookbuild.paths import ROOT
from bookbuild.symbols import read_symbols
from bookbuild.texts import Refusal


@pytest.mark.parametrize("tex", [r"\nowhere", r"\frac{1}{2", r"\begin{nowhere}x\end{nowhere}", r"x^2^3"])
def test_what_cannot_be_converted_is_refused_by_name(tex):
    with pytest.raises(Refusal, match="cannot be typeset") as refused:
        mathml(tex, display=True)
    assert tex in str(refused.value)


def test_a_character_that_the_font_lacks_is_refused():
    with pytest.raises(Refusal, match="has the character 'Ж', which the font of formulas lacks"):
        mathml(r"\text{Ж}", display=False)


def test_every_symbol_of_the_glossary_is_one_formula():
    for symbol in read_symbols(ROOT / "book/symbols.yml"):
        for tex in symbol.tex:
            assert mathml(tex, display=False).count("<math>") == 1


def test_the_font_is_the_one_that_its_program_makes():
    from fontTools.ttLib import TTFont

    known = TTFont(FONT)
    assert known["name"].getDebugName(1) == "Book Math", "the licence wants another name for a changed font"
    assert set("αΔ∑√⟨⟩∂ℓ′″ˆ¯˜→≤𝑥𝐐𝒩") <= letters()
    assert all(known.getBestCmap()[prime].endswith(".st") for prime in font.PRIMES)
    sizes = [len(glyph.MathGlyphVariantRecord) for glyph in known["MATH"].table.MathVariants.VertGlyphConstruction]
    assert max(sizes) == font.SIZES


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
    from bookbuild.formulas import visit_display

    writer = Writer()
    with pytest.raises(nodes.SkipNode):
        visit_display(writer, nodes.math_block("", "a &= b\\\\ &+ c", ids=["equation-one"], number=7))
    page = "".join(writer.body)
    assert 'id="equation-one"' in page
    assert '</div><span class="eqno">(7)<a href="#equation-one"' in page
    assert page.count("<mtr>") == 2
    assert 'display="block"' in page
