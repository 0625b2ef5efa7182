"""How much of this machine may be used."""

import math
import os
import sys


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """Return how many threads this process may use: one a core, or fewer where ``NUMBA_NUM_THREADS`` says so.

    This variable divides a machine among several processes.
    """
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(cores(), int(limit)) if limit.isdigit() and int(limit) > 0 else cores()


def available_memory() -> float:
    """Return how much memory is available, in bytes."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass  # not Linux: the total is the best portable answer
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


# Where the build of the book, which has a display of its own, reads how far a notebook is.
PROGRESS_FILE = "SGDNOISE_PROGRESS_FILE"


def someone_watches() -> bool:
    """Whether standard error is a terminal or a notebook, where a person reads what is happening."""
    if os.environ.get(PROGRESS_FILE):
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or type(shell).__name__ == "ZMQInteractiveShell"
