"""The claims ledger: what the paper says, how it is tested, what we found, and whether the two agree.

``book/claims.yml`` lists the claims with their tests and the verdict that we stand by. A notebook reports what it has
measured with :func:`sgdnoise.report.claim`; the build works out a verdict, and stops if that is not the recorded one.

A statement is decided when chance would mislead with a probability below that of three standard errors of a normal law,
0.00135, by Student's t. Where it is about several points it holds if it holds for all, each at that level, and fails by
the law of the largest of their deviations, with their covariance over the realisations that they share.

Would another seed decide otherwise? ``book/seeds.json`` keeps what the last comparison found. Each row has a hash of
the tests that it was made with, so that a claim whose tests were changed since is not shown as tested, and one of the
code of its notebook, so that an edit since is said.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import nan
from pathlib import Path
from typing import Any

from bookbuild import notebooks, paths
from bookbuild.notebooks import read_executed, told
from bookbuild.texts import Refusal, printed, read_json, read_records, say
from sgdnoise.estimates import Estimate, Statement, significance

OPEN = "left open"  # whatever the test says: another seed, or what the paper does not tell, may decide otherwise
VERDICTS = ("reproduced", "reproduced with a remark", "not reproduced", OPEN)
OURS = "This book"  # where a claim stands that is not the paper's; its verdict is that it holds
HOLDS = "holds"
DECISIVE = 3  # standard errors of a normal law
KINDS = {
    "measurement": "Measurement. ",
    "check": "Consistency check: true here by construction, and can only fail. ",
}
MARKS = {"not reproduced": "✗", OPEN: "?", "reproduced with a remark": "✓*", "reproduced": "✓", HOLDS: "✓"}
LONGEST, MOST = 10, 30.0  # significance at which a bar of the scorecard ends, and the largest that is told
UPPER = {"sat": "SAT", "unsat": "UNSAT", "sgd": "SGD"}


@dataclass(frozen=True, kw_only=True)
class Trial(Statement):
    """What is measured, and what must be true of it."""

    quantity: str
    reason: str = ""

    def words(self) -> str:
        """Say what is tested.

        >>> Trial(quantity="Slope", within=0.1, of=1.0, reason="ten per cent").words()
        'Slope: within 0.1 of 1 (ten per cent).'
        """
        return f"{self.quantity}: {self}{f' ({self.reason})' if self.reason else ''}."


@dataclass(frozen=True)
class Claim:
    """A claim of the paper as the ledger records it."""

    name: str
    where: str
    statement: str
    tests: list[Any]  # of Trial
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
    each: str = ""  # of the last test whose points differ: where it holds, where it fails, where it is left open
    exact: bool = False  # measured without a statistical error

    def judged(self, claim: Claim) -> "Finding":
        """Return it with its significance, in standard errors of a normal law; negative if the statement fails."""
        if len(self.measured) != len(claim.tests):
            what = f"{len(claim.tests)} tests, and its notebook reports {len(self.measured)} quantities"
            raise Refusal(f"claim {self.name} has {what}")
        chances, words, errors, each = [], [], [], ""
        for test, numbers in zip(claim.tests, self.measured, strict=True):
            family = {label: read_estimate(row) for label, row in numbers.items()}
            chances.append(test.jointly(family))
            words += [test.pattern(family)] if len(family) > 1 else []
            each = point_by_point(test, family) or each
            errors += [estimate.error for estimate in family.values()]
        exact = all(error == 0 for error in errors)
        return replace(self, sigma=significance(chances), points=" ".join(words), each=each, exact=exact)

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
        >>> Finding("x", "", sigma=1e9, exact=True).margin()
        'holds, exactly'
        """
        size, holds = abs(self.sigma), "holds" if self.sigma >= 0 else "fails"
        if self.exact:
            return f"{holds}, exactly"
        return f"{holds}, significance {f'above {MOST:g}' if size > MOST else f'{size:.1f}'}"


def point_by_point(test: Trial, family: Mapping[str, Estimate]) -> str:
    """Say where a statement holds, fails and is left open, if it is not the same everywhere.

    >>> family = {"a": Estimate(5.0, 1.0), "b": Estimate(1.0, 1.0), "c": Estimate(-9.0, 1.0), "d": Estimate(4.0, 1.0)}
    >>> point_by_point(Trial(quantity="Slope", above=0.0), family)
    'Holds at a; d. Fails at c. Left open at b.'
    """
    places: dict[str, list[str]] = {"holds": [], "fails": [], "open": []}
    for label, estimate in family.items():
        places[Finding("", "", sigma=significance([test.by_chance(estimate)])).decision()].append(label)
    words = {"holds": "Holds", "fails": "Fails", "open": "Left open"}
    said = [f"{words[what]} at {'; '.join(labels)}." for what, labels in places.items() if labels]
    return " ".join(said) if len(said) > 1 else ""


