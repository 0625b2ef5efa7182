"""One way to compile a kernel: cached on disk, and never from stale code.

Numba's own cache notices an edit of the file that holds a function, but not an edit of another file whose
functions it inlined. Here the cache folder carries a hash of the whole library, so that any edit starts a new one.

The folder is ``NUMBA_CACHE_DIR`` where that is set, else beside the library, else (where that cannot be written) in the
cache folder of the user.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.event import Event, Listener, install_listener

from sgdnoise._machine import someone_watches

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent
STALE_SECONDS = 7 * 24 * 3600


def source_hash() -> str:
    """Hash of every source file of the library: two processes that agree on it run the same code."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path | None:
    """Folder of compiled kernels for this very source, or None where nothing can be written."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sgdnoise"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    for parent in (Path(chosen) / "sgdnoise",) if chosen else (PACKAGE / "__pycache__", user):
        folder = parent / f"jit-{source_hash()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            _remove_stale(folder)
            return folder
    return None


def _remove_stale(folder: Path) -> None:
    """Remove the folders of other versions that nobody has used for a week."""
    for other in folder.parent.glob("jit-*"):
        try:
            if time.time() - other.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
        except OSError:  # another process was quicker
            continue


class _Tell(Listener):  # type: ignore[misc]
    """Says once a process that kernels are being compiled, to a person who would wonder at the silence."""

    told = False

    def on_start(self, event: Event) -> None:
        """Numba compiles a function: one that it did not find on disk."""
        if self.told or not event.data["dispatcher"].py_func.__module__.startswith("sgdnoise"):
            return
        self.told = True
        if someone_watches():
            kept = "once; kept on disk" if cache_folder() else "set NUMBA_CACHE_DIR to a folder to keep the result"
            print(f"sgdnoise: compiling kernels, some seconds ({kept})", file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        """Nothing more to say."""


install_listener("numba:compile", _Tell())


@contextmanager
def _cached() -> Iterator[bool]:
    """Point Numba to :func:`cache_folder` while a function is decorated; it reads the setting only then."""
    folder = cache_folder()
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = previous if folder is None else str(folder)
    try:
        yield folder is not None
    finally:
        numba.config.CACHE_DIR = previous


def jit(**options: Any) -> Callable[[F], F]:
    """Compile a kernel with :func:`numba.njit`; options such as ``fastmath`` or ``nogil`` are passed on."""

    def decorate(function: F) -> F:
        with _cached() as cached:
            # Divisions as in NumPy: without tests for zero, kernels are smaller and compile faster.
            compiled: F = numba.njit(cache=cached, error_model="numpy", **options)(function)
        return compiled

    return decorate
