"""What the simulators cost: the paper's four kinds of work, against plain NumPy and JAX, all measured in one run.

    python benchmarks/bench_simulate.py --out _build/bench_simulate.json

Each engine runs in single-thread processes pinned one a core, all cores at once, as a sweep would; a time is the
slowest core's best repeat. Ours does the whole work of one data set (of four, where it is small). NumPy and JAX do
enough steps for a stable time a step, and are extrapolated by the number of steps; their data sets are drawn in full.
Recording is the same for all, every tenth step. The machine's own limits are measured in the same run.
"""

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RATES = (0.2, 0.1, 0.05, 0.03, 0.02, 0.01)
PAIRS = [(0.3, tau) for tau in (0.5, 1.0, 2.0, 4.0, 8.0)] + [(b, 2.0) for b in (0.1, 0.2, 0.4, 0.8, 0.99)]


@dataclass(frozen=True)
class Column:
    """One replica of one run: batch fraction, persistence (None: no memory), learning rate, number of steps."""

    batch: float
    persistence: float | None
    rate: float
    steps: int


@dataclass(frozen=True)
class Work:
    name: str
    features: int
    alpha: float
    delta: float
    ridge: float
    columns: tuple[Column, ...]
    data_sets: int
    goal: float
    probes: int = 0
    wait: int = 0
    stop: float | None = None

    @property
    def samples(self):
        return round(self.alpha * self.features)


def small_step_columns(duration):
    return tuple(Column(b, None, dt, round(duration / dt)) for dt in RATES for b in (1.0, 0.3))


def pair_columns(rate, steps):
    return tuple(Column(b, tau, rate, steps) for b, tau in PAIRS for _ in range(2))