def read_estimate(numbers: list[float | None]) -> Estimate:
    """Return an estimate as a notebook has reported it: value, error, degrees of freedom, and parts of the error.

    >>> read_estimate([1.0, None, 3.0]), read_estimate([1.0, 0.5, 3.0, 0.3, -0.4]).parts
    (1.0000 ± nan, (0.3, -0.4))
    """
    value, error, freedom, *parts = (nan if v is None else v for v in numbers)
    return Estimate(value, error, freedom, tuple(parts))


def read_ledger(path: Path) -> list[Claim]:
    """Read and check the list of claims."""
    claims = []
    for entry in read_records(path, Claim):
        try:
            claims.append(replace(entry, tests=[Trial(**dict(test)) for test in entry.tests]))
            claims[-1].tests[0]
        except (TypeError, ValueError, LookupError) as error:
            raise Refusal(f"each test of claim {entry.name} must be a quantity and a statement: {error}") from error
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


def findings(executed: Iterable[Any]) -> dict[str, Finding]:
    """Collect what executed notebooks found, judged by the tests of the ledger."""
    found: dict[str, Finding] = {}
    known = {entry.name: entry for entry in read_ledger(paths.LEDGER)}
    for notebook in executed:
        for name, content in told(notebook, "claim").items():
            if name in found:
                raise Refusal(f"claim {name} is reported twice")
            finding = Finding(name, content["found"], content["measured"])
            found[name] = finding.judged(known[name]) if name in known else finding
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
        if entry.verdict != OPEN and decision != expected and not (decision == "open" and profile == "smoke"):
            verb = "is left open" if decision == "open" else decision
            raise Refusal(
                f"claim {entry.name} is recorded as {entry.verdict}, and this build finds that it {verb} "
                f"({found[entry.name].found}; significance {found[entry.name].sigma:+.1f})"
            )


def verdicts(claims: list[Claim], found: dict[str, Finding]) -> str:
    """Count the verdicts, in a sentence."""
    paper, ours = by_author(claims)
    decided = [entry for entry in paper if not is_open(entry, found)]
    counts = [f"{sum(entry.verdict == verdict for entry in decided)} {verdict}" for verdict in VERDICTS[:-1]]
    counts += [f"{len(paper) - len(decided)} left open"] if len(decided) < len(paper) else []
    checks = sum(entry.kind == "check" for entry in paper)
    words = f"Of {len(paper)} claims of the paper: {', '.join(counts)}."
    words += f" {checks} of these are consistency checks, true here by construction." if checks else ""
    held = sum(found[entry.name].decision() == "holds" for entry in ours)
    return words + (f" Our own runs suggested {len(ours)} further statements, of which {held} hold." if ours else "")


def is_open(claim: Claim, found: dict[str, Finding]) -> bool:
    """Tell whether a claim is left open, by us or by the errors of this build."""
    return claim.verdict == OPEN or found[claim.name].decision() == "open"


