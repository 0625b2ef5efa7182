"""A loss, a sampling process and an algorithm as a user would write them, outside the library."""

from dataclasses import dataclass
from typing import NamedTuple

import sgdnoise as sn


@sn.loss
class HuberHinge(NamedTuple):
    """Quadratic up to a gap of ``width``, linear beyond it."""

    width: float = 1.0

    def value(self, h, margin):
        gap = max(margin - h, 0.0)
        near = min(gap, self.width)
        return near * (gap - 0.5 * near)

    def slope(self, h, margin):
        return -min(max(margin - h, 0.0), self.width)

    def curvature(self, h, margin):
        return 1.0 if 0.0 < margin - h < self.width else 0.0


@sn.sampling
class Turns(NamedTuple):
    """A sample is in the batch at every n-th step, from a random one on."""

    period: float

    def draw(self, step, state, u):
        slot = int(u * self.period) if state < 0 else state
        return (1.0 if step % int(self.period) == slot else 0.0), slot

    def expected(self, step, state):
        if state < 0:
            return 1.0 / self.period
        return 1.0 if step % int(self.period) == state else 0.0

    def random(self, step):
        return step == 0


@dataclass(frozen=True)
class RoundRobin(sn.Algorithm):
    """Batches that take turns, always in the same order."""

    batch: float

    def sampling(self, learning_rate):  # noqa: ARG002
        return Turns(round(1 / self.batch))
