r"""Finite-size training runs: the update rule of the paper (Eq. 2) on sampled data.

.. math:: w(t+dt) = w(t) - dt\Big[\sum_\mu s_\mu(t)\,\ell'(h_\mu(t))\,\frac{y_\mu x_\mu}{\sqrt N} + \lambda w(t)\Big]

from :math:`w(0)\sim\mathcal N(0, R_0\,I_N)`.

Time index: the value at ``time[k]`` belongs to the weights after ``k`` steps; the step from ``k`` to ``k+1`` uses the
batch ``s(k)``. Random numbers: ``seed`` spawns one stream per realisation, and each of those one for the data, one
for the start, one per replica for the batches and one for the probes of the response. They depend on ``seed`` and on
the realisation only: two algorithms run with the same seed see the same data, and their difference is paired.
"""

import inspect
import queue
import threading
import time as clock
import warnings
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from sgdnoise import _checks, results
from sgdnoise.algorithms import Algorithm
from sgdnoise.divergence import DivergedError
from sgdnoise.problem import Problem
from sgdnoise.progress import bar as progress_bar
from sgdnoise.simulation.plan import Plan, Run, make_plan, record_steps, worker_count
from sgdnoise.simulation.record import Trace
from sgdnoise.simulation.step import Cancelled, streams, train
from sgdnoise.vectors.lanes import Floating, aligned, pitch

ON_DIVERGENCE = ("raise", "mark")


