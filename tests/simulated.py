"""What :func:`sgdnoise.simulate` draws for a seed, for tests that redo the rest in their own way."""

from typing import NamedTuple

import numpy as np

from sgdnoise._lanes import aligned, pitch
from sgdnoise.simulation import batches
from sgdnoise.simulation.normals import draw_data
from sgdnoise.simulation.plan import make_plan
from sgdnoise.simulation.training import draw_probes, draw_start, streams

OPTIONS = {
    "features": 30,
    "replicas": 2,
    "realisations": 1,
    "seed": 0,
    "waiting_times": (),
    "stop_gradient": None,
    "record_every": 1,
    "loss_every": None,
    "probes": 3,
    "precision": "double",
}


class Drawn(NamedTuple):
    A: np.ndarray
    start: np.ndarray
    bits: list[np.ndarray]
    probes: np.ndarray


def bits_of(key, chain, samples, steps):
    """Bits ``s[step, sample]`` of one column."""
    s, out = np.zeros((1, samples), np.uint8), []
    for k in range(steps):
        with np.errstate(over="ignore"):
            batches.advance(key[None], batches.thresholds(chain)[None], k, np.ones(1, bool), s)
        out.append(s[0].astype(int))
    return np.array(out)


def drawn(problem, algorithm, learning_rate, duration, realisation=0, dtype=np.float64, **options):
    """Data, start, batch bits of two replicas and probes of one realisation, without padding."""
    plan = make_plan(problem, [(algorithm, learning_rate)], duration, **{**OPTIONS, **options})
    keys = streams(np.random.SeedSequence(plan.seed).spawn(realisation + 1)[realisation])
    N, M, run = plan.features, plan.samples, plan.runs[0]
    A = draw_data(problem.delta, N, keys.data, aligned((M, pitch(N, dtype)), dtype))[:, :N]
    bits = [bits_of(key, run.chain, M, run.steps) for key in keys.batches]
    probes = draw_probes(plan, keys.probes)[:, : plan.probes, :N]
    return Drawn(A.astype(float), draw_start(plan, keys.start)[:N], bits, probes)
