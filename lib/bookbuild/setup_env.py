"""Make the virtual environment that every other command runs in: ``python3 setup_env.py [FOLDER] [--bench]``.

It runs before anything is installed, so it uses the standard library only, and a syntax old enough that an
unsupported Python can still say so. Done once; done again when ``requirements.lock`` or ``pyproject.toml`` change.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from typing import List, Optional, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST, NEWEST = (3, 11), (3, 13)
DISK_NEEDED = 2.0e9
LOCK = os.path.join(ROOT, "requirements.lock")
# Wheels only: a missing compiler can then never be the reason of a failure half-way.
LOCKED = ["--require-hashes", "--only-binary=:all:"]
STAMP, BENCH_STAMP = "installed-from", "bench-installed-from"


def main(folder: str, bench: bool) -> int:
    """Make or update the environment in ``folder``, with the packages for benchmarks if asked; return the status."""
    python = os.path.join(folder, "Scripts" if os.name == "nt" else "bin", "python")
    try:
        check_python()
        wanted = fingerprint()
        if installed(folder, STAMP) != wanted or not os.access(python, os.X_OK):
            check_disk(os.path.dirname(os.path.abspath(folder)))
            say(f"Making the environment in {os.path.relpath(folder)} (once).")
            for stamp in (STAMP, BENCH_STAMP):  # first of all: an interrupted set-up is never taken for finished
                if installed(folder, stamp):
                    os.remove(os.path.join(folder, stamp))
            began = time.monotonic()
            venv.create(folder, clear=True, with_pip=True, symlinks=os.name != "nt")
            install(python)
            write_stamp(folder, "setup-seconds", str(time.monotonic() - began))
            write_stamp(folder, STAMP, wanted)
        if bench and installed(folder, BENCH_STAMP) != wanted:
            install_bench(python)
            write_stamp(folder, BENCH_STAMP, wanted)
    except Refusal as refusal:
        say(f"setup: {refusal}")
        return 2
    except OSError as error:
        say(f"setup: cannot write the environment {folder}: {error.strerror or error}.")
        return 2
    except KeyboardInterrupt:
        say("setup: interrupted; the same command starts it again.")
        return 130
    return 0


class Refusal(Exception):
    """Why the environment cannot be made, in one sentence."""


def check_python() -> None:
    """Refuse a Python for which the locked packages do not exist."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise Refusal(
            f"Python must be {dotted(OLDEST)} to {dotted(NEWEST)}, got {dotted(sys.version_info[:2])} "
            f"({sys.executable}); name another one with PYTHON=python3.12."
        )


def dotted(version: Tuple[int, int]) -> str:
    """Write a version for people."""
    return ".".join(map(str, version))


def check_disk(folder: str) -> None:
    """Refuse a folder that cannot be written, or a disk without room for the packages."""
    if not os.access(folder, os.W_OK):
        raise Refusal(f"the folder {folder} must be writable, and is not.")
    free = shutil.disk_usage(folder).free
    if free < DISK_NEEDED:
        raise Refusal(f"the disk of {folder} must have {DISK_NEEDED / 1e9:.1f} GB free, and has {free / 1e9:.1f} GB.")


def fingerprint() -> str:
    """Hash of what the environment depends on, its own location included (environments cannot be moved)."""
    digest = hashlib.sha256(repr((ROOT, sys.version_info[:2], os.path.realpath(sys.executable))).encode())
    for name in ("requirements.lock", "pyproject.toml"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def install(python: str) -> None:
    """Install the lock, then the project itself."""
    run_installer(python, "the locked packages", [*LOCKED, "-r", LOCK])
    run_installer(python, "the project", ["--no-deps", "--no-build-isolation", "-e", ROOT])


def install_bench(python: str) -> None:
    """Install the packages of the lock that are marked for the benchmarks only."""
    with open(LOCK, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as scratch:
        everything = os.path.join(scratch, "everything.txt")
        with open(everything, "w", encoding="utf-8") as file:
            file.write(re.sub(r" ; extra == 'bench'| and extra == 'bench'", "", text))
        run_installer(python, "the packages that we compare with", [*LOCKED, "-r", everything])


def run_installer(python: str, what: str, arguments: List[str]) -> None:
    """Install something; with uv where it can be had, with pip otherwise."""
    say(f"Installing {what}.")
    uv = find_uv(python)
    # The certificates of the system, as pip uses them: behind a company's proxy there are no others.
    environment = dict(os.environ, UV_SYSTEM_CERTS="1", UV_NATIVE_TLS="1")
    if uv and subprocess.call([uv, "pip", "install", "--quiet", "--python", python, *arguments], env=environment) == 0:
        return
    say("uv is not to be had or failed; using pip, which takes a minute longer.")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.call(pip + arguments) != 0:
        raise Refusal(
            f"installing {what} failed (the reason is printed above); is the package index within reach, and is "
            "there a wheel of each package for this machine?"
        )


def find_uv(python: str) -> Optional[str]:
    """Return the path of uv: the one in the environment or on the PATH, else the locked one, newly installed."""
    own = os.path.join(os.path.dirname(python), "uv")
    found = own if os.access(own, os.X_OK) else shutil.which("uv")
    if found:
        return found
    with open(LOCK, encoding="utf-8") as file:
        pinned = re.search(r"^uv==(?:.*\\\n)*.*$", file.read(), re.MULTILINE)
    if not pinned:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        requirement = os.path.join(scratch, "uv.txt")
        with open(requirement, "w", encoding="utf-8") as file:
            file.write(pinned.group() + "\n")
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.call([*command, *LOCKED, "-r", requirement], stderr=subprocess.DEVNULL) != 0:
            return None
    return own


def installed(folder: str, stamp: str) -> Optional[str]:
    """Return the fingerprint that a finished installation left behind, or None."""
    try:
        with open(os.path.join(folder, stamp), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def write_stamp(folder: str, stamp: str, text: str) -> None:
    """Record a finished installation, in one step."""
    path = os.path.join(folder, stamp)
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def say(sentence: str) -> None:
    """Print a line of progress at once."""
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--bench"]
    sys.exit(main(words[0] if words else os.path.join(ROOT, ".venv"), "--bench" in sys.argv))
