"""Exact solutions, without sampling, that the theory is compared with."""

import numpy as np
from scipy.special import ndtr


def square_loss_descent(problem, dt, steps, points=4000):
    r"""Gradient descent on the square loss for infinitely many features, by random-matrix theory.

    The rows ``A = y x/sqrt(N)`` are ``sqrt(alpha) e u^T + W``, a rank-one signal between the unit vectors ``e`` (all
    samples alike) and ``u = v/sqrt(N)``, plus noise ``W`` of the Marchenko-Pastur law. Training is a polynomial of
    ``A^T A``; its averages are contour integrals, around the spectrum, of the resolvents between ``e`` and ``u``.

    Returns m, C (with mm^T), R and the loss, against steps.
    """
    alpha, delta, ridge, kappa = problem.alpha, problem.delta, problem.ridge, problem.margin
    top = delta * (1 + np.sqrt(alpha)) ** 2 + alpha + 1  # beyond the bulk and beyond any outlier
    angle = 2 * np.pi * (np.arange(points) + 0.5) / points
    z = top / 2 + (top / 2 + 0.5) * np.exp(1j * angle)
    weight = (z - top / 2) / points  # dz / (2 pi i)

    linear = z - alpha * delta + delta
    roots = [(linear + sign * np.sqrt(linear**2 - 4 * delta * z)) / (2 * delta * z) for sign in (1, -1)]
    g_u = np.where(abs(roots[0]) < abs(roots[1]), *roots)  # trace of the resolvent of W^T W
    g_e = g_u / alpha + (1 - 1 / alpha) / z  # of W W^T
    G_ee = g_e / (1 - alpha * z * g_e * g_u)
    G_eu = np.sqrt(alpha) * z * g_e * g_u / (1 - alpha * z * g_e * g_u)

    step = 1 - dt * (z + ridge)
    p = step ** np.arange(steps + 1)[:, None]  # what is left of the start
    q = (1 - p) / (z + ridge)  # what has been learned: dt * sum of powers
    m = kappa * np.sqrt(alpha) * (q * G_eu * weight).sum(axis=1).real
    C = problem.init_variance * (p * g_u * weight) @ p.T + alpha * kappa**2 * (q * z * G_ee * weight) @ q.T
    decay = (p * g_u * weight).sum(axis=1).real  # response to a push, against the age of the push
    age = np.arange(steps + 1)[:, None] - np.arange(steps + 1) - 1
    R = np.where(age >= 0, decay[np.maximum(age, 0)], 0.0)
    misfit = problem.init_variance * (z * p**2 * g_u * weight).sum(axis=1)
    misfit = misfit + alpha * kappa**2 * ((z * q - 1) ** 2 * G_ee * weight).sum(axis=1)
    C = C.real
    return m, C, R, 0.5 * misfit.real + 0.5 * ridge * np.diag(C)


def statics(alpha, delta, ridge, margin, rounds=20_000):
    """Minimum of the squared hinge with a ridge (design section 4): m, q, <l'^2>, P(h<margin) and the mean loss."""
    m, q, V = 0.5, 0.5, 0.5
    for _ in range(rounds):
        spread = np.sqrt(delta * q)
        x = (margin - m) / spread
        P, density = ndtr(x), np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        E1 = -spread * (x * P + density)
        E2 = spread**2 * ((x**2 + 1) * P + x * density)
        k = 1 + delta * V
        mhat, qhat, Vhat = -alpha * E1 / k, alpha * delta * E2 / k**2, alpha * delta * P / k
        new = np.array([mhat, (mhat**2 + qhat) / (ridge + Vhat), 1.0]) / (ridge + Vhat)
        change = np.max(np.abs(new - [m, q, V]))
        m, q, V = 0.5 * np.array([m, q, V]) + 0.5 * new
        if change < 1e-13:
            break
    return {"m": m, "q": q, "slope2": E2 / k**2, "inside": P, "value": 0.5 * E2 / k**2}
