"""The scorecard: every claim as a bar of significance, then one line a claim, which opens.

Both are made from the ledger when the page is read. The picture is a list of links in HTML, so that it follows the
theme, fits a phone, is printed, and can be read aloud. A line is the directive ``claim`` of this module, an element
``details`` of HTML; ``static/scorecard.js`` adds the filter where scripts run.
"""

from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive

from bookbuild import ledger
from bookbuild.ledger import HOLDS, KINDS, OPEN, OURS, VERDICTS, Claim, Finding
from bookbuild.texts import printed

PAGE = "book/scorecard"
MARKS = {"not reproduced": "✗", OPEN: "?", "reproduced with a remark": "✓*", "reproduced": "✓", HOLDS: "✓"}
LONGEST = 10.0  # significance at which a bar ends
UPPER = {"sat": "SAT", "unsat": "UNSAT", "sgd": "SGD"}
CAPTION = (
    "Significance of every test, in standard errors of a normal law. Bars end at "
    f"{LONGEST:g}; the line marks {ledger.DECISIVE:g}, where a claim is decided."
)


def scorecard(claims: list[Claim], found: dict[str, Finding]) -> str:
    """Write the picture and the lines of the claims, the paper's and our own, in MyST."""
    paper, ours = ledger.by_author(claims)
    text = [ledger.verdicts(claims, found), "", glance(claims, found), ""]
    text += ["## Claims of the paper", "", *_lines(paper, found)]
    if ours:
        text += ["", "## Claims of our own", "", *_lines(ours, found)]
    return "\n".join(text)


def verdict(claim: Claim, found: dict[str, Finding]) -> str:
    """Return the verdict of this build: the recorded one, unless its errors leave the claim open."""
    return OPEN if ledger.is_open(claim, found) else claim.verdict


def title(name: str) -> str:
    """Return the name of a claim in words.

    >>> title("unsat-distance-peaks-in-batch")
    'UNSAT distance peaks in batch'
    """
    return " ".join(UPPER.get(word, word) for word in name.split("-"))


def size(finding: Finding) -> str:
    """Return the significance in a few letters.

    >>> [size(Finding("x", "", sigma=sigma)) for sigma in (-4.26, 31.0)], size(Finding("x", "", exact=True))
    (['−4.3', '>30'], 'exact')
    """
    if finding.exact:
        return "exact"
    most = f"{'<−' if finding.sigma < 0 else '>'}30"
    return printed(f"{finding.sigma:.1f}") if abs(finding.sigma) <= 30 else most


def glance(claims: list[Claim], found: dict[str, Finding]) -> str:
    """Draw all claims as bars in HTML: failures on top, our own apart."""
    paper, ours = ledger.by_author(claims)
    columns = [
        [(MARKS[kind], kind, [c for c in paper if verdict(c, found) == kind]) for kind in kinds]
        for kinds in ((VERDICTS[2], OPEN, VERDICTS[1]), (VERDICTS[0],))
    ]
    own = [c for c in ours if verdict(c, found) == HOLDS], [c for c in ours if verdict(c, found) == OPEN]
    columns.append([("✓", "our own, hold", own[0]), ("?", "our own, left open", own[1])])
    drawn = "".join(
        f'<div class="glance-column">{"".join(_group(*group, found) for group in column if group[2])}</div>'
        for column in columns
    )
    return (
        f'<figure class="glance"><div class="glance-columns">{drawn}</div><figcaption>{CAPTION}</figcaption></figure>'
    )


def _group(mark: str, words: str, claims: list[Claim], found: dict[str, Finding]) -> str:
    heading = f"{mark} {words[0].upper()}{words[1:]}: {len(claims)}"
    bars = "".join(_bar(c, found[c.name]) for c in sorted(claims, key=lambda c: -abs(found[c.name].sigma)))
    return f'<p class="glance-title">{heading}</p><ul class="{_css(verdict(claims[0], found))}">{bars}</ul>'


def _bar(claim: Claim, finding: Finding) -> str:
    length = 100 * min(abs(finding.sigma), LONGEST) / LONGEST
    parts = f"<span>{escape(title(claim.name))}</span> <span>{escape(size(finding))}</span>"
    return f'<li><a href="#{_anchor(claim.name)}" style="--length:{length:.0f}%">{parts}</a></li>'


def _anchor(name: str) -> str:
    return f"claim-{name.replace('.', '-')}"


def _css(kind: str) -> str:
    return f"verdict-{kind.replace(' ', '-')}"


def _lines(claims: list[Claim], found: dict[str, Finding]) -> list[str]:
    """Write one line a claim, by verdict, in the order of the ledger."""
    lines: list[str] = []
    order = list(MARKS)
    for entry in sorted(claims, key=lambda c: order.index(verdict(c, found))):
        finding, kind = found[entry.name], verdict(entry, found)
        left = ", left open by the errors of this profile" if kind == OPEN else ""
        words = printed(finding.found)
        where = f"{entry.where}. " if entry.where != OURS else ""
        lines += [
            f"::::{{claim}} {entry.statement}",
            f":name: {entry.name}",
            f":verdict: {kind}",
            f":size: '{size(finding)}'",
            "",
            f"*Tested:* {where}{KINDS[entry.kind]}{' '.join(test.words() for test in entry.tests)}",
            "",
            f"*Found:* {words[0].upper()}{words[1:]} ({finding.margin()}{left}). {finding.points} {finding.each}",
            "",
            *([f"*Remark:* {entry.remark}", ""] if entry.remark else []),
            f"{{doc}}`/{entry.page}`",
            "::::",
            "",
        ]
    return lines


class claim_line(nodes.General, nodes.Element):  # type: ignore[misc]
    """A claim that opens."""


class claim_head(nodes.title):  # type: ignore[misc]
    """The line of a claim that is seen while it is closed: no symbol in it is explained, as in no title."""


class ClaimLine(Directive):  # type: ignore[misc]
    """A line of the scorecard; its argument is the statement."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"name": str, "verdict": str, "size": str}

    def run(self) -> list[nodes.Node]:
        """Make the element."""
        kind = self.options["verdict"]
        line = claim_line(ids=[_anchor(self.options["name"])], classes=["claim", _css(kind)])
        statement, messages = self.state.inline_text(self.arguments[0], self.lineno)
        head = claim_head("", "", nodes.inline("", "", *statement, classes=["claim-statement"]))
        head["verdict"], head["size"] = kind, self.options["size"]
        line += [head, *messages]
        self.state.nested_parse(self.content, self.content_offset, line)
        return [line]


def open_head(self: Any, node: claim_head) -> None:
    """Begin the line of a claim: mark, statement, significance."""
    mark = MARKS[node["verdict"]]
    hidden = f'<span class="visually-hidden">{node["verdict"]}: </span>'
    self.body.append(f'<summary><span class="claim-mark"><span aria-hidden="true">{mark}</span>{hidden}</span>')


def close_head(self: Any, node: claim_head) -> None:
    """End the line of a claim."""
    self.body.append(f'<span class="claim-size">{escape(node["size"])}</span></summary>')


def load(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:  # noqa: ARG001
    """Have the scorecard, and no other page, run the script of the filter."""
    if page == PAGE:
        app.add_js_file("scorecard.js", loading_method="defer")


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("claim", ClaimLine)
    opened = lambda self, node: self.body.append(self.starttag(node, "details"))  # noqa: E731
    app.add_node(claim_line, html=(opened, lambda self, _: self.body.append("</details>")))
    app.add_node(claim_head, html=(open_head, close_head))
    app.add_css_file("scorecard.css")
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