def simulate(
    problem: Problem,
    algorithm: Algorithm,
    learning_rate: float,
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
    on_divergence: str = "raise",
    workers: int | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    r"""Train on sampled data and record the observables.

    Parameters
    ----------
    problem
        The learning problem.
    algorithm
        The algorithm.
    learning_rate
        Step :math:`dt`.
    duration
        Training time, a whole number of learning rates.
    features
        Number of weights :math:`N`, 1000 by default; the number of samples is :math:`\alpha N`, rounded. Given data
        have their own numbers of both.
    replicas
        1, or 2 runs with the same data and the same start but independent batches; observables are then means
        over the two, and ``distance`` is the distance between them.
    realisations
        Independent data sets, or independent starts and batches for given data.
    seed
        Any whole number from 0 up to 2^63 - 1; the same seed gives the same bits for any ``workers``.
    waiting_times
        Times :math:`t_w` from which ``correlation`` :math:`C(t,t_w) = w(t)\cdot w(t_w)/N` and ``integrated_response``
        :math:`\chi(t,t_w)` are measured: the sum of :math:`dt\,R(t',t_w)` over :math:`t_w<t'\le t`, where
        :math:`R(t_w+dt,t_w)=1`.
    stop_gradient
        A replica stops, and keeps its weights, as soon as :math:`|\tilde\nabla L|^2/(bN)` of its stochastic gradient is
        at most this (the paper: 1e-10). Its ``stopping_time`` is in the dataset, NaN where it never stopped.
    record_every
        Record every n-th step; the last step is always recorded.
    loss_every
        Record ``loss``, ``unsatisfied`` and the error of a test set, which need every sample, at every n-th step only
        (NaN in between).
    probes
        Random probes from which the response is estimated.
    precision
        ``"single"`` or ``"double"`` for data and gradients; weights are always kept in double precision. ``"auto"``
        chooses single where the noise far exceeds its rounding: with a ridge and more samples than features.
    directions
        Vectors :math:`u`, (directions, features), for which ``projection`` :math:`w\cdot u` is recorded.
    on_divergence
        ``"raise"`` a :class:`DivergedError`, or ``"mark"``: all values are NaN and the attribute ``diverged`` says why.
    workers
        Threads, each with its own data set; one per core by default.
    progress
        Show a progress bar; by default on a terminal, after a few seconds.

    Returns
    -------
    xarray.Dataset
        ``magnetization``, ``norm``, ``loss``, ``error``, ``unsatisfied`` and, with two replicas, ``distance``, all
        with dimensions (realisation, time); with waiting times, ``correlation``, ``integrated_response`` and, if every
        step is recorded, ``response`` (realisation, waiting_time, time), NaN before the waiting time; with a
        stopping rule, ``stopping_time`` (realisation, replica); with directions, ``projection`` (realisation,
        direction, time). Given data have no ``magnetization``, and ``error`` refers to the test set.

    Raises
    ------
    DivergedError
        When the weights grow without bound, or full-batch descent does not settle: its loss still rises in the
        second half of the run.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, algorithm = sn.Problem(alpha=6), sn.SGD(batch=0.5)
    >>> run = sn.simulate(problem, algorithm, 0.1, 2.0, features=50, realisations=2)
    >>> dict(run.sizes)
    {'realisation': 2, 'time': 21}
    >>> float(run.error[:, 0].mean()) > float(run.error[:, -1].mean())
    True
    """
    return simulate_paired(
        problem,
        [(algorithm, learning_rate)],
        duration,
        features=features,
        replicas=replicas,
        realisations=realisations,
        seed=seed,
        waiting_times=waiting_times,
        stop_gradient=stop_gradient,
        record_every=record_every,
        loss_every=loss_every,
        probes=probes,
        precision=precision,
        directions=directions,
        on_divergence=on_divergence,
        workers=workers,
        progress=progress,
    )[0]


def simulate_paired(
    problem: Problem,
    runs: Sequence[tuple[Algorithm, float]],
    duration: float,
    *,
    on_divergence: str = "raise",
    workers: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> list[xr.Dataset]:
    """Train several algorithms, or one at several learning rates, on the same data sets.

    The result is bit for bit that of one call of :func:`simulate` per run, but faster: every data set is drawn once and
    every part of it is read once a step for all runs. Runs on the same data from the same start are paired: their
    difference has a smaller error than either run.

    Parameters
    ----------
    problem
        What is learned.
    runs
        Pairs (algorithm, learning rate).
    duration
        Training time, a whole number of each of the learning rates.
    options
        Those of :func:`simulate`; they apply to every run.

    Returns
    -------
    list of xarray.Dataset
        One dataset a run, in the order of ``runs``.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> pair = [(sn.GD(), 0.1), (sn.SGD(batch=0.3), 0.05)]
    >>> small = {"features": 50, "realisations": 2}
    >>> gd, sgd = sn.simulate_paired(sn.Problem(alpha=6), pair, 2.0, **small)
    >>> gd.sizes["time"], sgd.sizes["time"]
    (21, 41)
    """
    _checks.choice("on_divergence", on_divergence, ON_DIVERGENCE)
    inspect.signature(simulate_paired).bind(problem, runs, duration, **options)  # refuses other names
    plan = make_plan(problem, runs, duration, **options)
    threads = worker_count(plan, workers)
    began = clock.perf_counter()
    traces = _train_all(plan, threads, on_divergence, progress)
    wall_time = clock.perf_counter() - began
    return [_dataset(plan, run, [trace[i] for trace in traces], wall_time) for i, run in enumerate(plan.runs)]


# Shown by help(), notebooks and the reference.
_OPTIONS = [one for one in inspect.signature(simulate).parameters.values() if one.kind is one.KEYWORD_ONLY]
_PAIRED = list(inspect.signature(simulate_paired).parameters.values())[:3]
simulate_paired.__signature__ = inspect.signature(simulate_paired).replace(parameters=_PAIRED + _OPTIONS)  # type: ignore[attr-defined]


def _train_all(plan: Plan, threads: int, on_divergence: str, show: bool | None) -> list[list[Trace]]:
    """Train every realisation; on an error, a divergence or an interrupt all threads stop within a few steps."""
    cancel = threading.Event()
    # Data sets are drawn into the same memory again and again: asking the system for more costs as much as drawing.
    # Given data are shared.
    memory: queue.SimpleQueue[Floating] = queue.SimpleQueue()
    given = plan.problem.data
    for _ in range(threads):
        shape = plan.samples, pitch(plan.features, plan.dtype)
        memory.put(aligned(shape, plan.dtype) if given is None else given.rows(plan.dtype))

    def one(sequence: np.random.SeedSequence) -> list[Trace]:
        data = memory.get()
        try:
            found = train(plan, streams(sequence), data, bar.update, cancel)
        finally:
            memory.put(data)
        sentence = next((trace.diverged for trace in found if trace.diverged), "")
        if sentence and on_divergence == "raise":
            raise DivergedError(sentence)
        return found

    sequences = np.random.SeedSequence(plan.seed).spawn(plan.realisations)
    total = plan.realisations * sum(run.steps for run in plan.columns)
    with progress_bar(total, "simulating", show=show) as bar:
        if threads == 1:
            return [one(sequence) for sequence in sequences]
        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(one, sequence) for sequence in sequences]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                if not all(future.done() for future in futures):
                    cancel.set()
                    pool.shutdown(cancel_futures=True)
    errors = [future.exception() for future in futures if not future.cancelled()]
    for error in errors:
        if error is not None and not isinstance(error, Cancelled):
            raise error
    return [future.result() for future in futures]


def _dataset(plan: Plan, run: Run, traces: list[Trace], wall_time: float) -> xr.Dataset:
    variables = {name: np.array([trace.observables[name] for trace in traces]) for name in traces[0].observables}
    if plan.problem.data is None:
        m, q = variables["magnetization"], variables["norm"]
        variables["error"] = results.generalisation_error(m, q, plan.problem.delta)
    diverged = next((trace.diverged for trace in traces if trace.diverged), "")
    if diverged:  # no value of any realisation is left, so that none can be averaged
        variables = {name: np.full_like(values, np.nan) for name, values in variables.items()}
    if run.waits and plan.record_every == 1:  # between steps that are not recorded only the sum is known
        chi = variables["integrated_response"]
        variables["response"] = np.diff(chi, axis=-1, prepend=chi[..., :1]) / run.rate
        for i, wait in enumerate(run.waits):
            variables["response"][:, i, wait] = chi[:, i, wait]  # zero: nothing is felt at once
    if plan.stop is not None:
        variables["stopping_time"] = np.array([trace.stopping_time for trace in traces])
        _tell_unstopped(plan, run, variables["stopping_time"])
    dataset = results.dataset(
        run.rate * record_steps(run, plan.record_every),
        variables,
        plan.problem,
        run.algorithm,
        {
            "engine": "simulation",
            "learning_rate": run.rate,
            "duration": run.rate * run.steps,
            "features": plan.features,
            "samples": plan.samples,
            **({"tests": plan.tests} if plan.problem.data is not None else {}),
            "replicas": plan.replicas,
            "seed": plan.seed,
            "precision": np.dtype(plan.dtype).name,
            **({"stop_gradient": plan.stop} if plan.stop is not None else {}),
            **({"probes": plan.probes} if run.waits else {}),
            **({"diverged": diverged} if diverged else {}),
            "wall_time": wall_time,
        },
    )
    if run.waits:
        dataset = dataset.assign_coords(waiting_time=run.rate * np.array(run.waits))
    return dataset


def _tell_unstopped(plan: Plan, run: Run, stopping_time: np.ndarray) -> None:
    unstopped = int(np.isnan(stopping_time).sum())
    if unstopped:
        warnings.warn(
            f"{unstopped} of {stopping_time.size} runs of {run.algorithm} did not reach stop_gradient={plan.stop:g} "
            f"by time {run.rate * run.steps:g}",
            stacklevel=4,
        )
