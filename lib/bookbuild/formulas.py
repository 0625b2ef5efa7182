"""Formulas as MathML, made while the book is built: they are on the page when it opens, and need no script.

A formula that cannot be converted stops the build, and so does a character that the font of the book lacks.
"""

import html
import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes

from bookbuild.texts import Refusal

FONT = Path(__file__).parent / "static" / "book-math.woff"
INVISIBLE = "\u2061\ufe00"  # between a function and its argument; after a script letter
TAG = re.compile(r"<[^>]*>")
CLASSES = "math notranslate nohighlight"


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
    for letter in html.unescape(TAG.sub("", made)):
        if letter not in letters():
            raise Refusal(f"the formula {tex.strip()} has the character {letter!r}, which the font of formulas lacks")
    return str(made)


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


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_display, None))
    app.config.html_math_renderer = "mathml"
    app.add_css_file("formulas.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
