"""One way to compile a kernel: cached on disk, and never from stale code.

Numba's own cache notices an edit of the file that holds a function, but not an edit of another file whose
functions it inlined. Here the cache folder carries a hash of the whole library, so that any edit starts a new one.

The first call of a kernel waits for its compilation, which is therefore made as short as possible. A function that a
kernel calls is linked into it before optimisation: by default Numba optimises each function, compiles it to machine
code, makes it callable from Python, and then repeats this for every caller. A function that is called from Python is a
kernel of its own. All go through those of Numba's passes only that they need. What turns the arguments of Python into
those of a kernel is not optimised. Meanwhile garbage is not collected.

The folder is ``NUMBA_CACHE_DIR`` where that is set, else beside the library, else (where that cannot be written) in the
cache folder of the user.
"""

import gc
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import _dynfunc
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.event import Event, Listener, register

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
    """Return the folder of compiled kernels for this source, or None if no folder is writable."""
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
    """Says once per process that kernels are being compiled, if a person is watching; pauses garbage collection."""

    told, depth, collects = False, 0, True

    def on_start(self, event: Event) -> None:
        """Numba compiles a function, one that it did not find on disk, alone or for the one that it is compiling."""
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()  # every collection would look through all that has been imported
        self.depth += 1
        if self.told or not event.data["dispatcher"].py_func.__module__.startswith("sgdnoise"):
            return
        self.told = True
        if someone_watches():
            kept = "(once), some seconds" if cache_folder() else "(set NUMBA_CACHE_DIR to a folder to do so once)"
            print(f"sgdnoise: compiling kernels {kept}", file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:  # noqa: ARG002
        """Collect garbage again after the last one."""
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()


TELL = _Tell()
register("numba:compile", TELL)


#: Those of Numba's passes that our functions need. Others are for closures, array expressions, ``with`` and objects.
PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.DeadBranchPrune,  # what is for tangent vectors, where there are none
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _Finished(JITCodeLibrary):  # type: ignore[misc]
    """Code of a kernel with all that it calls, optimised together."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.name.startswith("_ZN7cpython") and not function.is_declaration:
                function.add_function_attribute("noinline")
                function.add_function_attribute("optnone")
        super()._optimize_final_module()


class _Unfinished(JITCodeLibrary):  # type: ignore[misc]
    """Code of a function that is linked into the kernel that calls it, and optimised and compiled there."""

    def _optimize_functions(self, module: Any) -> None:
        """Not yet."""

    def _optimize_final_module(self) -> None:
        """Not yet."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Kernel(Compiler):  # type: ignore[misc]
    """Compiles a function that is called from Python."""

    def define_pipelines(self) -> Any:
        """Return our passes, the last of which write to the library that they find."""
        state = self.state
        state.library = _Finished(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        passes = PassManager("kernel")
        for one in PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


class _Inner(_Kernel):
    """Compiles a function for use within kernels only."""

    def define_pipelines(self) -> Any:
        """Return the same passes."""
        passes, state = super().define_pipelines(), self.state
        state.library = _Unfinished(state.targetctx.codegen(), state.func_id.func_qualname)
        state.targetctx.get_executable = _no_entry
        return passes


def _no_entry(library: Any, description: Any, environment: Any) -> Any:
    """Return what names a function within Numba; it has no address."""
    name = description.qualname
    return _dynfunc.make_function(description.lookup_module(), name, name, 0, environment, (library,))


#: Options of functions for use within kernels.
INNER = {"pipeline_class": _Inner, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


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


def jit(allocates: bool = False, **options: Any) -> Callable[[F], F]:
    """Compile a kernel with :func:`numba.njit`; options such as ``fastmath`` or ``nogil`` are passed on.

    A function that ``allocates`` arrays must say so. All others use arrays of the caller and need no code for
    reference counting.
    """
    # Divisions as in NumPy: without tests for zero, kernels are smaller and compile faster.
    options = {"error_model": "numpy", "_nrt": allocates, **options}

    def decorate(function: F) -> F:
        with _cached() as cached:
            kernel: Any = numba.njit(cache=cached, pipeline_class=_Kernel, no_cfunc_wrapper=True, **options)(function)
        if not numba.config.DISABLE_JIT:
            inner = numba.njit(**INNER, **options)(function)
            kernel.get_call_template, kernel.get_overload = inner.get_call_template, inner.get_overload
        return cast(F, kernel)

    return decorate
