"""What building the book costs: measured by ``make readme`` where a book was built, and quoted in the book.

The pages of a build cannot know how long that build takes, nor what another profile would; ``book/costs.json`` keeps
what was measured last, for each profile, with the machine.
"""

import json
import platform
from collections.abc import Mapping
from typing import Any

from bookbuild import paths
from bookbuild.progress import clock
from bookbuild.source import PROFILES


def measured(seconds: Mapping[str, float], workers: int) -> dict[str, dict[str, Any]]:
    """Return the cost of each profile that was built from scratch, out of the remembered durations.

    >>> measured({"book/smoke": 60.0, "notebooks/smoke": 90.4}, 2)["smoke"]["core_seconds"]
    90
    """
    found = {}
    for profile in PROFILES:
        if {f"book/{profile}", f"notebooks/{profile}"} <= set(seconds):
            found[profile] = {
                "core_seconds": round(seconds[f"notebooks/{profile}"]),
                "seconds": round(seconds[f"book/{profile}"]),
                "cores": workers,
                "machine": platform.machine(),
            }
    return found


def load() -> dict[str, dict[str, Any]]:
    """Return what was measured last."""
    return dict(json.loads(paths.COSTS.read_text(encoding="utf-8")))


def save(found: Mapping[str, dict[str, Any]]) -> None:
    """Keep what was measured, and what is known of other profiles."""
    text = json.dumps({**load(), **found}, indent=1, sort_keys=True)
    paths.COSTS.write_text(text + "\n", encoding="utf-8")


def table() -> str:
    """Write what is known as rows of a table in Markdown."""
    known = load()
    rows = ["| profile | computing | time |", "|---|---|---|"]
    for profile in PROFILES:
        if profile in known:
            cost = known[profile]
            hours = f"{cost['core_seconds'] / 3600:.2g} core-hours"
            rows.append(f"| `{profile}` | {hours} | {clock(cost['seconds'])} on {cost['cores']} cores |")
    return "\n".join(rows) if known else "Nothing has been measured yet."
