"""What the algorithms cost, each over vanilla SGD, in both engines and in one run.

    python benchmarks/bench_algorithms.py --out _build/bench/bench_algorithms.json

One thread, processor time, best of several rounds in turns, so that a slow moment of the machine meets all of them.
Algorithms without a batch are compared with a batch of nearly everything: gradient descent itself arrives and rests.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ |= {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import sgdnoise as sn

PROBLEM = sn.Problem(alpha=6)
BATCH, NEARLY_ALL = 0.1, 0.9999
VANILLA, FULL = sn.SGD(BATCH), sn.SGD(NEARLY_ALL)
#: Algorithm and what it is compared with.
PAIRS = {
    "batch mean": (sn.SGD(BATCH, gradient="mean"), VANILLA),
    "momentum 0.9": (sn.SGD(BATCH, momentum=0.9), VANILLA),
    "shuffled epochs": (sn.ShuffledSGD(BATCH), VANILLA),
    "persistent, $\\tau=2$": (sn.PersistentSGD(BATCH, 2.0), VANILLA),
    "Gaussian": (sn.GaussianSGD(BATCH), FULL),
    "Langevin": (sn.Langevin(0.01), FULL),
}


def simulation(algorithm, scale):
    sn.simulate(PROBLEM, algorithm, 0.01, scale, features=750, replicas=2, realisations=1, loss_every=10, workers=1)


def theory(algorithm, scale):
    sn.solve_dmft(PROBLEM, algorithm, 0.01, scale, paths=4000, realisations=1)


def processor_time(engine, algorithm, scale):
    began = time.process_time()
    engine(algorithm, scale)
    return time.process_time() - began


def compare(engine, scale, rounds):
    """Cost of each algorithm over that of its reference."""
    algorithms = {algorithm: None for pair in PAIRS.values() for algorithm in pair}
    for algorithm in algorithms:
        engine(algorithm, 0.02)  # compiles
    best = dict.fromkeys(algorithms, float("inf"))
    for _ in range(rounds):
        for algorithm in algorithms:
            best[algorithm] = min(best[algorithm], processor_time(engine, algorithm, scale))
    return {name: best[algorithm] / best[reference] for name, (algorithm, reference) in PAIRS.items()}


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the training time to run (below 1: quicker)")
    arguments, _ = parser.parse_known_args(words)  # `make bench ARGS=...` is for all benchmarks
    duration = max(0.1, round(arguments.scale, 1))
    found = {engine.__name__: compare(engine, duration, arguments.repeats) for engine in (simulation, theory)}
    rows = [{"algorithm": name} | {engine: ratios[name] for engine, ratios in found.items()} for name in PAIRS]
    for row in rows:
        print(f"{row['algorithm']:25s} simulation {row['simulation']:.2f}, theory {row['theory']:.2f}")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
