# ruff: noqa: ARG001, ARG005 (what a part does not need, it is given all the same)
"""Losses and sampling processes of one's own: accepted everywhere, equal after a journey, never stale, checked."""

import copy
import dataclasses
import math
import os
import pickle
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cloudpickle
import naive
import numpy as np
import pytest
from own_parts import HuberHinge, RoundRobin, Turns
from simulated import drawn, weights_of

import sgdnoise as sn

OWN = sn.Problem(alpha=3, delta=0.7, ridge=0.8, loss=HuberHinge(0.5))


@pytest.mark.parametrize("journey", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
@pytest.mark.parametrize(
    "value",
    [
        sn.Problem(alpha=3),
        sn.Problem(alpha=3, loss=sn.logistic),
        OWN,
        sn.SGD(0.3),
        sn.PersistentSGD(0.3, 2.0, momentum=0.5),
        RoundRobin(0.25),
        sn.squared_hinge,
        HuberHinge(2.0),
        Turns(4.0),
    ],
    ids=repr,
)
def test_equal_after_a_journey(value, journey):
    again = journey(value)
    assert again == value
    assert hash(again) == hash(value)
    assert cloudpickle.loads(cloudpickle.dumps(value)) == value


def test_losses_without_fields_are_told_apart():
    assert sn.squared_hinge != sn.square
    assert sn.Problem(alpha=3) != sn.Problem(alpha=3, loss=sn.square)
    assert HuberHinge(1.0) != HuberHinge(2.0)
    assert len({sn.squared_hinge, sn.square, sn.logistic, HuberHinge(), Turns(1.0)}) == 5


@pytest.mark.parametrize("alpha", [0.8, 3])
def test_a_loss_of_ones_own_is_trained_exactly(alpha):
    """Both coordinates against the ten-line loop, with a batch of one's own."""
    problem, dt, steps = sn.Problem(alpha=alpha, ridge=0.8, loss=HuberHinge(0.5)), 0.05, 60
    options = {"features": 30, "replicas": 2, "seed": 3}
    run = sn.simulate(problem, RoundRobin(0.25), dt, steps * dt, realisations=1, precision="double", **options)
    inputs = drawn(problem, RoundRobin(0.25), dt, steps * dt, **options)
    weights = [
        naive.train(inputs.A, inputs.start, s, dt, 0.8, lambda h: problem.loss.slope(h, 1.0)) for s in inputs.batches
    ]
    norm = np.mean([(w**2).sum(axis=1) / 30 for w in weights], axis=0)
    loss = np.mean([problem.loss.value(w @ inputs.A.T, 1.0).sum(axis=1) / 30 for w in weights], axis=0)
    np.testing.assert_allclose(run.norm[0], norm, rtol=1e-12)
    np.testing.assert_allclose(run.loss[0], loss + 0.4 * norm, rtol=1e-12)
    assert run.attrs["loss"] == "huber_hinge(width=0.5)"
    assert run.attrs["algorithm"] == "RoundRobin"


def test_a_wide_huber_hinge_is_the_squared_hinge():
    for engine, size in ((sn.simulate, {"features": 40, "precision": "double"}), (sn.solve_dmft, {"paths": 300})):
        options = {"learning_rate": 0.1, "duration": 2.0, "realisations": 2, **size}
        wide = engine(sn.Problem(alpha=3, loss=HuberHinge(1e6)), sn.SGD(0.3), **options)
        plain = engine(sn.Problem(alpha=3), sn.SGD(0.3), **options)
        np.testing.assert_allclose(wide.loss, plain.loss, rtol=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("replicas", [1, 2])
def test_theory_and_networks_agree_on_parts_of_ones_own(replicas):
    """Norm, unsatisfied fraction and distance at the end, N=600, within 4.5 joint standard errors.

    With eight values on each side, Student's t of about 14 degrees of freedom: false in 5e-4 of seeds a number.
    """
    options = {"learning_rate": 0.1, "duration": 4.0, "replicas": replicas, "realisations": 8}
    theory = sn.solve_dmft(OWN, RoundRobin(0.25), paths=2000, **options)
    run = sn.simulate(OWN, RoundRobin(0.25), features=600, precision="double", **options)  # compiled already
    for name in ("magnetization", "norm", "unsatisfied", *(["distance"] if replicas == 2 else [])):
        first, second = theory[name][:, -1], run[name][:, -1]
        error = math.hypot(*(float(x.std(ddof=1)) / math.sqrt(8) for x in (first, second)))
        assert abs(float(first.mean() - second.mean())) < 4.5 * error, name
    # Negative control: the theory of independent batches is elsewhere.
    other = sn.solve_dmft(OWN, sn.SGD(0.25), paths=2000, **options).magnetization[:, -1]
    first = theory.magnetization[:, -1]
    error = math.hypot(*(float(x.std(ddof=1)) / math.sqrt(8) for x in (first, other)))
    assert abs(float(first.mean() - other.mean())) > 4.5 * error


def test_samples_that_share_the_unit_interval_take_turns_equally():
    weights = weights_of(np.array([3, 4], np.uint32), Turns(4.0), 40, 8, shared=True)
    np.testing.assert_array_equal(weights.sum(axis=1), 10)
    np.testing.assert_array_equal(weights[:4].sum(axis=0), 1)


def test_exact_theories_say_what_they_know():
    with pytest.raises(
        ValueError, match=r"loss must be sgdnoise.squared_hinge or sgdnoise.square .* HuberHinge\(width"
    ):
        sn.solve_statics(OWN)
    with pytest.raises(
        ValueError,
        match=r"algorithm must have a sampling process with a known covariance .* linear response, got RoundRobin",
    ):
        sn.linear_response(sn.Problem(alpha=3), RoundRobin(0.25), 0.1, 1.0)


def trained(problem, batch, seed):
    return sn.simulate(problem, RoundRobin(batch), 0.1, 1.0, features=30, realisations=1, precision="double", seed=seed)


def solved(problem, batch, seed):
    return sn.solve_dmft(problem, RoundRobin(batch), 0.1, 1.0, paths=100, realisations=1, seed=seed)


@pytest.mark.parametrize("function", [trained, solved])
def test_sweeps_and_the_store_take_parts_of_ones_own(function, tmp_path):
    def swept(loss):
        fixed = {"problem": dataclasses.replace(OWN, loss=loss)}
        return sn.sweep(function, {"batch": [0.25, 0.5]}, [3], fixed=fixed, store=tmp_path, workers=1)

    first, other = swept(HuberHinge(0.5)), swept(HuberHinge(0.2))
    assert first.norm.sel(batch=0.5, seed=3).identical(function(OWN, 0.5, 3).norm.assign_coords(batch=0.5, seed=3))
    assert not first.norm.identical(other.norm), "another width is another result"
    assert len(list(tmp_path.rglob("*.nc"))) == 4
    assert swept(HuberHinge(0.5)).identical(first), "from the store, with its wall time"


def test_the_worked_examples_are_those_that_are_tested():
    guide = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    tested = (Path(__file__).parent / "own_parts.py").read_text(encoding="utf-8")
    assert len(examples) == 2
    assert all(example in tested for example in examples)


MODULE = """
    from typing import NamedTuple
    import sgdnoise as sn

    @sn.loss
    class Mine(NamedTuple):
        def value(self, h, margin):
            return FACTOR * 0.5 * min(h - margin, 0.0) ** 2

        def slope(self, h, margin):
            return FACTOR * min(h - margin, 0.0)

        def curvature(self, h, margin):
            return FACTOR if h < margin else 0.0
"""


@pytest.mark.endtoend
def test_an_edited_loss_is_compiled_anew_and_a_lost_one_does_no_harm(tmp_path):
    """Numba's disk cache must neither return the kernel of the old text nor need a class that is gone."""
    code = "import numpy as np, mine; print(float(mine.LOSS().slope(np.array([0.25]), 1.0)[0]))"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        "NUMBA_CACHE_DIR": str(tmp_path),
    }

    def slope(text, loss="Mine"):
        (tmp_path / "mine.py").write_text(textwrap.dedent(text))
        command = [sys.executable, "-c", code.replace("LOSS", loss)]
        return float(subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout)

    assert slope(MODULE.replace("FACTOR", "1.0")) == -0.75
    assert slope(MODULE.replace("FACTOR", "2.0")) == -1.5
    assert slope(MODULE.replace("FACTOR", "3.0").replace("Mine", "Other"), "Other") == -2.25
    assert len(list(tmp_path.rglob("*_slopes*.nbc"))) == 3, "each was kept on disk"


def a_loss(value=None, slope=None, curvature=None):
    """Return a squared hinge with some functions replaced."""

    class Wrong(NamedTuple):
        pass

    Wrong.value = value or (lambda self, h, margin: 0.5 * min(h - margin, 0.0) ** 2)
    Wrong.slope = slope or (lambda self, h, margin: min(h - margin, 0.0))
    Wrong.curvature = curvature or (lambda self, h, margin: 1.0 if h < margin else 0.0)
    return sn.loss(Wrong)()


def not_a_number(self, h, margin):
    return math.nan


def text(self, h, margin):
    return "steep"


def broken(self, h, margin):
    if h < margin:
        raise ValueError("no such loss")
    return 0.0


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (
            lambda: a_loss(slope=lambda self, h, margin: margin - h),
            ValueError,
            "slope of Wrong: slope must be the deriv",
        ),
        (lambda: a_loss(slope=not_a_number), ValueError, "slope of Wrong must be finite, got nan at h="),
        (lambda: a_loss(value=text), TypeError, "value of Wrong must compile to a function of two numbers"),
        (
            lambda: a_loss(curvature=broken),
            ValueError,
            "curvature of Wrong must not raise, got ValueError: no such loss",
        ),
        (
            lambda: a_loss(
                value=lambda self, h, margin: max(margin - h, 0.0),
                slope=lambda self, h, margin: -1.0 if h < margin else 0.0,
                curvature=lambda self, h, margin: 0.0,
            ),
            ValueError,
            "curvature of Wrong: curvature must be the derivative of a continuous slope",
        ),
        (lambda: HuberHinge("wide"), TypeError, "field width of HuberHinge must be a number, got 'wide'"),
        (lambda: HuberHinge(math.inf), ValueError, "field width of HuberHinge must be a finite number, got inf"),
        (lambda: "hinge", TypeError, "loss must be a loss such as sgdnoise.squared_hinge"),
        (lambda: HuberHinge, TypeError, "loss must be a loss such as sgdnoise.squared_hinge"),
    ],
)
def test_a_bad_loss_gets_one_sentence_before_any_work(make, error, sentence):
    with pytest.raises(error) as caught:
        sn.Problem(alpha=3, loss=make())
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def never(self, step, state, u):
    if u > 0.5:
        raise ValueError("no batch today")
    return 1.0, 0


