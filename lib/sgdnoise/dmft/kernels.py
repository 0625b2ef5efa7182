r"""The sample side of the theory: fields, forces and path-wise responses of a population of paths.

A path is one training sample with its own Gaussian field. Of its past only the *active* times matter, those at which
the sample was in the batch and pulled at the weights; they are kept as short lists, one per replica and path:

==============  ===================  ===========================================================
name            shape                meaning
==============  ===================  ===========================================================
``count``       (replica, path)      number of active times so far
``kick``        (replica, path, i)   ``t+1`` for active time ``t``: when its force reaches the weights
``force``       (replica, path, i)   :math:`s\,\ell'(r)` at that time
``stiff``       (replica, path, i)   :math:`s\,\ell''(r)` at that time
==============  ===================  ===========================================================

Sums over paths are made within fixed chunks of paths and the chunks are added in order: the number of threads changes
neither the order of any sum nor its bits.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._lanes import STRIP_BYTES, add_multiple, load, store
from sgdnoise._threads import share_out

Array = NDArray[np.float64]
Ints = NDArray[np.uint32]

ONE = np.uint32(1)  # keeps an index unsigned, which spares a test for negative ones at every access

STRIP = STRIP_BYTES // 8  # numbers of a row that are taken at once
CHUNKS = 16  # fixed, so that no sum depends on the number of threads
_PATHS = 128  # paths whose responses are worked out side by side, sharing tiles of the propagator in cache


def fields(
    t: int,
    m: float,
    delta: float,
    dt: float,
    h0: Array,
    xi: NDArray[np.float32],
    L: Array,
    G: Array,
    count: Ints,
    kick: Ints,
    force: Array,
    r: Array,
) -> None:
    r"""Field of every path at time ``t`` (``eq-field`` of the book; the paper's process of h, integrated).

    .. math:: r(t) = m(t)(1+\sqrt\Delta h_0) + \sqrt\Delta\,g(t) - \Delta\,dt\sum_{t'<t}R(t,t')\,s(t')\ell'(r(t'))

    with :math:`g = L\xi`. With two replicas the two layers of ``xi`` and ``L`` are those of
    :math:`g_\pm = (g_1\pm g_2)/\sqrt2`.
    """
    share_out(_fields, CHUNKS, t, m, delta, dt, h0, xi, L, G, count, kick, force, r)


@jit(nogil=True, fastmath={"contract", "reassoc"})
def _fields(
    first: int,
    every: int,
    chunks: int,
    t: int,
    m: float,
    delta: float,
    dt: float,
    h0: Array,
    xi: NDArray[np.float32],
    L: Array,
    G: Array,
    count: Ints,
    kick: Ints,
    force: Array,
    r: Array,
) -> None:
    """Fields of the paths of every so many chunks; see :func:`fields`."""
    replicas, paths = count.shape
    size = (paths + chunks - 1) // chunks
    for chunk in range(first, chunks, every):
        for p in range(chunk * size, min((chunk + 1) * size, paths)):
            mean = m * (1.0 + math.sqrt(delta) * h0[p])
            one = 0.0
            for k in range(t + 1):
                one += L[0, t, k] * xi[0, p, k]
            r[0, p] = mean + math.sqrt(delta) * one
            if replicas == 2:
                two = 0.0
                for k in range(t + 1):
                    two += L[1, t, k] * xi[1, p, k]
                r[0, p] = mean + math.sqrt(0.5 * delta) * (one + two)
                r[1, p] = mean + math.sqrt(0.5 * delta) * (one - two)
            for a in range(replicas):
                pull = 0.0
                for i in range(count[a, p]):
                    pull += G[t, kick[a, p, i]] * force[a, p, i]
                r[a, p] -= delta * dt * pull


def sums(
    t: int,
    step: float,
    G: Array,
    pull: Array,
    bend: Array,
    count: Ints,
    kick: Ints,
    force: Array,
    stiff: Array,
) -> Array:
    r"""Sum over paths what the noise and the memory of the weights need at time ``t``.

    The response :math:`D(t,t')` of a path to a push of its field is a sum over chains of active times, so it obeys
    a recursion backwards in the earlier time (``eq-back`` of the book), with :math:`D(t,t)=1`,

    .. math:: D(t,t') = -\Delta\,dt\,s(t')\ell''(r(t'))\sum_{t'<u\le t} D(t,u)\,R(u,t') ,

    where only active ``u`` count: a back-substitution, whose cost is half the square of the number of active times.
    No response has to be stored.

    Parameters
    ----------
    step
        :math:`\Delta\,dt`.
    pull, bend
        :math:`f(t)=s\,\ell'(r)` and :math:`s\,\ell''(r)` at time ``t``, shape (replicas, paths).

    Returns
    -------
    numpy.ndarray
        Shape (3, t+1), against :math:`t'`: sums of :math:`f_a(t)f_a(t')`, of :math:`f_a(t)f_b(t')` with
        :math:`a\ne b`, and of :math:`s(t)\ell''(r(t))D(t,t')`.
    """
    out = np.zeros((CHUNKS, 3, t + 1))
    share_out(_sums, CHUNKS, t, step, G, pull, bend, count, kick, force, stiff, out)
    return np.asarray(out.sum(axis=0))


@jit(nogil=True, fastmath={"contract"})
def _sums(
    first: int,
    every: int,
    chunks: int,
    t: int,
    step: float,
    G: Array,
    pull: Array,
    bend: Array,
    count: Ints,
    kick: Ints,
    force: Array,
    stiff: Array,
    out: Array,
) -> None:
    """Sums of :func:`sums` over the paths of every so many chunks, added to ``out``, shape (chunk, 3, t+1)."""
    replicas, paths = pull.shape
    size = (paths + chunks - 1) // chunks
    for chunk in range(first, chunks, every):
        begin, end = chunk * size, min((chunk + 1) * size, paths)
        for p in range(begin, end):
            for a in range(replicas):
                f = pull[a, p]
                out[chunk, 2, t] += bend[a, p]
                if f == 0.0:
                    continue
                for b in range(replicas):
                    layer = 0 if a == b else 1
                    for i in range(count[b, p]):
                        out[chunk, layer, kick[b, p, i] - ONE] += f * force[b, p, i]
                    out[chunk, layer, t] += f * pull[b, p]
        for a in range(replicas):
            _respond(t, a, begin, end, step, G, bend, count, kick, stiff, out[chunk, 2])


@jit(fastmath={"contract"})
def _respond(
    t: int,
    a: int,
    first: int,
    last: int,
    step: float,
    G: Array,
    bend: Array,
    count: Ints,
    kick: Ints,
    stiff: Array,
    out: Array,
) -> None:
    """Add the responses to earlier pushes of one chunk of one replica, a strip of times after the other, backwards.

    First, path by path, the active times within a strip; then what they add to all earlier strips, for which a tile of
    ``G`` serves all paths in turn. ``D[q, k]`` is the response of path ``who[q]`` to a push at ``k-1``.
    """
    who, todo, found = np.empty(_PATHS, np.int64), np.empty(_PATHS, np.int64), np.empty(_PATHS, np.int64)
    D = np.empty((_PATHS, G.shape[1]))
    when, d = np.empty((_PATHS, STRIP), np.int64), np.empty((_PATHS, STRIP))
    p, end = first, (t // STRIP + 1) * STRIP  # whole strips: G is zero past its diagonal
    while p < last:
        members = 0
        while p < last and members < _PATHS:
            if bend[a, p] != 0.0:
                who[members], todo[members] = p, count[a, p]
                D[members, :end] = G[t, :end]
                members += 1
            p += 1
        for low in range(t // STRIP * STRIP, -1, -STRIP):
            for q in range(members):
                o, n, j = who[q], todo[q], 0
                while n > 0 and kick[a, o, n - 1] >= low:
                    n -= 1
                    k = int(kick[a, o, n])
                    when[q, j], d[q, j] = k - 1, -step * stiff[a, o, n] * D[q, k]
                    out[k - 1] += bend[a, o] * d[q, j]
                    store(D, q, low, add_multiple(load(D, q, low), d[q, j], load(G, k - 1, low)))
                    j += 1
                todo[q], found[q] = n, j
            for left in range(0, low, STRIP):
                for q in range(members):
                    v = load(D, q, left)
                    for j in range(found[q]):
                        v = add_multiple(v, d[q, j], load(G, when[q, j], left))
                    store(D, q, left, v)


@jit()
def remember(t: int, pull: Array, bend: Array, count: Ints, kick: Ints, force: Array, stiff: Array) -> None:
    r"""Append time ``t`` to the lists of those paths whose :math:`s\,\ell'(r)` or :math:`s\,\ell''(r)` is not zero."""
    replicas, paths = pull.shape
    for a in range(replicas):
        for p in range(paths):
            if pull[a, p] != 0.0 or bend[a, p] != 0.0:
                i = count[a, p]
                kick[a, p, i], force[a, p, i], stiff[a, p, i] = t + 1, pull[a, p], bend[a, p]
                count[a, p] = i + 1
