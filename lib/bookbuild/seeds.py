"""Would another seed decide otherwise? All claims, tested with several seeds, side by side.

``book/seeds.json`` keeps what the last comparison found, with the version of the library and the profile.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bookbuild import ledger, notebooks, paths
from bookbuild.run import Job, run_all
from bookbuild.texts import say
from sgdnoise import __version__

MOST = 30.0  # significance beyond which it is only said that it is beyond


def compare(seeds: Sequence[int], profile: str) -> dict[str, Any]:
    """Run the notebooks behind the claims with each seed, keep and return the significance of every claim.

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
            found[name].append(round(max(-MOST, min(MOST, finding.sigma)), 1))
    table = {"version": __version__, "profile": profile, "seeds": list(seeds), "claims": found}
    paths.SEEDS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return table


def load() -> dict[str, Any]:
    """Return what is kept."""
    return dict(json.loads(paths.SEEDS.read_text(encoding="utf-8")))


def agree(sigmas: Sequence[float]) -> bool:
    """Tell whether all seeds decide, and in the same way."""
    decisions = {ledger.Finding("", "", sigma=sigma).decision() for sigma in sigmas}
    return len(decisions) == 1 and decisions != {"open"}


def summary(table: dict[str, Any]) -> str:
    """Say how many verdicts differ from seed to seed, and how many would by chance."""
    claims, count = table["claims"], len(table["seeds"])
    if not count:
        return "No comparison is stored; `make ledger` makes one."
    same = sum(map(agree, claims.values()))
    chance = ledger.BY_CHANCE * len(claims) * count
    return (
        f"{same} of {len(claims)} claims are decided in the same way by all {count} seeds ({table['profile']} profile, "
        f"version {table['version']}). If every statement were just at its bound, {chance:.1f} of the "
        f"{len(claims) * count} verdicts would be false by chance; away from the bounds it is fewer."
    )


def written(table: dict[str, Any]) -> str:
    """Write the table in Markdown: significance for each seed, negative where the statement fails."""
    head = ["claim", *(f"seed {seed}" for seed in table["seeds"]), "verdict"]
    rows = [head, ["---"] * len(head)]
    for name, sigmas in table["claims"].items():
        verdict = ledger.Finding("", "", sigma=sigmas[0]).decision() if agree(sigmas) else "differs or open"
        cells = (("> " if abs(s) >= MOST else "") + f"{s:+.1f}".replace("-", "−") for s in sigmas)
        rows.append([f"`{name}`", *cells, verdict])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) if table["seeds"] else ""