def a_sampling(draw, expected=lambda self, step, state: 0.5, width=1.0):
    class Odd(NamedTuple):
        width: float

    Odd.draw, Odd.expected = draw, expected
    process = sn.sampling(Odd)(width)

    @dataclass(frozen=True)
    class Mine(sn.Algorithm):
        batch: float = 0.5

        def sampling(self, learning_rate):  # noqa: ARG002
            return process

    return Mine()


@pytest.mark.parametrize(
    ("algorithm", "error", "sentence"),
    [
        (
            lambda: a_sampling(lambda self, step, state, u: (math.nan, 0)),
            ValueError,
            "draw and expected of Odd must ret",
        ),
        (
            lambda: a_sampling(lambda self, step, state, u: (1.0, -3)),
            ValueError,
            "draw of Odd must return states of at",
        ),
        (
            lambda: a_sampling(lambda self, step, state, u: (1.0, 0)),
            ValueError,
            "expected of Odd must be the mean of wha",
        ),
        (
            lambda: a_sampling(lambda self, step, state, u: "in"),
            TypeError,
            "draw or expected of Odd must compile to func",
        ),
        (
            lambda: a_sampling(never),
            ValueError,
            "draw or expected of Odd must not raise, got ValueError: no batch today",
        ),
        (lambda: a_sampling(never, width="all"), TypeError, "field width of Odd must be a number, got 'all'"),
        (lambda: sn.Algorithm(), TypeError, "Algorithm must have a method sampling"),
        (
            lambda: "SGD",
            TypeError,
            "algorithm must be a sgdnoise.GD, SGD, PersistentSGD or another Algorithm, got 'SGD'",
        ),
    ],
)
def test_a_bad_sampling_process_gets_one_sentence_before_any_work(algorithm, error, sentence):
    mine = algorithm()
    for engine in (sn.simulate, sn.solve_dmft):
        with pytest.raises(error) as caught:
            engine(sn.Problem(alpha=3), mine, 0.1, 1.0)
        assert str(caught.value).startswith(sentence)
        assert "\n" not in str(caught.value)


def test_a_class_that_is_no_part_is_refused_at_its_definition():
    with pytest.raises(TypeError, match="a loss must be a NamedTuple with methods value, slope and curvature"):
        sn.loss(type("Plain", (), {}))
    with pytest.raises(TypeError, match="a sampling process must be a NamedTuple with methods draw and expected"):
        sn.sampling(type("Plain", (), {}))


def test_an_update_rule_that_is_not_linear_is_refused():
    from sgdnoise.parts import part

    @part
    class Clipped(NamedTuple):
        rate: float

        def step(self, w, velocity, gradient):
            return w - self.rate * min(max(gradient, -1.0), 1.0), velocity

    @dataclass(frozen=True)
    class Mine(sn.SGD):
        def update(self, learning_rate, ridge):  # noqa: ARG002
            return Clipped(learning_rate)

    for engine in (sn.simulate, sn.solve_dmft):
        with pytest.raises(ValueError, match="step of Clipped must return weight and velocity, linear in both"):
            engine(sn.Problem(alpha=3), Mine(0.5), 0.1, 1.0)
