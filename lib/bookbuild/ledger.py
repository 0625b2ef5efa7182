"""The claims ledger: what the paper says, how it is tested, what we found, and whether the two agree.

``book/claims.yml`` lists the claims with their tests and the verdict that we stand by. A notebook reports what it has
measured with :func:`sgdnoise.report.claim`; the build works out a verdict, and stops if that is not the recorded one.

A statement is decided when chance would mislead with a probability below that of three standard errors of a normal law,
0.00135, by Student's t. Where it is about several points it holds if it holds for all, each at that level; it fails if
one fails at that level divided by their number (Bonferroni), which is right however they are correlated. A joint test
with their covariance (Hotelling) is not of use here: it asks for exact equality, which no finite network has, and
more realisations than points, which the theory's few populations are not.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bookbuild import paths
from bookbuild.notebooks import read_executed, told
from bookbuild.texts import Refusal, printed, read_records

VERDICTS = ("reproduced", "reproduced with a remark", "not reproduced")
OURS = "This book"  # where a claim stands that is not the paper's; its verdict is that it holds
HOLDS = "holds"
DECISIVE = 3.0  # standard errors of a normal law
BY_CHANCE = 0.00135  # probability of more than that
KINDS = {"measurement": "", "check": "Consistency check: true here by construction, and can only fail. "}


@dataclass(frozen=True)
class Test:
    """What is measured, and what must be true of it: above or below a bound, or within a margin of a value."""

    quantity: str
    above: float | None = None
    below: float | None = None
    within: float | None = None
    of: float = 0.0
    reason: str = ""

    def bounds(self) -> dict[str, float]:
        """Return the statement in numbers."""
        given = {word: getattr(self, word) for word in ("above", "below", "within")}
        return {word: float(value) for word, value in given.items() if value is not None}

    def words(self) -> str:
        """Say what is tested.

        >>> Test("Slope", within=0.1, of=1.0, reason="ten per cent").words(), Test("Fall", within=0.0).words()
        ('Slope: within 0.1 of 1 (ten per cent).', 'Fall: 0, which can only fail.')
        """
        ((word, value),) = self.bounds().items()
        is_exact = word == "within" and value == 0
        says = f"{self.of:g}, which can only fail" if is_exact else f"{word} {value:g}"
        says += f" of {self.of:g}" if word == "within" and not is_exact else ""
        return f"{self.quantity}: {says}{f' ({self.reason})' if self.reason else ''}."


@dataclass(frozen=True)
class Claim:
    """A claim of the paper as the ledger records it."""

    name: str
    where: str
    statement: str
    tests: list[Any]  # of Test
    page: str
    verdict: str
    remark: str = ""
    kind: str = "measurement"


@dataclass(frozen=True)
class Finding:
    """What a notebook found about a claim; judged by its tests, how significant that is."""

    name: str
    found: str
    measured: list[dict[str, list[float | None]]] = field(default_factory=list)
    sigma: float = 0.0
    points: str = ""

    def judged(self, claim: Claim) -> "Finding":
        """Return it with its significance, in standard errors of a normal law; negative if the statement fails."""
        from scipy.special import ndtri

        from sgdnoise.estimates import Estimate, by_chance

        if len(self.measured) != len(claim.tests):
            what = f"{len(claim.tests)} tests, and its notebook reports {len(self.measured)} quantities"
            raise Refusal(f"claim {self.name} has {what}")
        chances, words = [], []
        for test, numbers in zip(claim.tests, self.measured, strict=True):
            family = {label: Estimate(*_numbers(three)) for label, three in numbers.items()}
            chances += [by_chance(estimate, **test.bounds(), of=test.of) for estimate in family.values()]
            words += [_pattern(test, family)] if len(family) > 1 else []
        for_it, against = max(p for p, _ in chances), min(1.0, len(chances) * min(p for _, p in chances))
        sigma = max(0.0, -ndtri(for_it)) if for_it < against else min(0.0, ndtri(against))
        return replace(self, sigma=float(sigma), points=" ".join(words))

    def decision(self) -> str:
        """Say whether the statement holds, fails, or is left open by the size of the errors.

        >>> [Finding("x", "", sigma=sigma).decision() for sigma in (4.0, -4.0, 1.0)]
        ['holds', 'fails', 'open']
        """
        if self.sigma >= DECISIVE:
            return "holds"
        return "fails" if self.sigma <= -DECISIVE else "open"

    def margin(self) -> str:
        """Say how significant it is.

        >>> Finding("x", "", sigma=-4.26).margin(), Finding("x", "", sigma=1e9).margin()
        ('fails, significance 4.3', 'holds, significance above 30')
        """
        size = abs(self.sigma)
        return f"{'holds' if self.sigma >= 0 else 'fails'}, significance {'above 30' if size > 30 else f'{size:.1f}'}"


def _numbers(three: list[float | None]) -> tuple[float, float, float]:
    """Return value, error and degrees of freedom; a notebook has no numbers that are not finite."""
    unknown = (float("nan"), float("nan"), float("inf"))
    value, error, freedom = (v if v is not None else u for v, u in zip(three, unknown, strict=True))
    return value, error, freedom


def _pattern(test: Test, family: Mapping[str, Any]) -> str:
    """Say which of several points is the worst, and how the signs of their deviations follow each other."""
    ((word, bound),) = test.bounds().items()
    start = test.of if word == "within" else bound
    away = {label: (e.value - start) / (e.error or 1e-300) for label, e in family.items()}
    worst = max(away, key=lambda name: {"above": -away[name], "below": away[name]}.get(word, abs(away[name])))
    signs = "".join("+" if value > 0 else "−" for value in away.values())
    what = "farthest from" if word == "within" else "nearest to"
    return (
        f"Of {len(away)} points {worst} is {what} {start:g}, by {abs(away[worst]):.1f} standard errors; signs {signs}."
    )


def read_ledger(path: Path) -> list[Claim]:
    """Read and check the list of claims."""
    claims = []
    for entry in read_records(path, Claim):
        try:
            claims.append(replace(entry, tests=[Test(**dict(test)) for test in entry.tests]))
            stated = [len(test.bounds()) == 1 for test in claims[-1].tests]
        except (TypeError, ValueError) as error:
            raise Refusal(
                f"tests of claim {entry.name} must give quantity, above, below or within, of: {error}"
            ) from error
        if not stated or not all(stated):
            raise Refusal(f"each test of claim {entry.name} must give one of above, below and within")
        if entry.kind not in KINDS:
            raise Refusal(f"kind of claim {entry.name} must be {' or '.join(KINDS)}, got {entry.kind!r}")
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
            found[name] = Finding(name, content["found"], content["measured"])
    return found


def judged(claims: list[Claim], found: dict[str, Finding]) -> dict[str, Finding]:
    """Return the findings with their significance; those that the ledger does not know as they are."""
    known = {entry.name: found[entry.name].judged(entry) for entry in claims if entry.name in found}
    return found | known


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
                f"({found[entry.name].found}; significance {found[entry.name].sigma:+.1f})"
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
            f"    *Tested:* {KINDS[entry.kind]}{' '.join(test.words() for test in entry.tests)}",
            f"  - {words[0].upper()}{words[1:]} ({finding.margin()}{left}). {finding.points}{remark}",
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
    claims = read_ledger(paths.LEDGER)
    return claims, judged(claims, findings(filter(None, map(read_executed, executed))))
