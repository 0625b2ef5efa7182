r"""The sampling processes of the library: chains in and out of the batch, shuffled epochs, normal weights."""

from typing import NamedTuple

import numpy as np

from sgdnoise.random.batches import Covariance, sampling
from sgdnoise.random.normals import inverse_normal


@sampling
class Chain(NamedTuple):
    """Two-state chain of one sample: stationary probability of being in the batch, and switching probabilities."""

    batch: float
    enter: float
    leave: float
    weight: float = 1.0  # of a sample in the batch

    def draw(self, step: int, state: int, u: float) -> tuple[float, int]:  # noqa: ARG002
        """Return the weight of the sample, and whether it is in the batch as state."""
        stay = 1.0 - self.leave if state > 0 else self.enter
        inside = u < (self.batch if state < 0 else stay)
        return (self.weight if inside else 0.0), (1 if inside else 0)

    def expected(self, step: int, state: int) -> float:  # noqa: ARG002
        """Return the mean weight."""
        stay = 1.0 - self.leave if state > 0 else self.enter
        return self.weight * (self.batch if state < 0 else stay)

    def random(self, step: int) -> bool:  # noqa: ARG002
        """Nothing is random in full batches."""
        return self.batch < 1.0

    def partition(self) -> bool:
        """Samples are independent."""
        return False

    @property
    def memory(self) -> float:
        r"""Factor :math:`\rho` by which the autocorrelation shrinks in one step."""
        return 1.0 - self.enter - self.leave

    @property
    def covariance(self) -> Covariance:
        r"""Autocovariance :math:`b(1-b)\rho^n`."""
        return Covariance(np.array([self.weight**2 * self.batch * (1 - self.batch)]), self.memory)


@sampling
class Epochs(NamedTuple):
    """A slot in every epoch, at random. All samples share the unit interval, so that the slots are equally large."""

    batches: float
    weight: float = 1.0

    def draw(self, step: int, state: int, u: float) -> tuple[float, int]:
        """Return the weight of the sample, and its slot; at the end of an epoch all samples are in the same state."""
        now, last = step % int(self.batches), int(self.batches) - 1
        slot = int(u * self.batches) if now == 0 else state
        return (self.weight if slot == now else 0.0), (slot if now < last else 0)

    def expected(self, step: int, state: int) -> float:
        """Return the mean weight: known for certain once the epoch has begun."""
        now = step % int(self.batches)
        if now == 0:
            return self.weight / self.batches
        return self.weight if state == now else 0.0

    def random(self, step: int) -> bool:
        """Slots are drawn at the first step of an epoch."""
        return self.batches > 1 and step % int(self.batches) == 0

    def partition(self) -> bool:
        """Samples share the unit interval."""
        return True

    @property
    def covariance(self) -> Covariance:
        r"""Autocovariance :math:`b\,\delta_{n0}-b^2\,(1-|n|b)_+`, averaged over the steps of an epoch.

        At a lag of n steps the two steps lie in the same epoch with probability :math:`1-nb`, and then the sample is
        not in both batches. The sum over all lags is zero.
        """
        b = 1 / self.batches
        values = -((self.weight * b) ** 2) * (1 - b * np.arange(self.batches))
        values[0] += self.weight**2 * b
        return Covariance(values, 0.0)


@sampling
class Normal(NamedTuple):
    """Independent normal weights of given mean and standard deviation."""

    mean: float
    spread: float

    def draw(self, step: int, state: int, u: float) -> tuple[float, int]:  # noqa: ARG002
        """Return the weight of the sample; there is no state."""
        return self.mean + self.spread * inverse_normal(u), 0

    def expected(self, step: int, state: int) -> float:  # noqa: ARG002
        """Return the mean weight."""
        return self.mean

    def random(self, step: int) -> bool:  # noqa: ARG002
        """Nothing is random in full batches."""
        return self.spread > 0.0

    def partition(self) -> bool:
        """Samples are independent."""
        return False

    @property
    def covariance(self) -> Covariance:
        """No memory."""
        return Covariance(np.array([self.spread**2]), 0.0)
