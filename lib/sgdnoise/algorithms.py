r"""The algorithms: which samples are in the batch at each step, and what the weights do with the gradient.

An algorithm names a *sampling process* (see :mod:`sgdnoise.random.batches`), an *update rule*, and white noise if it
has any. In GD, SGD and persistent SGD every sample has a two-state Markov chain :math:`s_\mu(t)\in\{0,1\}`, independent
between samples and started in its stationary law, :math:`P(s=1)=b`:

============================  ==================================  ======================================
algorithm                     :math:`P(0\to1)`                    :math:`P(1\to0)`
============================  ==================================  ======================================
gradient descent              1                                   0
vanilla SGD                   :math:`b`                           :math:`1-b`
persistent SGD, Euler         :math:`dt/\tau`                     :math:`\frac{1-b}{b}\,dt/\tau`
persistent SGD, exact         :math:`b\,(1-e^{-dt/(b\tau)})`      :math:`(1-b)\,(1-e^{-dt/(b\tau)})`
============================  ==================================  ======================================

The autocorrelation follows: :math:`\langle s(0)s(t)\rangle - b^2 = b(1-b)\,\rho^{t/dt}` with
:math:`\rho = 1-P(0\to1)-P(1\to0)`. For the exact embedding this is the paper's :math:`b(1-b)e^{-t/(b\tau)}` at any
learning rate; for Euler's, :math:`\rho=1-dt/(b\tau)` agrees with it to first order, vanishes at :math:`\tau=dt/b`
(then it *is* vanilla SGD) and is negative below that.

Three more algorithms are used in practice or serve as controls. Shuffled SGD splits the samples into :math:`1/b` equal
batches, anew in every epoch. Gaussian SGD replaces :math:`s_\mu` by a normal number with the same mean and variance.
Langevin descent has full batches and white noise of a given temperature.

The gradient of a batch is the *sum* over its samples, as in the paper, or the *mean*, which is the sum divided by
:math:`b`.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sgdnoise import _checks, parts
from sgdnoise.random import batches
from sgdnoise.random.batches import Sampling
from sgdnoise.random.processes import Chain, Epochs, Normal

EMBEDDINGS = ("euler", "exact")
GRADIENTS = ("sum", "mean")
MOST_BATCHES = 1_000_000  # of an epoch
HOTTEST = 1e9  # far beyond any use; weights stay below what counts as divergence


class Update(Protocol):
    """What an update rule must have: one step of a weight, linear in all its arguments."""

    def step(self, w: float, velocity: float, gradient: float) -> tuple[float, float]:
        """Return weight and velocity after a step, given both and the gradient of the loss without its ridge."""


@parts.part
class Descent(NamedTuple):
    r"""Gradient descent with momentum :math:`\beta`, in PyTorch's form.

    .. math:: v \leftarrow \beta v + g + \lambda w,\qquad w \leftarrow w - dt\,v .
    """

    rate: float
    ridge: float
    momentum: float = 0.0

    def step(self, w: float, velocity: float, gradient: float) -> tuple[float, float]:
        """Return weight and velocity after a step."""
        velocity = self.momentum * velocity + (gradient + self.ridge * w)
        return w - self.rate * velocity, velocity


@parts.part
class PlainDescent(NamedTuple):
    """The same without momentum: velocities are neither read nor written, which is faster."""

    rate: float
    ridge: float

    def step(self, w: float, velocity: float, gradient: float) -> tuple[float, float]:
        """Return the weight after a step, and the velocity as it is."""
        return w - self.rate * (gradient + self.ridge * w), velocity


@dataclass(frozen=True, repr=False)
class Algorithm:
    """Base class of all algorithms. Your own defines ``batch``, the mean weight of a sample, and ``sampling``.

    Parameters
    ----------
    momentum
        At least 0 and less than 1; PyTorch's rule, starting at rest.
    """

    momentum: float = field(default=0.0, kw_only=True)

    if TYPE_CHECKING:

        @property
        def batch(self) -> float:
            """Fraction of the samples in the batch."""

    def __post_init__(self) -> None:
        momentum = _checks.real("momentum", self.momentum, at_least=0, below=1)
        object.__setattr__(self, "momentum", momentum)

    def __repr__(self) -> str:
        return parts.shown(self)

    @property
    def mean_weight(self) -> float:
        """Mean weight of a sample in the gradient; ``batch`` where a batch is summed."""
        return self.batch

    def sampling(self, learning_rate: float) -> Sampling:  # noqa: ARG002
        """Return the sampling process at this learning rate."""
        raise TypeError(f"{type(self).__name__} must have a method sampling that returns its sampling process")

    def update(self, learning_rate: float, ridge: float) -> Update:
        """Return the update rule at this learning rate."""
        return Descent(learning_rate, ridge, self.momentum)

    def noise(self, learning_rate: float) -> float:  # noqa: ARG002
        """Return the standard deviation of white noise that is added to the gradient of each weight."""
        return 0.0


@dataclass(frozen=True, repr=False)
class GD(Algorithm):
    """Full-batch gradient descent.

    >>> import sgdnoise as sn
    >>> sn.GD().sampling(learning_rate=0.1)
    Chain(batch=1.0, enter=1.0, leave=0.0, weight=1.0)
    """

    @property
    def batch(self) -> float:
        """Every sample is always in the batch."""
        return 1.0

    def sampling(self, learning_rate: float) -> Chain:
        """Return the sampling chain at this learning rate."""
        _checks.real("learning_rate", learning_rate, above=0)
        return Chain(1.0, 1.0, 0.0)


GRADIENT_DESCENT = GD()


@dataclass(frozen=True, repr=False)
class SGD(Algorithm):
    r"""Vanilla SGD: at every step each sample is in the batch with probability ``batch``, independently.

    Parameters
    ----------
    batch
        Batch fraction :math:`b`, greater than 0 and at most 1.
    gradient
        ``"sum"`` over the samples of a batch, as in the paper, or their ``"mean"``, which is the sum over :math:`b`.
        The mean at learning rate :math:`dt` and ridge :math:`\lambda` is the sum at :math:`dt/b` and :math:`b\lambda`.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> sn.SGD(batch=0.25).sampling(learning_rate=0.1)
    Chain(batch=0.25, enter=0.25, leave=0.75, weight=1.0)
    >>> sn.SGD(batch=0.25, gradient="mean").sampling(learning_rate=0.1).weight
    4.0
    >>> sn.SGD(batch=0)
    Traceback (most recent call last):
    ValueError: batch must be greater than 0 and at most 1, got 0
    """

    batch: float
    gradient: str = field(default="sum", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "batch", _checks.real("batch", self.batch, above=0, at_most=1))
        _checks.choice("gradient", self.gradient, GRADIENTS)

    @property
    def mean_weight(self) -> float:
        """Mean weight of a sample in the gradient: the batch fraction for a sum, 1 for a mean."""
        return 1.0 if self.gradient == "mean" else self.batch

    @property
    def _weight(self) -> float:
        """Weight of a sample in the batch."""
        return 1.0 / self.batch if self.gradient == "mean" else 1.0

    def sampling(self, learning_rate: float) -> Sampling:
        """Return the sampling process at this learning rate."""
        _checks.real("learning_rate", learning_rate, above=0)
        return Chain(self.batch, self.batch, 1.0 - self.batch, self._weight)


@dataclass(frozen=True, repr=False)
class PersistentSGD(SGD):
    r"""Persistent SGD: a sample stays out of the batch for a time :math:`\tau` on average.

    Parameters
    ----------
    batch
        Stationary batch fraction :math:`b`, greater than 0 and at most 1.
    persistence
        Mean time :math:`\tau > 0` that a sample spends out of the batch; it spends :math:`\tau b/(1-b)` inside.
    embedding
        ``"euler"``: the switching probabilities are rates times the learning rate; at ``tau = dt/b`` this is vanilla
        SGD.
        ``"exact"``: the continuous-time jump process, observed at every step.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> sn.PersistentSGD(batch=0.5, persistence=2.0).sampling(learning_rate=0.2)
    Chain(batch=0.5, enter=0.1, leave=0.1, weight=1.0)
    >>> sn.PersistentSGD(batch=0.1, persistence=0.5).sampling(learning_rate=0.1)
    Traceback (most recent call last):
    ValueError: learning_rate must be at most 0.0555556 for PersistentSGD(batch=0.1...
    """

    persistence: float
    embedding: str = "euler"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "persistence", _checks.real("persistence", self.persistence, above=0))
        _checks.choice("embedding", self.embedding, EMBEDDINGS)

    def sampling(self, learning_rate: float) -> Chain:
        """Return the sampling chain at this learning rate."""
        dt = _checks.real("learning_rate", learning_rate, above=0)
        b, tau = self.batch, self.persistence
        if self.embedding == "exact":
            switch = -math.expm1(-dt / (b * tau))
            return Chain(b, b * switch, (1 - b) * switch, self._weight)
        # Euler's switching probabilities exceed 1 beyond this; the exact embedding has no such limit.
        limit = tau * min(1.0, b / (1 - b)) if b < 1 else tau
        if dt > limit * (1 + 1e-12):
            raise ValueError(
                f"learning_rate must be at most {limit:g} for PersistentSGD(batch={b:g}, persistence={tau:g}) with "
                f"embedding='euler', got {learning_rate!r}"
            )
        return Chain(b, min(dt / tau, 1.0), min((1 - b) / b * dt / tau, 1.0), self._weight)


@dataclass(frozen=True, repr=False)
class ShuffledSGD(SGD):
    r"""SGD without replacement: in every epoch the samples are split anew into :math:`1/b` equal batches.

    A simulation splits its samples exactly (batches differ by one sample where they must); in the theory every path
    draws a slot for each epoch. Replicas shuffle independently. The stationary state is periodic with the epoch,
    so averages over waiting times should cover whole epochs; every estimator says which steps of the epoch it used.

    Parameters
    ----------
    batch
        Batch fraction, one over a whole number.
    gradient
        As for :class:`SGD`.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> sn.ShuffledSGD(batch=0.25).sampling(learning_rate=0.1)
    Epochs(batches=4.0, weight=1.0)
    >>> sn.ShuffledSGD(batch=0.3)
    Traceback (most recent call last):
    ValueError: batch must be one over a whole number for ShuffledSGD, got 0.3...
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < 1 / MOST_BATCHES:
            raise ValueError(f"batch must be at least 1/{MOST_BATCHES} for ShuffledSGD, got {self.batch:g}")
        batches = round(1 / self.batch)
        if abs(self.batch * batches - 1) > 1e-9:
            low = math.floor(1 / self.batch)
            raise ValueError(
                f"batch must be one over a whole number for ShuffledSGD, got {self.batch:g} (1/{low} or 1/{low + 1} "
                "would do)"
            )
        object.__setattr__(self, "batch", 1 / batches)

    def sampling(self, learning_rate: float) -> Epochs:
        """Return the sampling process."""
        _checks.real("learning_rate", learning_rate, above=0)
        return Epochs(float(round(1 / self.batch)), self._weight)


@dataclass(frozen=True, repr=False)
class GaussianSGD(SGD):
    r"""SGD whose batch indicator is replaced by :math:`b+\sqrt{b(1-b)}\,z` with standard normal :math:`z`.

    The numbers :math:`z` are independent between samples and steps. The weight of a sample has the mean and the
    variance that it has in :class:`SGD`, but it is Gaussian, as an argument by the central limit theorem assumes.

    Parameters
    ----------
    batch, gradient
        As for :class:`SGD`.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> sn.GaussianSGD(batch=0.2).sampling(learning_rate=0.1)
    Normal(mean=0.2, spread=0.4)
    """

    def sampling(self, learning_rate: float) -> Normal:
        """Return the sampling process."""
        _checks.real("learning_rate", learning_rate, above=0)
        return Normal(self.mean_weight, self._weight * math.sqrt(self.batch * (1 - self.batch)))


@dataclass(frozen=True, repr=False)
class Langevin(GD):
    r"""Full-batch descent with white noise, :math:`w\leftarrow w-dt\,\nabla L+\sqrt{2T\,dt}\,\xi`.

    With momentum the noise enters through the gradient, as the noise of a batch does.

    Parameters
    ----------
    temperature
        :math:`T\ge0`. On a mode of stiffness a the temperature is :math:`T/(1-a\,dt/2)`.

    Examples
    --------
    >>> import sgdnoise as sn
    >>> round(sn.Langevin(temperature=0.2).noise(learning_rate=0.1), 12)
    2.0
    >>> sn.Langevin(temperature=-1)
    Traceback (most recent call last):
    ValueError: temperature must be at least 0, got -1
    """

    temperature: float

    def __post_init__(self) -> None:
        super().__post_init__()
        temperature = _checks.real("temperature", self.temperature, at_least=0)
        object.__setattr__(self, "temperature", _checks.real("temperature", temperature, at_most=HOTTEST))

    def noise(self, learning_rate: float) -> float:
        r"""Return :math:`\sqrt{2T/dt}`."""
        return math.sqrt(2 * self.temperature / learning_rate)


def check_algorithm(algorithm: object) -> None:
    """Refuse anything but an algorithm."""
    if not isinstance(algorithm, Algorithm):
        raise TypeError(f"algorithm must be a sgdnoise.GD, SGD, PersistentSGD or another Algorithm, got {algorithm!r}")


def check_learning_rate(algorithm: Algorithm, learning_rate: object, ridge: float) -> float:
    """Check the algorithm; return the learning rate if the ridge term alone is stable at it."""
    check_algorithm(algorithm)
    dt = _checks.real("learning_rate", learning_rate, above=0)
    if dt * ridge >= 2 * (1 + algorithm.momentum):
        bound = "2/ridge" if algorithm.momentum == 0 else "2(1+momentum)/ridge"
        raise ValueError(
            f"learning_rate must be less than {bound} = {2 * (1 + algorithm.momentum) / ridge:g}, where the ridge term "
            f"alone makes the weights grow without bound, got {learning_rate!r}"
        )
    return dt


def parts_of(algorithm: Algorithm, dt: float, ridge: float) -> tuple[Sampling, Update, float]:
    """Return sampling process, update rule and noise of an algorithm at a learning rate; refuse what is none."""
    sampling, update, noise = algorithm.sampling(dt), algorithm.update(dt, ridge), algorithm.noise(dt)
    batches.check(sampling)
    check_update(update)
    return sampling, update, _checks.real(f"noise of {type(algorithm).__name__}", noise, at_least=0)


def check_update(update: Any) -> None:
    """Refuse anything but a linear update rule: the rule must act alike on all coordinates of the weights."""
    kind = parts.name_of(update)
    if not parts.is_part(update) or not hasattr(update, "step"):
        raise TypeError(f"update must return an update rule such as {Descent(0.1, 1.0)!r}, got {update!r}")
    if isinstance(update, Descent):
        return
    parts.check_fields(update)
    trial = (0.7, -0.4, 1.3)
    try:
        once, thrice = update.step(*trial), update.step(*(3 * x for x in trial))
        fits = len(once) == 2 and all(math.isclose(3 * a, b, rel_tol=1e-9) for a, b in zip(once, thrice, strict=True))
    except Exception as error:
        raise ValueError(f"step of {kind} must not raise, got {type(error).__name__}: {error}") from None
    if not fits:
        raise ValueError(f"step of {kind} must return weight and velocity, linear in both and in the gradient")
