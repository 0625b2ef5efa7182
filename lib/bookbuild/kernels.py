"""Compile the library before several processes need it at once: each of them would otherwise compile all of it."""

import os
import subprocess
import sys
import time

from bookbuild.runner import THREAD_VARIABLES, cores, say
from sgdnoise._jit import cache_folder

MARK = "compiled"
QUIETLY = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)"  # an interrupt ends it without a traceback
POLL_SECONDS = 0.1
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
    waiting, failed = list(CALLS), False
    running: list[subprocess.Popen[bytes]] = []
    try:
        while waiting or running:
            while waiting and len(running) < cores():
                command = [sys.executable, "-c", f"{QUIETLY}; import sgdnoise as sn; {waiting.pop(0)}"]
                running.append(subprocess.Popen(command, env=environment))
            time.sleep(POLL_SECONDS)
            failed |= any(process.poll() for process in running)
            running = [process for process in running if process.poll() is None]
    finally:  # an interrupt does not wait for the compiler
        for process in running:
            process.kill()
            process.wait()
    if not failed:  # what goes wrong here is met again, and told, where the library is used
        (folder / MARK).touch()
