"""What the time of a long solution of the two-time theory goes into, and how near that is to the limits of a core.

    python benchmarks/bench_long.py --out _build/bench_long.json [--quick]

One population of persistent SGD in the UNSAT phase, after compilation. Times are processor times of the functions that
make up a step; their arithmetic is counted from the equations and from the active times of the paths. The limits are
measured in the same run: a product of two large matrices, and the sum of an array that is larger than the cache.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ |= {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np

import sgdnoise as sn
from sgdnoise.dmft import paths, population, triangles
from sgdnoise.dmft.causal import solve_causal
from sgdnoise.dmft.population import Population
from sgdnoise.dmft.weights import Rule

PROBLEM, ALGORITHM, DT, PATHS = sn.Problem(alpha=8), sn.PersistentSGD(batch=0.3, persistence=2.0), 0.05, 2100

#: Part of the work -> where its function is looked up, and its name there.
PARTS = {
    "orthogonal noises": (population, "draw_normals"),
    "fields": (paths, "fields"),
    "responses": (paths, "sums"),
    "propagator": (triangles, "propagator_row"),
    "factor of the noise": (triangles, "noise_row"),
    "factor of the correlation": (triangles, "factor_row"),
}

#: Bytes that an operation needs: one number for every product and sum, where they are not used again at once.
BYTES = {"fields": 2.0, **dict.fromkeys(list(PARTS)[2:], 4.0)}


def timed(function, name, spent):
    """Return the function, with its time added up."""

    def wrapper(*arguments):
        began = time.process_time()
        result = function(*arguments)
        spent[name] += time.process_time() - began
        return result

    return wrapper


def profile(steps):
    """Seconds, operations and bytes of each part of a solution."""
    spent, kept = dict.fromkeys(PARTS, 0.0), {}
    for name, (module, function) in PARTS.items():
        kept[name] = getattr(module, function)
        setattr(module, function, timed(kept[name], name, spent))
    try:
        began = time.process_time()
        process = ALGORITHM.sampling(DT)
        paths_now = Population.draw(PROBLEM, process, DT, (steps, 1, PATHS), True, np.random.SeedSequence(0))
        solve_causal(paths_now, Rule(ALGORITHM.update(DT, PROBLEM.ridge), DT))
        total = time.process_time() - began
    finally:
        for name, (module, function) in PARTS.items():
            setattr(module, function, kept[name])
    work = arithmetic(steps, paths_now.active)
    parts = {
        name: {
            "seconds": seconds,
            "part": seconds / total,
            "gflops": work[name] / seconds / 1e9,
            "gb_per_s": BYTES.get(name, 0.0) * work[name] / seconds / 1e9,
        }
        for name, seconds in spent.items()
    }
    return {"steps": steps, "paths": PATHS, "seconds": total, "parts": parts}


def arithmetic(steps, active):
    """Products and sums of each part."""
    columns = steps + 2
    frame = min(columns, PATHS // 8)
    triangle = sum(t * t for t in range(steps))  # two operations for each number of a triangle, at every step
    pulls = responses = covariances = 0.0
    for kick, n in zip(active.kick[0].astype(float), active.length[0], strict=True):
        pulls += 2 * float(steps + 1 - kick[:n] @ np.ones(n) / max(n, 1)) * n
        responses += 2 * float(kick[:n] @ np.arange(n)[::-1])  # at each later active time
        covariances += float(n) * n
    return {
        "orthogonal noises": 4.0 * PATHS * (frame * columns - frame * frame / 2),
        "fields": PATHS * float(steps + 1) * (steps + 2) + pulls,
        "responses": responses + covariances,
        "propagator": float(triangle),
        "factor of the noise": float(triangle),
        "factor of the correlation": float(triangle),
    }


def limits():
    """What one core reaches: a large matrix product, and reading memory."""
    rng = np.random.default_rng(0)
    A, long = rng.random((1200, 1200)), rng.random(40_000_000)
    product, read = np.inf, np.inf
    for _ in range(3):
        began = time.process_time()
        A @ A
        product = min(product, time.process_time() - began)
        began = time.process_time()
        long.sum()
        read = min(read, time.process_time() - began)
    return {"gemm_gflops": 2 * 1200**3 / product / 1e9, "read_gb_per_s": long.nbytes / read / 1e9}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where to write the numbers, as JSON")
    parser.add_argument("--quick", action="store_true", help="leave out what takes longer than a minute")
    options = parser.parse_args(arguments)
    profile(20)  # compiles
    sizes = (100, 200) if options.quick else (250, 500, 1000, 2000)
    results = {"limits": limits(), "rows": [profile(steps) for steps in sizes]}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
