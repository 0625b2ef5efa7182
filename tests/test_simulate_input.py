"""Bad input is refused in one sentence before any work; odd input is pointed out; long runs can be interrupted."""

import inspect
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sgdnoise as sn

SMALL = {"learning_rate": 0.1, "duration": 3.0, "features": 40, "realisations": 2}


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (
            {"features": 10**8},
            MemoryError,
            "features=100000000 with 300000000 samples, realisations=2 must fit in memory",
        ),
        (
            {"features": 10**6, "workers": 2},
            MemoryError,
            "features=1000000 with 3000000 samples, realisations=2 on 2 workers must fit",
        ),
        ({"realisations": 0}, ValueError, "realisations must be a whole number of at least 1, got 0"),
        ({"replicas": 3}, ValueError, "replicas must be a whole number of at least 1 and at most 2, got 3"),
        ({"waiting_times": (5.0,)}, ValueError, "waiting_times must lie before the end of the run at 3, got 5"),
        ({"waiting_times": (3.0,)}, ValueError, "waiting_times must lie before the end of the run at 3, got 3"),
        ({"waiting_times": (-1.0,)}, ValueError, "waiting_times must be at least 0, got -1.0"),
        ({"waiting_times": (1.0, 0.5)}, ValueError, "waiting_times must increase, got (1.0, 0.5)"),
        ({"waiting_times": (0.25,)}, ValueError, "waiting_times must be a multiple of learning_rate=0.1, got 0.25"),
        (
            {"waiting_times": (0.5,), "record_every": 2},
            ValueError,
            "waiting_times must be recorded times, multiples of",
        ),
        ({"stop_gradient": 1e-10}, ValueError, "stop_gradient must be None with ridge=1 and batches that change"),
        (
            {"stop_gradient": 0, "problem": sn.Problem(alpha=3, ridge=0)},
            ValueError,
            "stop_gradient must be greater than 0",
        ),
        (
            {"stop_gradient": 1e-3, "problem": sn.Problem(alpha=3, ridge=0), "waiting_times": (1.0,)},
            ValueError,
            "waiting_times must be empty with stop_gradient",
        ),
        ({"record_every": 0}, ValueError, "record_every must be a whole number of at least 1, got 0"),
        ({"record_every": 4, "loss_every": 6}, ValueError, "loss_every must be a multiple of record_every=4, got 6"),
        ({"probes": 0}, ValueError, "probes must be a whole number of at least 1, got 0"),
        ({"workers": 0}, ValueError, "workers must be a whole number of at least 1, got 0"),
        ({"precision": "half"}, ValueError, "precision must be 'auto' or 'single' or 'double', got 'half'"),
        ({"progress": "yes"}, TypeError, "progress must be True or False, got 'yes'"),
        ({"on_divergence": "ignore"}, ValueError, "on_divergence must be 'raise' or 'mark', got 'ignore'"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, error, sentence):
    arguments = {"problem": sn.Problem(alpha=3), "algorithm": sn.SGD(0.3), **SMALL, **change}
    with pytest.raises(error) as caught:
        sn.simulate(**arguments)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_no_runs_are_refused():
    with pytest.raises(ValueError, match="runs must hold at least one"):
        sn.simulate_paired(sn.Problem(alpha=3), [], 1.0)


def test_samples_that_are_not_a_whole_number_are_pointed_out():
    with pytest.warns(UserWarning, match=r"alpha=0\.5 times features=25 is 12\.5, not a whole number: 12 samples"):
        sn.simulate(sn.Problem(alpha=0.5), sn.GD(), 0.1, 0.1, features=25, realisations=1)


def test_a_run_that_never_stops_says_so():
    problem = sn.Problem(alpha=0.5, delta=0.5, ridge=0)
    with pytest.warns(
        UserWarning, match=r"2 of 2 runs of SGD\(batch=0\.3\) did not reach stop_gradient=1e-10 by time 2"
    ):
        run = sn.simulate(problem, sn.SGD(0.3), 0.2, 2.0, features=40, realisations=2, stop_gradient=1e-10)
    assert np.isnan(run.stopping_time).all()
    assert np.isfinite(run.norm).all()


def test_the_last_step_is_recorded_in_any_case():
    run = sn.simulate(sn.Problem(alpha=3), sn.SGD(0.3), 0.1, 1.3, features=20, realisations=1, record_every=5)
    np.testing.assert_allclose(run.time, [0.0, 0.5, 1.0, 1.3])
    assert np.isfinite(run.loss).all()


def test_a_large_problem_is_within_its_memory():
    """N=5000, alpha=8: the estimate that the memory check uses, for the widest comparison of the paper."""
    from sgdnoise.simulation.plan import make_plan

    runs = [(sn.PersistentSGD(0.3, tau), 0.05) for tau in (0.5, 1, 2, 4, 8)] * 2
    options = {"features": 5000, "replicas": 2, "realisations": 1, "loss_every": 10}
    assert make_plan(sn.Problem(alpha=8), runs, 20.0, **options).unit_bytes < 1e9
    assert make_plan(sn.Problem(alpha=8), runs, 20.0, precision="double", **options).unit_bytes < 2e9


def test_one_run_paired_runs_and_their_plan_have_the_same_options():
    from sgdnoise.simulation.plan import make_plan

    def options(function):
        return {p.name: p.default for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}

    assert options(sn.simulate) == options(sn.simulate_paired)
    assert options(make_plan).items() <= options(sn.simulate).items()
    with pytest.raises(TypeError, match="unexpected keyword argument 'featurs'"):
        sn.simulate_paired(sn.Problem(alpha=3), [(sn.GD(), 0.1)], 1.0, featurs=30)


@pytest.mark.endtoend
@pytest.mark.parametrize(
    ("short", "long"),
    [
        (
            "sn.simulate(*model, 0.1, 1.0, features=100, realisations=2, workers=2)",
            "sn.simulate(*model, 0.1, 1e5, features=100, realisations=4, workers=2)",
        ),
        ("sn.solve_dmft(*model, 0.1, 1.0, paths=100)", "sn.solve_dmft(*model, 0.1, 300.0, paths=8000)"),
    ],
    ids=["simulate", "solve_dmft"],
)
def test_an_interrupt_ends_all_threads_at_once(short, long):
    model = "import sgdnoise as sn\nmodel = sn.Problem(alpha=3), sn.SGD(0.3)"
    code = "\n".join([model, short, "print('ready', flush=True)", long])
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        assert time.monotonic() - began < 10
    assert b"KeyboardInterrupt" in error


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p, a: sn.simulate(p, a, 0.1, 1.0, waiting_times=None), "waiting_times must be a list, got None"),
        (lambda p, a: sn.simulate_paired(p, [a], 1.0), "runs must hold pairs (algorithm, learning_rate), got"),
        (lambda p, a: sn.simulate_paired(p, [(a, 0.1, 3)], 1.0), "runs must hold pairs (algorithm, learning_rate)"),
        (lambda *_: sn.fdt_curve(None), "dataset must be an xarray.Dataset of solve_dmft or simulate, got NoneType"),
        (lambda *_: sn.effective_temperature(None), "dataset must be an xarray.Dataset"),
    ],
)
def test_ill_typed_arguments_are_refused_in_one_sentence(call, sentence):
    with pytest.raises(TypeError) as caught:
        call(sn.Problem(alpha=2), sn.SGD(0.5))
    assert str(caught.value).startswith(sentence)
