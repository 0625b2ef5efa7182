"""Would another seed decide otherwise? All claims, tested with several seeds, side by side.

``book/seeds.json`` keeps what the last comparison found, with version and revision of the library and the profile.
Each row has a hash of the tests that it was made with, so that a claim whose tests were changed since is not shown as
tested.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from bookbuild import ledger, notebooks, paths
from bookbuild.run import Job, run_all
from bookbuild.texts import say
from sgdnoise import __version__
from sgdnoise.sweep.store import revision


def compare(seeds: list[int], profile: str) -> dict[str, Any]:
    """Run the notebooks behind the claims with each seed; keep and return the significance of every claim.

    What is finished is kept: the same command goes on from there.
    """
    claims = ledger.read_ledger(paths.LEDGER)
    pages = [notebooks.read(name) for name in sorted({Path(entry.page).name for entry in claims})]
    found: dict[str, list[float]] = {entry.name: [] for entry in claims}
    for seed in seeds:
        jobs = [Job(page, page.parameters(profile, {"seed": str(seed)})) for page in pages]
        say(f"Seed {seed}, the {profile} profile:")
        run_all(jobs)
        for name, finding in ledger.collect(job.output for job in jobs)[1].items():
            found[name].append(short(finding.sigma))
    table = {"version": __version__, "revision": revision()["revision"][:7], "profile": profile, "seeds": seeds}
    table["claims"] = {entry.name: {"tests": mark(entry), "found": found[entry.name]} for entry in claims}
    paths.SEEDS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return table


def short(sigma: float) -> float:
    """Return a significance for the table; JSON has no number beyond.

    >>> short(3.14159), short(float("inf"))
    (3.1, 30.0)
    """
    return round(max(-30.0, min(30.0, sigma)), 1)


def mark(claim: ledger.Claim) -> str:
    """Return a hash of the tests of a claim."""
    return hashlib.sha256(" ".join(test.words() for test in claim.tests).encode()).hexdigest()[:8]


def stored() -> dict[str, Any]:
    """Return the table for the page: claims with the tests of today, and the names of those that it does not have.

    A significance that is missing stands for a seed that was not finished.
    """
    table: dict[str, Any] = json.loads(paths.SEEDS.read_text(encoding="utf-8"))
    claims = ledger.read_ledger(paths.LEDGER)
    rows = table["claims"]
    kept = [entry for entry in claims if rows.get(entry.name, {}).get("tests") == mark(entry)]
    table["claims"] = {entry.name: rows[entry.name]["found"] for entry in kept}
    table["open"] = [entry.name for entry in kept if entry.verdict == ledger.OPEN]
    table["others"] = [entry.name for entry in claims if entry not in kept]
    return table
