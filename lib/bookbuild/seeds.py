"""Would another seed decide otherwise? All claims, tested with several seeds, side by side.

``book/seeds.json`` keeps what the last comparison found, with version and revision of the library and the profile.
Each row has a hash of the tests that it was made with, so that a claim whose tests were changed since is not shown as
tested, and one of the code of its notebook, so that an edit since is said.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from bookbuild import ledger, notebooks, paths
from bookbuild.run import Job, run_all
from bookbuild.texts import Refusal, say
from sgdnoise import __version__
from sgdnoise.sweep.store import revision


def compare(seeds: list[int], profile: str) -> dict[str, Any]:
    """Run the notebooks behind the claims with each seed; keep and return the significance of every claim.

    What is finished is kept: the same command goes on from there. A notebook that fails leaves a gap with its seed, and
    is named in the end.
    """
    claims = ledger.read_ledger(paths.LEDGER)
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
        here = ledger.collect(job.output for job in jobs)[1]
        for name, row in found.items():
            row.append(short(here[name].sigma) if name in here else None)
    table = {"version": __version__, "revision": revision()["revision"][:7], "profile": profile, "seeds": seeds}
    rows = {entry.name: marks(entry) | {"found": found[entry.name]} for entry in claims}
    paths.SEEDS.write_text(json.dumps(table | {"claims": rows}, indent=1) + "\n", encoding="utf-8")
    if failed:
        raise Refusal(f"these notebooks failed, and their claims have gaps in the table: {', '.join(failed)}")
    return table | {"claims": rows}


def short(sigma: float) -> float:
    """Return a significance for the table; JSON has no number beyond.

    >>> short(3.14159), short(float("inf"))
    (3.1, 30.0)
    """
    return round(max(-30.0, min(30.0, sigma)), 1)


def marks(claim: ledger.Claim) -> dict[str, str]:
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


def stored() -> dict[str, Any]:
    """Return the table for the page: claims with the tests of today, and the names of the others.

    Names of claims that we leave open, and of those whose notebooks have other code today, come with it.
    """
    table: dict[str, Any] = json.loads(paths.SEEDS.read_text(encoding="utf-8"))
    claims = ledger.read_ledger(paths.LEDGER)
    rows = table["claims"]
    now = {entry.name: marks(entry) for entry in claims}
    kept = [
        entry
        for entry in claims
        if (row := rows.get(entry.name)) and row["tests"] == now[entry.name]["tests"] and set(row["found"]) - {None}
    ]
    table["claims"] = {entry.name: rows[entry.name]["found"] for entry in kept}
    table["edited"] = [entry.name for entry in kept if rows[entry.name].get("code") != now[entry.name]["code"]]
    table["open"] = [entry.name for entry in kept if entry.verdict == ledger.OPEN]
    table["others"] = [entry.name for entry in claims if entry not in kept]
    return table
