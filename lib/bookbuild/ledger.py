"""The claims ledger: what the paper says, what we found, and whether the two agree.

``book/claims.yml`` lists the claims with the verdict that we stand by. A notebook that tests a claim calls
:func:`sgdnoise.report.claim`; the build collects what the notebooks found, works out a verdict from it, and stops if
that differs from the recorded one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookbuild import paths
from bookbuild.notebooks import read_executed, told
from bookbuild.texts import Refusal, printed, read_records

VERDICTS = ("reproduced", "reproduced with a remark", "not reproduced")
OURS = "This book"  # where a claim stands that is not the paper's; its verdict is that it holds
HOLDS = "holds"
DECISIVE = 3.0  # standard errors


@dataclass(frozen=True)
class Claim:
    """A claim of the paper as the ledger records it."""

    name: str
    where: str
    statement: str
    test: str
    page: str
    verdict: str
    remark: str = ""


@dataclass(frozen=True)
class Finding:
    """What a notebook found about a claim."""

    name: str
    found: str
    sigma: float

    def decision(self) -> str:
        """Say whether the statement holds, fails, or is left open by the size of the errors.

        >>> Finding("x", "", 4.0).decision(), Finding("x", "", -4.0).decision(), Finding("x", "", 1.0).decision()
        ('holds', 'fails', 'open')
        """
        if self.sigma >= DECISIVE:
            return "holds"
        return "fails" if self.sigma <= -DECISIVE else "open"

    def margin(self) -> str:
        """Say by how much the statement holds or fails.

        >>> Finding("x", "", -4.26).margin(), Finding("x", "", 1e9).margin()
        ('fails by 4.3 standard errors', 'holds by more than 100 standard errors')
        """
        size = abs(self.sigma)
        amount = "more than 100" if size > 100 else f"{size:.1f}"
        return f"{'holds' if self.sigma >= 0 else 'fails'} by {amount} standard errors"


def read_ledger(path: Path) -> list[Claim]:
    """Read and check the list of claims."""
    claims = read_records(path, Claim)
    for entry in claims:
        allowed = (HOLDS,) if entry.where == OURS else VERDICTS
        if entry.verdict not in allowed:
            raise Refusal(f"verdict of claim {entry.name} must be {' or '.join(allowed)}, got {entry.verdict!r}")
        if entry.where != OURS and (entry.verdict != "reproduced") != bool(entry.remark):
            raise Refusal(f"claim {entry.name} must have a remark if, and only if, it is not simply reproduced")
    if len({entry.name for entry in claims}) < len(claims):
        raise Refusal("every claim must have a name of its own")
    return claims


def findings(notebooks: Iterable[Any]) -> dict[str, Finding]:
    """Collect what executed notebooks found."""
    found: dict[str, Finding] = {}
    for notebook in notebooks:
        for name, content in told(notebook, "claim").items():
            if name in found:
                raise Refusal(f"claim {name} is reported twice")
            found[name] = Finding(name, content["found"], content["sigma"])
    return found


def check(claims: list[Claim], found: dict[str, Finding], profile: str) -> None:
    """Raise one sentence if a finding contradicts the ledger, is missing, or is unknown to it.

    The smoke profile may leave a claim open: its errors are too large to decide everything.
    """
    unknown = set(found) - {entry.name for entry in claims}
    if unknown:
        raise Refusal(f"claim {', '.join(sorted(unknown))} must be listed in book/claims.yml")
    for entry in claims:
        if entry.name not in found:
            raise Refusal(f"claim {entry.name} is listed in book/claims.yml, and no notebook reports on it")
        decision = found[entry.name].decision()
        expected = "fails" if entry.verdict == "not reproduced" else "holds"
        if decision != expected and not (decision == "open" and profile == "smoke"):
            verb = "is left open" if decision == "open" else decision
            raise Refusal(
                f"claim {entry.name} is recorded as {entry.verdict}, and this build finds that it {verb} "
                f"({found[entry.name].found}, {found[entry.name].sigma:+.1f} standard errors)"
            )


def verdicts(claims: list[Claim], found: dict[str, Finding]) -> str:
    """Count the verdicts, in a sentence."""
    paper, ours = _by_author(claims)
    decided = [entry for entry in paper if found[entry.name].decision() != "open"]
    counts = [f"{sum(entry.verdict == verdict for entry in decided)} {verdict}" for verdict in VERDICTS]
    counts += [f"{len(paper) - len(decided)} left open by this build"] if len(decided) < len(paper) else []
    words = f"Of {len(paper)} claims of the paper: {', '.join(counts)}."
    held = sum(found[entry.name].decision() == "holds" for entry in ours)
    return words + (f" Claims of our own: {len(ours)}, of which {held} hold." if ours else "")


def _by_author(claims: list[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Split the claims into those of the paper and our own."""
    return [entry for entry in claims if entry.where != OURS], [entry for entry in claims if entry.where == OURS]


def scorecard(claims: list[Claim], found: dict[str, Finding]) -> str:
    """Write the tables of the claims, the paper's and our own, in MyST."""
    paper, ours = _by_author(claims)
    lines = [verdicts(claims, found), "", *_table(paper, found, "What the paper says, and what we tested")]
    if ours:
        lines += ["", "## Claims of our own", "", "The paper does not make these; they are findings of this book.", ""]
        lines += _table(ours, found, "What we say, and how we tested it")
    return "\n".join(lines)


def _table(claims: list[Claim], found: dict[str, Finding], heading: str) -> list[str]:
    mark = {"reproduced": "✓", "reproduced with a remark": "✓*", "not reproduced": "✗", HOLDS: "✓"}
    lines = [":::{list-table}", ":class: stacked", ":header-rows: 1", ":widths: 6 44 50", ""]
    lines += ["* - ", f"  - {heading}", "  - What we found"]
    for entry in claims:
        finding = found[entry.name]
        is_open = finding.decision() == "open"
        verdict = "?" if is_open else mark[entry.verdict]
        remark = f" *{entry.remark}*" if entry.remark else ""
        left = ", left open by the errors of this profile" if is_open else ""
        words = printed(finding.found)
        lines += [
            f"* - {verdict}",
            f"  - {entry.statement}" + (f" ({entry.where})" if entry.where != OURS else ""),
            "",
            f"    *Tested:* {entry.test}",
            f"  - {words[0].upper()}{words[1:]} ({finding.margin()}{left}).{remark}",
            "",
            f"    {{doc}}`/{entry.page}`",
        ]
    return [*lines, ":::"]


def listed(claims: list[Claim], found: dict[str, Finding]) -> str:
    """List the claims that a page tests, with what this build says of each, in MyST."""
    lines = []
    for entry in claims:
        if entry.name in found:
            is_open = found[entry.name].decision() == "open"
            verdict = "left open by this build" if is_open else entry.verdict
            lines.append(f"- *{verdict[0].upper()}{verdict[1:]}:* {entry.statement}")
    return "\n".join(["On the {doc}`scorecard </book/scorecard>`, with numbers:", "", *lines])


def collect(executed: Iterable[Path]) -> tuple[list[Claim], dict[str, Finding]]:
    """Return the ledger and what these executed notebooks found."""
    return read_ledger(paths.LEDGER), findings(filter(None, map(read_executed, executed)))
