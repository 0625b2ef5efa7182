"""What Sphinx is told: how notebooks are read, what prose is filled with, what changes in the pages of the theme.

The table of contents names the tracked text of a notebook; the reader returns its executed copy. The copy is found by
the key of that very text, so that the book cannot show the figures of another text, library or profile. Pages of prose
are templates of Jinja: tables of claims, costs and benchmarks, the glossary and the offer of the PDF are written there.
The pages of the theme are changed for narrow screens, for assistive technology, and for a small site.
"""

import os
import re
import shutil
import string
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from jinja2 import TemplateError
from jinja2.ext import Extension
from nbformat import NotebookNode
from sphinx.util.osutil import relative_uri

from bookbuild import check, ledger, maths, notebooks, page, paths, texts
from bookbuild.notebooks import Notebook, check_profile
from bookbuild.texts import Refusal, read_json, read_yaml
from sgdnoise import __version__

PROFILE_VARIABLE, PDF_VARIABLE = "SGDNOISE_PROFILE", "SGDNOISE_PDF"
DOWNLOADS = "downloads"
# A value of a notebook in a page of prose, and a figure, which is an image of this name.
QUOTED = re.compile(r"\{glue:text\}`/notebooks/(\w+)\.py::[\w-]+`")
BORROWED = re.compile(r"/_build/figures/(\w+)\.([\w-]+)\.svg")
NO_PDF = "<code>make pdf</code> makes one PDF of the whole book"
SIZE = re.compile(r"\b(N|b|tau)=([\d.,]*\d)")
# D3 draws the charts of pages that answer to the reader; of the package that ships it nothing else is used.
D3, D3_NAME = Path(str(distribution("mpld3").locate_file("mpld3/js/d3.v5.min.js"))), "d3.min.js"
# What the live page loads, and pages with figures that answer to the reader; scripts in the order in which they use
# each other. All are plain scripts, and numbers are in the page: from disk a browser loads no modules and no data.
LIVE_PAGE = "notebooks/live"
LIVE_FILES = ["live/live.css", "alive/alive.css", "live/threefry.js", "live/seed.js", "live/normals.js"]
LIVE_FILES += ["live/batches.js", "live/simulate.js", "live/theory.js", "live/pace.js", "live/plot.js", "live/words.js"]
LIVE_FILES += ["live/controls.js", D3_NAME, "alive/chart.js", "live/view.js", "live/live.js"]
ALIVE_FILES = ["live/live.css", "alive/alive.css", "live/controls.js", D3_NAME, "alive/numbers.js", "alive/chart.js"]
ALIVE_FILES += [f"alive/{name}.js" for name in ("reading", "persistence", "batch", "pairs", "alive")]
# Changes of the templates of the theme; a theme that no longer has their places is noticed.
CHANGES = {
    # The title in the side bar is part of a landmark.
    '<div id="pst-primary-sidebar"': '<div id="pst-primary-sidebar" role="complementary" aria-label="Book"',
    # Icons come from a font, and not from a script of 1.5 MB.
    "<!-- So that users can add custom icons -->": "{% if false %}",
    "<!-- Pre-loaded scripts that we'll load fully later -->": "{% endif %}",
    # An icon is a letter of a font, and what it stands for is said beside it.
    '<i class="fa-': '<i aria-hidden="true" class="fa-',
    '<i class="{{ icon }}">': '<i aria-hidden="true" class="{{ icon }}">',
}
LEGEND = 60  # a part of a drawing that is less high has no axes
# Where panels stand: side by side, one below the other in a column of several, and in one alone.
SIDES = {2: ["left", "right"], 3: ["left", "middle", "right"]}
ROWS = {2: ["upper", "lower"], 3: ["upper", "middle", "lower"]}
ALONE = {2: ["above", "below"], 3: ["above", "middle", "below"]}
HERE = Path(__file__).resolve().parent
OPENING, CLOSING = "([", ".,;:!?)]’”"


def profile() -> str:
    """Return the profile that the book is built with."""
    return check_profile(os.environ.get(PROFILE_VARIABLE, "standard"))


