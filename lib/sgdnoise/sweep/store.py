"""The results store: a folder of datasets, each found by the key of everything that it depends on.

An entry is one file, ``KEY.sgdnoise.nc``. It is written under another name and renamed when complete, so that it is
there whole or not at all; it is checked whenever it is read, and one that is damaged counts as absent. Other files in
the folder are left alone.
"""

import contextlib
import csv
import errno
import io
import json
import os
import platform
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import xarray as xr
from filelock import BaseFileLock, FileLock, Timeout

from sgdnoise.sweep.entry import DamagedEntryError, decode, is_whole

VARIABLE = "SGDNOISE_STORE"
SUFFIX = ".sgdnoise.nc"
PART = ".sgdnoise-"
ABANDONED_SECONDS = 3600  # after which an unfinished file counts as abandoned


class StoreError(OSError):
    """The store cannot be used; the sentence says why."""


def default_folder() -> Path:
    """Return the folder of the store: ``SGDNOISE_STORE``, or ``_build/results`` in the current folder."""
    return Path(os.environ.get(VARIABLE) or Path("_build") / "results").expanduser()


@contextmanager
def put_in_place(path: Path) -> Iterator[Path]:
    """Give a file to write to, and rename it to ``path`` at the end; a failure leaves what was there before."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=PART, suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        part.chmod(0o644)  # a store may be shared
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


class Store:
    """A folder of results.

    Parameters
    ----------
    folder
        Where it is; by default :func:`default_folder`. ``~`` is the home folder.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(folder, str | os.PathLike | None):
            raise TypeError(f"store must be the path of a folder, got {folder!r}")
        if folder == "":
            raise ValueError("store must be the path of a folder, got ''")
        self.folder = Path(folder).expanduser() if folder is not None else default_folder()

    def path(self, key: str) -> Path:
        """Return the file of an entry, whether it is there or not."""
        return self.folder / f"{key}{SUFFIX}"

    def read(self, key: str) -> tuple[xr.Dataset, dict[str, Any]] | None:
        """Return a dataset with its provenance, or None where there is no undamaged entry of that key."""
        try:
            return decode(self.path(key).read_bytes())
        except (FileNotFoundError, DamagedEntryError):
            return None
        except OSError as error:
            raise StoreError(f"store {self.folder} cannot be read: {error.strerror}") from error

    def has(self, key: str) -> bool:
        """Tell whether there is an undamaged entry of that key, without parsing it."""
        try:
            return is_whole(self.path(key).read_bytes())
        except OSError:
            return False

    def write(self, key: str, data: bytes) -> None:
        """Put the bytes of an entry in place, in one step; a full disk leaves what was there before."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with put_in_place(self.path(key)) as part:
                part.write_bytes(data)
        except OSError as error:
            what = "has no room left" if error.errno == errno.ENOSPC else f"must be writable: {error.strerror}"
            raise StoreError(f"store {self.folder} {what}; entry {key} was not written") from error

    def check_writable(self) -> None:
        """Refuse, before any work, a store that cannot be written to."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=PART, suffix=".part") as probe:
                probe.write(b"\0" * 4096)
                probe.flush()
        except OSError as error:
            raise StoreError(f"store {self.folder} must be writable and have room: {error.strerror}") from error

    def entries(self) -> list[str]:
        """Return the keys of all entries, damaged ones included."""
        return sorted(path.name.removesuffix(SUFFIX) for path in self.folder.glob(f"*{SUFFIX}"))

    def abandoned(self) -> list[Path]:
        """Return the unfinished files that killed processes have left behind."""
        old = time.time() - ABANDONED_SECONDS
        return [path for path in self.folder.glob(f"{PART}*.part") if path.stat().st_mtime < old]

    def claim(self, key: str) -> BaseFileLock | None:
        """Take the right to compute an entry, to be released; None if another holds it. It ends with the process."""
        lock = self._lock(key)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        return lock

    @staticmethod
    def release(claim: BaseFileLock) -> None:
        """Give a claim back. Should two processes then hold one at once, both find the entry that is there by now."""
        claim.release()
        with contextlib.suppress(OSError):
            os.unlink(claim.lock_file)

    def _lock(self, name: str) -> BaseFileLock:
        folder = self.folder / "claims"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / name)

    def remember_use(self, label: str, keys: list[str]) -> None:
        """Note which entries a figure was made from, for the export."""
        path = self.folder / "used" / f"{label}.json"
        if set(keys) <= set(self.uses(label)):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock(f"{label}.used"), put_in_place(path) as part:  # several processes may use one label
            known = set(self.uses(label)) & set(self.entries())
            part.write_text(json.dumps(sorted(known | set(keys))), encoding="utf-8")

    def uses(self, label: str) -> list[str]:
        """Return the entries that a figure was made from."""
        try:
            return [str(key) for key in json.loads((self.folder / "used" / f"{label}.json").read_text("utf-8"))]
        except (OSError, ValueError):
            return []

    def write_zip(self, keys: list[str], target: Path, shorten: Callable[[bytes], bytes] = bytes) -> None:
        """Write datasets, each as it is or shortened, and a table of them; the same results give the same bytes."""
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["file", "parameters", "version", "revision", "wall_time_s"])
        with put_in_place(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for key in keys:
                data = self.path(key).read_bytes()
                note = decode(data)[1]
                made = [note["version"], note["revision"], f"{note['wall_time']:.3f}"]
                writer.writerow([f"{key}.nc", note["point"], *made])
                archive.writestr(zipfile.ZipInfo(f"{key}.nc"), shorten(data), zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo("results.csv"), table.getvalue(), zipfile.ZIP_DEFLATED)


def provenance(seconds: float) -> dict[str, Any]:
    """Say where and how a result was made."""
    from sgdnoise import __version__

    return {
        "version": __version__,
        **revision(),
        "machine": platform.platform(),
        "threads": os.environ.get("NUMBA_NUM_THREADS", str(os.cpu_count())),
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "wall_time": seconds,
    }


@cache
def revision() -> dict[str, Any]:
    """Return the git revision of the library's source and whether it has been edited since, where known."""
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()

    try:
        if git("ls-files", Path(__file__).name) == "":
            return {"revision": "unknown", "dirty": "unknown"}
        return {"revision": git("rev-parse", "HEAD"), "dirty": str(bool(git("status", "--porcelain", "..")))}
    except (OSError, subprocess.SubprocessError):
        return {"revision": "unknown", "dirty": "unknown"}
