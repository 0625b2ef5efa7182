"""What :func:`sgdnoise.simulate` draws for a seed, for tests that redo the rest in their own way."""

from typing import NamedTuple

import numpy as np

from sgdnoise.random.batches import draw_batches, new_batches
from sgdnoise.random.normals import draw_data, fill_normal
from sgdnoise.simulation.plan import make_plan
from sgdnoise.simulation.step import draw_start, streams
from sgdnoise.vectors.lanes import aligned, pitch

OPTIONS = {"features": 30, "replicas": 2, "realisations": 1, "probes": 3, "precision": "double"}


class Drawn(NamedTuple):
    A: np.ndarray
    start: np.ndarray
    batches: list[np.ndarray]
    noise: list[np.ndarray]
    probes: np.ndarray


def weights_of(key, process, samples, steps, shared=False):
    """Weights ``s[step, sample]`` of one column."""
    batches, out = new_batches([process], key[None], samples, shared=shared), np.empty((steps, 1, samples))
    for k in range(steps):
        with np.errstate(over="ignore"):
            draw_batches(k, np.zeros(1, np.int64), batches, out[k])
    return out[:, 0]


def drawn(problem, algorithm, learning_rate, duration, realisation=0, dtype=np.float64, **options):
    """Data, start, batches and noise of two replicas, and probes of one realisation, without padding."""
    plan = make_plan(problem, [(algorithm, learning_rate)], duration, **{**OPTIONS, **options})
    keys = streams(np.random.SeedSequence(plan.seed).spawn(realisation + 1)[realisation])
    N, M, run = plan.features, plan.samples, plan.runs[0]
    if problem.data is None:
        A = draw_data(problem.delta, N, keys.data, aligned((M, pitch(N, dtype)), dtype))[:, :N]
    else:
        A = problem.data.rows(dtype)[:M, :N]
    weights = [weights_of(key, run.sampling, M, run.steps) for key in keys.batches]
    noise = [fill_normal(key, N, np.empty((run.steps, N)), scale=algorithm.noise(learning_rate)) for key in keys.noise]
    start = draw_start(plan, keys)
    return Drawn(A.astype(float), start.weights[:N], weights, noise, start.probes[:, : plan.probes, :N])
