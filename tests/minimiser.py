"""Direct minimisation of the real loss on sampled data: what the static theory and the spectrum are compared with."""

import numpy as np
from scipy.optimize import minimize

import sgdnoise as sn


def draw_data(problem, samples, features, seed):
    """Rows y x/sqrt(N), so that the pre-activations of the weights w are A @ w."""
    z = np.random.default_rng(seed).standard_normal((samples, features))
    return 1 / features + np.sqrt(problem.delta / features) * z


def minimise(problem, ridge, features, seed):
    """Draw one data set and return it with the minimiser of the loss at this ridge."""
    A = draw_data(problem, round(problem.alpha * features), features, seed)

    def loss(w):
        short = A @ w - problem.margin
        if problem.loss == sn.squared_hinge:
            np.minimum(short, 0, out=short)
        return 0.5 * short @ short + 0.5 * ridge * w @ w, A.T @ short + ridge * w

    found = minimize(
        loss, np.zeros(features), jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-15, "maxiter": 10_000}
    )
    gradient = np.abs(found.jac).max()
    assert gradient < 1e-5, gradient
    return A, found.x


def active(problem, A, w):
    """Which samples have curvature."""
    return A @ w < problem.margin if problem.loss == sn.squared_hinge else np.ones(len(A), dtype=bool)
