r"""The learning problem: a mixture of two Gaussians, a one-layer network, a loss with a ridge.

Data: :math:`y_\mu x_\mu = v/\sqrt N + \sqrt\Delta\,z_\mu` with :math:`v=(1,\dots,1)`, :math:`z_\mu` standard normal
and :math:`\mu = 1\dots P = \alpha N`. The network minimises (Eq. 1 of the paper)

.. math:: L(w) = \sum_\mu \ell\Big(y_\mu \frac{x_\mu\cdot w}{\sqrt N}\Big) + \frac\lambda2 |w|^2

with :math:`\ell(h) = \tfrac12 (\kappa - h)_+^2`. You can also supply your own data
(:meth:`Problem.from_data`).
"""

from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from sgdnoise import _checks, losses, parts
from sgdnoise.data import Data
from sgdnoise.losses import Loss, squared_hinge

# Far beyond any use, and far enough from the largest float that squares and products stay finite.
LARGEST = 1e12


@dataclass(frozen=True, repr=False)
class Problem:
    r"""A learning problem: the model in the high-dimensional limit, or given data. Immutable; checked on creation.

    Parameters
    ----------
    alpha
        Samples per feature, :math:`\alpha = P/N > 0`.
    delta
        Variance of the data noise, :math:`\Delta > 0`.
    ridge
        Ridge strength, :math:`\lambda \ge 0`; the SAT phase needs ``ridge=0``.
    margin
        Margin :math:`\kappa` of the loss.
    init_variance
        Variance :math:`R_0 \ge 0` of each weight at time zero.
    loss
        Loss per sample; the squared hinge by default (see :func:`~sgdnoise.loss`).
    data
        Given data; made by :meth:`from_data`.

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
    data: Data | None = field(default=None, kw_only=True)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        ridge: float = 1.0,
        margin: float = 1.0,
        init_variance: float = 1.0,
        loss: Loss = squared_hinge,
        test: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> "Problem":
        r"""Make a problem from your own data: :math:`h_\mu = y_\mu x_\mu\cdot w/\sqrt N`, as in the model.

        Simulation, sweeps, estimators, :func:`~sgdnoise.hessian_spectrum` and :func:`~sgdnoise.linear_response` accept
        it. Realisations share the data and differ in their start and their batches. The theories of the model,
        :func:`~sgdnoise.solve_dmft` and :func:`~sgdnoise.solve_statics`, refuse it.

        Parameters
        ----------
        X
            Inputs (samples, features), of any real type. They are not copied, so do not change them afterwards. A
            constant column acts as a bias; a column of zeros gives a weight on which only the ridge acts.
        y
            Labels, +1 and -1.
        ridge, margin, init_variance, loss
            As for the model.
        test
            ``(X_test, y_test)``; ``error`` is the misclassified fraction of this set, and NaN without one.

        Returns
        -------
        Problem
            ``alpha`` is samples per feature and ``delta`` the variance of :math:`y_\mu x_\mu` around its mean, averaged
            over the features.

        Examples
        --------
        >>> import numpy as np, sgdnoise as sn
        >>> rng = np.random.default_rng(0)
        >>> y = rng.choice([-1, 1], size=200)
        >>> X = rng.normal(size=(200, 20)) + 0.3 * y[:, None]
        >>> problem = sn.Problem.from_data(X[:150], y[:150], test=(X[150:], y[150:]))
        >>> problem.alpha, round(problem.delta, 2)
        (7.5, 0.99)
        >>> run = sn.simulate(problem, sn.SGD(batch=0.1), 0.1, duration=10.0)
        >>> bool(run.error[:, -1].mean() < 0.2)
        True
        """
        data = Data(X, y, test)
        return cls(data.alpha, data.variance, ridge, margin, init_variance, loss, data=data)

    def __repr__(self) -> str:
        return parts.shown(self)

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
        if not isinstance(self.data, Data | None):
            raise TypeError(f"data must be left to Problem.from_data, got {type(self.data).__name__}")
        if self.data is not None and (self.alpha, self.delta) != (self.data.alpha, self.data.variance):
            raise ValueError(
                f"alpha and delta must be those of the data, {self.data.alpha:g} and {self.data.variance:g}, got "
                f"{self.alpha:g} and {self.delta:g}"
            )


def check_problem(problem: object, theory: str = "") -> None:
    """Refuse anything but a problem and, for a ``theory`` of the model, given data."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a sgdnoise.Problem, got {problem!r}")
    if theory and problem.data is not None:
        raise ValueError(
            f"problem must be the model for {theory}, a theory that averages over Gaussian clouds and cannot know "
            f"given data, got {problem.data!r}; simulate, linear_response and hessian_spectrum take them"
        )