def read_executed(text: str) -> NotebookNode:
    """Return the page of a notebook, given the notebook's text."""
    title = text.partition("# # ")[2].partition("\n")[0]
    parameters = Notebook(title, text).parameters(profile())
    copies = sorted(paths.EXECUTED.glob(f"*-{Notebook(title, text).key(parameters)}.ipynb"))
    if not copies:
        raise Refusal(f"notebook {title!r} has not been run with this text, library and profile; use `make book`")
    notebook = Notebook(copies[0].name.rsplit("-", 2)[0], text)
    return page.make(notebook.copy(profile()), notebook, parameters, f"../{DOWNLOADS}")


def pdf() -> str:
    """Offer the PDF, or say how to make one."""
    name = os.environ.get(PDF_VARIABLE)
    link = f'<a href="../{DOWNLOADS}/{name}" download>The whole book as one PDF</a>, to print or to read on paper'
    return link if name else NO_PDF


def wheel() -> str:
    """Offer the library as a file that pip installs."""
    name = f"sgdnoise-{__version__}-py3-none-any.whl"
    return f'<code>pip install</code> of <a href="../{DOWNLOADS}/{name}" download><code>{name}</code></a>'


def claims() -> Any:
    """Return the ledger and what the notebooks of this build found."""
    read = notebooks.read_all()
    return ledger.collect(notebook.executed(notebook.parameters(profile())) for notebook in read)


def in_maths(words: str) -> str:
    r"""Set the parameters in the name of a benchmark as formulas.

    >>> in_maths("T=2,000, b=0.3, tau=2")
    '2,000 steps, $b=0.3$, $\\tau=2$'
    """
    words = re.sub(r"\bT=([\d.,]*\d)", r"\1 steps", words)
    return SIZE.sub(lambda m: f"${m[1].replace('tau', chr(92) + 'tau')}={m[2].replace(',', '{,}')}$", words)


def templates() -> Any:
    """Return what pages of prose are written with."""
    environment = texts.templates()
    environment.filters["in_maths"] = in_maths
    environment.globals |= {
        "version": __version__,
        "profile": profile(),
        "cost": lambda: page.cost(profile()),
        "pdf": pdf,
        "wheel": wheel,
        "bibtex": lambda: texts.fill("citation.bib", year=read_yaml(paths.CONFIG)["copyright"], **texts.citation()),
        "scorecard": lambda: texts.fill("scorecard.md", **ledger.scorecard(*claims())),
        "verdicts": lambda: ledger.verdicts(*claims()),
        "seeds": ledger.stored_seeds,
        "symbols": lambda: maths.read_symbols(paths.SYMBOLS),
        "costs": lambda: read_json(paths.COSTS),
        "measured": lambda name: read_json(paths.BENCHMARK_RESULTS)[name],
    }
    return environment


def fill(app: Any, name: str, text: list[str]) -> None:
    """Write a page of prose: its template, the values and the figures of notebooks that it asks for."""
    if app.env.doc2path(name).endswith(".py"):
        return
    if name == app.config.root_doc and "{{ pdf() }}" not in text[0]:
        raise Refusal("the first page of the book must have the place {{ pdf() }}, where the PDF is offered")
    try:
        text[0] = templates().from_string(text[0]).render()
    except (TemplateError, KeyError) as error:
        raise Refusal(f"the page {name} cannot be filled in: {error}") from error
    text[0] = QUOTED.sub(lambda place: page.filled(place[0], values(place[1])), text[0])
    for notebook, figure in BORROWED.findall(text[0]):
        page.lend(notebooks.read(notebook).copy(profile()), notebook, figure)


def values(notebook: str) -> dict[str, str]:
    """Return the values that a notebook reports, by the names that other pages give them."""
    known = page.values(notebooks.read(notebook).copy(profile()))
    return {f"/notebooks/{notebook}.py::{name}": text for name, text in known.items()}


