"""Formulas and symbols of the book.

Formulas become MathML while the book is built: they are on the page when it opens, and need no script. One that cannot
be converted stops the build, and so does a character that the font of the book lacks.

``book/symbols.yml`` lists the symbols; it makes the glossary and tells each symbol what to say when it is pointed at.
Inline maths that is one of them, by itself or set equal to a number, is wrapped in an ``abbr`` whose title is the
meaning. The first occurrence on a page can be reached with the keyboard; if all could, nobody would get past them. A
small script shows the title near the symbol, on touch screens too; without it the browser does, where there is a
pointer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes

from bookbuild import paths
from bookbuild.texts import Refusal, read_records

FONT = Path(__file__).parent / "static" / "book-math.woff"
INVISIBLE = "\u2061\ufe00"  # between a function and its argument; after a script letter
TAG = re.compile(r"<[^>]*>")
# A sign at the beginning of a line that is aligned to its left: TeX has room on both sides of it, as between two terms.
CONTINUED = re.compile(r'(<mtd style="text-align: left;[^>]*><mo)(>[+−]</mo>)')
CLASSES = "math notranslate nohighlight"
GLOSSARY_PAGE = "book/glossary"
# A symbol with the value that it is given: b=0.3, or N= before a number that the build puts in.
VALUE = re.compile(r"=[-+.\d]*$")
# Not in headings, which are copied into menus, nor in links, which are reached with the keyboard themselves.
PLAIN = (nodes.title, nodes.reference)


@cache
def letters() -> set[str]:
    """Return the characters of the font."""
    from fontTools.ttLib import TTFont

    return {*map(chr, TTFont(FONT).getBestCmap()), *INVISIBLE}


@cache
def mathml(tex: str, display: bool) -> str:
    r"""Return a formula as MathML.

    >>> mathml(r"\alpha_c", display=False)
    '<math><msub><mi>α</mi><mi>c</mi></msub></math>'
    >>> mathml(r"\alhpa", display=False)
    Traceback (most recent call last):
    bookbuild.texts.Refusal: the formula \alhpa cannot be typeset: ...
    """
    from math_core import LatexError, LatexToMathML

    try:
        made = LatexToMathML(fancy_error=False).convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        raise Refusal(f"the formula {tex.strip()} cannot be typeset: {error}") from error
    for letter in unescape(TAG.sub("", made)):
        if letter not in letters():
            raise Refusal(f"the formula {tex.strip()} has the character {letter!r}, which the font of formulas lacks")
    return CONTINUED.sub(r'\1 form="infix"\2', made)


def in_html(text: str) -> str:
    """Return a sentence with formulas as HTML.

    >>> in_html("$b$ < 1: the paper's")
    '<span class="math notranslate nohighlight"><math><mi>b</mi></math></span> &lt; 1: the paper’s'
    """
    parts = text.replace("'", "’").split("$")
    parts[::2] = map(escape, parts[::2])
    parts[1::2] = (f'<span class="{CLASSES}">{mathml(tex, False)}</span>' for tex in parts[1::2])
    return "".join(parts)


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(self.starttag(node, "span", "", CLASS=CLASSES) + mathml(node.astext(), False) + "</span>")
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number if it has one."""
    from sphinx.util.math import get_node_equation_number

    text = node.astext()
    if r"\\" in text and r"\begin" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    self.body.append(self.starttag(node, "div", "", CLASS=CLASSES))
    self.body.append(f'<div class="formula">{mathml(text, True)}</div>')
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


@dataclass(frozen=True)
class Symbol:
    """A symbol, the ways in which it is written, what it means and where that is said."""

    tex: list[str]
    meaning: str
    where: str
    code: str = ""
    pages: list[str] = field(default_factory=list)  # a letter with two meanings: where it has this one

    def title(self) -> str:
        """Say what the symbol means and what it is called in the library.

        >>> Symbol(["b"], "batch fraction", "", "batch").title()
        'batch fraction; in the library: batch'
        """
        return f"{self.meaning}; in the library: {self.code}" if self.code else self.meaning


class symbol(nodes.Inline, nodes.TextElement):  # type: ignore[misc]
    """Inline maths that is a known symbol; docutils calls its elements by the names of their tags."""


def read_symbols(path: Path) -> list[Symbol]:
    """Read and check the table of symbols."""
    symbols = read_records(path, Symbol)
    seen: set[tuple[str, str]] = set()
    for entry in symbols:
        for place in [(bare(tex), page) for tex in entry.tex for page in entry.pages or [""]]:
            if place in seen:
                raise Refusal(f"symbol {place[0]} must have one meaning on a page, and book/symbols.yml gives it two")
            seen.add(place)
    return symbols


def bare(tex: str) -> str:
    r"""Return maths without what only makes room.

    >>> bare(r"C(t,\, t_w) ")
    'C(t,t_w)'
    """
    return re.sub(r"\\[,;!]|\s", "", tex)


def meanings(symbols: Iterable[Symbol], page: str) -> dict[str, Symbol]:
    """Return what the symbols mean on a page, by how they are written; a meaning for the page itself comes first."""
    known: dict[str, Symbol] = {}
    for entry in sorted(symbols, key=lambda entry: bool(entry.pages)):
        if not entry.pages or page in entry.pages:
            known |= {bare(tex): entry for tex in entry.tex}
    return known


def wrap(document: nodes.document, known: dict[str, Symbol]) -> None:
    """Wrap every known symbol of a page; the first of each kind can be reached with the keyboard."""
    met: set[str] = set()
    plain = {maths for kind in PLAIN for outer in document.findall(kind) for maths in outer.findall(nodes.math)}
    for maths in list(document.findall(nodes.math)):
        entry = known.get(VALUE.sub("", bare(maths.astext())))
        if entry is None or maths in plain:
            continue
        around = symbol("", meaning=entry.title(), first=entry.meaning not in met)
        met.add(entry.meaning)
        maths.replace_self(around)
        around += maths


def wrap_page(app: Any, document: nodes.document) -> None:
    """Wrap the symbols of a page that was just read; the glossary says what they mean beside them."""
    page = app.env.docname
    if page != GLOSSARY_PAGE:
        wrap(document, meanings(read_symbols(paths.SYMBOLS), page))


def open_abbr(self: Any, node: symbol) -> None:
    """Begin a symbol in HTML."""
    reach = {"tabindex": "0"} if node["first"] else {}
    self.body.append(self.starttag(node, "abbr", "", CLASS="symbol", title=node["meaning"], **reach))


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_display, None))
    app.config.html_math_renderer = "mathml"
    app.add_css_file("formulas.css")
    app.add_node(symbol, html=(open_abbr, lambda self, _: self.body.append("</abbr>")))
    app.connect("doctree-read", wrap_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
