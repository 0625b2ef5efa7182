"""What a loss of one's own costs, and what the hand-written vectors gain, as ratios measured in one run.

    python benchmarks/bench_parts.py --out _build/bench_parts.json [--repeats 15]

Everything is processor time of one thread, the best of some repeats in turns. A Huber hinge whose width is never
reached does the work of the squared hinge, but is a user's own class. The logistic loss is compared with the square
loss, because the gradient of neither vanishes, and the difference with the time of its exponentials and logarithms
alone: slope and curvature of a sample share an exponential, its value is one more and a logarithm. Plain loops do what
the functions of sgdnoise.vectors do, on the same data, compiled with leave to reorder sums.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numba
import numpy as np

import sgdnoise as sn
from sgdnoise.vectors.lanes import STRIP_BYTES, aligned, lanes, padded, pitch
from sgdnoise.vectors.rows import dot_strip, sum_strip

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from own_parts import HuberHinge

LOSSES = {"squared hinge": sn.squared_hinge, "own": HuberHinge(1e6), "square": sn.square, "logistic": sn.logistic}
STEPS, ROWS = 40, 32


def in_turns(functions, repeats):
    """Return the best processor time of each function; they take turns, after one call that compiles."""
    best = dict.fromkeys(functions, np.inf)
    for turn in range(repeats + 1):
        for name, function in functions.items():
            began = time.process_time()
            function()
            if turn:
                best[name] = min(best[name], time.process_time() - began)
    return best


def engines():
    """The two engines, the first in both coordinates, with the exponentials of the slopes and the values of a run.

    A simulation works out slopes of batches (by samples: of all), and values of all samples at its start and its end;
    the theory works out both for every path at every step.
    """
    sgd, small = sn.SGD(0.3), {"realisations": 1, "progress": False}

    def run(loss, alpha, ridge):
        problem = sn.Problem(alpha=alpha, ridge=ridge, loss=loss)
        options = {"features": 400, "record_every": STEPS, "workers": 1, **small}
        return lambda: sn.simulate(problem, sgd, 0.05, 0.05 * STEPS, **options)

    def theory(loss):
        problem = sn.Problem(alpha=3, loss=loss)
        return lambda: sn.solve_dmft(problem, sgd, 0.05, 0.05 * STEPS, paths=4000, waiting_times=[0.0], **small)

    return {
        "simulation by features": (lambda loss: run(loss, 6, 1.0), np.float32, STEPS * 0.3 * 2400, 2 * 2400),
        "simulation by samples": (lambda loss: run(loss, 0.5, 0.0), np.float64, STEPS * 200, 2 * 200),
        "theory": (theory, np.float64, STEPS * 4000, (STEPS + 1) * 4000),
    }


@numba.njit(error_model="numpy")
def exponentials(x):
    total = 0.0
    for i in range(x.size):
        total += np.exp(-x[i])
    return total


@numba.njit(error_model="numpy")
def logarithms(x):
    total = 0.0
    for i in range(x.size):
        total += np.log(1 + x[i])
    return total


def losses(repeats):
    x = np.linspace(0, 3, 100_000)
    single = x.astype(np.float32)
    rows = []
    for engine, (make, kind, slopes, values) in engines().items():
        work = {name: make(loss) for name, loss in LOSSES.items()}
        work |= {np.float32: lambda: exponentials(single), np.float64: lambda: exponentials(x)}
        found = in_turns(work | {"logarithms": lambda: logarithms(x)}, repeats)
        alone = slopes * found[kind] + values * (found[np.float64] + found["logarithms"])
        rows.append(
            {
                "engine": engine,
                "own_over_squared_hinge": found["own"] / found["squared hinge"],
                "logistic_over_square": found["logistic"] / found["square"],
                "exponentials_over_square": 1 + alone / x.size / found["square"],
            }
        )
    return rows


@numba.njit(fastmath=True, error_model="numpy")
def plain_dot(x, w, v):
    p = q = x.dtype.type(0)
    for k in range(w.size):
        p += x[k] * w[k]
        q += x[k] * v[k]
    return p, q


@numba.njit(fastmath=True, error_model="numpy")
def plain_sum(x, y, z, u, p, q, g, f):
    for k in range(g.size):
        g[k] += p[0] * x[k] + p[1] * y[k] + p[2] * z[k] + p[3] * u[k]
        f[k] += q[0] * x[k] + q[1] * y[k] + q[2] * z[k] + q[3] * u[k]


@numba.njit(error_model="numpy")
def vectors(A, chosen, W, P, p, G, strip, rounds):
    for _ in range(rounds):
        for j in range(0, W.shape[1], strip):  # all columns take a strip while it is in the first-level cache
            for c in range(0, W.shape[0], 2):
                dot_strip(A, chosen, j, W, (c, c + 1), P[c], P[c + 1])
        for j in range(0, W.shape[1], strip):
            for c in range(0, W.shape[0], 2):
                sum_strip(A, chosen, j, p[c], p[c + 1], G, (c, c + 1), j)


@numba.njit(error_model="numpy")
def loops(A, chosen, W, P, p, G, rounds):
    for _ in range(rounds):
        for i in range(chosen.size):  # all columns take a row while it is in the first-level cache
            for c in range(0, W.shape[0], 2):
                P[c, i, 0], P[c + 1, i, 0] = plain_dot(A[chosen[i]], W[c], W[c + 1])
        for i in range(0, chosen.size, 4):  # four rows at a time, so that sums are loaded and stored less often
            x, y, z, u = A[chosen[i]], A[chosen[i + 1]], A[chosen[i + 2]], A[chosen[i + 3]]
            for c in range(0, W.shape[0], 2):
                plain_sum(x, y, z, u, p[c, i : i + 4], p[c + 1, i : i + 4], G[c], G[c + 1])


def plain_loops(repeats):
    """Products with, and sums of, the rows of one block, for some columns: what gradients are made of."""
    rows = []
    for kind, features, columns in ((np.float32, 750, 2), (np.float32, 750, 20), (np.float64, 1000, 20)):
        A, W, G = (aligned((n, pitch(features, kind)), kind) for n in (200, columns, columns))
        A[:, :features] = np.random.default_rng(0).standard_normal((200, features)) * 1e-3
        W, G = W[:, : padded(features)].copy(), G[:, : padded(features)].copy()
        chosen, p = np.arange(0, 200, 200 // ROWS)[:ROWS], np.full((columns, ROWS), 1e-3, kind)
        work = A, chosen, W, np.zeros((columns, ROWS, lanes(kind)), kind), p, G
        strip = STRIP_BYTES // np.dtype(kind).itemsize
        found = in_turns(
            {
                "vectors": lambda work=work, strip=strip: vectors(*work, strip, 40),
                "loops": lambda work=work: loops(*work, 40),
            },
            repeats,
        )
        name = f"{columns} columns, {np.dtype(kind).name}"
        rows.append({"numbers": name, "loops_over_vectors": found["loops"] / found["vectors"]})
    return rows


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="write the results there as JSON")
    parser.add_argument("--repeats", type=int, default=15)
    arguments, _ = parser.parse_known_args(words)
    results = {"losses": losses(arguments.repeats), "loops": plain_loops(arguments.repeats)}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
