r"""Solve the theory in its stationary state, where correlation and response depend on the lag alone.

The two-time solution goes through all that comes before the stationary state, and its lags end where the run does.
Here the equations of the book are solved for the stationary state itself, with :math:`C(t,t')=C_\infty+C_{t-t'}` and
:math:`R(t,t')=R_{t-t'}`, at :math:`\theta=\omega\,dt`:

.. math:: m = -\mu/\lambda,\qquad C_\infty = \chi^2M_\infty,\qquad
          \hat C(\theta) = dt^2|\hat R(\theta)|^2\,[\hat M(\theta)+\sigma^2],\qquad \chi = dt\sum_nR_n ,

with :math:`M_\infty` the part of the covariance of the forces that never decays, :math:`\hat M` the spectrum of the
rest, :math:`\sigma` the white noise of Langevin descent, and :math:`R` from :math:`\Gamma` as in
:func:`~sgdnoise.solve_dmft`. The averages are over paths of single samples. The field of a path has a part that is
*frozen*, :math:`m(1+\sqrt\Delta h_0)+\sqrt{\Delta C_\infty}\,z`, and noise of the spectrum :math:`\hat C`, made by a
Fourier transform. Every frozen field has several paths, with independent noise and batches: products of the mean
forces of two have the mean :math:`M_\infty`, and deviations from the mean force of all have the
spectrum :math:`\hat M`, in which nothing frozen is left.

**Fixed point.** From linear response on, averages and kernels follow each other until neither changes, at first with
few paths and then with all. The random numbers are the same in every round, so that they do settle.

**Less noise.** Only the sum of the frozen part matters, and given it the mean of :math:`h_0` is known: frozen fields
are evenly spaced quantiles of one normal number. Averages over the last batch are made with its probability.

**What is left out.** Forces are taken as uncorrelated beyond ``memories`` times the memory of the batch or the
relaxation time of the weights, the longer, with a smooth end over the last quarter. For a memory that fades
exponentially eight memories leave out :math:`e^{-6}` or less of the power at frequency zero; the correlation at longer
lags needs more. A response below :data:`FORGOTTEN` is taken as zero.
"""

import math
import time as clock
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from sgdnoise import _checks, results
from sgdnoise._threads import Share, share_out
from sgdnoise.algorithms import Algorithm
from sgdnoise.dmft.solve import ConvergenceError
from sgdnoise.dmft.walk import Course, Law, Seen, new_room, walk
from sgdnoise.linear_response import linear_response
from sgdnoise.problem import Problem, check_problem
from sgdnoise.progress import bar as progress_bar

Array = NDArray[np.float64]

#: Memories after which forces are taken as uncorrelated, unless given.
MEMORIES = 8.0
#: Response in linear response that is taken as zero.
FORGOTTEN = 1e-10
#: Rounds that are made at most.
MOST_ROUNDS = 50

REPLICAS = 8  # paths of each frozen field
_CHUNKS = 16  # of frozen fields; fixed, so that no sum depends on the number of threads
_FEWER = 8  # times fewer paths in the first rounds


class State(NamedTuple):
    r"""Stationary state: magnetization, :math:`C_\infty` without :math:`m^2`, spectrum :math:`\hat C`, response.

    ``response[n]`` is felt n+1 steps after the push.
    """

    m: float
    frozen: float
    spectrum: Array
    response: Array


class Averages(NamedTuple):
    r"""Averages over paths: :math:`\mu`, :math:`M_\infty`, :math:`M` at each lag, :math:`\Gamma`, loss, unsatisfied."""

    mu: float
    frozen: float
    M: Array
    Gamma: Array
    loss: float
    unsatisfied: float


class Sums(NamedTuple):
    """Sums over the paths of every chunk: pulls and products of mean forces, power of the forces, Gamma, loss."""

    pulls: Array
    power: Array
    Gamma: Array
    seen: Array


class Task(NamedTuple):
    """What is solved: problem, algorithm, step; frozen fields; steps of a path; lags of result, forces, response."""

    problem: Problem
    algorithm: Algorithm
    dt: float
    fields: int
    period: int
    lags: int
    reach: int
    memory: int

    @property
    def first(self) -> int:
        """Step from which on a path has forgotten that it began."""
        return self.memory // 2