def by_author(claims: list[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Split the claims into those of the paper and our own."""
    return [entry for entry in claims if entry.where != OURS], [entry for entry in claims if entry.where == OURS]


def listed(claims: list[Claim], found: dict[str, Finding]) -> str:
    """List the claims that a page tests, with what this build says of each, in MyST."""
    lines = []
    for entry in claims:
        if entry.name in found:
            by_errors = is_open(entry, found) and entry.verdict != OPEN
            verdict = "left open by this build" if by_errors else entry.verdict
            lines.append(f"- *{verdict[0].upper()}{verdict[1:]}:* {entry.statement} {found[entry.name].each}".rstrip())
    return "\n".join(["On the {doc}`scorecard </book/scorecard>`, with numbers:", "", *lines])


def collect(executed: Iterable[Path]) -> tuple[list[Claim], dict[str, Finding]]:
    """Return the ledger and what these executed notebooks found."""
    return read_ledger(paths.LEDGER), findings(filter(None, map(read_executed, executed)))


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
    most = f"{'<−' if finding.sigma < 0 else '>'}{MOST:g}"
    return printed(f"{finding.sigma:.1f}") if abs(finding.sigma) <= MOST else most


def row(claim: Claim, finding: Finding) -> dict[str, Any]:
    """Return what the scorecard says of a claim; its verdict is the recorded one, unless this build leaves it open."""
    verdict = OPEN if is_open(claim, {claim.name: finding}) else claim.verdict
    left = ", left open by the errors of this profile" if verdict == OPEN else ""
    left = ", and left open whatever this test says, for the reason in the remark" if claim.verdict == OPEN else left
    return {
        "claim": claim,
        "finding": finding,
        "verdict": verdict,
        "mark": MARKS[verdict],
        "title": title(claim.name),
        "size": size(finding),
        "strength": abs(finding.sigma),
        "left": left,
    }


def scorecard(claims: list[Claim], found: dict[str, Finding]) -> dict[str, Any]:
    """Return what ``scorecard.jinja`` is filled with: the claims of the paper and our own, by verdict."""
    order = list(MARKS)
    paper, ours = (
        sorted((row(entry, found[entry.name]) for entry in entries), key=lambda row: order.index(row["verdict"]))
        for entries in by_author(claims)
    )
    words = {"verdicts": verdicts(claims, found), "ours_is": OURS, "kinds": KINDS}
    return {"paper": paper, "ours": ours, "longest": LONGEST, "decisive": DECISIVE, **words}


def compare_seeds(seeds: list[int], profile: str) -> dict[str, list[float | None]]:
    """Run the notebooks behind the claims with each seed; keep and return the significance of every claim.

    What is finished is kept: the same command goes on from there. A notebook that fails leaves a gap with its seed, and
    is named in the end.
    """
    from bookbuild.run import Job, run_all
    from sgdnoise import __version__
    from sgdnoise.sweep.store import revision

    claims = read_ledger(paths.LEDGER)
    pages = [notebooks.read(name) for name in sorted({Path(entry.page).name for entry in claims})]
    found: dict[str, list[float | None]] = {entry.name: [] for entry in claims}
    failed = []
    for seed in seeds:
        jobs = [Job(page, page.parameters(profile, {"seed": str(seed)})) for page in pages]
        say(f"Seed {seed}, the {profile} profile:")
        try:
            run_all(jobs)
        except Refusal:
            failed += [f"{job.name} with seed {seed}" for job in jobs if job.failure]
        here = collect(job.output for job in jobs)[1]
        for name, row in found.items():  # JSON has no number beyond all others
            row.append(round(max(-MOST, min(MOST, here[name].sigma)), 1) if name in here else None)
    about = {"version": __version__, "revision": revision()["revision"][:7], "profile": profile, "seeds": seeds}
    rows = {entry.name: marks(entry) | {"found": found[entry.name]} for entry in claims}
    paths.SEEDS.write_text(json.dumps(about | {"claims": rows}, indent=1) + "\n", encoding="utf-8")
    if failed:
        raise Refusal(f"these notebooks failed, and their claims have gaps in the table: {', '.join(failed)}")
    return found


def marks(claim: Claim) -> dict[str, str]:
    """Return a hash of the tests of a claim, and one of the code of its notebook."""
    texts = {
        "tests": " ".join(test.words() for test in claim.tests),
        "code": code(notebooks.read(Path(claim.page).name)),
    }
    return {name: hashlib.sha256(text.encode()).hexdigest()[:8] for name, text in texts.items()}


@cache
def code(notebook: notebooks.Notebook) -> str:
    """Return the code of a notebook, without its prose."""
    return "\0".join(cell.source for cell in notebook.convert().cells if cell.cell_type == "code")


def stored_seeds() -> dict[str, Any]:
    """Return the table for the page: claims with the tests of today, and the names of the others.

    Names of claims that we leave open, and of those whose notebooks have other code today, come with it.
    """
    table, claims = read_json(paths.SEEDS), read_ledger(paths.LEDGER)
    rows, now = table["claims"], {entry.name: marks(entry) for entry in claims}
    kept = [
        entry
        for entry in claims
        if (row := rows.get(entry.name)) and row["tests"] == now[entry.name]["tests"] and set(row["found"]) - {None}
    ]
    table["claims"] = {entry.name: rows[entry.name]["found"] for entry in kept}
    table["edited"] = [entry.name for entry in kept if rows[entry.name].get("code") != now[entry.name]["code"]]
    table["open"] = [entry.name for entry in kept if entry.verdict == OPEN]
    table["others"] = [entry.name for entry in claims if entry not in kept]
    return table
