r"""The sample side of the theory: fields, forces and path-wise responses of a population of paths.

A path is one training sample with its own Gaussian field. Only its *active* times matter, at which the sample was in
the batch and its force was not zero; they are kept as short lists (:class:`Active`).

Sums over paths are taken within fixed chunks of paths, and the chunks are added in a fixed order, so the number of
threads changes neither the order of a sum nor its bits.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdnoise._jit import jit
from sgdnoise._threads import Share, share_out
from sgdnoise.losses import Loss
from sgdnoise.vectors.lanes import STRIP_BYTES, add_multiple, load, store

Array = NDArray[np.float64]
Ints = NDArray[np.uint32]

ONE = np.uint32(1)  # keeps an index unsigned, which spares a test for negative ones at every access

STRIP = STRIP_BYTES // 8  # numbers of a row that are taken at once
CHUNKS = 16  # fixed, so that no sum depends on the number of threads
_PATHS = 128  # paths whose responses are worked out side by side, sharing tiles of the propagator in cache


class Paths(NamedTuple):
    """The Gaussian numbers of a population, and the constants of the equation of its fields."""

    h0: Array  # standard normal, (paths,)
    xi: NDArray[np.float32]  # white noises, (layers, paths, steps+1)
    delta: float
    dt: float


class Active(NamedTuple):
    """Active times of every path so far, in lists with some room."""

    length: Ints  # how many, (replicas, paths)
    kick: Ints  # t+1 for active time t: when its force reaches the weights, (replicas, paths, room)
    force: Array  # s l'(r) at that time
    stiff: Array  # s l''(r)


class Forces(NamedTuple):
    r"""Force :math:`s\,\ell'(r)` and stiffness :math:`s\,\ell''(r)` of every path now, (replicas, paths)."""

    pull: Array
    bend: Array


class Span(NamedTuple):
    """Paths ``first`` to ``last - 1`` of one replica."""

    replica: int
    first: int
    last: int


def fields(t: int, m: float, paths: Paths, active: Active, L: Array, G: Array) -> Array:
    r"""Return the field of every path at time ``t``, (replicas, paths) (``eq-field`` of the book).

    .. math:: r(t) = m(t)(1+\sqrt\Delta h_0) + \sqrt\Delta\,g(t) - \Delta\,dt\sum_{t'<t}R(t,t')\,s(t')\ell'(r(t'))

    with :math:`g = L\xi`: the paper's process of :math:`h`, integrated. With two replicas the two layers of ``xi`` and
    ``L`` are those of :math:`g_\pm = (g_1\pm g_2)/\sqrt2`.
    """
    r = np.empty(active.length.shape)
    share_out(_fields, CHUNKS, t, m, paths, active, L, G, r)
    return r


@jit(nogil=True, fastmath={"contract", "reassoc"})
def _fields(share: Share, t: int, m: float, paths: Paths, active: Active, L: Array, G: Array, r: Array) -> None:
    """Fields of the paths of a share of the chunks; see :func:`fields`."""
    replicas, many = r.shape
    size, delta = (many + share.parts - 1) // share.parts, paths.delta
    for chunk in range(share.first, share.parts, share.every):
        for p in range(chunk * size, min((chunk + 1) * size, many)):
            mean = m * (1.0 + math.sqrt(delta) * paths.h0[p])
            one = 0.0
            for k in range(t + 1):
                one += L[0, t, k] * paths.xi[0, p, k]
            r[0, p] = mean + math.sqrt(delta) * one
            if replicas == 2:
                two = 0.0
                for k in range(t + 1):
                    two += L[1, t, k] * paths.xi[1, p, k]
                r[0, p] = mean + math.sqrt(0.5 * delta) * (one + two)
                r[1, p] = mean + math.sqrt(0.5 * delta) * (one - two)
            for a in range(replicas):
                pull = 0.0
                for i in range(active.length[a, p]):
                    pull += G[t, active.kick[a, p, i]] * active.force[a, p, i]
                r[a, p] -= delta * paths.dt * pull


@jit(nogil=True)
def forces(loss: Loss, margin: float, r: Array, weight: Array, now: Forces, bare: Forces) -> None:
    r"""Write forces and stiffnesses of every path, with its weight in the batch and :math:`\ell',\ell''` alone."""
    for a in range(r.shape[0]):
        for p in range(r.shape[1]):
            bare.pull[a, p], bare.bend[a, p] = loss.slope(r[a, p], margin), loss.curvature(r[a, p], margin)
            now.pull[a, p], now.bend[a, p] = weight[a, p] * bare.pull[a, p], weight[a, p] * bare.bend[a, p]


def sums(t: int, step: float, G: Array, now: Forces, active: Active) -> Array:
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

    Returns
    -------
    numpy.ndarray
        Shape (3, t+1), against :math:`t'`: sums of :math:`f_a(t)f_a(t')`, of :math:`f_a(t)f_b(t')` with
        :math:`a\ne b`, and of :math:`s(t)\ell''(r(t))D(t,t')`, where :math:`f=s\,\ell'(r)`.
    """
    out = np.zeros((CHUNKS, 3, t + 1))
    share_out(_sums, CHUNKS, t, step, G, now, active, out)
    return np.asarray(out.sum(axis=0))


@jit(nogil=True, fastmath={"contract"})
def _sums(share: Share, t: int, step: float, G: Array, now: Forces, active: Active, out: Array) -> None:
    """Sums of :func:`sums` over the paths of a share of the chunks, added to ``out``, shape (chunk, 3, t+1)."""
    replicas, paths = now.pull.shape
    size = (paths + share.parts - 1) // share.parts
    for chunk in range(share.first, share.parts, share.every):
        begin, end = chunk * size, min((chunk + 1) * size, paths)
        for p in range(begin, end):
            for a in range(replicas):
                f = now.pull[a, p]
                out[chunk, 2, t] += now.bend[a, p]
                if f == 0.0:
                    continue
                for b in range(replicas):
                    layer = 0 if a == b else 1
                    for i in range(active.length[b, p]):
                        out[chunk, layer, active.kick[b, p, i] - ONE] += f * active.force[b, p, i]
                    out[chunk, layer, t] += f * now.pull[b, p]
        for a in range(replicas):
            _respond(t, Span(a, begin, end), step, G, now.bend, active, out[chunk, 2])


@jit(allocates=True, fastmath={"contract"})
def _respond(t: int, span: Span, step: float, G: Array, bend: Array, active: Active, out: Array) -> None:
    """Add the responses of some paths to earlier pushes, a strip of times after the other, backwards.

    First, path by path, the active times within a strip; then what they add to all earlier strips, for which a tile of
    ``G`` serves all paths in turn. ``D[member, k]`` is the response of path ``who[member]`` to a push at ``k-1``.
    """
    a, kick, stiff = span.replica, active.kick, active.stiff
    who, todo, found = np.empty(_PATHS, np.int64), np.empty(_PATHS, np.int64), np.empty(_PATHS, np.int64)
    D = np.empty((_PATHS, G.shape[1]))
    when, d = np.empty((_PATHS, STRIP), np.int64), np.empty((_PATHS, STRIP))
    p, end = span.first, (t // STRIP + 1) * STRIP  # whole strips: G is zero past its diagonal
    while p < span.last:
        members = 0
        while p < span.last and members < _PATHS:
            if bend[a, p] != 0.0:
                who[members], todo[members] = p, active.length[a, p]
                for left in range(0, end, STRIP):  # by strips: of an assignment, Numba compiles the text of errors too
                    store(D, members, left, load(G, t, left))
                members += 1
            p += 1
        for low in range(t // STRIP * STRIP, -1, -STRIP):
            for member in range(members):
                o, n, j = who[member], todo[member], 0
                while n > 0 and kick[a, o, n - 1] >= low:
                    n -= 1
                    k = int(kick[a, o, n])
                    when[member, j], d[member, j] = k - 1, -step * stiff[a, o, n] * D[member, k]
                    out[k - 1] += bend[a, o] * d[member, j]
                    store(D, member, low, add_multiple(load(D, member, low), d[member, j], load(G, k - 1, low)))
                    j += 1
                todo[member], found[member] = n, j
            for left in range(0, low, STRIP):
                for member in range(members):
                    v = load(D, member, left)
                    for j in range(found[member]):
                        v = add_multiple(v, d[member, j], load(G, when[member, j], left))
                    store(D, member, left, v)


@jit()
def remember(t: int, now: Forces, active: Active) -> None:
    r"""Append time ``t`` to the lists of those paths whose force or stiffness is not zero."""
    for a in range(now.pull.shape[0]):
        for p in range(now.pull.shape[1]):
            if now.pull[a, p] != 0.0 or now.bend[a, p] != 0.0:
                i = active.length[a, p]
                active.kick[a, p, i], active.force[a, p, i] = t + 1, now.pull[a, p]
                active.stiff[a, p, i] = now.bend[a, p]
                active.length[a, p] = i + 1
