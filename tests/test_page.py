"""The page of a notebook: numbers as they are printed, values and figures in their places, plumbing folded."""

import re

import nbformat
import pytest

from bookbuild import notebooks, page, texts
from bookbuild.texts import Refusal
from sgdnoise.report import MIME


def notebook(text, *outputs):
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
        ("p-2, 1-2, fig-2, 0.5, 3ex 4", "p-2, 1-2, fig-2, 0.5, 3ex 4"),
        ("$-1$ and `-1`", "$-1$ and `-1`"),
    ],
)
def test_signs_and_powers(found, printed):
    assert texts.printed(found) == printed


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        ("$N=$ {glue:}`x`, so", {"x": "600"}, "$N=600$, so"),
        ("$N=$ {glue:}`x`, so", {"x": "-0.5"}, "$N=-0.5$, so"),
        ("$N=$ {glue:}`x`, so", {"x": "2, 4"}, "$N=$ 2, 4, so"),
        ("$N=$ {glue:}`x`, so", {"x": "-0.1 ± 2e-3"}, "$N=$ −0.1 ± 2×10⁻³, so"),
        ("$N=$ {glue:}`x`, so", {"x": "none"}, "$N=$ none, so"),
        ("$N$ {glue:}`x`, $b$, $c=$\n{glue:text}`y`", {"x": "1", "y": "2"}, "$N$ 1, $b$, $c=2$"),
    ],
)
def test_a_number_joins_an_open_formula_before_it(text, values, shown):
    executed = notebook(text, *(glued(*value) for value in values.items()))
    page.typeset(executed)
    assert executed.cells[1].source == shown


def test_a_value_that_the_notebook_does_not_report_is_refused():
    with pytest.raises(Refusal, match="the text asks for the value 'x', which its notebook does not report"):
        page.typeset(notebook("{glue:text}`x`"))


def test_tables_of_a_page():
    executed = notebook("", nbformat.v4.new_output("display_data", {"text/markdown": "| $x^{-1}$ | -1 |"}))
    page.typeset(executed)
    assert executed.cells[0].outputs[0].data["text/markdown"] == "| $x^{-1}$ | −1 |"


def test_folded_cells_that_follow_one_another_become_one():
    def code(source, *tags):
        cell = nbformat.v4.new_code_cell(source, outputs=[nbformat.v4.new_output("stream", text=source)])
        cell.metadata["tags"] = list(tags)
        return cell

    cells = [
        code("seed = 0  # of the random numbers", "parameters"),
        code("# Set up.\nimport this", page.FOLDED),
        code("run()"),
        code("# Draw it.\ndraw()", page.FOLDED),
        code("quietly()", page.REMOVED),
        code("# Test it.\ntest()", page.FOLDED),
        nbformat.v4.new_markdown_cell("Words."),
        code("# Count it.\ncount()", page.FOLDED),
    ]
    executed = nbformat.v4.new_notebook(cells=cells)
    page.fold(executed)
    prompts = [cell.metadata.get("mystnb", {}).get("code_prompt_show") for cell in executed.cells]
    shown = ["Code: parameters; set up", None, "Code: draw it; test it", None, None, "Code: count it"]
    assert prompts == shown
    assert executed.cells[0].source == "seed = 0  # of the random numbers\n\n# Set up.\nimport this"
    assert [output.text for output in executed.cells[2].outputs] == ["# Draw it.\ndraw()", "# Test it.\ntest()"]
    assert sum(len(cell.get("outputs", [])) for cell in executed.cells) == 7, "no output is lost"


def ran(words):
    """A notebook that ran for ten seconds, from noon on."""
    text = f"# A title\n\n{'word ' * words}\n\n---\nalt: {'unseen ' * 1000}\n---\n"
    cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell("code " * 1000)]
    metadata = {"papermill": {"start_time": "2026-01-01T12:00:00.250000", "duration": 10.0}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def test_reading_time_is_that_of_the_prose_and_computing_time_counts_each_result_once():
    assert [page.minutes(ran(words)) for words in (5, 600, 2000)] == [1, 3, 10]
    before = {"created": "2026-01-01T11:00:00Z", "wall_time": 100.0}
    during = {"created": "2026-01-01T12:00:00Z", "wall_time": 5.0}
    assert page.seconds(ran(5), [before, during]) == 110.0


def test_the_line_below_the_title(monkeypatch):
    monkeypatch.setattr(page, "notes", lambda label: [])  # noqa: ARG005
    for words, minutes in ((600, "3 minutes"), (5, "1 minute")):
        executed = ran(words)
        page.put_below_title(executed, page.facts(executed, "x-smoke", {"profile": "smoke", "seed": 3}))
        title, _, fence, line, *_ = executed.cells[0].source.splitlines()
        assert (title, fence) == ("# A title", "```{container} page-facts")
        made = rf"{minutes} to read · 10 s to compute · version \d+\.\d+\.\d+, smoke profile, seed 3"
        assert re.fullmatch(made, line)


def test_a_page_says_how_it_is_made_with_other_parameters():
    head = "# ---\n# jupyter:\n#   try_your_own: rates 0.3\n# ---\n\n"
    text = (
        '# %% [markdown]\n# # Heat\n\n# %% tags=["parameters"]\nprofile = "smoke"\nseed = 0\nrates = [0.1, 0.2, 0.4]\n'
    )
    for start, example in (("", "rates 0.1,0.4"), (head, "rates 0.3")):
        heat = notebooks.Notebook("heat", start + text)
        words = page.ending(heat, heat.parameters("smoke"), "..", "heat-smoke")
        assert f'make notebook NAME=heat ARGS="-p {example}"\n' in words
        assert "other parameters" not in words
    more = notebooks.Notebook("heat", head + text + "delta = 1.0\n")
    assert "The other parameters are `seed` and `delta`." in page.ending(more, more.parameters("smoke"), "..", "x")


def test_text_goes_to_the_end_of_the_findings():
    executed = notebook("Words.\n\n:::{admonition} What was found\n:class: found\n- This.\n:::\n")
    page.add_to_findings(executed, "And that.")
    assert executed.cells[1].source.endswith("- This.\n\nAnd that.\n:::\n")


def test_on_the_page_of_a_figure_the_figure_comes_below_the_question_and_its_code_last():
    markdown, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    asked, figure = (
        ":::{admonition} What you will learn\n:class: learn\nWhy.\n:::",
        "```{glue:figure} fdt\nCaption.\n```",
    )
    cells = [markdown(f"# Heat\n\n{asked}\n\nMore."), code("run()"), markdown("By the way."), code("draw()")]
    cells += [markdown(f"{figure}\n\nIt is hot."), code("test()"), markdown("And so on.")]
    executed = nbformat.v4.new_notebook(cells=cells)
    page.put_figure_first(executed, "fig02_persistent")
    order = [cell.source for cell in executed.cells]
    assert order[:4] == [f"# Figure 2: Heat\n\n{asked}", figure, "More.", "It is hot."]
    assert order[4:6] == ["test()", "And so on."], "a table may stand between two texts"
    assert order[6] == "## How it was made"
    assert order[7:] == ["run()", "By the way.", "draw()"]
    with pytest.raises(Refusal, match="notebook fig10_phases must begin with a box"):
        page.put_figure_first(notebook("no figure"), "fig10_phases")
