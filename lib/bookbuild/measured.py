"""What was measured and is quoted: the cost of a book, the benchmarks, and the timings of the README.

The pages of a build cannot know how long that build takes, and would measure how busy the machine is with building. So
``book/costs.json`` and ``book/benchmarks.json`` keep what was measured last; ``make readme`` writes them.
"""

import json
import os
import platform
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bookbuild import paths
from bookbuild.numerals import printed
from bookbuild.processes import cores
from bookbuild.progress import clock, load_timings
from bookbuild.refusal import Refusal
from bookbuild.source import PROFILES

README = paths.ROOT / "README.md"
MARKS = ("<!-- timings: written by `make readme` -->\n", "\n<!-- end of timings -->")
TIMINGS = {
    "setup": "installation {} (once)",
    "book/standard": "`make book` {}",
    "book/smoke": "`make book PROFILE=smoke` {}",
    "test": "`make test` {}",
}


def update() -> None:
    """Remake the figure and the timings of the README, and the costs and benchmarks that the book quotes."""
    from bookbuild import book, source
    from bookbuild.figures import extract
    from bookbuild.runner import Job, run_all

    notebook = source.read("the_model")
    job = Job(notebook, notebook.parameters("standard"))
    book.writable(paths.BUILD)
    run_all([job])
    shutil.copyfile(extract(job.output)[0], paths.README_FIGURE)
    timings = load_timings()
    keep(paths.COSTS, costs(timings, cores()))
    keep(paths.BENCHMARK_RESULTS, {path.stem: load(path) for path in sorted(paths.BENCH.glob("*.json"))})
    books = {f"book/{profile}": cost["seconds"] for profile, cost in load(paths.COSTS).items()}
    block = MARKS[0] + sentence(books | timings | setup_seconds(), cores()) + MARKS[1]
    start, end = map(re.escape, MARKS)
    text, count = re.subn(f"{start}.*?{end}", lambda _: block, README.read_text(encoding="utf-8"), flags=re.DOTALL)
    if count != 1:
        raise Refusal("README.md must have one block of timings")
    README.write_text(text, encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Return what a file keeps."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def keep(path: Path, found: Mapping[str, Any]) -> None:
    """Keep what was measured, besides what the file has of other things."""
    text = json.dumps({**load(path), **found}, indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def setup_seconds() -> dict[str, float]:
    """Return how long the installation took."""
    path = paths.ROOT / ".venv" / "setup-seconds"
    return {"setup": float(path.read_text(encoding="utf-8"))} if os.access(path, os.R_OK) else {}


def sentence(seconds: Mapping[str, float], workers: int) -> str:
    """Say how long things take.

    >>> sentence({"setup": 30.0, "book/smoke": 41.0, "book/standard": 95.2, "test": 130.0}, 2)
    'Measured on 2 cores: installation 30 s (once), `make book` 1 min 35 s, ...
    """
    known = [words.format(clock(seconds[name])) for name, words in TIMINGS.items() if name in seconds]
    if not known:
        raise Refusal("a book must have been built from scratch in this folder, to be timed")
    return f"Measured on {workers} cores: {', '.join(known)}."


def costs(seconds: Mapping[str, float], workers: int) -> dict[str, dict[str, Any]]:
    """Return the cost of each profile that was built from scratch, out of the remembered durations.

    >>> costs({"book/smoke": 60.0, "notebooks/smoke": 90.4}, 2)["smoke"]["core_seconds"]
    90
    """
    return {
        profile: {
            "core_seconds": round(seconds[f"notebooks/{profile}"]),
            "seconds": round(seconds[f"book/{profile}"]),
            "cores": workers,
            "machine": platform.machine(),
        }
        for profile in PROFILES
        if {f"book/{profile}", f"notebooks/{profile}"} <= set(seconds)
    }


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table in Markdown.

    >>> print(table(["a", "b"], [[1, 2]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [heads, *rows]
    written = [f"| {' | '.join(map(str, line))} |" for line in lines]
    return "\n".join([written[0], "|---" * len(heads) + "|", *written[1:]])


def costs_table() -> str:
    """Write what a book costs."""
    known = load(paths.COSTS)
    rows = []
    for profile, cost in ((profile, known[profile]) for profile in PROFILES if profile in known):
        hours = f"{cost['core_seconds'] / 3600:.2g} core-hours"
        rows.append([f"`{profile}`", hours, f"{clock(cost['seconds'])} on {cost['cores']} cores"])
    return table(["profile", "computing", "time"], rows) if known else "Nothing has been measured yet."


def benchmarks() -> str:
    """Write what the benchmarks found as sections of a page, in MyST."""
    known = load(paths.BENCHMARK_RESULTS)
    sections = {"simulate": [simulation], "dmft": [theory, iteration, growth], "live": [live], "pages": [pages]}
    parts = [
        write(known[f"bench_{name}"])
        for name, writers in sections.items()
        for write in writers
        if f"bench_{name}" in known
    ]
    return "\n\n".join(parts) or "Nothing has been measured yet."


def simulation(results: dict[str, Any]) -> str:
    """Compare the simulators with a plain loop in NumPy and with JAX."""
    sizes = [row for row in results["work"] if row["work"].startswith("(i) N=")]
    rows = []
    for row in results["work"]:
        jax = f"1/{row['numpy_over_jax']:.1f}" if row["numpy_over_jax"] else ""
        ours, goal = f"1/{row['numpy_over_ours']:.1f}", "" if row in sizes else f"1/{row['goal']}"
        rows.append([in_maths(row["work"]), 1, jax, ours, goal, f"{row['part_of_gemm']:.0%}"])
        if sizes and row is sizes[-1]:
            fast, plain = (sum(size[f"{engine}_seconds"] for size in sizes) for engine in ("ours", "numpy"))
            rows.append(["(i) all sizes", 1, "", f"1/{plain / fast:.1f}", f"1/{row['goal']}", ""])
    limits = results["limits"]
    return f"""## Training runs

One single-threaded process on each of {len(results["cores"])} cores; the same work by a plain NumPy loop in double
precision, by JAX in its best batched form, and by `sgdnoise`; times relative to NumPy's. The goal is what prototypes
had; the last column the arithmetic that is needed, over what a large matrix product reaches on the same core. The work:
(i) $\\alpha=6$, GD and SGD with $b=0.3$, six learning rates from 0.2 to 0.01, to $t=15$; (ii) training to the stop,
$N=1000$, $\\alpha=\\Delta=0.5$, ten pairs $(b,\\tau)$, two replicas; (iii) the same ten pairs in the UNSAT phase,
$N=750$, $\\alpha=8$, to $t=20$; (iv) correlation and response with eight probes, $N=2000$, $\\alpha=6$, $b=0.1$, 400
steps.

{table(["work", "NumPy", "JAX", "`sgdnoise`", "goal", "of a matrix product"], rows)}

Limits of one core in the same run: matrix products {limits["gemm_gflops_float32"]:.0f} GFlop/s in single and
{limits["gemm_gflops_float64"]:.0f} in double precision, reading {limits["read_gb_per_s"]:.0f} GB/s."""


def in_maths(words: str) -> str:
    r"""Set the parameters in the name of a benchmark as formulas.

    >>> in_maths("T=2,000, b=0.3, tau=2")
    '$T=2{,}000$, $b=0.3$, $\\tau=2$'
    """
    parts = re.compile(r"\b(N|T|b|tau)=([\d.,]*\d)")
    return parts.sub(lambda m: f"${m[1].replace('tau', chr(92) + 'tau')}={m[2].replace(',', '{,}')}$", words)


def theory(results: dict[str, Any]) -> str:
    """Say how long the theory takes at the sizes that were promised."""
    targets = [
        [in_maths(name), f"{row['seconds']:.2g} s", f"{row['promised']:g} s"]
        for name, row in results["targets"].items()
    ]
    how = {True: "extrapolated from its published times", False: ""}
    public = [
        [row["steps"], f"{row['paths']:,}", f"{row['ratio']:,.0f}", how[bool(row.get("extrapolated"))]]
        for row in results["public"]
    ]
    return f"""## Theory

{table(["size", "measured", "goal"], targets)}

For scale, with the public solver of these equations: 30 of its iterations at its published times (one core of another
machine), over our wall time with all threads. An indication, not a measurement.

{table(["steps", "paths", "times faster", ""], public)}"""


def iteration(results: dict[str, Any]) -> str:
    """Compare one causal pass with the iteration of whole trajectories."""
    best: dict[tuple[int, int, float], dict[str, Any]] = {}
    for row in results["iteration"]:
        size = row["steps"], row["paths"], row["tolerance"]
        reached = row.get("residual", 1.0) <= row["tolerance"]
        if reached and (size not in best or row["ratio"] < best[size]["ratio"]):
            best[size] = row
    rows = [
        [steps, f"{paths_:,}", printed(f"{tolerance:.0e}"), row["iterations"], f"{row['ratio']:.0f}"]
        for (steps, paths_, tolerance), row in sorted(best.items())
    ]
    return f"""## One pass against many

Processor time of the iteration of whole trajectories over that of the causal pass, one thread each, at the damping that
suits it best.

{table(["steps", "paths", "tolerance", "rounds", "ratio"], rows)}"""


def growth(results: dict[str, Any]) -> str:
    """Say how time and memory grow, as the powers of straight lines through logarithms."""
    rows = []
    for name, sweep in results["growth"].items():
        last, powers = sweep["rows"][-1], sweep["exponents"]
        size = f"{name} = {last[name]:,}: {last['seconds']:.2g} s, {last['megabytes']:.0f} MB"
        rows.append([name, f"{powers['time']:.1f}", f"{powers['memory']:.1f}", size])
    heads = ["with", "time as the power", "memory as the power", "largest measured"]
    return f"## How it grows\n\n{table(heads, rows)}"


def live(results: dict[str, Any]) -> str:
    """Say how smoothly the live page runs."""
    heads = ["phase", "$b$", "$\\tau$", "$N$", "frames a second", "slowest frame", "one step"]
    rows = []
    for row in results["runs"]:
        tau = "none" if row["persistence"] is None else f"{row['persistence']:g}"
        frames, slowest = f"{row['frames_per_second']:.0f}", f"{row['slowest_milliseconds']:.0f} ms"
        step = f"{row['step_milliseconds']:.2g} ms"
        rows.append([row["phase"], f"{row['batch']:g}", tau, row["features"], frames, slowest, step])
    return f"""## The live page

Whole runs of {{doc}}`/notebooks/live` without a window, in {results["browser"]}. A frame computes for
{results["budget_milliseconds"]} milliseconds at most, or for one step where that takes longer; the slowest frames are
those in which the browser has other things to do.

{table(heads, rows)}"""


def pages(results: dict[str, Any]) -> str:
    """Say how fast the pages of the book open and how much it weighs."""
    opened = results["pages"]
    median = opened[len(opened) // 2]["loaded_seconds"]
    view, typeset = (max(page[name] for page in opened) for name in ("view_seconds", "typeset_seconds"))
    return f"""## The pages of this book

Opened from disk without a window, in {results["browser"]}: half of the {len(opened)} pages load in {median:.2g} s or
less, the slowest, `{opened[0]["page"]}`, in {opened[0]["loaded_seconds"]:.2g} s. The formulas in view are typeset after
{view:.2g} s at the latest, all formulas of a page after {typeset:.2g} s. The whole site is {results["site"] / 1e6:.0f}
MB, with its PDF and {results["archives"] / 1e6:.1g} MB of results behind the figures."""
