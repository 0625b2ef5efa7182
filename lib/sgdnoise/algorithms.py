r"""The sampling processes: which samples are in the batch at each step.

Every algorithm is a two-state Markov chain :math:`s_\mu(t)\in\{0,1\}` per sample, independent between samples and
started in its stationary law, :math:`P(s=1)=b`:

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
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise import _checks

EMBEDDINGS = ("euler", "exact")


class Chain(NamedTuple):
    """Two-state chain of one sample: stationary probability of being in the batch, and switching probabilities."""

    batch: float
    enter: float
    leave: float

    @property
    def memory(self) -> float:
        r"""Factor :math:`\rho` by which the autocorrelation shrinks in one step."""
        return 1.0 - self.enter - self.leave


@dataclass(frozen=True)
class GD:
    """Full-batch gradient descent.

    >>> GD().chain(learning_rate=0.1)
    Chain(batch=1.0, enter=1.0, leave=0.0)
    """

    @property
    def batch(self) -> float:
        """Every sample is always in the batch."""
        return 1.0

    def chain(self, learning_rate: float) -> Chain:
        """Return the sampling chain at this learning rate."""
        _checks.real("learning_rate", learning_rate, above=0)
        return Chain(1.0, 1.0, 0.0)


@dataclass(frozen=True)
class SGD:
    """Vanilla SGD: at every step each sample is in the batch with probability ``batch``, independently.

    Parameters
    ----------
    batch
        Batch fraction :math:`b`, greater than 0 and at most 1.

    Examples
    --------
    >>> SGD(batch=0.25).chain(learning_rate=0.1)
    Chain(batch=0.25, enter=0.25, leave=0.75)
    >>> SGD(batch=0)
    Traceback (most recent call last):
    ValueError: batch must be greater than 0 and at most 1, got 0
    """

    batch: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", _checks.real("batch", self.batch, above=0, at_most=1))

    def chain(self, learning_rate: float) -> Chain:
        """Return the sampling chain at this learning rate."""
        _checks.real("learning_rate", learning_rate, above=0)
        return Chain(self.batch, self.batch, 1.0 - self.batch)


@dataclass(frozen=True)
class PersistentSGD:
    r"""Persistent SGD: a sample stays out of the batch for a time :math:`\tau` on average.

    Parameters
    ----------
    batch
        Stationary batch fraction :math:`b`, greater than 0 and at most 1.
    persistence
        Mean time :math:`\tau > 0` that a sample spends out of the batch; in it, :math:`\tau b/(1-b)`.
    embedding
        ``"euler"``: the switching probabilities are rates times the learning rate; at ``tau = dt/b`` this is vanilla
        SGD.
        ``"exact"``: the continuous-time jump process, looked at every learning rate.

    Examples
    --------
    >>> PersistentSGD(batch=0.5, persistence=2.0).chain(learning_rate=0.2)
    Chain(batch=0.5, enter=0.1, leave=0.1)
    >>> PersistentSGD(batch=0.1, persistence=0.5).chain(learning_rate=0.1)
    Traceback (most recent call last):
    ValueError: learning_rate must be at most 0.0555556 for PersistentSGD(batch=0.1...
    """

    batch: float
    persistence: float
    embedding: str = "euler"

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", _checks.real("batch", self.batch, above=0, at_most=1))
        object.__setattr__(self, "persistence", _checks.real("persistence", self.persistence, above=0))
        _checks.choice("embedding", self.embedding, EMBEDDINGS)

    def chain(self, learning_rate: float) -> Chain:
        """Return the sampling chain at this learning rate."""
        dt = _checks.real("learning_rate", learning_rate, above=0)
        b, tau = self.batch, self.persistence
        if self.embedding == "exact":
            switch = -math.expm1(-dt / (b * tau))
            return Chain(b, b * switch, (1 - b) * switch)
        # Euler's switching probabilities exceed 1 beyond this; the exact embedding has no such limit.
        limit = tau * min(1.0, b / (1 - b)) if b < 1 else tau
        if dt > limit * (1 + 1e-12):
            raise ValueError(
                f"learning_rate must be at most {limit:g} for PersistentSGD(batch={b:g}, persistence={tau:g}) with "
                f"embedding='euler', got {learning_rate!r}"
            )
        return Chain(b, min(dt / tau, 1.0), min((1 - b) / b * dt / tau, 1.0))


Algorithm = GD | SGD | PersistentSGD


def start_batch(chain: Chain, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw ``s(0)`` for ``size`` samples from the stationary law of the chain."""
    return rng.random(size) < chain.batch


def next_batch(chain: Chain, batch: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw ``s(t+dt)`` given ``s(t)``: one uniform number per sample, whatever the chain."""
    return rng.random(batch.size) < np.where(batch, 1.0 - chain.leave, chain.enter)
