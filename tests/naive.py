"""Obvious implementations, a few lines each, that every fast path is compared with."""

import numpy as np


def train(A, w, s, dt, ridge, slope, momentum=0.0, noise=None):
    """Weights after 0, 1, ... steps of ``w -= dt [sum_mu s_mu(t) l'(h_mu) A_mu + ridge w + noise(t)]``, ``h = A w``."""
    weights, buffer = [w], 0.0
    for s_t, noise_t in zip(s, np.zeros((len(s), w.size)) if noise is None else noise, strict=True):
        buffer = momentum * buffer + A.T @ (s_t * slope(A @ w)) + ridge * w + noise_t
        w = w - dt * buffer
        weights.append(w)
    return np.array(weights)


def train_to_stop(A, w, s, dt, slope, batch, stop):
    """Step without a ridge until ``|gradient|^2 / (batch N) <= stop``; return the weights and the step."""
    for k, s_t in enumerate(s):
        gradient = A.T @ (s_t * slope(A @ w))
        if gradient @ gradient <= stop * batch * w.size:
            return w, k
        w = w - dt * gradient
    raise AssertionError("never stopped")


def response(A, weights, s, dt, ridge, curvature, wait, probes, momentum=0.0):
    """Integrated response at steps ``wait, wait+1, ...``: mean over probes of ``dt sum probe . delta_w / N``."""
    chi, N = [0.0], A.shape[1]
    D = np.array(probes, dtype=float).T
    buffer = -D / dt  # the field entered the gradient of the step before
    for k in range(wait + 1, len(weights)):
        chi.append(chi[-1] + dt * np.mean(np.sum(probes.T * D, axis=0)) / N)
        if k < len(s):
            c = s[k] * curvature(A @ weights[k])
            buffer = momentum * buffer + A.T @ (c[:, None] * (A @ D)) + ridge * D
            D = D - dt * buffer
    return np.array(chi)


def threefry(key, counter):
    """Threefry-2x32-20 in plain integers (Salmon et al. 2011)."""
    word = 2**32 - 1
    keys = [*key, 0x1BD11BDA ^ key[0] ^ key[1]]
    a, b = (counter[0] + keys[0]) & word, (counter[1] + keys[1]) & word
    for i in range(20):
        r = [13, 15, 26, 6, 17, 29, 16, 24][i % 8]
        a = (a + b) & word
        b = ((b << r | b >> (32 - r)) & word) ^ a
        if i % 4 == 3:
            j = i // 4 + 1
            a, b = (a + keys[j % 3]) & word, (b + keys[(j + 1) % 3] + j) & word
    return a, b


def batches(key, chain, samples, steps):
    """Bits ``s[step, sample]`` of one column, number by number."""
    half, s = (samples + 1) // 2, np.zeros((steps, samples), dtype=int)
    for k in range(steps):
        for mu in range(samples):
            u = threefry(key, (mu % half, k))[mu // half] >> 2
            p = chain.batch if k == 0 else 1 - chain.leave if s[k - 1, mu] else chain.enter
            s[k, mu] = u < 2**30 * p
    return s