def works(scale):
    """Return the four kinds of work of the paper; ``scale`` below 1 shortens the training times."""
    sizes = {325: 150, 750: 150, 1500: 150}
    steps = max(20, round(400 * scale) // 20 * 20)
    return [
        *(
            Work(f"(i) N={n}", n, 6.0, 1.0, 1.0, small_step_columns(max(0.6, round(15 * scale / 0.6) * 0.6)), sets, 12)
            for n, sets in sizes.items()
        ),
        Work("(ii) SAT", 1000, 0.5, 0.5, 0.0, pair_columns(0.2, 20000), 100, 45, stop=1e-10),
        Work("(iii) UNSAT", 750, 8.0, 1.0, 1.0, pair_columns(0.05, steps), 100, 16),
        Work("(iv) response", 2000, 6.0, 1.0, 1.0, (Column(0.1, None, 0.1, steps),), 8, 40, probes=8, wait=steps // 4),
    ]


def best(function, repeats):
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


# Ours: the whole work of one data set.


def run_ours(work, repeats):
    import sgdnoise as sn

    def algorithm(column):
        if column.persistence is not None:
            return sn.PersistentSGD(column.batch, column.persistence)
        return sn.GD() if column.batch == 1.0 else sn.SGD(column.batch)

    replicas = 2 if work.columns[0].persistence is not None else 1
    runs = [(algorithm(column), column.rate) for column in work.columns[::replicas]]
    duration = work.columns[0].rate * work.columns[0].steps
    problem = sn.Problem(alpha=work.alpha, delta=work.delta, ridge=work.ridge)
    options = {"features": work.features, "replicas": replicas, "workers": 1, "on_divergence": "mark"}
    if work.probes:
        options |= {"waiting_times": (work.wait * work.columns[0].rate,), "probes": work.probes, "loss_every": 10}
    else:
        options |= {"record_every": 10}

    def one(sets):
        found = sn.simulate_paired(
            problem, runs, duration, realisations=sets, stop_gradient=work.stop, progress=False, **options
        )
        return found

    found = one(1)  # compiles
    sets = 1 if work.samples * work.features > 1e6 else 4  # of small ones a few, as labelling the result takes time too
    seconds = best(lambda: one(sets), repeats) / sets
    if work.stop is None:
        steps = [column.steps for column in work.columns]
    else:
        rate = work.columns[0].rate
        steps = [round(float(t) / rate) for run in found for t in run.stopping_time.values.ravel()]
    # Part of the samples below the margin, over the recorded times before a run (and all its replicas) has stopped.
    below = []
    for i, run in enumerate(found):
        end = max(steps[i * replicas : (i + 1) * replicas]) * work.columns[i * replicas].rate
        below.append(run.unsatisfied.where(run.time <= end).mean())
    return {"seconds": seconds, "steps": steps, "unsatisfied": float(np.nanmean(below))}


# NumPy: the loop that one would write, in double precision.


def run_numpy(work, repeats, steps):
    rng = np.random.default_rng(0)
    N, M = work.features, work.samples

    def draw():
        return 1 / N + math.sqrt(work.delta / N) * rng.standard_normal((M, N))

    A = draw()
    drawing = best(draw, repeats)
    tried = 6 if M * N > 1e6 else 60
    per_step = {}
    for column in {column.batch: column for column in work.columns}.values():
        per_step[column.batch] = best(lambda c=column: numpy_steps(work, c, A, rng, tried), repeats) / tried
    seconds = drawing + sum(n * per_step[column.batch] for column, n in zip(work.columns, steps, strict=True))
    if work.probes:
        live = best(lambda: numpy_steps(work, work.columns[0], A, rng, tried, work.probes), repeats) / tried
        seconds += (steps[0] - work.wait) * (live - per_step[work.columns[0].batch])
    return {"seconds": seconds, "per_step": max(per_step.values())}


def numpy_steps(work, column, A, rng, steps, probes=0):
    M, N = A.shape
    w = rng.standard_normal(N)
    xi = rng.choice([-1.0, 1.0], (N, probes))
    D, chi, marked = xi.copy(), 0.0, w
    b, dt = column.batch, column.rate
    enter, stay = (
        (b, b) if column.persistence is None else (dt / column.persistence, 1 - (1 - b) / b * dt / column.persistence)
    )
    s = rng.random(M) < b
    record = []
    for k in range(steps):
        h = A @ w
        slope = np.minimum(h - 1, 0)
        if k % 10 == 0:
            record.append((w.mean(), w @ w / N, 0.5 * (slope @ slope) / N, np.count_nonzero(h < 1) / M))
        gradient = A.T @ (s * slope) + work.ridge * w
        if work.stop is not None and gradient @ gradient <= 0:
            break
        if probes:
            chi += dt * np.sum(xi * D) / (N * probes)
            record.append((w @ marked / N, chi))
            D = D - dt * (A.T @ ((s * (h < 1))[:, None] * (A @ D)) + work.ridge * D)
        w = w - dt * gradient
        if b < 1:
            s = rng.random(M) < np.where(s, stay, enter)
    return record


# JAX: all columns at once, float32 (float64 for the SAT phase), compiled, batches drawn inside.


def run_jax(work, repeats, steps):
    import jax
    import jax.numpy as jnp

    double = work.stop is not None
    jax.config.update("jax_enable_x64", double)
    kind = jnp.float64 if double else jnp.float32
    N, M = work.features, work.samples
    draw = jax.jit(lambda key: 1 / N + math.sqrt(work.delta / N) * jax.random.normal(key, (M, N), kind))
    A = draw(jax.random.key(0)).block_until_ready()
    drawing = best(lambda: draw(jax.random.key(1)).block_until_ready(), repeats)
    tried = 10 if M * N > 1e6 else 50

    def per_step(columns, probes):
        b = jnp.array([c.batch for c in columns], kind)
        dt = jnp.array([c.rate for c in columns], kind)
        fast = [
            (c.batch, c.batch)
            if c.persistence is None
            else (c.rate / c.persistence, 1 - (1 - c.batch) / c.batch * c.rate / c.persistence)
            for c in columns
        ]
        enter, stay = (jnp.array(x, kind) for x in zip(*fast, strict=True))

        def step(state, key):
            W, s, D = state
            h = A @ W
            slope = jnp.minimum(h - 1, 0)
            gradient = A.T @ (jnp.where(s, slope, 0)) + work.ridge * W
            if probes:
                c = jnp.where(s[:, :1] & (h[:, :1] < 1), 1, 0).astype(kind)
                D = D - dt[0] * (A.T @ (c * (A @ D)) + work.ridge * D)
            out = (W.mean(0), (W**2).sum(0), (slope**2).sum(0), (h < 1).sum(0), (gradient**2).sum(0), D.sum())
            W = W - dt * gradient
            s = jax.random.uniform(key, s.shape, kind) < jnp.where(s, stay, enter)
            return (W, s, D), out

        def run(key):
            first, second, third, rest = jax.random.split(key, 4)
            W = jax.random.normal(first, (N, len(columns)), kind)
            s = jax.random.uniform(second, (M, len(columns)), kind) < b
            D = jnp.where(jax.random.bernoulli(third, 0.5, (N, probes)), 1, -1).astype(kind)
            return jax.lax.scan(step, (W, s, D), jax.random.split(rest, tried))[1]

        compiled = jax.jit(run)
        jax.block_until_ready(compiled(jax.random.key(2)))
        return best(lambda: jax.block_until_ready(compiled(jax.random.key(3))), repeats) / tried

    # Columns leave the batch as their runs end.
    ends = sorted(set(steps))
    seconds, before = drawing, 0
    if work.stop is not None:
        ends = ends[-1:]  # a batch of fixed shape runs to the last stop
    for end in ends:
        alive = [c for c, n in zip(work.columns, steps, strict=True) if n >= end] if work.stop is None else work.columns
        if work.probes:
            seconds += work.wait * per_step(alive, 0) + (end - work.wait) * per_step(alive, work.probes)
        else:
            seconds += (end - before) * per_step(alive, 0)
        before = end
    return {"seconds": seconds}


def run_limits(repeats):
    """GEMM rates of one core, and the rate at which a matrix larger than the caches is read by a product."""
    out = {}
    for kind in (np.float32, np.float64):
        a = np.ones((1024, 1024), kind)
        out[f"gemm_gflops_{kind.__name__}"] = 2 * 1024**3 / best(lambda a=a: a @ a, 2 * repeats) / 1e9
    A, w = np.ones((16384, 2048)), np.ones(2048)
    out["read_gb_per_s"] = A.nbytes / best(lambda: A @ w, 2 * repeats) / 1e9
    return out


def useful_flops(work, steps, unsatisfied):
    """Products of the plain form: one for each batch row, one more for each that pushes (this part of them).

    In sample space, one of the length of the samples for each that pushes. Steps that are skipped because descent has
    arrived count as if they were done.
    """
    if work.samples <= work.features:
        rows = sum(n * c.batch for c, n in zip(work.columns, steps, strict=True)) * work.samples * unsatisfied
        return 2.0 * work.samples * rows
    per_row = 2.0 * work.features * work.samples
    total = sum(n * c.batch for c, n in zip(work.columns, steps, strict=True)) * per_row * (1 + unsatisfied)
    if work.probes:
        total += 2 * work.probes * (steps[0] - work.wait) * work.columns[0].batch * per_row * unsatisfied
    return total


# One child process a core; the parent compares.


def child(arguments):
    work = works(arguments.scale)[arguments.work]
    if arguments.child == "limits":
        found = run_limits(arguments.repeats)
    elif arguments.child == "ours":
        found = run_ours(work, arguments.repeats)
    else:
        run = run_numpy if arguments.child == "numpy" else run_jax
        found = run(work, arguments.repeats, json.loads(arguments.steps))
    print(json.dumps(found))


def on_every_core(engine, index, arguments, steps=None):
    """Run one engine on all cores at once; return what the slowest reports, or None where it cannot run."""
    python = arguments.jax_python if engine == "jax" else sys.executable
    threads = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    flags = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "JAX_PLATFORMS": "cpu"}
    command = [python, __file__, "--child", engine, "--work", str(index), "--repeats", str(arguments.repeats)]
    command += ["--scale", str(arguments.scale), "--steps", json.dumps(steps)]
    children = []
    for core in arguments.cores:
        pin = ["taskset", "-c", str(core)]
        children.append(
            subprocess.Popen(
                [*pin, *command],
                env={**os.environ, **threads, **flags},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    found = []
    for process in children:
        out, error = process.communicate()
        if process.returncode != 0:
            if engine != "jax":
                raise RuntimeError(error)
            return None
        found.append(json.loads(out.splitlines()[-1]))
    return max(found, key=lambda one: one.get("seconds", 0.0))


def compare(arguments):
    results = {
        "limits": on_every_core("limits", 0, arguments),
        "cores": arguments.cores,
        "scale": arguments.scale,
        "work": [],
    }
    print(json.dumps(results["limits"]))
    for index, work in enumerate(works(arguments.scale)):
        if arguments.only and not any(name in work.name for name in arguments.only):
            continue
        ours = on_every_core("ours", index, arguments)
        numpy = on_every_core("numpy", index, arguments, ours["steps"])
        jax = None if arguments.no_jax else on_every_core("jax", index, arguments, ours["steps"])
        kind = "float64" if work.stop is not None else "float32"
        rate = useful_flops(work, ours["steps"], ours["unsatisfied"]) / ours["seconds"] / 1e9
        row = {
            "work": work.name,
            "ours_seconds": ours["seconds"],
            "numpy_seconds": numpy["seconds"],
            "jax_seconds": jax and jax["seconds"],
            "numpy_over_ours": numpy["seconds"] / ours["seconds"],
            "numpy_over_jax": jax and numpy["seconds"] / jax["seconds"],
            "goal": work.goal,
            "column_steps": sum(ours["steps"]),
            "useful_gflops": rate,
            "part_of_gemm": rate / results["limits"][f"gemm_gflops_{kind}"],
            "paper_minutes": ours["seconds"] * work.data_sets / len(arguments.cores) / 60,
        }
        results["work"].append(row)
        verdict = "reached" if row["numpy_over_ours"] >= work.goal else "not reached"
        other = f", JAX 1/{row['numpy_over_jax']:.1f}" if jax else ""
        print(
            f"{work.name:14s} NumPy {row['numpy_seconds']:.1f} s a set, ours 1/{row['numpy_over_ours']:.1f}{other} "
            f"(goal 1/{work.goal}, {verdict}); {rate:.0f} GFlop/s = {100 * row['part_of_gemm']:.0f} % of GEMM; "
            f"{work.data_sets} data sets in {row['paper_minutes']:.1f} min",
            flush=True,
        )
    sizes = [row for row in results["work"] if row["work"].startswith("(i) ")]
    if len(sizes) > 1:
        ratio = sum(row["numpy_seconds"] for row in sizes) / sum(row["ours_seconds"] for row in sizes)
        print(f"(i) all sizes   ours 1/{ratio:.1f} (goal 1/{sizes[0]['goal']})")
    return results


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the training time to run (below 1: quicker)")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--cores", type=lambda text: [int(c) for c in text.split(",")], default=None)
    parser.add_argument("--only", nargs="*", help="names of the work to run, such as (iii)")
    parser.add_argument("--no-jax", action="store_true")
    parser.add_argument("--jax-python", default=sys.executable, help="interpreter that can import jax")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--steps", default="null", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.cores is None:
        arguments.cores = sorted(os.sched_getaffinity(0))
    if arguments.child:
        with warnings.catch_warnings(), contextlib.redirect_stderr(sys.stderr):
            warnings.simplefilter("ignore")
            child(arguments)
        return
    results = compare(arguments)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
