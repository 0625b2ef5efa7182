"""The symbols of the book: one table makes the glossary and tells each symbol what to say when it is pointed at.

``book/symbols.yml`` lists the symbols. Inline maths that is one of them, by itself or set equal to a number, is wrapped
in an ``abbr`` whose title is the meaning. The first occurrence on a page can be reached with the keyboard; if all
could, nobody would get past them. A small script shows the title near the symbol, on touch screens too; without it the
browser does, where there is a pointer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docutils import nodes

from bookbuild import paths
from bookbuild.texts import Refusal, read_records

GLOSSARY_PAGE = "book/glossary"
# A symbol with the value that it is given: b=0.3, or N= before a number that the build puts in.
VALUE = re.compile(r"=[-+.\d]*$")
# Not in headings, which are copied into menus, nor in links, which are reached with the keyboard themselves.
PLAIN = (nodes.title, nodes.reference)


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
    app.add_node(symbol, html=(open_abbr, lambda self, _: self.body.append("</abbr>")))
    app.connect("doctree-read", wrap_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
