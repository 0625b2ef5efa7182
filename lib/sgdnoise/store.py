"""The results store: a folder of datasets, each found by the key of everything that it depends on.

An entry is one netCDF file, ``KEY.nc``, that any netCDF reader opens. Its attribute ``provenance`` says how it was
made; its last bytes, which readers ignore, are a checksum of all the others. It is written under another name and
renamed when complete, so that an entry is there whole or not at all; it is checked whenever it is read, and one that is
damaged counts as absent. Nothing in it is ever executed.
"""

import contextlib
import errno
import hashlib
import io
import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import xarray as xr

VARIABLE = "SGDNOISE_STORE"
FOOTER = b"\nsgdnoise-sha256:"
FOOTER_SIZE = len(FOOTER) + 64


class StoreError(OSError):
    """The store cannot be used; the sentence says why."""


class DamagedEntryError(ValueError):
    """An entry is not what was written: truncated, altered, or no entry at all."""


def default_folder() -> Path:
    """Return the folder of the store: ``SGDNOISE_STORE``, or ``_build/results`` in the current folder."""
    return Path(os.environ.get(VARIABLE) or Path("_build") / "results")


def encode(result: xr.Dataset, provenance: Mapping[str, Any]) -> bytes:
    """Turn a dataset and its provenance into the bytes of an entry."""
    labelled = result.assign_attrs(
        {
            name: str(value) if isinstance(value, bool) or value is None else value
            for name, value in result.attrs.items()
        }
    )
    labelled.attrs["provenance"] = json.dumps(dict(provenance), sort_keys=True)
    content = bytes(labelled.to_netcdf(engine="scipy"))
    return content + FOOTER + hashlib.sha256(content).hexdigest().encode()


def decode(data: bytes) -> tuple[xr.Dataset, dict[str, Any]]:
    """Turn the bytes of an entry into its dataset and provenance; raise if a single bit has changed."""
    content, footer = data[:-FOOTER_SIZE], data[-FOOTER_SIZE:]
    if footer != FOOTER + hashlib.sha256(content).hexdigest().encode():
        raise DamagedEntryError("its checksum does not match")
    with xr.open_dataset(io.BytesIO(content), engine="scipy") as stored:
        result = stored.load()
    return result, json.loads(result.attrs.pop("provenance"))


class Store:
    """A folder of results.

    Parameters
    ----------
    folder
        Where it is; by default :func:`default_folder`.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()

    def path(self, key: str) -> Path:
        """Return the file of an entry, whether it is there or not."""
        return self.folder / f"{key}.nc"

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
            data = self.path(key).read_bytes()
        except OSError:
            return False
        return data[-FOOTER_SIZE:] == FOOTER + hashlib.sha256(data[:-FOOTER_SIZE]).hexdigest().encode()

    def write(self, key: str, data: bytes) -> None:
        """Put the bytes of an entry in place, in one step; a full disk leaves what was there before."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(dir=self.folder, prefix=f".{key}-", suffix=".part")
        except OSError as error:
            raise StoreError(f"store {self.folder} must be writable: {error.strerror}") from error
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(part, 0o644)  # a store may be shared
            os.replace(part, self.path(key))
        except OSError as error:
            what = "has no room left" if error.errno == errno.ENOSPC else f"must be writable: {error.strerror}"
            raise StoreError(f"store {self.folder} {what}; entry {key} was not written") from error
        finally:
            with contextlib.suppress(OSError):
                os.unlink(part)

    def check_writable(self) -> None:
        """Refuse, before any work, a store that cannot be written to."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".probe-", suffix=".part") as probe:
                probe.write(b"\0" * 4096)
                probe.flush()
        except OSError as error:
            raise StoreError(f"store {self.folder} must be writable and have room: {error.strerror}") from error

    def entries(self) -> list[str]:
        """Return the keys of all entries, damaged ones included."""
        return sorted(path.stem for path in self.folder.glob("*.nc"))

    @contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Hold the right to compute an entry; False if another process holds it. It ends with the process."""
        folder = self.folder / "claims"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / key, "w", encoding="utf-8") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # without file locks two processes may compute the same entry; both are right
                pass
            except BlockingIOError:
                yield False
                return
            yield True
            with contextlib.suppress(OSError):
                os.unlink(folder / key)

    def remember_use(self, label: str, keys: list[str]) -> None:
        """Note which entries a figure was made from, for the export."""
        folder = self.folder / "used"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{label}.json"
        part = path.with_name(f".{label}-{os.getpid()}.part")
        part.write_text(json.dumps(sorted(set(keys) | set(self.uses(label)) & set(self.entries()))), encoding="utf-8")
        os.replace(part, path)

    def uses(self, label: str) -> list[str]:
        """Return the entries that a figure was made from."""
        try:
            return [str(key) for key in json.loads((self.folder / "used" / f"{label}.json").read_text("utf-8"))]
        except (OSError, ValueError):
            return []


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
        return {"revision": git("rev-parse", "HEAD"), "dirty": str(bool(git("status", "--porcelain", ".")))}
    except (OSError, subprocess.SubprocessError):
        return {"revision": "unknown", "dirty": "unknown"}
