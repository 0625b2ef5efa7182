"""What ``make bench`` measured, as the book shows it.

``book/benchmarks.json`` keeps the last results that were adopted by ``make readme``; a build of the book does not
measure anything, because it would measure how busy the machine is with building.
"""

import json
import re
from typing import Any

from bookbuild import paths
from bookbuild.numerals import printed


def adopt() -> None:
    """Keep the results of the benchmarks that were run in this folder, if any."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(paths.BENCH.glob("*.json"))}
    if found:
        text = json.dumps({**load(), **found}, indent=1, sort_keys=True)
        paths.BENCHMARK_RESULTS.write_text(text + "\n", encoding="utf-8")


def load() -> dict[str, Any]:
    """Return the results that were adopted last."""
    return dict(json.loads(paths.BENCHMARK_RESULTS.read_text(encoding="utf-8")))


def tables() -> str:
    """Write the results as sections of a page, in MyST."""
    known = load()
    parts = []
    if "bench_simulate" in known:
        parts.append(simulation_table(known["bench_simulate"]))
    if "bench_dmft" in known:
        parts += [
            theory_table(known["bench_dmft"]),
            iteration_table(known["bench_dmft"]),
            growth_table(known["bench_dmft"]),
        ]
    if "bench_live" in known:
        parts.append(live_table(known["bench_live"]))
    if "bench_pages" in known:
        parts.append(pages_text(known["bench_pages"]))
    return "\n\n".join(parts) or "Nothing has been measured yet."


def simulation_table(results: dict[str, Any]) -> str:
    """Compare the simulators with a plain loop in NumPy and with JAX."""
    lines = [
        "## Training runs",
        "",
        f"One single-threaded process on each of {len(results['cores'])} cores; the same work by a plain NumPy loop in "
        "double precision, by JAX in its best batched form, and by `sgdnoise`; times relative to NumPy's. The goal is "
        "what prototypes had; the last column the arithmetic that is needed, over what a large matrix product reaches "
        "on the same core. The work: (i) $\\alpha=6$, GD and SGD with $b=0.3$, six learning rates from 0.2 to 0.01, to "
        "$t=15$; (ii) training to the stop, $N=1000$, $\\alpha=\\Delta=0.5$, ten pairs $(b,\\tau)$, two replicas; "
        "(iii) the same ten pairs in the UNSAT phase, $N=750$, $\\alpha=8$, to $t=20$; (iv) correlation and response "
        "with eight probes, $N=2000$, $\\alpha=6$, $b=0.1$, 400 steps.",
        "",
        "| work | NumPy | JAX | `sgdnoise` | goal | of a matrix product |",
        "|---|---|---|---|---|---|",
    ]
    sizes = [row for row in results["work"] if row["work"].startswith("(i) N=")]
    for row in results["work"]:
        jax = f"1/{row['numpy_over_jax']:.1f}" if row["numpy_over_jax"] else ""
        ours, goal = f"1/{row['numpy_over_ours']:.1f}", "" if row in sizes else f"1/{row['goal']}"
        lines.append(f"| {in_maths(row['work'])} | 1 | {jax} | {ours} | {goal} | {row['part_of_gemm']:.0%} |")
        if sizes and row is sizes[-1]:
            fast, plain = (sum(size[f"{engine}_seconds"] for size in sizes) for engine in ("ours", "numpy"))
            lines.append(f"| (i) all sizes | 1 | | 1/{plain / fast:.1f} | 1/{row['goal']} | |")
    limits = results["limits"]
    lines += [
        "",
        f"Limits of one core in the same run: matrix products {limits['gemm_gflops_float32']:.0f} GFlop/s in single "
        f"and {limits['gemm_gflops_float64']:.0f} in double precision, reading {limits['read_gb_per_s']:.0f} GB/s.",
    ]
    return "\n".join(lines)


def in_maths(words: str) -> str:
    r"""Set the parameters in the name of a benchmark as formulas.

    >>> in_maths("T=2,000, b=0.3, tau=2")
    '$T=2{,}000$, $b=0.3$, $\\tau=2$'
    """
    parts = re.compile(r"\b(N|T|b|tau)=([\d.,]*\d)")
    return parts.sub(lambda m: f"${m[1].replace('tau', chr(92) + 'tau')}={m[2].replace(',', '{,}')}$", words)


def theory_table(results: dict[str, Any]) -> str:
    """Say how long the theory takes at the sizes that were promised."""
    lines = ["## Theory", "", "| size | measured | goal |", "|---|---|---|"]
    for name, row in results["targets"].items():
        lines.append(f"| {in_maths(name)} | {row['seconds']:.2g} s | {row['promised']:g} s |")
    lines += [
        "",
        "For scale, with the public solver of these equations: 30 of its iterations at its published times (one"
        " core of another machine), over our wall time with all threads. An indication, not a measurement.",
        "",
        "| steps | paths | times faster | |",
        "|---|---|---|---|",
    ]
    for row in results["public"]:
        how = "extrapolated from its published times" if row.get("extrapolated") else ""
        lines.append(f"| {row['steps']} | {row['paths']:,} | {row['ratio']:,.0f} | {how} |")
    return "\n".join(lines)


def iteration_table(results: dict[str, Any]) -> str:
    """Compare one causal pass with the iteration of whole trajectories."""
    lines = [
        "## One pass against many",
        "",
        "Processor time of the iteration of whole trajectories over that of the causal pass, one thread each, at the "
        "damping that suits it best.",
        "",
        "| steps | paths | tolerance | rounds | ratio |",
        "|---|---|---|---|---|",
    ]
    best: dict[tuple[int, int, float], dict[str, Any]] = {}
    for row in results["iteration"]:
        size = row["steps"], row["paths"], row["tolerance"]
        reached = row.get("residual", 1.0) <= row["tolerance"]
        if reached and (size not in best or row["ratio"] < best[size]["ratio"]):
            best[size] = row
    for (steps, paths_, tolerance), row in sorted(best.items()):
        lines.append(
            f"| {steps} | {paths_:,} | {printed(f'{tolerance:.0e}')} | {row['iterations']} | {row['ratio']:.0f} |"
        )
    return "\n".join(lines)


def growth_table(results: dict[str, Any]) -> str:
    """Say how time and memory grow, as the powers of straight lines through logarithms."""
    lines = [
        "## How it grows",
        "",
        "| with | time as the power | memory as the power | largest measured |",
        "|---|---|---|---|",
    ]
    for name, sweep in results["growth"].items():
        last, powers = sweep["rows"][-1], sweep["exponents"]
        size = f"{name} = {last[name]:,}: {last['seconds']:.2g} s, {last['megabytes']:.0f} MB"
        lines.append(f"| {name} | {powers['time']:.1f} | {powers['memory']:.1f} | {size} |")
    return "\n".join(lines)


def live_table(results: dict[str, Any]) -> str:
    """Say how smoothly the live page runs."""
    lines = [
        "## The live page",
        "",
        f"Whole runs of {{doc}}`/notebooks/live` without a window, in {results['browser']}. A frame computes for "
        f"{results['budget_milliseconds']} milliseconds at most, or for one step where that takes longer; the slowest "
        "frames are those in which the browser has other things to do.",
        "",
        "| phase | $b$ | $\\tau$ | $N$ | frames a second | slowest frame | one step |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results["runs"]:
        tau = "none" if row["persistence"] is None else f"{row['persistence']:g}"
        lines.append(
            f"| {row['phase']} | {row['batch']:g} | {tau} | {row['features']} | {row['frames_per_second']:.0f} | "
            f"{row['slowest_milliseconds']:.0f} ms | {row['step_milliseconds']:.2g} ms |"
        )
    return "\n".join(lines)


def pages_text(results: dict[str, Any]) -> str:
    """Say how fast the pages of the book open and how much it weighs."""
    pages = results["pages"]
    slowest = pages[0]
    median = pages[len(pages) // 2]["loaded_seconds"]
    view, typeset = (max(page[name] for page in pages) for name in ("view_seconds", "typeset_seconds"))
    return (
        f"## The pages of this book\n\nOpened from disk without a window, in {results['browser']}: half of the "
        f"{len(pages)} pages load in {median:.2g} s or less, the slowest, `{slowest['page']}`, in "
        f"{slowest['loaded_seconds']:.2g} s. The formulas in view are typeset after {view:.2g} s at the latest, all "
        f"formulas of a page after {typeset:.2g} s. The whole site is {results['site'] / 1e6:.0f} MB, with its PDF and "
        f"{results['archives'] / 1e6:.1g} MB of results behind the figures."
    )
