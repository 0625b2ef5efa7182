"""Small repairs of what the theme makes of a page, for narrow screens and for assistive technology."""

import re
from pathlib import Path

from bookbuild.refusal import Refusal

# Each with what it is for, so that a theme that no longer needs one, or hides it from us, is noticed.
REPAIRS = {
    "the title in the side bar is part of a landmark": (
        re.compile(r'<div id="pst-primary-sidebar"'),
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book"',
    ),
    "icons come from the font, and not from a script of 1.5 MB": (
        re.compile(r"<script [^>]*scripts/fontawesome\.js[^>]*></script>"),
        "",
    ),
}
# An icon is a letter of a font; to assistive technology it is nothing, and what it stands for is said beside it.
ICON = re.compile(r'<i class="(?=fa[sb]? |fa-)')
ICON_HIDDEN = '<i aria-hidden="true" class="'

# The theme makes this kind of box reachable by keyboard wherever it scrolls.
FIGURE = re.compile(r"(<figure\b[^>]*>\s*)(<img\b[^>]*>)")
FIGURE_BOX = r'\1<div class="figure-box pst-scrollable-table-container">\2</div>'

# Brackets and punctuation stay with their formula; a browser would break the line between the two.
FORMULA = r'(?:<abbr [^>]*>)?<span class="math notranslate nohighlight">[^<]*</span>(?:</abbr>)?'
TOUCHED = re.compile(rf"[(\[]+{FORMULA}[.,;:!?)\]’”]*|{FORMULA}[.,;:!?)\]’”]+")
UNBROKEN = r'<span class="unbroken">\g<0></span>'

# A corner of a table that heads nothing is no heading.
EMPTY_HEAD = re.compile(r"<th(?: class=\"head\")?>\s*(?:<p></p>)?\s*</th>")

# The entries of a list are its items; the role that they are given has been withdrawn.
ENTRY, ITEM = 'role="doc-biblioentry"', 'role="listitem"'


def mend(html: Path) -> None:
    """Repair every page of a rendered book."""
    for file in html.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        if "<main" not in text:  # the page that only leads to the first one
            continue
        for purpose, (pattern, replacement) in REPAIRS.items():
            text, count = pattern.subn(replacement, text)
            if count != 1:
                raise Refusal(f"page {file.name} has {count} places, and must have one, to see to it that {purpose}")
        text = TOUCHED.sub(UNBROKEN, text)
        text = ICON.sub(ICON_HIDDEN, EMPTY_HEAD.sub("<td></td>", FIGURE.sub(FIGURE_BOX, text))).replace(ENTRY, ITEM)
        file.write_text(text, encoding="utf-8")
