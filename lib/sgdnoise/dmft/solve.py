r"""Solve the dynamical mean-field theory: what :func:`sgdnoise.simulate` gives in the limit of many features.

The theory is exact for :math:`N\to\infty` at fixed :math:`\alpha=P/N` and any learning rate. Its averages are over
single samples with their Gaussian fields, and are estimated from a population of ``paths`` such samples. Sampling is
the only source of error; the spread over independent populations measures it.
"""

import time as clock
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sgdnoise import _checks, results
from sgdnoise.algorithms import Algorithm, check_learning_rate, parts_of
from sgdnoise.dmft.causal import Solution, solve_causal
from sgdnoise.dmft.iterative import Control, solve_iterative
from sgdnoise.dmft.population import Population
from sgdnoise.dmft.weights import Rule
from sgdnoise.problem import Problem, check_problem
from sgdnoise.progress import bar as progress_bar

METHODS = ("causal", "iterative")

#: Unless told otherwise, correlation and response are kept for at most this many waiting times, evenly spaced.
MAX_WAITING = 401


class ConvergenceError(ArithmeticError):
    """The iteration did not converge.

    Attributes
    ----------
    estimate
        The dataset after the last iteration.
    residual
        Largest relative change of a kernel in the last iteration.
    iterations
        Number of iterations made.
    """

    def __init__(self, message: str, estimate: xr.Dataset, residual: float, iterations: int) -> None:
        """Keep the estimate with the message."""
        super().__init__(message)
        self.estimate, self.residual, self.iterations = estimate, residual, iterations


def solve_dmft(
    problem: Problem,
    algorithm: Algorithm,
    learning_rate: float,
    duration: float,
    *,
    paths: int = 10_000,
    replicas: int = 1,
    realisations: int = 4,
    seed: int = 0,
    method: str = "causal",
    waiting_times: Sequence[float] | None = None,
    variance_reduction: bool = True,
    tolerance: float = 1e-3,
    damping: float = 0.3,
    max_iterations: int = 200,
    progress: bool | None = None,
) -> xr.Dataset:
    r"""Solve the theory and return the observables at every step.

    Parameters
    ----------
    problem
        What is learned.
    algorithm
        How the batches are drawn.
    learning_rate
        Step :math:`dt`.
    duration
        Training time, a whole number of learning rates.
    paths
        Samples in each population, more than the number of steps. Errors fall with the square root.
    replicas
        1, or 2 runs with the same data and the same start but independent batches; then ``distance`` and
        ``cross_correlation`` are there too.
    realisations
        Independent populations. The error of a mean over them is their standard deviation over their square root.
    seed
        Any whole number from 0 up to 2^63 - 1; the same seed gives the same bits for any number of threads. A
        realisation depends on the seed and on its own number only.
    method
        ``"causal"``: one forward pass. ``"iterative"``: the iteration of the paper, for comparison; with the same seed
        it settles on the same solution.
    waiting_times
        Times :math:`t_w` for which ``correlation`` and ``integrated_response`` are kept. By default every step of a
        run of up to 400 steps, and of a longer one every second, third... step, so that 201 to 401 are kept.
    variance_reduction
        Whether to draw the populations with exact moments and, with a ridge, to average over the last batch
        analytically; without, all random numbers are independent.
    tolerance
        For ``method="iterative"``: relative change of the kernels at which it stops.
    damping
        For ``method="iterative"``: share of the old kernels that is kept in each round.
    max_iterations
        For ``method="iterative"``: number of rounds after which it gives up.
    progress
        Show how far the solution has come; by default on a terminal, after a few seconds.

    Returns
    -------
    xarray.Dataset
        ``magnetization``, ``norm``, ``loss``, ``error``, ``unsatisfied`` and, with two replicas, ``distance``, with
        dimensions (realisation, time); ``correlation`` :math:`C(t,t_w)`, ``response`` :math:`R(t,t_w)`,
        ``integrated_response`` :math:`\chi(t,t_w)=dt\sum_{s=t_w+1}^tR(s,t_w)` and, with two replicas,
        ``cross_correlation`` :math:`C_{12}(t,t_w)`, with dimensions (realisation, waiting_time, time), NaN before the
        waiting time. The attribute ``repairs`` counts the times at which the noise was not positive and had to be made
        so.

    Raises
    ------
    DivergedError
        When the weights grow without bound.
    ConvergenceError
        When the iteration does not converge; it carries the last estimate.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem, sgd = sn.Problem(alpha=6), sn.SGD(batch=0.5)
    >>> theory = sn.solve_dmft(problem, sgd, 0.1, 2.0, paths=500, realisations=2)
    >>> dict(theory.sizes)
    {'realisation': 2, 'time': 21, 'waiting_time': 21}
    >>> sn.solve_dmft(sn.Problem(alpha=6), sn.GD(), 0.1, 2.0, paths=20)
    Traceback (most recent call last):
    ValueError: paths must be at least 22 for 20 steps, got 20
    """
    check_problem(problem, "solve_dmft")
    dt = check_learning_rate(algorithm, learning_rate, problem.ridge)
    steps = _checks.steps(dt, _checks.real("duration", duration, above=0))
    paths = _checks.integer("paths", paths, at_least=1)
    if paths < steps + 2:  # fewer paths than noises could not even have the right covariance
        raise ValueError(f"paths must be at least {steps + 2} for {steps} steps, got {paths}")
    replicas = _checks.integer("replicas", replicas, at_least=1, at_most=2)
    realisations = _checks.integer("realisations", realisations, at_least=1)
    seed = _checks.seed("seed", seed)
    method = _checks.choice("method", method, METHODS)
    waiting = _waiting_steps(waiting_times, dt, steps)
    tolerance = _checks.real("tolerance", tolerance, above=0)
    damping = _checks.real("damping", damping, at_least=0, below=1)
    max_iterations = _checks.integer("max_iterations", max_iterations, at_least=1)
    control = Control(tolerance, damping, max_iterations)
    _checks.flag("variance_reduction", variance_reduction)
    process, update, noise = parts_of(algorithm, dt, problem.ridge)
    rule = Rule(update, dt, noise)
    needed = memory_needed(steps, paths, replicas, realisations, waiting.size)
    what = f"paths={paths} with realisations={realisations}, {steps} steps and {waiting.size} waiting times"
    _checks.memory(needed, what)

    began = clock.perf_counter()
    columns: dict[str, list[NDArray[np.float64]]] = {}
    solutions: list[tuple[int, float, int]] = []
    rounds = steps if method == "causal" else max_iterations
    with progress_bar(realisations * rounds, "solving", show=progress) as bar:
        for done, stream in enumerate(np.random.SeedSequence(seed).spawn(realisations)):
            drawing, guessing = stream.spawn(2)
            population = Population.draw(problem, process, dt, (steps, replicas, paths), variance_reduction, drawing)
            if method == "causal":
                solution = solve_causal(population, rule, bar.update)
            else:
                solution = solve_iterative(population, rule, control, np.random.default_rng(guessing), bar.update)
            bar.update((done + 1) * rounds - bar.n)  # an iteration may need fewer rounds
            solutions.append((solution.iterations, solution.residual, solution.weights.repairs))
            for name, values in observables(solution, problem, waiting).items():
                columns.setdefault(name, []).append(values)
    iterations, residuals, repairs = zip(*solutions, strict=True)
    attributes = {
        "engine": "dmft",
        "method": method,
        "learning_rate": dt,
        "duration": dt * steps,
        "paths": paths,
        "replicas": replicas,
        "seed": seed,
        "variance_reduction": int(variance_reduction),
        "repairs": sum(repairs),
        "wall_time": clock.perf_counter() - began,
    }
    if method == "iterative":
        attributes |= {"tolerance": tolerance, "damping": damping, "max_iterations": max_iterations}
        attributes |= {"iterations": max(iterations), "residual": max(residuals)}
    variables = {name: np.stack(values) for name, values in columns.items()}
    result = results.dataset(dt * np.arange(steps + 1), variables, problem, algorithm, attributes)
    result = result.assign_coords(waiting_time=dt * waiting)
    result["waiting_time"].attrs["long_name"] = "waiting time"
    if max(residuals) > tolerance:
        raise ConvergenceError(
            f"max_iterations must be larger or tolerance looser: after {max(iterations)} iterations the kernels still "
            f"change by {max(residuals):.1e}, more than tolerance={tolerance:g}",
            result,
            max(residuals),
            max(iterations),
        )
    return result


