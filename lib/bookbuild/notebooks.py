"""The notebooks as text: their parameters, and the key that says which executed copy belongs to which text."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookbuild import parameters as values
from bookbuild import paths
from bookbuild.parameters import PROFILES
from bookbuild.texts import Refusal, read_text

if TYPE_CHECKING:  # jupytext, nbformat and the library take seconds to import, and a refusal needs none of them
    from nbformat import NotebookNode

Parameters = Mapping[str, Any]
SEAL, USED = "sgdnoise_sha256", "sgdnoise_results"  # what the executed copy says of itself, and of the store


def check_profile(profile: str) -> str:
    """Refuse a profile that does not exist."""
    if profile not in PROFILES:
        raise Refusal(f"profile must be {', '.join(PROFILES[:-1])} or {PROFILES[-1]}, got {profile!r}")
    return profile


def digests(*tops: Path) -> dict[str, str]:
    """Return a checksum of every file of some folders, by name; caches of tools do not count."""
    files = (path for top in tops for path in (sorted(top.rglob("*")) if top.is_dir() else [top]))
    kept = (path for path in files if path.is_file() and "__pycache__" not in path.parts)
    return {os.path.relpath(path, paths.ROOT): digest(path) for path in kept}


def digest(path: Path) -> str:
    """Return the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tree_hash(*tops: Path) -> str:
    """Hash of files and folders, names and contents."""
    return hashlib.sha256(json.dumps(digests(*tops)).encode()).hexdigest()


@dataclass(frozen=True)
class Notebook:
    """A notebook of the project, as text."""

    name: str
    text: str

    def convert(self) -> "NotebookNode":
        """Return it as a notebook without outputs."""
        import jupytext

        return jupytext.reads(self.text, fmt="py:percent")

    def expected_seconds(self, profile: str) -> float | None:
        """Return how long the notebook says that it takes; used for the progress bar only."""
        seconds = self.convert().metadata.get("expected_seconds", {}).get(profile)
        return None if seconds is None else float(seconds)

    def example(self) -> str:
        """Return a parameter with another value, to try: what the head of the notebook names, or part of a list."""
        lists = [(name, value) for name, value in _defaults(self).items() if isinstance(value, list) and len(value) > 2]
        usual = next((f"{name} {value[0]:g},{value[-1]:g}" for name, value in lists), "seed 3")
        return str(self.convert().metadata.get("try_your_own", usual))

    def parameters(self, profile: str, overrides: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return all parameters of a run, each override checked against the cell tagged ``parameters``."""
        defaults = _defaults(self)
        chosen = {**defaults, "profile": check_profile(profile)}
        for name, word in (overrides or {}).items():
            if name == "profile":
                raise Refusal(f"profile must be set by PROFILE={word}, and not with -p")
            if name not in defaults:
                raise Refusal(f"notebook {self.name} has the parameters {', '.join(defaults)}, and no {name!r}")
            chosen[name] = values.read(name, defaults[name], word)
        return chosen

    def tests_claims(self, parameters: Parameters) -> bool:
        """Tell whether a run is about the physics of the notebook's claims."""
        return values.is_default(parameters, _defaults(self))

    def key(self, parameters: Parameters) -> str:
        """Return the key of an executed copy: a hash of everything that the result depends on.

        That is the text, the source of the library, the pinned packages and the parameters (the profile is one).
        """
        code = tree_hash(paths.LIBRARY, paths.LOCK)
        parts = [self.text, code, json.dumps(dict(parameters), sort_keys=True)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]

    def executed(self, parameters: Parameters) -> Path:
        """Return where the executed copy for these parameters belongs, whether it is there or not."""
        return paths.EXECUTED / f"{self.name}-{parameters['profile']}-{self.key(parameters)}.ipynb"

    def copy(self, profile: str) -> "NotebookNode":
        """Return the executed copy for the usual parameters, which must be there."""
        found = read_executed(self.executed(self.parameters(profile)))
        if found is None:
            raise Refusal(f"the executed copy of notebook {self.name} is damaged or gone; `make book` mends it")
        return found


def results_label(notebook: Notebook, parameters: Parameters) -> str:
    """Return the name under which the store remembers what a run used; with other parameters it has a key."""
    name = f"{notebook.name}-{parameters['profile']}"
    usual = parameters == notebook.parameters(parameters["profile"])
    return name if usual else f"{name}-{notebook.key(parameters)}"


@cache
def _defaults(notebook: Notebook) -> dict[str, Any]:
    return values.defaults(notebook.name, notebook.convert())


def seal(executed: "NotebookNode") -> None:
    """Write a checksum of an executed notebook into it."""
    executed.metadata[SEAL] = _digest(executed)


def read_executed(path: Path) -> "NotebookNode | None":
    """Return an executed notebook, or None if it is not there or not as it was written.

    As long as the file stays the same it is read once; whoever changes what is returned makes a copy first.
    """
    try:
        state = path.stat()
    except OSError:
        return None
    return _read(path, state.st_ino, state.st_size, state.st_mtime_ns)


@cache
def _read(path: Path, *state: int) -> "NotebookNode | None":  # noqa: ARG001
    import nbformat

    try:
        executed = nbformat.read(path, as_version=4)
    except (OSError, ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError):
        return None
    return executed if executed.metadata.get(SEAL) == _digest(executed) else None


def told(executed: "NotebookNode", kind: str) -> dict[str, dict[str, Any]]:
    """Return what a notebook has told the book with :mod:`sgdnoise.report`, by name: figures, claims or values."""
    from sgdnoise.report import MIME

    found: dict[str, dict[str, Any]] = {}
    for output in (output for cell in executed.cells for output in cell.get("outputs", [])):
        content = output.get("data", {}).get(MIME, {})
        if content.get("kind") == kind:
            if content["name"] in found:
                raise Refusal(f"{kind} {content['name']!r} is reported twice by one notebook")
            found[content["name"]] = {**output["data"], **content}
    return found


def extract(path: Path) -> list[Path]:
    """Write every figure of an executed notebook beside it, and return the files."""
    written, executed = [], read_executed(path)
    for name, content in told(executed, "figure").items() if executed else ():
        written.append(path.with_name(f"{path.stem}-{name}.svg"))
        # A page has its own ground; a program that shows files may have a dark one.
        drawing = content["image/svg+xml"].replace("<svg ", '<svg style="background: white" ', 1)
        written[-1].write_text(drawing, encoding="utf-8")
    return written


def _digest(executed: "NotebookNode") -> str:
    content = {**executed, "metadata": {k: v for k, v in executed.metadata.items() if k != SEAL}}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read(name: str) -> Notebook:
    """Return the notebook of that name."""
    path = paths.NOTEBOOKS / f"{name}.py"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in paths.NOTEBOOKS.glob("*.py")))
        raise Refusal(f"NAME must be a notebook of the project ({known}), got {name!r}")
    return Notebook(name, read_text(path))


def read_all() -> list[Notebook]:
    """Return every notebook of the project."""
    return [read(path.stem) for path in sorted(paths.NOTEBOOKS.glob("*.py"))]