def solve_stationary(
    problem: Problem,
    algorithm: Algorithm,
    learning_rate: float,
    duration: float,
    *,
    paths: int = 4000,
    realisations: int = 4,
    seed: int = 0,
    memories: float = MEMORIES,
    tolerance: float = 1e-3,
    progress: bool | None = None,
) -> xr.Dataset:
    r"""Solve the theory in its stationary state and return correlation and response against the lag.

    Parameters
    ----------
    problem, algorithm
        As for :func:`~sgdnoise.linear_response`, with which it begins. Shuffled epochs are refused: their state is
        periodic, not stationary.
    learning_rate
        Step :math:`dt`.
    duration
        Longest lag, a whole number of learning rates: at least ``memories`` times the memory of the batch and the
        relaxation time of the weights.
    paths
        Paths in each population, a multiple of 8: so many share a frozen field. Errors fall with the square root.
    realisations
        Independent populations, whose spread measures the error.
    seed
        As for :func:`~sgdnoise.solve_dmft`.
    memories
        Forces are taken as uncorrelated beyond so many memories of the batch or relaxation times of the weights, the
        longer. Three quarters of them are exact; more let noise in.
    tolerance
        Where it stops: what magnetization, correlation and response still have to change, judged by the last two
        rounds and relative to their largest values.
    progress
        Show how far the solution has come; by default on a terminal, after a few seconds.

    Returns
    -------
    xarray.Dataset
        Laid out as by :func:`~sgdnoise.linear_response`: ``correlation``, ``response`` and ``integrated_response``
        with the single waiting time 0, against the lag as ``time``; ``magnetization``, ``norm``, ``loss``, ``error``
        and ``unsatisfied`` are constant. Attributes ``iterations`` and ``residual`` are those of the slowest
        population.

    Raises
    ------
    ConvergenceError
        When the rounds do not settle; it carries the last estimate.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem = sn.Problem(alpha=8)
    >>> algorithm = sn.PersistentSGD(batch=0.3, persistence=2.0)
    >>> size = {"paths": 512, "realisations": 2}
    >>> theory = sn.solve_stationary(problem, algorithm, 0.1, duration=8.0, **size)
    >>> found = sn.frequency_temperature(theory, (0.0, 3.0))
    >>> bool(abs(found.temperature[0] - 0.29) < 0.05)
    True
    """
    check_problem(problem, "solve_stationary")
    paths = _checks.integer("paths", paths, at_least=_CHUNKS * REPLICAS)
    if paths % REPLICAS:
        raise ValueError(f"paths must be a multiple of {REPLICAS}, got {paths}")
    realisations = _checks.integer("realisations", realisations, at_least=1)
    seed = _checks.seed("seed", seed)
    memories = _checks.real("memories", memories, at_least=1)
    tolerance = _checks.real("tolerance", tolerance, above=0)
    linear = linear_response(problem, algorithm, learning_rate, duration)
    dt, lags = linear.learning_rate, linear.sizes["time"] - 1
    if algorithm.sampling(dt).partition():
        raise ValueError(f"algorithm must draw every sample alone for a stationary state, got {algorithm!r}")
    reach = _reach(linear, memories)
    if lags < reach:
        raise ValueError(
            f"duration must be at least {reach * dt:g} here, {memories:g} times the memory of the batch or the "
            f"relaxation time of the weights, got {duration!r}"
        )
    kept = np.flatnonzero(np.abs(linear.response.values[0, 0]) > FORGOTTEN)
    period = next_fast_len(3 * lags, real=True)
    task = Task(problem, algorithm, dt, paths // REPLICAS, period, lags, reach, int(kept[-1]))
    needed = 60.0 * paths * period + 100.0 * realisations * period
    _checks.memory(needed, f"paths={paths} with realisations={realisations} and lags up to {duration:g}")

    began = clock.perf_counter()
    solutions = []
    with progress_bar(realisations, "solving", show=progress, unit="population") as bar:
        for stream in np.random.SeedSequence(seed).spawn(realisations):
            solutions.append(_iterate(task, _begin(linear, task), stream, tolerance))
            bar.update(1)
    states, averages, rounds, residuals = zip(*solutions, strict=True)
    attributes = {
        "engine": "stationary dmft",
        "learning_rate": dt,
        "duration": dt * lags,
        "paths": paths,
        "seed": seed,
        "memories": memories,
        "tolerance": tolerance,
        "iterations": max(rounds),
        "residual": max(residuals),
        "sampling_rate": linear.sampling_rate,
        "wall_time": clock.perf_counter() - began,
    }
    result = _dataset(task, states, averages, attributes)
    if not max(residuals) <= tolerance:
        raise ConvergenceError(
            f"tolerance must be looser, paths more or learning_rate smaller: after {max(rounds)} rounds the kernels "
            f"still have to change by {max(residuals):.1e}, more than tolerance={tolerance:g}",
            result,
            max(residuals),
            max(rounds),
        )
    return result


def _reach(linear: xr.Dataset, memories: float) -> int:
    """Return the lags after which forces are taken as uncorrelated."""
    R = linear.response.values[0, 0]
    relaxation = float(np.arange(R.size) @ R / R.sum())
    batch = 1 / (linear.sampling_rate * linear.learning_rate)
    lags: int = math.ceil(memories * max(relaxation, batch) * (1 - 1e-9))
    return lags


def _begin(linear: xr.Dataset, task: Task) -> State:
    """Return linear response as a state."""
    C, R = linear.correlation.values[0, 0], linear.response.values[0, 0]
    m, lasting = float(linear.magnetization[0, 0]), float(C[-1])
    spectrum = np.maximum(_both_sides(C - lasting, task.period), 0.0)
    return State(m, max(lasting - m**2, 0.0), spectrum, R[1 : task.memory + 1])


def _both_sides(values: Array, period: int) -> Array:
    """Sum over lags of both signs of an even function times the cosine, on the frequencies of the period."""
    total: Array = 2 * rfft(values, period).real - values[0]
    return total


def _iterate(
    task: Task, state: State, stream: np.random.SeedSequence, tolerance: float
) -> tuple[State, Averages, int, float]:
    """Repeat averages and kernels; return both, the number of rounds and what is left to change."""
    rounds = 0
    for fields in (max(_CHUNKS, task.fields // _FEWER), task.fields):
        change, left = math.inf, math.inf
        while rounds < MOST_ROUNDS and not left <= tolerance:
            found = measure(task._replace(fields=fields), state, stream)
            state, old, before = advance(task, state, found), state, change
            rounds, change = rounds + 1, _change(state, old)
            # The rest of a geometric series.
            left = change**2 / (before - change) if change < before < math.inf else math.inf
            if change == 0:
                left = 0.0
    return state, found, rounds, left


def measure(task: Task, state: State, stream: np.random.SeedSequence) -> Averages:
    """Average over paths that feel this state; the same stream has the same random numbers."""
    problem, keep = task.problem, task.period - task.first
    padded = 2 * next_fast_len((keep + task.reach + 1) // 2 + 1, real=True)  # even
    power, Gamma = np.zeros((_CHUNKS, padded // 2 + 1)), np.zeros((_CHUNKS, task.memory + 1))
    pulls, seen = np.zeros((2, _CHUNKS, 2))
    children = np.random.SeedSequence(stream.entropy, spawn_key=stream.spawn_key).spawn(_CHUNKS + 1)
    rng = np.random.default_rng(children.pop())
    z = ndtri((rng.permutation(task.fields) + rng.random()) / task.fields)
    share_out(_chunks, _CHUNKS, task, state, z, children, Sums(pulls, power, Gamma, seen))
    mean = problem.alpha / (task.fields * REPLICAS * keep)
    mu, frozen = mean * pulls.sum(axis=0)
    # At each lag over as many pairs of steps as there are.
    lag = np.arange(task.reach + 1)
    M = irfft(power.sum(axis=0), padded)[lag] * keep / (keep - lag)
    last = task.reach // 4
    M[task.reach + 1 - last :] *= 0.5 * (1 + np.cos(np.pi * np.arange(1, last + 1) / (last + 1)))
    unit = mean * problem.delta
    value, inside = seen.sum(axis=0) * mean / problem.alpha
    return Averages(mu, problem.delta * frozen, unit * M, unit * Gamma.sum(axis=0), value, inside)


def _chunks(
    share: Share, task: Task, state: State, z: Array, streams: list[np.random.SeedSequence], sums: Sums
) -> None:
    """Add the sums over the paths of a share of the chunks of frozen fields."""
    problem, first, period = task.problem, task.first, task.period
    root, process = math.sqrt(problem.delta), task.algorithm.sampling(task.dt)
    law = Law(process, problem.loss, problem.margin, problem.delta * task.dt, state.response)
    sigma = math.sqrt(state.m**2 + state.frozen)
    # Normal numbers of unit variance at every frequency make noise of this spectrum.
    amplitude = root * np.sqrt(state.spectrum * period / 2)
    amplitude[[0, -1] if period % 2 == 0 else [0]] *= math.sqrt(2)
    room = new_room(period, task.memory)
    for chunk in range(share.first, share.parts, share.every):
        rng, own = np.random.default_rng(streams[chunk]), np.repeat(z[chunk :: share.parts], REPLICAS)
        white = rng.standard_normal((own.size, 2 * amplitude.size), dtype=np.float32).view(np.complex64)
        noise = irfft(white * amplitude.astype(np.float32), period, axis=1)
        course = Course(state.m + root * sigma * own, noise, rng.random((own.size, period)))
        seen = Seen(np.empty_like(noise), np.zeros(own.size), sums.Gamma[chunk], sums.seen[chunk])
        walk(law, first, course, seen, room)
        mean_h0 = state.m / sigma * own if sigma > 0 else 0.0
        force = seen.force[:, first:].reshape(-1, REPLICAS, period - first)
        mean = force.mean(axis=2, dtype=np.float64)
        # Over pairs of different paths: the square of their sum, less the squares.
        pairs = (mean.sum(axis=1) ** 2 - (mean**2).sum(axis=1)) / (REPLICAS - 1)
        sums.pulls[chunk] += (seen.pull * (1 + root * mean_h0)).sum(), pairs.sum() * force.shape[2]
        force -= force.mean(axis=1, keepdims=True)
        apart = rfft(force, 2 * sums.power.shape[1] - 2, axis=2)
        sums.power[chunk] += (apart.real**2 + apart.imag**2).sum(axis=(0, 1)) * (REPLICAS / (REPLICAS - 1))


def advance(task: Task, state: State, found: Averages) -> State:
    """Return the state that belongs to these averages."""
    R = _response(task, found.Gamma)
    chi, ridge = task.dt * R.sum(), task.problem.ridge
    # Newton's step for the magnetization, exact for the square loss: its stiffness has 1+Delta where others have Delta.
    m = state.m - (ridge * state.m + found.mu) / (ridge + (1 / chi - ridge) * (1 + 1 / task.problem.delta))
    power = np.maximum(_both_sides(found.M, task.period), 0.0) + task.algorithm.noise(task.dt) ** 2
    gain = np.abs(rfft(np.append(0.0, R), task.period)) ** 2
    return State(m, chi**2 * found.frozen, task.dt**2 * gain * power, R)


def _response(task: Task, Gamma: Array) -> Array:
    r"""Return the response after 1, 2, ... steps: a weight that was pushed once and feels its memory."""
    update, R = task.algorithm.update(task.dt, task.problem.ridge), np.zeros(task.memory)
    push = update.step(0.0, 0.0, -1.0)
    R[0], velocity = 1.0, push[1] / push[0]
    for n in range(1, task.memory):
        R[n], velocity = update.step(R[n - 1], velocity, float(Gamma[:n] @ R[n - 1 :: -1]))
    return R


def _change(new: State, old: State) -> float:
    """Return the largest change, relative to the largest value of each; what is rounding does not count."""
    size = abs(new.m) + math.sqrt(new.frozen)
    pairs: list[tuple[Any, Any, float]] = [
        (new.m, old.m, size),
        (math.sqrt(new.frozen), math.sqrt(old.frozen), size),
        (np.sqrt(new.spectrum), np.sqrt(old.spectrum), 1e-6 * size),
        (new.response, old.response, 1.0),
    ]
    return max(float(np.max(np.abs(a - b)) / max(np.max(np.abs(a)), least, 1e-300)) for a, b, least in pairs)


def _dataset(
    task: Task, states: Sequence[State], averages: Sequence[Averages], attributes: dict[str, Any]
) -> xr.Dataset:
    """Label the solution."""
    problem, times = task.problem, task.lags + 1
    m = np.array([state.m for state in states])
    C = np.array([irfft(state.spectrum, task.period)[:times] for state in states])
    C += (m**2 + [state.frozen for state in states])[:, None]
    R = np.zeros(C.shape)
    R[:, 1 : task.memory + 1] = [state.response for state in states]
    q = C[:, 0]
    value, inside = np.array([[found.loss, found.unsatisfied] for found in averages]).T
    constant = {
        "magnetization": m,
        "norm": q,
        "loss": problem.alpha * value + 0.5 * problem.ridge * q,
        "error": results.generalisation_error(m, q, problem.delta),
        "unsatisfied": inside,
    }
    variables = {name: np.repeat(values[:, None], times, axis=1) for name, values in constant.items()}
    variables |= {"correlation": C[:, None], "response": R[:, None]}
    variables["integrated_response"] = task.dt * np.cumsum(R, axis=1)[:, None]
    time = task.dt * np.arange(times)
    result = results.dataset(time, variables, problem, task.algorithm, attributes).assign_coords(waiting_time=[0.0])
    result["waiting_time"].attrs["long_name"] = "waiting time"
    return result
