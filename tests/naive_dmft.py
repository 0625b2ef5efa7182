"""The theory as it is written in the design equations: dense arrays, a fixed-point loop, nothing clever."""

import numpy as np


def naive_dmft(problem, dt, h0, xi, s, rounds=None, momentum=0.0, noise=0.0):
    """Solve for one replica: h0 (paths,), xi (paths, steps+1), s (steps, paths); returns m, C without mm^T, R."""
    T, P = s.shape
    delta, alpha, ridge = problem.delta, problem.alpha, problem.ridge
    m, R, C = np.zeros(T + 1), np.zeros((T + 1, T + 1)), problem.init_variance * np.eye(T + 1)
    for _ in range(rounds or T + 1):  # every round gets one more step right
        g = np.linalg.cholesky(C) @ xi.T
        r, f, w, D = np.zeros((T + 1, P)), np.zeros((T, P)), np.zeros((T, P)), np.zeros((T, T, P))
        for t in range(T):
            r[t] = m[t] * (1 + np.sqrt(delta) * h0) + np.sqrt(delta) * g[t] - delta * dt * R[t, :t] @ f[:t]
            f[t] = s[t] * problem.loss.slope(r[t], problem.margin)
            w[t] = s[t] * problem.loss.curvature(r[t], problem.margin)
            for u in range(t):
                D[t, u] = -delta * dt * np.einsum("k,kp->p", R[t, u:t], w[u:t] * D[u:t, u])
            D[t, t] = 1
        mu = alpha * np.mean(f * (1 + np.sqrt(delta) * h0), axis=1)
        M = alpha * delta * f @ f.T / P + noise**2 * np.eye(T)
        Gamma = alpha * delta * np.mean(w[:, None] * D, axis=2)
        m, R, C = np.zeros(T + 1), np.zeros((T + 1, T + 1)), np.zeros((T + 1, T + 1))
        C[0, 0] = problem.init_variance
        for t in range(T):  # w(t+1) - w(t) = momentum (w(t) - w(t-1)) - dt (gradient): the velocity is -dw/dt
            before = max(t - 1, 0)
            m[t + 1] = m[t] + momentum * (m[t] - m[before]) - dt * (ridge * m[t] + mu[t])
            R[t + 1] = (1 - dt * ridge) * R[t] + momentum * (R[t] - R[before]) - dt * Gamma[t] @ R[:T]
            R[t + 1, t] = 1
            for u in range(t + 2):
                memory = dt**2 * R[u, :T] @ M[t]
                inertia = momentum * (C[t, u] - C[before, u])
                C[t + 1, u] = (1 - dt * ridge) * C[t, u] + inertia - dt * Gamma[t, : t + 1] @ C[: t + 1, u] + memory
                C[u, t + 1] = C[t + 1, u]
    return m, C, R
