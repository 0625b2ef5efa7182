"""Precision of the temperature of each frequency for the processor time that it costs: stationary against two-time.

    python benchmarks/bench_stationary.py --out _build/bench_stationary.json [--quick]

The ten choices of the paper's second figure and vanilla SGD. Both solutions run with one thread, after compilation. The
error of a mean over independent populations falls with the square root of their number, so that the time to an error of
one per cent follows from the spread of a few. The two-time solution ends where the tail of the correlation begins to
rest on an extrapolation, as in the book. Errors of errors: with six populations each ratio of times is known within a
factor of about two; their mean over the points is better known.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ |= {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np

import sgdnoise as sn

PROBLEM, DT, FREQUENCIES = sn.Problem(alpha=8), 0.05, (0.0, 1.0, 3.0)
CHOICES = [(0.3, tau) for tau in (0.5, 1.0, 2.0, 4.0, 8.0)] + [(b, 2.0) for b in (0.1, 0.2, 0.4, 0.8, 0.99)]


def to_one_per_cent(solve, read, populations):
    """Temperatures, their relative errors, and processor seconds until these would be one per cent."""
    began = time.process_time()
    run = solve(populations)
    took = time.process_time() - began
    found = read(run)
    part = (found.error / found.temperature).values
    return {
        "temperature": found.temperature.values.tolist(),
        "error": found.error.values.tolist(),
        "seconds": (took * (100 * part) ** 2).tolist(),
    }


def compare(batch, persistence, populations):
    """Both solutions of one choice of parameters."""
    algorithm, memory = sn.PersistentSGD(batch, persistence), batch * persistence
    longest = 3.5 + float(np.ceil(5 * memory))
    lags = DT * np.ceil(max(8.0, 8 * memory) / DT)
    two_time = to_one_per_cent(
        lambda n: sn.solve_dmft(
            PROBLEM, algorithm, DT, longest + 4.5, paths=2000, realisations=n, waiting_times=[4.0, 4.5]
        ),
        lambda run: sn.frequency_temperature(run, FREQUENCIES, [4.0, 4.5], longest=longest, drift_tolerance=1.0),
        populations,
    )
    stationary = to_one_per_cent(
        lambda n: sn.solve_stationary(PROBLEM, algorithm, DT, lags, paths=2000, realisations=n),
        lambda run: sn.frequency_temperature(run, FREQUENCIES),
        populations,
    )
    times = np.divide(two_time["seconds"], stationary["seconds"])
    return {"batch": batch, "persistence": persistence, "times": times.tolist()} | {
        "two_time": two_time,
        "stationary": stationary,
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where to write the numbers, as JSON")
    parser.add_argument("--quick", action="store_true", help="leave out what takes longer than a minute")
    options = parser.parse_args(arguments)
    choices, populations = (CHOICES[1:2], 3) if options.quick else (CHOICES, 6)
    compare(0.3, 0.5, 2)  # compiles
    results = {"frequencies": FREQUENCIES, "rows": [compare(*choice, populations) for choice in choices]}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
