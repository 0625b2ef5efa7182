"""What a step on given data costs over a step on data of the model, with as many samples and features, in one run.

    python benchmarks/bench_data.py --out _build/bench/bench_data.json

One thread, processor time, best of several rounds in turns, so that a slow moment of the machine meets both. The cost
of a step is that of a long run less that of a short one: drawing the model's data, or copying given ones, is no part.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ |= {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

import sgdnoise as sn

ALGORITHM, RATE = sn.SGD(0.1), 0.01
#: Samples, features, and whether the response is measured.
CASES = {
    "1797 samples, 64 features": (1797, 64, False),
    "1797 samples, 64 features, with response": (1797, 64, True),
    "4500 samples, 750 features": (4500, 750, False),
    "500 samples, 1000 features": (500, 1000, False),
}


def problems(samples, features):
    """The model, and given data of the same size."""
    rng = np.random.default_rng(0)
    ridge = 1.0 if samples > features else 0.0
    y = rng.choice([-1, 1], samples)
    X = y[:, None] / np.sqrt(features) + rng.normal(size=(samples, features))
    return sn.Problem(alpha=samples / features, ridge=ridge), sn.Problem.from_data(X, y, ridge=ridge)


def processor_time(problem, features, response, steps):
    options = {"waiting_times": (10 * RATE,)} if response else {}
    began = time.process_time()
    sn.simulate(
        problem, ALGORITHM, RATE, steps * RATE, features=features, realisations=1, loss_every=10, workers=1, **options
    )
    return time.process_time() - began


def compare(case, scale, rounds):
    samples, features, response = CASES[case]
    pair = problems(samples, features)
    steps = max(40, int(scale * 2e8 / (samples * features) ** 0.9))
    for problem in pair:
        processor_time(problem, features, response, 20)  # compiles
    best = np.full((2, 2), np.inf)
    for _ in range(rounds):
        for i, problem in enumerate(pair):
            for j, count in enumerate((20, 20 + steps)):
                best[i, j] = min(best[i, j], processor_time(problem, features, response, count))
    model, given = best[:, 1] - best[:, 0]
    return {"case": case, "ratio": given / model, "nanoseconds": 1e9 * given / steps / samples}


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the training time to run (below 1: quicker)")
    arguments, _ = parser.parse_known_args(words)  # `make bench ARGS=...` is for all benchmarks
    rows = [compare(case, arguments.scale, arguments.repeats) for case in CASES]
    for row in rows:
        print(f"{row['case']:42s} {row['ratio']:.2f} of the model, {row['nanoseconds']:.2f} ns a step and sample")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
