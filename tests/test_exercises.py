"""The solutions of the exercises run as they are printed, and give what their texts say."""

import contextlib
import io
import re

import numpy as np
import pytest
from scipy.stats import t as student

from bookbuild.paths import ROOT

TEXT = (ROOT / "book" / "exercises.md").read_text(encoding="utf-8")
SOLUTIONS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
PRINTED = re.findall(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)


def solution(number):
    """Run a solution, which prints what the page shows; return what it leaves behind."""
    names = {"__name__": f"exercise{number}"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(SOLUTIONS[number - 1], names)
    assert printed.getvalue() == PRINTED[number - 1]
    return names


def test_every_exercise_has_a_solution():
    assert len(SOLUTIONS) == len(re.findall(r"^## \d\. ", TEXT, flags=re.MULTILINE)) == 5


def test_separability():
    found = solution(1)
    assert found["random_positions"] == pytest.approx(2, abs=1e-6)
    assert found["paper"] > 10 * 0.5


def test_temperature_at_finite_steps():
    found = solution(2)
    exact = found["dt"] * found["sigma"] ** 2 / (2 - found["stiffness"] * found["dt"])
    np.testing.assert_allclose(found["temperature"], exact, rtol=1e-12)


def test_ridge():
    found = solution(3)
    assert found["sgd"].magnetization == pytest.approx(found["stronger"].magnetization, rel=1e-9)
    assert found["weaker"].magnetization == pytest.approx(found["descent"].magnetization, rel=1e-9)
    assert abs(found["sgd"].magnetization - found["descent"].magnetization) > 0.1


def test_noisiest_batch():
    found = solution(4)
    assert found["without"] == pytest.approx(0.5)
    assert found["with_ridge"] < 0.5
    assert found["averaged"] == pytest.approx(0.05)


@pytest.mark.statistical
def test_batches_in_pairs():
    """False alarms: 1e-3 on a new seed, by Student's distribution with the 3 + 3 degrees of two means."""
    found = solution(5)["distances"]

    def z(first, second):
        error = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / first.size)
        return (first.mean() - second.mean()) / error

    assert z(found["SGD"], found["PairedSGD"]) > student.isf(1e-3, 3), "farther apart"
    assert abs(z(found["ShuffledSGD"], found["PairedSGD"])) < student.isf(1e-3 / 2, 6), "the same law"
