"""Problems, losses and algorithms: what is accepted, what is refused, and in which words."""

import dataclasses
import math

import numpy as np
import pytest

import sgdnoise as sn

NAN = float("nan")
TOP = "at most 1e+12"


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: sn.Problem(alpha=-1), ValueError, f"alpha must be greater than 0 and {TOP}, got -1"),
        (lambda: sn.Problem(alpha=0), ValueError, f"alpha must be greater than 0 and {TOP}, got 0"),
        (
            lambda: sn.Problem(alpha=NAN),
            ValueError,
            f"alpha must be a finite number greater than 0 and {TOP}, got nan",
        ),
        (lambda: sn.Problem(alpha=10**400), ValueError, "alpha must be a finite number"),
        (lambda: sn.Problem(alpha="6"), TypeError, f"alpha must be a number greater than 0 and {TOP}, got '6'"),
        (
            lambda: sn.Problem(alpha=True),
            TypeError,
            f"alpha must be a number greater than 0 and {TOP}, got True",
        ),
        (
            lambda: sn.Problem(alpha=None),
            TypeError,
            f"alpha must be a number greater than 0 and {TOP}, got None",
        ),
        (
            lambda: sn.Problem(alpha=1 + 0j),
            TypeError,
            f"alpha must be a number greater than 0 and {TOP}, got (1+0j)",
        ),
        (
            lambda: sn.Problem(alpha=np.ones(2)),
            TypeError,
            f"alpha must be a number greater than 0 and {TOP}, got array",
        ),
        (lambda: sn.Problem(alpha=1, delta=0), ValueError, f"delta must be greater than 0 and {TOP}, got 0"),
        (lambda: sn.Problem(alpha=1, ridge=-0.1), ValueError, f"ridge must be at least 0 and {TOP}, got -0.1"),
        (
            lambda: sn.Problem(alpha=1, margin=math.inf),
            ValueError,
            f"margin must be a finite number at least -1e+12 and {TOP}, got inf",
        ),
        (
            lambda: sn.Problem(alpha=1, init_variance=-1),
            ValueError,
            f"init_variance must be at least 0 and {TOP}, got -1",
        ),
        (lambda: sn.Problem(alpha=1, loss="hinge"), TypeError, "loss must be a loss such as sgdnoise.squared_hinge"),
        (lambda: sn.SGD(batch=0), ValueError, "batch must be greater than 0 and at most 1, got 0"),
        (lambda: sn.SGD(batch=1.5), ValueError, "batch must be greater than 0 and at most 1, got 1.5"),
        (lambda: sn.SGD(batch=NAN), ValueError, "batch must be a finite number greater than 0 and at most 1, got nan"),
        (lambda: sn.SGD(batch="all"), TypeError, "batch must be a number greater than 0 and at most 1, got 'all'"),
        (lambda: sn.PersistentSGD(batch=0.5, persistence=0), ValueError, "persistence must be greater than 0, got 0"),
        (lambda: sn.PersistentSGD(0.5, 1, "eular"), ValueError, "embedding must be 'euler' or 'exact', got 'eular'"),
        (lambda: sn.PersistentSGD(0.5, 1, 3), TypeError, "embedding must be 'euler' or 'exact', got 3"),
        (lambda: sn.SGD(0.5).sampling(0), ValueError, "learning_rate must be greater than 0, got 0"),
        (lambda: sn.GD().sampling(NAN), ValueError, "learning_rate must be a finite number greater than 0, got nan"),
        (
            lambda: sn.PersistentSGD(0.1, 0.5).sampling(0.1),
            ValueError,
            "learning_rate must be at most 0.0555556 for PersistentSGD(batch=0.1, persistence=0.5) with "
            "embedding='euler', got 0.1",
        ),
        (lambda: sn.PersistentSGD(0.9, 0.1).sampling(0.2), ValueError, "learning_rate must be at most 0.1"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, error, sentence):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_accepted_values_become_floats():
    problem = sn.Problem(alpha=np.float32(0.5), delta=np.int64(2), ridge=np.array(1))
    assert problem == sn.Problem(alpha=0.5, delta=2.0, ridge=1.0)
    assert all(type(getattr(problem, name)) is float for name in ("alpha", "delta", "ridge"))


@pytest.mark.parametrize("value", [sn.Problem(alpha=1), sn.SGD(0.5), sn.PersistentSGD(0.5, 1.0), sn.GD()])
def test_values_are_frozen_and_hashable(value):
    assert hash(value) == hash(dataclasses.replace(value))
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, 1.0)


@pytest.mark.kernel
@pytest.mark.parametrize("loss", [sn.squared_hinge, sn.square, sn.logistic], ids=repr)
@pytest.mark.parametrize("margin", [-0.5, 0.0, 1.0])
def test_derivatives_of_a_loss_are_its_derivatives(loss, margin):
    """Central differences, away from the kink of the squared hinge; error O(step^2) plus rounding/step."""
    h = np.linspace(-4, 5, 91) + 0.0123
    step = 1e-5
    slope = (loss.value(h + step, margin) - loss.value(h - step, margin)) / (2 * step)
    curvature = (loss.slope(h + step, margin) - loss.slope(h - step, margin)) / (2 * step)
    np.testing.assert_allclose(loss.slope(h, margin), slope, atol=1e-9)
    np.testing.assert_allclose(loss.curvature(h, margin), curvature, atol=1e-9)


def test_the_logistic_loss_does_not_overflow():
    h = np.array([-1e4, -800.0, 800.0, 1e4])
    np.testing.assert_allclose(sn.logistic.value(h, 0.0), [1e4, 800.0, 0.0, 0.0])
    np.testing.assert_allclose(sn.logistic.slope(h, 0.0), [-1.0, -1.0, 0.0, 0.0])


def test_the_logistic_loss_keeps_its_digits_where_it_is_tiny():
    h = np.linspace(-40, 700, 5001)
    np.testing.assert_allclose(sn.logistic.value(h, 0.3), np.logaddexp(0.0, 0.3 - h), rtol=1e-15)