def observables(solution: Solution, problem: Problem, waiting: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    """Every variable of the dataset for one population."""
    weights = solution.weights
    m, q = weights.m, weights.norm()
    early = np.arange(m.size) < waiting[:, None]
    correlation = weights.correlations(waiting) + np.outer(m[waiting], m)
    response = weights.response(waiting)
    columns = {
        "magnetization": m,
        "norm": q,
        "loss": problem.alpha * solution.value + 0.5 * problem.ridge * q,
        "error": results.generalisation_error(m, q, problem.delta),
        "unsatisfied": solution.unsatisfied,
        "correlation": np.where(early, np.nan, correlation[0]),
        "response": np.where(early, np.nan, response),
        "integrated_response": np.where(early, np.nan, weights.dt * np.cumsum(response, axis=1)),
    }
    if len(correlation) == 2:
        columns["distance"] = weights.distance()
        columns["cross_correlation"] = np.where(early, np.nan, correlation[1])
    return columns


def memory_needed(steps: int, paths: int, replicas: int, realisations: int, waiting: int) -> float:
    """Return an upper bound of the memory of a solution, in bytes."""
    normals = 2 * 8 * paths * (replicas * (steps + 1) + 34)  # as drawn, and once more while they are made orthogonal
    lists = replicas * paths * (steps * (4 + 8 + 8) + 8 * 8)
    triangles = 8 * (steps + 1) * (steps + 128) * (2 + 2 * replicas)
    output = 8 * (2 * realisations + 3) * (2 + replicas) * waiting * (steps + 1)
    return float(normals + lists + triangles + output)


def _waiting_steps(waiting_times: Sequence[float] | None, dt: float, steps: int) -> NDArray[np.intp]:
    """Return the step numbers of the waiting times."""
    if waiting_times is None:
        return np.arange(0, steps + 1, -(-steps // (MAX_WAITING - 1)))
    if isinstance(waiting_times, str) or not np.iterable(waiting_times):
        raise TypeError(f"waiting_times must be a sequence of times, got {waiting_times!r}")
    chosen = []
    for time in waiting_times:
        number = _checks.real("waiting_times", time, at_least=0, at_most=dt * steps * (1 + 1e-9))
        chosen.append(_checks.steps(dt, number, "waiting_times"))
    if not chosen:
        raise ValueError("waiting_times must have at least one time, got none")
    if np.any(np.diff(chosen) <= 0):
        raise ValueError(f"waiting_times must increase, got {waiting_times!r}")
    return np.array(chosen, dtype=np.intp)
