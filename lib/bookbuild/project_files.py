"""Files of the project that commands write from what was measured, and from ``CITATION.cff``.

The pages of a build cannot know how long that build takes, and would measure how busy the machine is with building. So
``book/costs.json`` and ``book/benchmarks.json`` keep what was measured last; ``make readme`` writes them, with the
figure and the timings of the README. ``make citation`` writes what archives and search engines read; a test compares.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bookbuild import notebooks, paths
from bookbuild.run import Job, load_timings, run_all
from bookbuild.texts import Refusal, citation, clock, fill
from sgdnoise._machine import cores

README = paths.ROOT / "README.md"
MARKS = ("<!-- timings: written by `make readme` -->\n", "\n<!-- end of timings -->")
TIMINGS = {
    "setup": "installation {} (once)",
    "book/standard": "`make book` {}",
    "book/smoke": "`make book PROFILE=smoke` {}",
}


def update_readme() -> None:
    """Remake the figure and the timings of the README, and the costs and benchmarks that the book quotes."""
    notebook = notebooks.read("the_model")
    job = Job(notebook, notebook.parameters("standard"))
    run_all([job])
    shutil.copyfile(notebooks.extract(job.output)[0], paths.README_FIGURE)
    timings = load_timings(paths.TIMINGS)
    costs = {name: round(seconds, 1) for name, seconds in timings.items()}
    keep(paths.COSTS, {**costs, "cores": cores()} if any(name.startswith("book/") for name in costs) else {})
    keep(paths.BENCHMARK_RESULTS, {path.stem: load(path) for path in sorted(paths.BENCH.glob("*.json"))})
    installed = paths.ROOT / ".venv" / "setup-seconds"
    known = load(paths.COSTS) | timings
    known |= {"setup": float(installed.read_text(encoding="utf-8"))} if installed.is_file() else {}
    before, after = README.read_text(encoding="utf-8").split(MARKS[0])
    text = before + MARKS[0] + sentence(known, cores()) + MARKS[1] + after.split(MARKS[1])[1]
    README.write_text(text, encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Return what a file keeps."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def keep(path: Path, found: Mapping[str, Any]) -> None:
    """Keep what was measured, besides what the file has of other things."""
    text = json.dumps({**load(path), **found}, indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def sentence(seconds: Mapping[str, float], workers: int) -> str:
    """Say how long things take.

    >>> sentence({"setup": 30.0, "book/smoke": 41.0, "book/standard": 95.2}, 2)
    'Measured on 2 cores: installation 30 s (once), `make book` 1 min 35 s, ...
    """
    known = [words.format(clock(seconds[name])) for name, words in TIMINGS.items() if name in seconds]
    if not known:
        raise Refusal("a book must have been built from scratch in this folder, to be timed")
    return f"Measured on {workers} cores: {', '.join(known)}."


def citation_files() -> dict[Path, str]:
    """Return the files that are made from the citation, with their texts."""
    made = {name: json.loads(fill(name.lstrip("."), **citation())) for name in (".zenodo.json", "codemeta.json")}
    return {paths.ROOT / name: json.dumps(told, indent=2, ensure_ascii=False) + "\n" for name, told in made.items()}
