"""What Sphinx needs to know of us: how to read a notebook's source, and which build this is.

The table of contents names the tracked text of a notebook; the reader returns its executed copy. The copy is found by
the key of that very text, so that the book cannot show the figures of another text, library or profile.
"""

import os
import re
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.util import logging

from bookbuild import about, figures, folding, ledger, live, measured, numerals, paths, source
from bookbuild.book import DOWNLOADS, PDF_VARIABLE, PROFILE_VARIABLE
from bookbuild.refusal import Refusal
from bookbuild.source import Notebook, check_profile
from sgdnoise.report import MIME

logger = logging.getLogger(__name__)  # warnings are errors
SCORECARD, VERDICTS = "<!-- scorecard -->", "<!-- verdicts -->"
# A value of a notebook in a page of prose.
QUOTED = re.compile(r"\{glue:text\}`/notebooks/(\w+)\.py::[\w-]+`")
PDF = "<!-- pdf -->"
NO_PDF = "<code>make pdf</code> makes one PDF of the whole book"
COSTS, BENCHMARKS = "<!-- costs -->", "<!-- benchmarks -->"


def profile() -> str:
    """Return the profile that the book is built with."""
    return check_profile(os.environ.get(PROFILE_VARIABLE, "standard"))


def read_executed(text: str) -> NotebookNode:
    """Return the executed copy of a notebook, given the notebook's text."""
    title = text.partition("# # ")[2].partition("\n")[0]
    notebook = Notebook(title, text)
    copies = sorted(paths.EXECUTED.glob(f"*-{notebook.key(notebook.parameters(profile()))}.ipynb"))
    if not copies:
        raise Refusal(f"notebook {title!r} has not been run with this text, library and profile; use `make book`")
    executed = deepcopy(source.read_executed(copies[0]))
    if executed is None:
        raise Refusal(f"the executed copy of notebook {title!r} is damaged; use `make book`")
    name = copies[0].name.rpartition("-")[0]
    figures.place(executed, name.rpartition("-")[0], f"../{DOWNLOADS}", name)
    found = ledger.findings([executed])
    if found:
        about.add_to_findings(executed, ledger.listed(ledger.read_ledger(paths.LEDGER), found))
    numerals.typeset(executed)
    strip(executed)
    folding.fold(executed)
    about.put_below_title(executed, about.facts(executed, name, notebook.parameters(profile())))
    files = f'<a href="../{DOWNLOADS}/{name}.ipynb" download>this page as a notebook to run</a>'
    if (paths.RESULTS / "used" / f"{name}.json").is_file():
        files += f', <a href="../{DOWNLOADS}/{name}.zip" download>the results behind it</a> (netCDF with provenance: '
        files += "means and standard errors; all realisations: "
        files += f"`.venv/bin/python -m sgdnoise store export {name}` in your build)"
    executed.cells.append(
        nbformat.v4.new_markdown_cell(f":::{{note}}\n:class: screen-only\nTo take away: {files}.\n:::")
    )
    return executed


def strip(executed: NotebookNode) -> None:
    """Take out what notebooks report to the build, which is not for readers."""
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if MIME not in o.get("data", {})]


def fill_tables(app: Any, page: str, text: list[str]) -> None:
    """Put the offer of the PDF, tables of claims, costs and benchmarks, and figures of notebooks where a page asks."""
    if page == app.config.root_doc:
        if PDF not in text[0]:
            logger.warning(f"the first page of the book must have the place {PDF}, where the PDF is offered")
        name = os.environ.get(PDF_VARIABLE)
        link = f'<a href="../{DOWNLOADS}/{name}" download>The whole book as one PDF</a>, to print or to read on paper'
        text[0] = text[0].replace(PDF, link if name else NO_PDF)
    if COSTS in text[0]:
        text[0] = text[0].replace(COSTS, measured.costs_table())
    if BENCHMARKS in text[0]:
        text[0] = text[0].replace(BENCHMARKS, measured.benchmarks())
    if SCORECARD in text[0] or VERDICTS in text[0]:
        executed = [notebook.executed(notebook.parameters(profile())) for notebook in source.read_all()]
        found = ledger.collect(executed)
        text[0] = text[0].replace(SCORECARD, ledger.scorecard(*found)).replace(VERDICTS, ledger.verdicts(*found))
    text[0] = QUOTED.sub(lambda place: numerals.filled(place[0], values(place[1])), text[0])
    for name, figure in figures.BORROWED.findall(text[0]):
        figures.lend(copy_of(name), name, figure)


def copy_of(name: str) -> NotebookNode:
    """Return the executed copy of the notebook of that name."""
    notebook = source.read(name)
    executed = source.read_executed(notebook.executed(notebook.parameters(profile())))
    if executed is None:
        raise Refusal(f"the executed copy of notebook {name} is damaged or gone; use `make book`")
    return executed


def values(name: str) -> dict[str, str]:
    """Return the values that a notebook reports, by the names that other pages give them."""
    found = source.told(copy_of(name), "value")
    return {f"/notebooks/{name}.py::{value}": content["text"] for value, content in found.items()}


def drop_thebe(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:  # noqa: ARG001
    """Drop the scripts for live code, which name a server; Jupyter Book adds them even where nothing uses them."""
    scripts = context.get("script_files", [])
    context["script_files"] = [s for s in scripts if "thebe" not in f"{s} {getattr(s, 'attributes', '')}".lower()]


def copy_live(app: Any) -> None:
    """Put the scripts of the live page into the book. (From a folder `_static` they would be run by every page.)"""
    shutil.copytree(paths.LIVE, Path(app.outdir) / "_static" / paths.LIVE.name, dirs_exist_ok=True)


def load_live(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:  # noqa: ARG001
    """Have the live page, and no other, run its scripts."""
    if page == live.PAGE:
        app.add_css_file(f"{paths.LIVE.name}/{live.STYLE}")
        for name in live.SCRIPTS:
            app.add_js_file(f"{paths.LIVE.name}/{name}", loading_method="defer")


def setup(app: Any) -> dict[str, Any]:
    """Tell every page the version and the profile of this build."""
    app.setup_extension("bookbuild.theme")
    app.connect("source-read", fill_tables)
    app.connect("builder-inited", copy_live)
    app.connect("html-page-context", load_live)
    app.add_css_file("chapters.css")
    app.add_js_file("scrolling.js", loading_method="defer")
    app.config.mathjax_path = "formulas.js"  # which loads MathJax itself, from where its extension has put it
    app.connect("html-page-context", drop_thebe, priority=900)
    from sgdnoise import __version__

    app.config.myst_substitutions = {"version": __version__, "profile": profile(), "cost": about.cost(profile())}
    return {"parallel_read_safe": True, "parallel_write_safe": True}
