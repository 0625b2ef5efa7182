r"""Finite-size training runs: the update rule of the paper (Eq. 2) on sampled data.

.. math:: w(t+dt) = w(t) - dt\Big[\sum_\mu s_\mu(t)\,\ell'(h_\mu(t))\,\frac{y_\mu x_\mu}{\sqrt N} + \lambda w(t)\Big],
          \qquad w(0)\sim\mathcal N(0, R\,I_N).

Time index: the value at ``time[k]`` is that of the weights after ``k`` steps; the step from ``k`` to ``k+1`` uses the
batch ``s(k)``. Random numbers: ``seed`` spawns one stream per realisation, and each of those one for the data, one
for the start and one per replica for the batches. Data and start therefore depend on ``seed`` and on the
realisation only: two algorithms run with the same seed see the same data, and their difference is paired.
"""

import math
import time as clock
import warnings

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise import _checks, results
from sgdnoise._jit import jit
from sgdnoise.algorithms import Algorithm, Chain, next_batch, start_batch
from sgdnoise.problem import Problem

Array = NDArray[np.float64]

# What is averaged over replicas as training goes on; the error follows from two of these.
RECORDED = ("magnetization", "norm", "loss", "unsatisfied", "distance")

# A norm this many times larger than anything the data can ask for is growing without bound.
DIVERGED = 1e12


class DivergedError(ArithmeticError):
    """The weights grew without bound: the learning rate is too large for this problem."""


