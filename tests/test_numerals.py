"""Numbers of notebooks as they are printed: signs, powers of ten, and values within their formulas."""

import nbformat
import pytest

from bookbuild import numerals
from bookbuild.check import GLUE_PREFIX


def page(text, *outputs):
    """An executed notebook: what its code put out, and its text."""
    code = nbformat.v4.new_code_cell("", outputs=list(outputs))
    return nbformat.v4.new_notebook(cells=[code, nbformat.v4.new_markdown_cell(text)])


def glued(name, plain):
    about = {"scrapbook": {"mime_prefix": GLUE_PREFIX, "name": name}}
    return nbformat.v4.new_output("display_data", {f"{GLUE_PREFIX}text/plain": plain}, metadata=about)


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
    ("plain", "shown"),
    [
        ("600", "$N=600$, so"),
        ("'-0.5'", "$N=-0.5$, so"),
        ("'2, 4'", "$N=$ {glue:}`x`, so"),
        ("'0.1 ± 0.2'", "$N=$ {glue:}`x`, so"),
        ("'none'", "$N=$ {glue:}`x`, so"),
    ],
)
def test_a_number_joins_the_formula_before_it(plain, shown):
    notebook = page("$N=$ {glue:}`x`, so", glued("x", plain))
    numerals.typeset(notebook)
    assert notebook.cells[1].source == shown


def test_only_an_open_formula_takes_a_number():
    text = "$N$ {glue:}`x` and $a=1$ with $b$, $c=$\n{glue:text}`y` and $d=$ {glue:text}`/notebooks/other.py::x`"
    notebook = page(text, glued("x", "1"), glued("y", "'2'"))
    numerals.typeset(notebook)
    closed = "$N$ {glue:}`x` and $a=1$ with $b$, $c=2$ and $d=$ {glue:text}`/notebooks/other.py::x`"
    assert notebook.cells[1].source == closed


def test_tables_and_texts_of_a_page():
    table = nbformat.v4.new_output("display_data", {"text/markdown": "| $x^{-1}$ | -1 |\n|---|---|"})
    notebook = page("", table, glued("x", "'-1e-3'"))
    numerals.typeset(notebook)
    first, second = notebook.cells[0].outputs
    assert first.data["text/markdown"] == "| $x^{-1}$ | −1 |\n|---|---|"
    assert second.data[f"{GLUE_PREFIX}text/plain"] == "'−1×10⁻³'"
