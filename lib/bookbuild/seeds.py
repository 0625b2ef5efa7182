"""Would another seed decide otherwise? All claims, tested with several seeds, side by side.

``book/seeds.json`` keeps what the last comparison found, with the version of the library and the profile.
"""

import json
from pathlib import Path
from typing import Any

from bookbuild import ledger, notebooks, paths
from bookbuild.run import Job, run_all
from bookbuild.texts import say
from sgdnoise import __version__


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
            found[name].append(round(max(-30.0, min(30.0, finding.sigma)), 1))  # beyond, JSON may have no number
    table = {"version": __version__, "profile": profile, "seeds": seeds, "claims": found}
    paths.SEEDS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return table
