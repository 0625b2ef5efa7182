"""How much of this machine may be used."""

import os


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """Return how many threads this process may use: one a core, or fewer where ``NUMBA_NUM_THREADS`` says so.

    Several processes that share a machine are each given their part of it in this way.
    """
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(cores(), int(limit)) if limit.isdigit() and int(limit) > 0 else cores()
