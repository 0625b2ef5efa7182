"""Compile the library before several processes need it at once: each of them would otherwise compile all of it."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from bookbuild.runner import THREAD_VARIABLES, cores, say
from sgdnoise._jit import cache_folder

MARK = "compiled"
# One small call of every engine in every precision, the longest to compile first.
CALLS = (
    "sn.simulate(sn.Problem(alpha=2.0), sn.SGD(0.5), 0.1, 0.2, features=8, realisations=1, precision='single')",
    "sn.simulate(sn.Problem(alpha=2.0), sn.SGD(0.5), 0.1, 0.2, features=8, realisations=1, precision='double')",
    "sn.solve_dmft(sn.Problem(alpha=2.0), sn.SGD(0.5), 0.1, 0.2, paths=50, replicas=2, realisations=2)",
    "sn.simulate(sn.Problem(alpha=0.5), sn.SGD(0.5), 0.1, 0.2, features=8, realisations=1)",
)


def compile_all() -> None:
    """Fill the cache of compiled code, a process a core, unless that was done for this very source."""
    folder = cache_folder()
    if folder is None or (folder / MARK).exists():
        return
    say("Compiling the library (once).")
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}

    def run(call: str) -> int:
        return subprocess.call([sys.executable, "-c", f"import sgdnoise as sn; {call}"], env=environment)

    with ThreadPoolExecutor(cores()) as pool:
        failed = any(list(pool.map(run, CALLS)))
    if not failed:  # what goes wrong here is met again, and told, where the library is used
        (folder / MARK).touch()
