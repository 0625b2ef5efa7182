"""One way to compile a kernel: cached on disk, and never from stale code.

Numba's own cache notices an edit of the file that holds a function, but not an edit of another file whose
functions it inlined. Here the cache folder carries a hash of the whole library, so that any edit starts a new one.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

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
    if "NUMBA_CACHE_DIR" in os.environ:
        folder = Path(os.environ["NUMBA_CACHE_DIR"]) / f"sgdnoise-{source_hash()}"
    else:
        folder = PACKAGE / "__pycache__" / f"jit-{source_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    for other in folder.parent.glob(folder.name.split("-")[0] + "-*"):
        try:
            if time.time() - other.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
        except OSError:  # another process was quicker
            continue
    return folder if os.access(folder, os.W_OK) else None


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
            compiled: F = numba.njit(cache=cached, **options)(function)
        return compiled

    return decorate


def elementwise(function: F) -> F:
    """Compile a scalar function to a NumPy ufunc, when it is first called: importing the library stays quick.

    Call it with float64. With a narrower type the result would depend on which types it has met before.
    """
    with _cached() as cached:
        compiled: F = numba.vectorize(cache=cached)(function)
    return compiled
