r"""The learning problem: a mixture of two Gaussians, a one-layer network, a loss with a ridge.

Data: :math:`y_\mu x_\mu = v/\sqrt N + \sqrt\Delta\,z_\mu` with :math:`v=(1,\dots,1)`, :math:`z_\mu` standard normal
and :math:`\mu = 1\dots M = \alpha N`. The network minimises (Eq. 1 of the paper)

.. math:: L(w) = \sum_\mu \ell\Big(y_\mu \frac{x_\mu\cdot w}{\sqrt N}\Big) + \frac\lambda2 |w|^2

with :math:`\ell(h) = \tfrac12 (\kappa - h)_+^2`.
"""

from dataclasses import dataclass

from sgdnoise import _checks, losses
from sgdnoise.losses import Loss, squared_hinge

# Far beyond any use, and far enough from the largest float that squares and products stay finite.
LARGEST = 1e12


@dataclass(frozen=True)
class Problem:
    r"""A learning problem in the high-dimensional limit; immutable, and checked when it is made.

    Parameters
    ----------
    alpha
        Samples per feature, :math:`\alpha = M/N > 0`.
    delta
        Variance of the data noise, :math:`\Delta > 0`.
    ridge
        Ridge strength, :math:`\lambda \ge 0`; the SAT phase needs ``ridge=0``.
    margin
        Margin :math:`\kappa` of the loss.
    init_variance
        Variance :math:`R_0 \ge 0` of each weight at time zero.
    loss
        Loss per sample; the squared hinge unless another one is given (see :func:`~sgdnoise.loss`).

    Examples
    --------
    >>> import sgdnoise as sn
    >>> problem = sn.Problem(alpha=6)
    >>> problem.delta, problem.ridge, problem.margin, problem.loss
    (1.0, 1.0, 1.0, SquaredHinge())
    >>> sn.Problem(alpha=-1)
    Traceback (most recent call last):
    ValueError: alpha must be greater than 0 and at most 1e+12, got -1
    """

    alpha: float
    delta: float = 1.0
    ridge: float = 1.0
    margin: float = 1.0
    init_variance: float = 1.0
    loss: Loss = squared_hinge

    def __post_init__(self) -> None:
        checked = {
            "alpha": _checks.real("alpha", self.alpha, above=0, at_most=LARGEST),
            "delta": _checks.real("delta", self.delta, above=0, at_most=LARGEST),
            "ridge": _checks.real("ridge", self.ridge, at_least=0, at_most=LARGEST),
            "margin": _checks.real("margin", self.margin, at_least=-LARGEST, at_most=LARGEST),
            "init_variance": _checks.real("init_variance", self.init_variance, at_least=0, at_most=LARGEST),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        losses.check(self.loss, self.margin)