def simulate(
    problem: Problem,
    algorithm: Algorithm,
    learning_rate: float,
    duration: float,
    *,
    features: int = 1000,
    replicas: int = 1,
    realisations: int = 8,
    seed: int = 0,
) -> xr.Dataset:
    r"""Train on sampled data and record the observables at every step.

    Parameters
    ----------
    problem, algorithm
        What is learned, and how the batches are drawn.
    learning_rate
        Step :math:`dt`.
    duration
        Training time, a whole number of learning rates.
    features
        Number of weights :math:`N`; the number of samples is :math:`\alpha N`, rounded.
    replicas
        1, or 2 runs with the same data and the same start but independent batches; observables are then the mean
        of the two, and ``distance`` tells them apart.
    realisations
        Independent data sets.
    seed
        Any whole number from 0; the same seed gives the same bits.

    Returns
    -------
    xarray.Dataset
        ``magnetization``, ``norm``, ``loss``, ``error``, ``unsatisfied`` and, with two replicas, ``distance``, all
        with dimensions (realisation, time).

    Raises
    ------
    DivergedError
        When the weights grow without bound.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> run = sn.simulate(sn.Problem(alpha=6), sn.SGD(batch=0.5), 0.1, 2.0, features=50, realisations=2)
    >>> dict(run.sizes)
    {'realisation': 2, 'time': 21}
    >>> float(run.error[:, 0].mean()) > float(run.error[:, -1].mean())
    True
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a sgdnoise.Problem, got {problem!r}")
    if not isinstance(algorithm, Algorithm):
        raise TypeError(f"algorithm must be a sgdnoise.GD, SGD or PersistentSGD, got {algorithm!r}")
    dt = _checks.real("learning_rate", learning_rate, above=0)
    if dt * problem.ridge >= 2:
        raise ValueError(
            f"learning_rate must be less than 2/ridge = {2 / problem.ridge:g}, where the ridge term alone makes "
            f"the weights grow without bound, got {learning_rate!r}"
        )
    steps = _checks.steps(dt, _checks.real("duration", duration, above=0))
    features = _checks.integer("features", features, at_least=2)
    replicas = _checks.integer("replicas", replicas, at_least=1, at_most=2)
    realisations = _checks.integer("realisations", realisations, at_least=1)
    seed = _checks.integer("seed", seed, at_least=0)
    chain = algorithm.chain(dt)
    samples = _sample_count(problem.alpha, features)
    _checks.memory(8 * (samples * features + 8 * realisations * steps), f"features={features} with {samples} samples")

    began = clock.perf_counter()
    columns = {name: np.empty((realisations, steps + 1)) for name in RECORDED}
    for index, stream in enumerate(np.random.SeedSequence(seed).spawn(realisations)):
        data_seed, start_seed, *batch_seeds = stream.spawn(2 + replicas)
        A = draw_data(problem, samples, features, np.random.default_rng(data_seed))
        w0 = math.sqrt(problem.init_variance) * np.random.default_rng(start_seed).standard_normal(features)
        rngs = [np.random.default_rng(batch_seed) for batch_seed in batch_seeds]
        for name, values in _train(problem, chain, dt, steps, A, w0, rngs).items():
            columns[name][index] = values
    if replicas == 1:
        del columns["distance"]
    error = results.generalisation_error(columns["magnetization"], columns["norm"], problem.delta)
    return results.dataset(
        dt * np.arange(steps + 1),
        {**columns, "error": error},
        problem,
        algorithm,
        {
            "engine": "simulation",
            "learning_rate": dt,
            "duration": dt * steps,
            "features": features,
            "samples": samples,
            "replicas": replicas,
            "seed": seed,
            "wall_time": clock.perf_counter() - began,
        },
    )


def draw_data(problem: Problem, samples: int, features: int, rng: np.random.Generator) -> Array:
    r"""Draw the rows :math:`A_\mu = y_\mu x_\mu/\sqrt N = v/N + \sqrt{\Delta/N}\,z_\mu`, so that :math:`h = A w`."""
    z = rng.standard_normal((samples, features))
    return 1.0 / features + math.sqrt(problem.delta / features) * z


def _sample_count(alpha: float, features: int) -> int:
    exact = alpha * features
    samples = max(1, round(exact))
    if abs(samples - exact) > 1e-9 * exact:
        warnings.warn(
            f"alpha={alpha:g} times features={features} is {exact:g}, not a whole number: {samples} samples are "
            f"used, which is alpha={samples / features:g}",
            stacklevel=3,
        )
    return samples


def _train(
    problem: Problem,
    chain: Chain,
    dt: float,
    steps: int,
    A: Array,
    w0: Array,
    rngs: list[np.random.Generator],
) -> dict[str, Array]:
    """Run the replicas side by side and return each observable, averaged over them, against time."""
    samples, features = A.shape
    loss, margin, ridge = problem.loss, problem.margin, problem.ridge
    limit = DIVERGED * (1 + problem.init_variance + margin**2) * (1 + 1 / problem.delta)
    record = {name: np.zeros(steps + 1) for name in RECORDED}
    weights = [w0.copy() for _ in rngs]
    batches = [start_batch(chain, samples, rng) for rng in rngs]
    h, gradient = np.empty(samples), np.empty(features)
    share = 1 / len(rngs)
    for k in range(steps + 1):
        record["distance"][k] = math.sqrt(_square_distance(weights[0], weights[-1]) / features)
        for i, (w, rng) in enumerate(zip(weights, rngs, strict=True)):
            q = _square_distance(w, np.zeros(features)) / features
            if not q <= limit:
                raise DivergedError(
                    f"learning_rate must be smaller for this problem, got {dt:g}: the weights grew without bound "
                    f"and passed |w|^2/N = {q:.1e} at time {k * dt:g}"
                )
            _project(A, w, h)
            record["magnetization"][k] += share * w.mean()
            record["norm"][k] += share * q
            record["loss"][k] += share * (loss.value(h, margin).sum() / features + 0.5 * ridge * q)
            record["unsatisfied"][k] += share * np.count_nonzero(h < margin) / samples
            if k == steps:
                continue
            _pull_back(A, np.where(batches[i], loss.slope(h, margin), 0.0), gradient)
            w -= dt * (gradient + ridge * w)
            batches[i] = next_batch(chain, batches[i], rng)
    return record


# Sums may be reordered by the compiler, but always in the same way: one thread, no BLAS, same bits.
@jit(fastmath={"reassoc", "contract"})
def _project(A: Array, w: Array, h: Array) -> None:
    """Pre-activations ``h = A w``."""
    for mu in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[mu, j] * w[j]
        h[mu] = total


@jit(fastmath={"contract"})
def _pull_back(A: Array, slope: Array, gradient: Array) -> None:
    """Gradient ``A^T slope``, skipping the samples that do not contribute."""
    gradient[:] = 0.0
    for mu in range(A.shape[0]):
        if slope[mu] != 0.0:
            for j in range(A.shape[1]):
                gradient[j] += slope[mu] * A[mu, j]


@jit(fastmath={"reassoc", "contract"})
def _square_distance(a: Array, b: Array) -> float:
    """Return ``|a-b|^2``."""
    total = 0.0
    for j in range(a.size):
        total += (a[j] - b[j]) ** 2
    return total
