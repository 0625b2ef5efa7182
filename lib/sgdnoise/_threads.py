"""Compiled work in several threads.

A kernel that releases the interpreter lock is called once per thread, each time with a share of the work.
Numba has parallel loops of its own, but it compiles each of them twice and several times as slowly, and its
threads must not be used from two Python threads at once.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

from sgdnoise._machine import threads


class Share(NamedTuple):
    """Part of the work of one thread: the parts ``first, first + every, ...`` below ``parts``."""

    first: int
    every: int
    parts: int


def share_out(kernel: Callable[..., None], parts: int, *arguments: Any) -> None:
    """Call ``kernel(share, *arguments)`` in each thread, with its share of the parts.

    Parts must not depend on each other; then the result does not depend on the number of threads.
    """
    count = min(threads(), parts)
    others = [_pool(count).submit(kernel, Share(i, count, parts), *arguments) for i in range(1, count)]
    kernel(Share(0, count, parts), *arguments)
    for other in others:
        other.result()


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="sgdnoise")


if hasattr(os, "register_at_fork"):  # the threads of a pool do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
