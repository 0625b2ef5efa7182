"""What a call of :func:`sgdnoise.simulate` will do: checked in full before any work."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdnoise import _checks
from sgdnoise._machine import available_memory, threads
from sgdnoise.algorithms import Algorithm, Descent, PlainDescent, Update, check_learning_rate, parts_of
from sgdnoise.problem import Problem, check_problem
from sgdnoise.random.batches import Sampling
from sgdnoise.vectors.lanes import padded, pitch

PRECISIONS = ("auto", "single", "double")
FEATURES = 1000  # of the model, unless asked for
MOST_STEPS, MOST_WORK = 100, 10**9  # steps and multiplications of one compiled call
MOST_DRAWN = 2**21  # bytes of the random numbers of one compiled call: they stay in the cache
TOGETHER = 8  # columns whose losses are worked out in one pass over the data, if they have to wait for it


@dataclass(frozen=True)
class Run:
    """One algorithm at one learning rate: its parts, how many steps, and which steps are waiting times."""

    algorithm: Algorithm
    rate: float
    sampling: Sampling
    update: Update
    noise: float
    steps: int
    waits: tuple[int, ...]

    @property
    def full(self) -> bool:
        """Whether every sample is in every batch."""
        return self.algorithm.batch == 1.0 and not self.sampling.random(0)

    @property
    def quiet(self) -> bool:
        """Whether nothing is random after the start."""
        return self.full and self.noise == 0


@dataclass(frozen=True)
class Plan:
    """Runs that share their data sets, and everything else that determines the result.

    Directions are those on which the weights are projected, (directions, features).
    """

    problem: Problem
    runs: tuple[Run, ...]
    features: int
    samples: int
    replicas: int
    realisations: int
    seed: int
    record_every: int
    loss_every: int
    probes: int
    stop: float | None
    directions: NDArray[np.float64]
    dtype: type[np.floating[Any]]

    @property
    def tests(self) -> int:
        """Samples of a test set."""
        return 0 if self.problem.data is None else self.problem.data.tests

    @property
    def signals(self) -> NDArray[np.float64]:
        """The vector v of the model, whose product with the weights is the magnetisation, and the directions."""
        return np.concatenate([np.ones((1, self.features)), self.directions])

    @property
    def in_sample_space(self) -> bool:
        """No more samples than features: the Gram matrix is then the smaller one.

        White noise leaves the space of the samples.
        """
        return self.samples <= self.features and not any(run.noise for run in self.runs)

    @property
    def columns(self) -> tuple[Run, ...]:
        """The run that each column belongs to: all replicas of the first run, then those of the second, ..."""
        return tuple(run for run in self.runs for _ in range(self.replicas))

    @property
    def neighbours(self) -> NDArray[np.int64]:
        """Order of the columns in which two neighbours have many batch rows in common.

        Replicas draw different batches, runs of one replica from the same numbers.
        """
        fractions = np.array([run.algorithm.batch for run in self.columns])
        order: NDArray[np.int64] = np.lexsort((fractions, np.arange(fractions.size) % self.replicas))
        return order

    def alike(self) -> Iterator[tuple[list[int], "Plan"]]:
        """Split the runs by what the loop over steps is compiled for, and by noise: numbers of runs, and a plan."""
        groups: dict[tuple[type, bool], list[int]] = {}
        for i, run in enumerate(self.runs):
            groups.setdefault((type(run.update), run.noise > 0), []).append(i)
        for chosen in groups.values():
            yield chosen, replace(self, runs=tuple(self.runs[i] for i in chosen))

    @property
    def drawn_bytes(self) -> int:
        """Memory of what is random in one step: the weights of the samples, and white noise."""
        noise = 4 * self.features if any(run.noise for run in self.runs) else 0
        return len(self.columns) * (np.dtype(self.dtype).itemsize * self.samples + noise)

    @property
    def steps_at_once(self) -> int:
        """Steps that one compiled call takes: nothing can interrupt it, and what is random is drawn beforehand."""
        work = len(self.columns) * self.samples * min(self.samples, self.features)
        return max(1, min(MOST_STEPS, MOST_WORK // work, MOST_DRAWN // self.drawn_bytes))

    @property
    def data_bytes(self) -> int:
        """Memory of one data set."""
        return np.dtype(self.dtype).itemsize * self.samples * pitch(self.features, self.dtype)

    @property
    def unit_bytes(self) -> int:
        """Memory of one work unit apart from its data set: its columns, and its Gram matrix in sample space."""
        size = np.dtype(self.dtype).itemsize
        width, columns = padded(self.features), len(self.columns)
        times = len(self.runs[0].waits)
        tangents = times * (self.probes + self.probes % 2)
        rows, drawn = self.samples + self.tests, self.steps_at_once * self.drawn_bytes
        if self.in_sample_space:
            stored = padded(rows)
            return drawn + size * stored * (rows + columns * (9 + 6 * tangents + 2 * times) + 3 * tangents)
        state = columns * width * (16 + 2 * size + 3 * size * tangents + 8 * times) + 8 * tangents * width
        together = size * TOGETHER * (rows + width)  # losses that are worked out in one pass
        return drawn + state + columns * self.samples * (2 * size + 4) + together


def make_plan(
    problem: Problem,
    runs: Sequence[tuple[Algorithm, float]],
    duration: float,
    *,
    features: int | None = None,
    replicas: int = 1,
    realisations: int = 8,
    seed: int = 0,
    waiting_times: Sequence[float] = (),
    stop_gradient: float | None = None,
    record_every: int = 1,
    loss_every: int | None = None,
    probes: int = 8,
    precision: str = "auto",
    directions: ArrayLike | None = None,
) -> Plan:
    """Check every argument and return the plan."""
    check_problem(problem)
    features, samples = _size(problem, features)
    record_every = _checks.integer("record_every", record_every, at_least=1)
    loss_every = record_every if loss_every is None else _checks.integer("loss_every", loss_every, at_least=1)
    if loss_every % record_every:
        raise ValueError(f"loss_every must be a multiple of record_every={record_every}, got {loss_every}")
    duration = _checks.real("duration", duration, above=0)
    times = tuple(
        _checks.real("waiting_times", time, at_least=0) for time in _checks.several("waiting_times", waiting_times)
    )
    if list(times) != sorted(set(times)):
        raise ValueError(f"waiting_times must increase, got {waiting_times!r}")
    if times and stop_gradient is not None:
        raise ValueError("waiting_times must be empty with stop_gradient: a run that has stopped has no response")
    for run in _checks.several("runs", runs):
        if not isinstance(run, Sequence) or len(run) != 2:
            raise TypeError(f"runs must hold pairs (algorithm, learning_rate), got {run!r}")
    if not runs:
        raise ValueError("runs must hold at least one (algorithm, learning_rate), got none")
    plan = Plan(
        problem=problem,
        runs=tuple(_make_run(problem, *run, duration, times, record_every) for run in runs),
        features=features,
        samples=samples,
        replicas=_checks.integer("replicas", replicas, at_least=1, at_most=2),
        realisations=_checks.integer("realisations", realisations, at_least=1),
        seed=_checks.seed("seed", seed),
        record_every=record_every,
        loss_every=loss_every,
        probes=_checks.integer("probes", probes, at_least=1),
        stop=None if stop_gradient is None else _checks.real("stop_gradient", stop_gradient, above=0),
        directions=_directions(directions, features),
        dtype=np.float64,
    )
    _check_stop(plan)
    return _with_precision(plan, _checks.choice("precision", precision, PRECISIONS))


def worker_count(plan: Plan, workers: int | None) -> int:
    """Return the number of threads: as requested, or one per core if memory allows. Refuse what does not fit at all."""
    places = plan.realisations * sum(run.steps // plan.record_every + 1 for run in plan.runs)
    given, each = 8 * (8 + len(plan.directions)) * places, plan.unit_bytes
    if plan.problem.data is None:
        each += plan.data_bytes
    else:  # all share one
        given += plan.problem.data.bytes_of_rows(plan.dtype)
    what = f"features={plan.features} with {plan.samples} samples, realisations={plan.realisations}"
    what += f" and probes={plan.probes}" if plan.runs[0].waits else ""
    if workers is not None:
        workers = min(_checks.integer("workers", workers, at_least=1), plan.realisations)
        _checks.memory(workers * each + given, f"{what} on {workers} workers")
        return workers
    _checks.memory(each + given, what)
    wanted = min(threads(), plan.realisations)
    while wanted > 1 and wanted * each + given > available_memory():
        wanted -= 1
    return wanted


def record_steps(run: Run, every: int) -> NDArray[np.int64]:
    """Steps at which a run is recorded: every n-th, and always the last."""
    steps = np.arange(0, run.steps + 1, every)
    return steps if steps[-1] == run.steps else np.append(steps, run.steps)


def _make_run(
    problem: Problem, algorithm: Algorithm, learning_rate: float, duration: float, times: tuple[float, ...], every: int
) -> Run:
    dt = check_learning_rate(algorithm, learning_rate, problem.ridge)
    steps = _checks.steps(dt, duration)
    waits = tuple(_checks.steps(dt, time, "waiting_times") for time in times)
    for time, wait in zip(times, waits, strict=True):
        if wait >= steps:
            raise ValueError(f"waiting_times must lie before the end of the run at {duration:g}, got {time:g}")
        if wait % every:
            raise ValueError(
                f"waiting_times must be recorded times, multiples of record_every={every} steps of {dt:g}, got {time:g}"
            )
    sampling, update, noise = parts_of(algorithm, dt, problem.ridge)
    if isinstance(update, Descent) and update.momentum == 0:
        update = PlainDescent(update.rate, update.ridge)
    return Run(algorithm, dt, sampling, update, noise, steps, waits)


def _size(problem: Problem, features: int | None) -> tuple[int, int]:
    """Numbers of features and samples: of given data theirs, else as many as asked for and alpha times that."""
    data, alpha = problem.data, problem.alpha
    if data is not None:
        if features is not None and _checks.integer("features", features, at_least=2) != data.features:
            raise ValueError(f"features must be {data.features}, as in the data, or left out, got {features}")
        return data.features, data.samples
    features = FEATURES if features is None else _checks.integer("features", features, at_least=2)
    exact = alpha * features
    samples = max(1, round(exact))
    if abs(samples - exact) > 1e-9 * exact:
        warnings.warn(
            f"alpha={alpha:g} times features={features} is {exact:g}, not a whole number: {samples} samples are "
            f"used, which is alpha={samples / features:g}",
            stacklevel=5,
        )
    return features, samples


def _directions(directions: ArrayLike | None, features: int) -> NDArray[np.float64]:
    if directions is None:
        return np.empty((0, features))
    found = np.asarray(directions)
    if found.dtype.kind not in "biuf" or found.ndim != 2 or found.shape[1] != features:
        what = f"{found.dtype} of shape {found.shape}"
        raise ValueError(f"directions must be vectors of {features} numbers, (directions, features), got {what}")
    if not np.isfinite(found).all():
        raise ValueError("directions must hold finite numbers, got NaN or infinity")
    return found.astype(np.float64)


def _check_stop(plan: Plan) -> None:
    """Refuse a stopping rule with a ridge, whose force remains: the stochastic gradient then never vanishes."""
    ridge = plan.problem.ridge
    if plan.stop is not None and ridge > 0 and not all(run.full for run in plan.runs):
        raise ValueError(
            f"stop_gradient must be None with ridge={ridge:g} and batches that change: the stochastic gradient "
            f"never vanishes then, got {plan.stop:g}"
        )
    if plan.stop is not None and any(run.noise for run in plan.runs):
        raise ValueError(f"stop_gradient must be None with white noise, which never ends, got {plan.stop:g}")


def _with_precision(plan: Plan, precision: str) -> Plan:
    """Choose the type of the data. Without a ridge, runs go down to gradients that float32 cannot resolve."""
    if precision == "auto":
        small = plan.problem.ridge > 0 and plan.stop is None and not plan.in_sample_space
        precision = "single" if small else "double"
    return replace(plan, dtype=np.float32 if precision == "single" else np.float64)
