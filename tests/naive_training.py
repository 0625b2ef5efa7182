"""Training of two replicas at finite size with correlation and response, as the update rule is written."""

import numpy as np
from scipy.special import ndtr

OBSERVABLES = ("m", "q", "loss", "error", "unsatisfied", "correlation", "response", "distance")


def train(problem, chain, dt, steps, features, waiting, rng):
    """Observables at every step, shape (8, steps+1); correlation and integrated response from step ``waiting`` on.

    The response is that of the linearised dynamics to a push of random signs at step ``waiting``.
    """
    samples = round(problem.alpha * features)
    A = 1 / features + np.sqrt(problem.delta / features) * rng.standard_normal((samples, features))
    w = np.repeat(np.sqrt(problem.init_variance) * rng.standard_normal((features, 1)), 2, axis=1)
    s = rng.random((samples, 2)) < chain.batch
    signs = rng.choice([-1.0, 1.0], features)
    push, chi, out = np.zeros(features), 0.0, np.full((8, steps + 1), np.nan)
    for t in range(steps + 1):
        h = A @ np.column_stack([w, push])
        r = h[:, :2]
        if t == waiting:
            kept = w.copy()
        m, q = w.mean(), np.sum(w**2) / (2 * features)
        value = problem.loss.value(r, problem.margin).sum() / (2 * features) + 0.5 * problem.ridge * q
        error = np.mean(ndtr(-w.mean(axis=0) / np.sqrt(problem.delta * np.mean(w**2, axis=0))))
        chi += dt * signs @ push / features
        late = (np.sum(w * kept) / (2 * features), chi) if t >= waiting else (np.nan, np.nan)
        distance = np.linalg.norm(w[:, 0] - w[:, 1]) / np.sqrt(features)
        out[:, t] = m, q, value, error, np.mean(r < problem.margin), *late, distance
        force = np.where(s, problem.loss.slope(r, problem.margin), 0.0)
        bend = np.where(s[:, 0], problem.loss.curvature(r[:, 0], problem.margin), 0.0) * h[:, 2]
        change = A.T @ np.column_stack([force, bend])
        w = w - dt * (change[:, :2] + problem.ridge * w)
        push = signs if t == waiting else push - dt * (change[:, 2] + problem.ridge * push)
        s = rng.random((samples, 2)) < np.where(s, 1 - chain.leave, chain.enter)
    return out
