"""What we change in the pages that Sphinx and its theme make: templates, elements, and files that no page loads.

For narrow screens, for assistive technology, and for a small site.
"""

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from jinja2.ext import Extension

from bookbuild.refusal import Refusal
from bookbuild.symbols import symbol

# Changes of the templates of the theme, each with what it is for: a theme that no longer needs one is noticed.
ONE_FONT = "icons come from a font, and not from a script of 1.5 MB"
ICON = "an icon is a letter of a font, and what it stands for is said beside it"
CHANGES = {
    '<div id="pst-primary-sidebar"': (
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book"',
        "the title in the side bar is part of a landmark",
    ),
    "<!-- So that users can add custom icons -->": ("{% if false %}", ONE_FONT),
    "<!-- Pre-loaded scripts that we'll load fully later -->": ("{% endif %}", ONE_FONT),
    '<i class="fa-': ('<i aria-hidden="true" class="fa-', ICON),
    '<i class="{{ icon }}">': ('<i aria-hidden="true" class="{{ icon }}">', ICON),
}
OPENING, CLOSING = "([", ".,;:!?)]’”"

# Files that come with the theme and with MathJax and that no page can ever load: most of an otherwise small site.
SPARE = (
    "_static/**/*.map",  # for debugging the scripts of the theme
    "_static/locales/**/*",  # translations, used while rendering
    "_static/scripts/fontawesome.js*",  # every icon there is as a drawing; the few of the theme come from a font
    "_static/vendor/fontawesome/webfonts/*.ttf",  # for browsers older than WOFF 2, which do not run the scripts either
    "_static/vendor/fontawesome/webfonts/fa-brands-*",  # icons that no page has
    "_static/vendor/fontawesome/webfonts/fa-regular-*",
    "_static/mathjax/*.js",  # bundles of what formulas.js loads in parts
    "_static/mathjax/adaptors/*",  # for programs other than browsers
    "_static/mathjax/a11y/*",  # formulas read aloud, which a browser does not load from disk; MathML is there
    "_static/mathjax/sre/**/*",
    "_static/mathjax/ui/*",  # the menu
    "_static/mathjax/input/asciimath*",  # other ways to write formulas than TeX
    "_static/mathjax/input/mml/**/*",
    "_static/mathjax/input/mml.js",
    "_static/mathjax/input/tex-*.js",  # other bundles of what tex.js holds
    "_static/mathjax/input/tex/extensions/all-packages.js",
    "_static/mathjax/output/svg*",  # other ways to draw them than with fonts
    "_static/mathjax/output/svg/**/*",
)
KEPT = tuple(f"_static/mathjax/{name}.js" for name in ("startup", "core", "a11y/assistive-mml"))


class ChangedTemplates(Extension):
    """Templates with our changes in them."""

    made: ClassVar[set[str]] = set()

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:  # noqa: ARG002
        """Change a template before it is compiled."""
        for old, (new, _) in CHANGES.items():
            if old in source:
                self.made.add(old)
                source = source.replace(old, new)
        return source


class figure_box(nodes.General, nodes.Element):  # type: ignore[misc]
    """A box around a picture; the theme makes this kind of box reachable by keyboard wherever it scrolls."""


def box_figures(document: nodes.document) -> None:
    """Put the picture of each figure into a box."""
    for image in list(document.findall(nodes.image)):
        if isinstance(image.parent, nodes.figure):
            box = figure_box()
            image.replace_self(box)
            box += image


def keep_together(document: nodes.document) -> None:
    """Keep brackets and punctuation with their formula; a browser would break the line between the two."""
    for maths in list(document.findall(nodes.math)):
        formula = maths.parent if isinstance(maths.parent, symbol) else maths
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


def change_elements(app: Any, document: nodes.document, page: str) -> None:  # noqa: ARG001
    """Change the elements of a page."""
    box_figures(document)
    keep_together(document)


def drop_spare(html: Path) -> None:
    """Remove from a rendered book what no page can load."""
    for path in {path for pattern in SPARE for path in html.glob(pattern)} - {html / name for name in KEPT}:
        if path.is_file():
            path.unlink()


def finish(app: Any, problem: Exception | None) -> None:
    """Complain of changes that found no place."""
    for old in CHANGES.keys() - ChangedTemplates.made if problem is None else ():
        raise Refusal(f"no template of the theme has {old!r} any more, to see to it that {CHANGES[old][1]}")
    drop_spare(Path(app.outdir))


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("builder-inited", lambda app: app.builder.templates.environment.add_extension(ChangedTemplates))
    app.connect("doctree-resolved", change_elements)
    app.connect("build-finished", finish)
    box = '<div class="figure-box pst-scrollable-table-container">'
    app.add_node(figure_box, html=(lambda self, _: self.body.append(box), lambda self, _: self.body.append("</div>")))
    app.add_node(nodes.entry, override=True, html=(open_entry, lambda self, node: type(self).depart_entry(self, node)))
    closed = lambda self, node: type(self).depart_citation(self, node)  # noqa: E731
    app.add_node(nodes.citation, override=True, html=(open_citation, closed))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
