"""Numbers of notebooks as they are printed: signs, powers of ten, and values within their formulas."""

import nbformat
import pytest

from bookbuild import numerals
from bookbuild.refusal import Refusal
from sgdnoise.report import MIME


def page(text, *outputs):
    """An executed notebook: what its code put out, and its text."""
    code = nbformat.v4.new_code_cell("", outputs=list(outputs))
    return nbformat.v4.new_notebook(cells=[code, nbformat.v4.new_markdown_cell(text)])


def glued(name, text):
    return nbformat.v4.new_output("display_data", {MIME: {"kind": "value", "name": name, "text": text}})


@pytest.mark.parametrize(
    ("found", "printed"),
    [
        ("-0.3 ± 0.1", "−0.3 ± 0.1"),
        ("(-3)", "(−3)"),
        ("1.2e-10", "1.2×10⁻¹⁰"),
        ("3e+16", "3×10¹⁶"),
        ("-2e-08", "−2×10⁻⁸"),
        ("| -1 |", "| −1 |"),
        ("p-2, 1-2, fig-2, 0.5", "p-2, 1-2, fig-2, 0.5"),
        ("$-1$ and `-1`", "$-1$ and `-1`"),
        ("3ex 4", "3ex 4"),
    ],
)
def test_signs_and_powers(found, printed):
    assert numerals.printed(found) == printed


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("600", "$N=600$, so"),
        ("-0.5", "$N=-0.5$, so"),
        ("2, 4", "$N=$ 2, 4, so"),
        ("-0.1 ± 2e-3", "$N=$ −0.1 ± 2×10⁻³, so"),
        ("none", "$N=$ none, so"),
    ],
)
def test_a_number_joins_the_formula_before_it(value, shown):
    notebook = page("$N=$ {glue:}`x`, so", glued("x", value))
    numerals.typeset(notebook)
    assert notebook.cells[1].source == shown


def test_only_an_open_formula_takes_a_number():
    text = "$N$ {glue:}`x` and $a=1$ with $b$, $c=$\n{glue:text}`y`"
    notebook = page(text, glued("x", "1"), glued("y", "2"))
    numerals.typeset(notebook)
    assert notebook.cells[1].source == "$N$ 1 and $a=1$ with $b$, $c=2$"


def test_a_value_that_the_notebook_does_not_report_is_refused():
    with pytest.raises(Refusal, match="the text asks for the value 'x', which its notebook does not report"):
        numerals.typeset(page("{glue:text}`x`"))


def test_tables_of_a_page():
    table = nbformat.v4.new_output("display_data", {"text/markdown": "| $x^{-1}$ | -1 |\n|---|---|"})
    notebook = page("", table)
    numerals.typeset(notebook)
    assert notebook.cells[0].outputs[0].data["text/markdown"] == "| $x^{-1}$ | −1 |\n|---|---|"