def drop_unused(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:  # noqa: ARG001
    """Drop the scripts for live code, which name a server, and the links to sources, which the site does not hold."""
    scripts = context.get("script_files", [])
    context["script_files"] = [s for s in scripts if "thebe" not in f"{s} {getattr(s, 'attributes', '')}".lower()]
    for group in (button for button in context.get("header_buttons", []) if "buttons" in button):
        group["buttons"] = [button for button in group["buttons"] if button["label"] != "download-source-button"]


def copy_live(app: Any) -> None:
    """Put the scripts of some pages into the book. (From a folder `_static` they would be run by every page.)"""
    for folder in (paths.LIVE, paths.ALIVE):
        shutil.copytree(folder, Path(app.outdir) / "_static" / folder.name, dirs_exist_ok=True)
    shutil.copyfile(D3, Path(app.outdir) / "_static" / D3_NAME)


def load_live(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:  # noqa: ARG001
    """Have the live page, and pages with figures that answer to the reader, run their scripts."""
    files = ALIVE_FILES if 'class="live alive"' in context.get("body", "") else []
    for name in LIVE_FILES if page == LIVE_PAGE else files:
        if name.endswith(".css"):
            app.add_css_file(name)
        else:
            app.add_js_file(name, loading_method="defer")


class ChangedTemplates(Extension):
    """Templates with our changes in them."""

    made: ClassVar[set[str]] = set()

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:  # noqa: ARG002
        """Change a template before it is compiled."""
        for old, new in CHANGES.items():
            if old in source:
                self.made.add(old)
                source = source.replace(old, new)
        return source


def box_figures(app: Any, document: nodes.document, page: str) -> None:
    """Put the picture of each figure into a box, and that of each card, which shows one panel of a figure.

    The theme makes this kind of box reachable by keyboard wherever it scrolls. On a phone the panels of a figure stand
    one below the other, each a view of the same file; see :func:`sgdnoise.report.panels`. What the drawing says of its
    letters is for tests.
    """
    for image in list(document.findall(nodes.image)):
        card = next((name for name in image["classes"] if name.startswith("panel-")), "")
        if card or isinstance(image.parent, nodes.figure):
            drawing = Path(app.srcdir) / image["uri"]
            head = drawing.read_text(encoding="utf-8")[:2000] if drawing.suffix == ".svg" else ""
            known = dict(re.findall(r'(letters|panels|viewBox)="([^"]+)"', head))
            folder = relative_uri(app.builder.get_target_uri(page), app.builder.imagedir)
            views = [tuple(map(int, part.split())) for part in known.get("panels", "").split(",") if part]
            link = image.parent if isinstance(image.parent, nodes.reference) else None
            about = {"card": card, "to": link and link["refuri"], "alt": image.get("alt", "")}
            about["file"] = f"{folder}/{app.env.images[image['uri']][1]}"
            box = texts.fill("figure_box.html", known=known, panels=zip(views, places(views), strict=True), **about)
            before, after = (nodes.raw("", part, format="html") for part in box.split("<!-- picture -->"))
            (link or image).replace_self([before, image, after])


def places(views: list[tuple[int, ...]]) -> list[str]:
    """Return where each part of a drawing stands, in the words of captions; a legend stands nowhere.

    >>> places([(0, 0, 200, 40), (0, 40, 90, 90), (0, 130, 90, 90), (100, 40, 90, 180)])
    ['', 'Upper left', 'Lower left', 'Right']
    """
    drawn = [view for view in views if view[3] > LEGEND]
    columns: list[list[tuple[int, ...]]] = []
    for view in sorted(drawn, key=lambda view: 2 * view[0] + view[2]):
        x, _, width, _ = columns[-1][0] if columns else (0, 0, 0, 0)
        if view[0] + view[2] / 2 < x + width:
            columns[-1].append(view)
        else:
            columns.append([view])
    named = {}
    for side, column in zip(SIDES.get(len(columns), [""] * len(columns)), columns, strict=True):
        rows = (ROWS if side else ALONE).get(len(column), [""] * len(column))
        for row, view in zip(rows, sorted(column, key=lambda view: view[1]), strict=True):
            named[view] = f"{row} {side}".strip().capitalize()
    return [named.get(view, "") for view in views]


def keep_together(document: nodes.document) -> None:
    """Keep brackets and punctuation with their formula; a browser would break the line between the two."""
    for found in list(document.findall(nodes.math)):
        formula = found.parent if isinstance(found.parent, maths.symbol) else found
        parent, at = formula.parent, formula.parent.index(formula)
        before = parent[at - 1] if at and isinstance(parent[at - 1], nodes.Text) else ""
        after = parent[at + 1] if at + 1 < len(parent) and isinstance(parent[at + 1], nodes.Text) else ""
        first, last = before.rstrip(OPENING), after.lstrip(CLOSING)
        if (first, last) != (before, after):
            kept = [nodes.Text(before[len(first) :]), formula, nodes.Text(after[: len(after) - len(last)])]
            whole = [nodes.Text(first), nodes.inline("", "", *kept, classes=["unbroken"]), nodes.Text(last)]
            parent[at - bool(before) : at + 1 + bool(after)] = whole


def open_entry(self: Any, node: nodes.entry) -> None:
    """Begin a cell of a table; a corner that heads nothing is no heading."""
    type(self).visit_entry(self, node)
    if not node.astext().strip() and self.context[-1].startswith("</th"):
        self.body[-1], self.context[-1] = "<td>", "</td>\n"


def open_citation(self: Any, node: nodes.citation) -> None:
    """Begin an entry of the bibliography: an item of a list; the role that it is given has been withdrawn."""
    type(self).visit_citation(self, node)
    self.body[-1] = self.body[-1].replace('role="doc-biblioentry"', 'role="listitem"')


def change_elements(app: Any, document: nodes.document, page: str) -> None:
    """Change the elements of a page."""
    box_figures(app, document, page)
    keep_together(document)


def number_figures(app: Any, env: Any) -> list[str]:  # noqa: ARG001
    """Give the figures of the paper its numbers, and each page of ours a letter; return no page to be read again."""
    letters = iter(string.ascii_uppercase)
    for name in check.toc_pages():
        figures = env.toc_fignumbers.get(name, {}).get("figure", {})
        number = page.paper_figure(name.rpartition("/")[2])
        letter = next(letters) if figures and not number else ""
        for place, figure in enumerate(figures, 1):
            further = string.ascii_lowercase[place - 1] if place > 1 else ""  # on a page of the paper's figure
            figures[figure] = (f"{number}{further}" if number else f"{letter}{place}",)
    return []


def drop_spare(html: Path) -> None:
    """Remove from a rendered book what no page can load."""
    lines = [line.split("#")[0].split() for line in (HERE / "spare.txt").read_text(encoding="utf-8").splitlines()]
    for path in {path for words in lines if words for path in html.glob(words[0]) if path.is_file()}:
        path.unlink()


def finish(app: Any, problem: Exception | None) -> None:
    """Complain of changes that found no place."""
    if problem is None and CHANGES.keys() > ChangedTemplates.made:
        raise Refusal(f"no template of the theme has {min(CHANGES.keys() - ChangedTemplates.made)!r} any more")
    drop_spare(Path(app.outdir))


def configure(app: Any, config: Any) -> None:  # noqa: ARG001
    """Tell Sphinx where our files and templates are, and templates how to cite."""
    config.html_static_path.append(str(HERE / "static"))
    config.templates_path.insert(0, str(HERE / "templates"))
    config.html_context |= texts.citation()


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.setup_extension("bookbuild.maths")
    app.connect("source-read", fill)
    app.connect("builder-inited", copy_live)
    app.connect("html-page-context", load_live)
    app.connect("html-page-context", drop_unused, priority=900)
    app.connect("config-inited", configure)
    for name in ("chapters.css", "symbols.css", "scorecard.css"):
        app.add_css_file(name)
    for name in ("scrolling.js", "symbols.js", "scorecard.js"):
        app.add_js_file(name, loading_method="defer")
    app.connect("builder-inited", lambda app: app.builder.templates.environment.add_extension(ChangedTemplates))
    app.connect("env-get-updated", number_figures, priority=900)  # after Sphinx has given its own
    app.connect("doctree-resolved", change_elements)
    app.connect("build-finished", finish)
    app.add_node(nodes.entry, override=True, html=(open_entry, lambda self, node: type(self).depart_entry(self, node)))
    closed = lambda self, node: type(self).depart_citation(self, node)  # noqa: E731
    app.add_node(nodes.citation, override=True, html=(open_citation, closed))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
