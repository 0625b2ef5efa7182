"""The notebooks as text: their parameters, and the key that says which executed copy belongs to which text.

Parameters are the values in the cell tagged ``parameters``. The name of one says what may take its place: ``batches``,
or ``slow_batches``, are numbers above 0 and at most 1. A value has the type of the default: a number, or several
numbers in increasing order, separated by commas. The cells tagged ``claims`` test statements about the default physics;
a run with other physics leaves them out.
"""

import ast
import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bookbuild import paths
from bookbuild.texts import Refusal, read_text

if TYPE_CHECKING:  # jupytext, nbformat and the library take seconds to import, and a refusal needs none of them
    from nbformat import NotebookNode

Parameters = Mapping[str, Any]
SEAL, USED = "sgdnoise_sha256", "sgdnoise_results"  # what the executed copy says of itself, and of the store
PROFILES = ("smoke", "standard", "paper")
RUN = ("profile", "seed")  # how much is computed, and with which random numbers: the physics is the same
TAG, CLAIMS = "parameters", "claims"
LEFT_OUT = "# Left out: this cell tests claims about the notebook's own parameters."
MAX_SEED = 2**63 - 1  # what a file of results can hold


class Range(NamedTuple):
    """Numbers from ``low``, itself included unless ``above``, to ``high``."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False

    def __contains__(self, value: object) -> bool:
        number = isinstance(value, (int, float)) and math.isfinite(value)
        return number and self.low <= value <= self.high and not (self.above and value == self.low)  # type: ignore

    def __str__(self) -> str:
        """Say what is allowed.

        >>> str(Range(0, 1, above=True)), str(Range(0)), str(Range())
        (' above 0 and at most 1', ' of at least 0', '')
        """
        words = [f"{'above' if self.above else 'of at least'} {self.low:g}"] if self.low > -math.inf else []
        words += [f"at most {self.high}"] if self.high < math.inf else []
        return " " + " and ".join(words) if words else ""


POSITIVE, NOT_NEGATIVE, FRACTION = Range(0, above=True), Range(0), Range(0, 1, above=True)
# By the last word of a parameter's name.
ALLOWED = {
    **dict.fromkeys(("alpha", "alphas", "delta", "deltas", "rate", "rates", "duration", "variances"), POSITIVE),
    **dict.fromkeys(("persistence", "persistences", "stop", "stops"), POSITIVE),
    **dict.fromkeys(("ridge", "ridges", "lag", "lags", "time", "times", "window"), NOT_NEGATIVE),
    **dict.fromkeys(("temperature", "temperatures"), NOT_NEGATIVE),
    **dict.fromkeys(("batch", "batches"), FRACTION),
    **dict.fromkeys(("momentum", "momenta"), Range(0, 0.999)),
    **dict.fromkeys(("margin", "margins"), Range()),
    "points": Range(2),
    "seed": Range(0, MAX_SEED),
}
TWO = ("window",)  # these are a first and a last value


def _assignments(source: str) -> dict[str, ast.expr]:
    return {
        statement.targets[0].id: statement.value
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }


def last(name: str) -> str:
    """Return the last word of a name."""
    return name.rpartition("_")[2]


def read_value(name: str, default: Any, word: str) -> Any:
    """Return a word of the command line as a value of the same kind as the default.

    >>> read_value("batches", [0.1, 0.2], "0.1,0.3"), read_value("delta", 1.0, "2")
    ([0.1, 0.3], 2.0)
    """
    try:
        value = ast.literal_eval(word.strip().rstrip(","))
    except (ValueError, SyntaxError):
        raise Refusal(_sentence(name, default, word)) from None
    if isinstance(default, list):
        value = [float(v) if type(v) is int else v for v in (value if isinstance(value, (tuple, list)) else [value])]
    elif isinstance(default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(default):
        raise Refusal(_sentence(name, default, word))
    check_value(name, value, word)
    return value


def check_value(name: str, value: Any, word: str) -> None:
    """Refuse a value that is not allowed, in a sentence that says what is."""
    numbers = value if isinstance(value, list) else [value]
    allowed = ALLOWED[last(name)]
    fine = all(number in allowed and type(number) is not bool for number in numbers) and bool(numbers)
    if isinstance(value, list) and fine:
        fine = all(a < b for a, b in pairwise(numbers)) and (last(name) not in TWO or len(numbers) == 2)
    if not fine:
        raise Refusal(_sentence(name, value, word))


def _sentence(name: str, like: Any, word: str) -> str:
    allowed = ALLOWED[last(name)]
    if isinstance(like, list):
        many = "two" if last(name) in TWO else "one or more"
        return f"{name} must be {many} numbers{allowed}, increasing, separated by commas, got {word!r}"
    return f"{name} must be a {'whole ' if isinstance(like, int) else ''}number{allowed}, got {word!r}"


def put_values(notebook: "NotebookNode", values: Mapping[str, Any], *, claims: bool = True) -> None:
    """Put values in the place of the defaults, comments kept; without claims, leave out the cells that test them."""
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if TAG in tags:
            cell.source = replaced(cell.source, values)
        if CLAIMS in tags and not claims:
            cell.source = LEFT_OUT


def replaced(source: str, values: Mapping[str, Any]) -> str:
    """Return the text of a cell of parameters with other values.

    >>> replaced("seed = 0\\nrates = [\\n    0.1,\\n    0.2,\\n]  # learning rates", {"seed": 3, "rates": [0.5]})
    'seed = 3\\nrates = [0.5]  # learning rates'
    """
    lines = source.split("\n")
    for name, value in reversed(_assignments(source).items()):
        first, final = value.lineno - 1, (value.end_lineno or value.lineno) - 1
        before, after = lines[first].encode()[: value.col_offset], lines[final].encode()[value.end_col_offset :]
        word = f'"{values[name]}"' if isinstance(values[name], str) else repr(values[name])
        lines[first : final + 1] = [f"{before.decode()}{word}{after.decode()}"]
    return "\n".join(lines)


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
    """Return part of the checksum of a file: enough to notice damage, in a list that is part of the site."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:20]


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

    def expected_seconds(self, profile: str) -> float:
        """Return how long the notebook says that it takes; used for the progress bar only."""
        return float(self.convert().metadata.get("expected_seconds", {}).get(profile, math.inf))

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
            chosen[name] = read_value(name, defaults[name], word)
        return chosen

    def tests_claims(self, parameters: Parameters) -> bool:
        """Tell whether a run is about the physics of the notebook's claims."""
        return all(parameters[name] == value for name, value in _defaults(self).items() if name not in RUN)

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
    """Return the values in the one cell that is tagged ``parameters``."""
    cells = [cell for cell in notebook.convert().cells if TAG in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise Refusal(f"notebook {notebook.name} must have one cell tagged 'parameters', and has {len(cells)}")
    values = {target: ast.literal_eval(value) for target, value in _assignments(cells[0].source).items()}
    for required in RUN:
        if required not in values:
            raise Refusal(f"the parameters of notebook {notebook.name} must include {required!r}")
    for parameter in [name for name in values if name != "profile"]:
        if last(parameter) not in ALLOWED:
            raise Refusal(
                f"parameter {parameter} of notebook {notebook.name} must end with one of {', '.join(ALLOWED)}"
            )
        check_value(parameter, values[parameter], repr(values[parameter]))
    return values


def seal(executed: "NotebookNode") -> None:
    """Write a checksum of an executed notebook into it."""
    executed.metadata[SEAL] = _digest(executed)


def read_executed(path: Path) -> "NotebookNode | None":
    """Return an executed notebook, or None if it is not there or not as it was written.

    As long as the file stays the same it is read once; whoever changes what is returned makes a copy first.
    """
    state = path.stat() if path.exists() else None
    return state and _read(path, state.st_ino, state.st_size, state.st_mtime_ns)


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
