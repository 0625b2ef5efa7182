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
from bookbuild.refusal import Refusal
from bookbuild.texts import read_records

STATIC = Path(__file__).resolve().parent / "static"
GLOSSARY = "<!-- glossary -->"
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
    for maths in list(document.findall(nodes.math)):
        entry = known.get(VALUE.sub("", bare(maths.astext())))
        if entry is None or _inside(maths, PLAIN):
            continue
        around = symbol("", meaning=entry.title(), first=entry.meaning not in met)
        met.add(entry.meaning)
        maths.replace_self(around)
        around += maths


def _inside(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def table(symbols: Iterable[Symbol]) -> str:
    """Write the glossary, in MyST."""
    lines = [":::{list-table}", ":class: glossary stacked", ":header-rows: 1", ":widths: 15 40 25 20", ""]
    lines += ["* - Symbol", "  - Meaning", "  - In the library", "  - Where it is defined"]
    for entry in symbols:
        lines += [f"* - ${entry.tex[0]}$", f"  - {entry.meaning[0].upper()}{entry.meaning[1:]}."]
        lines += [f"  - {f'`{entry.code}`' if entry.code else ''}", f"  - {entry.where}"]
    return "\n".join([*lines, ":::"])


def fill_glossary(app: Any, page: str, text: list[str]) -> None:  # noqa: ARG001
    """Put the glossary where a page asks for it."""
    if GLOSSARY in text[0]:
        text[0] = text[0].replace(GLOSSARY, table(read_symbols(paths.SYMBOLS)))


def wrap_page(app: Any, document: nodes.document) -> None:
    """Wrap the symbols of a page that was just read; the glossary says what they mean beside them."""
    page = app.env.docname
    if page != GLOSSARY_PAGE:
        wrap(document, meanings(read_symbols(paths.SYMBOLS), page))


def open_abbr(self: Any, node: symbol) -> None:
    """Begin a symbol in HTML."""
    reach = {"tabindex": "0"} if node["first"] else {}
    self.body.append(self.starttag(node, "abbr", "", CLASS="symbol", title=node["meaning"], **reach))


def close_abbr(self: Any, node: symbol) -> None:  # noqa: ARG001
    """End a symbol in HTML."""
    self.body.append("</abbr>")


def pass_through(self: Any, node: symbol) -> None:
    """Leave the maths as it is, where nothing can be pointed at."""


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    through = (pass_through, pass_through)
    app.add_node(symbol, html=(open_abbr, close_abbr), latex=through, text=through, man=through, texinfo=through)
    app.connect("source-read", fill_glossary)
    app.connect("doctree-read", wrap_page)
    app.connect("config-inited", lambda app, config: config.html_static_path.append(str(STATIC)))  # noqa: ARG005
    app.add_css_file("symbols.css")
    app.add_js_file("symbols.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
