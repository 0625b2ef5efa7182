"""The parameters of a notebook: the values in its cell tagged ``parameters``, and what may take their place.

The name of a parameter says what is allowed: ``batches``, or ``slow_batches``, are numbers above 0 and at most 1. A
value has the type of the default: a number, or several numbers in increasing order, separated by commas.

The cells tagged ``claims`` test statements about the default physics. A run with other physics leaves them out.
"""

import ast
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from bookbuild.texts import Refusal

if TYPE_CHECKING:
    from nbformat import NotebookNode

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


def defaults(name: str, notebook: "NotebookNode") -> dict[str, Any]:
    """Return the values in the one cell that is tagged ``parameters``."""
    cells = [cell for cell in notebook.cells if TAG in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise Refusal(f"notebook {name} must have one cell tagged 'parameters', and has {len(cells)}")
    values = {target: ast.literal_eval(value) for target, value in _assignments(cells[0].source).items()}
    for required in RUN:
        if required not in values:
            raise Refusal(f"the parameters of notebook {name} must include {required!r}")
    for parameter, value in values.items():
        if parameter == "profile":
            continue
        if last(parameter) not in ALLOWED:
            raise Refusal(f"parameter {parameter} of notebook {name} must end with one of {', '.join(ALLOWED)}")
        check(parameter, value, repr(value))
    return values


def _assignments(source: str) -> dict[str, ast.expr]:
    return {
        statement.targets[0].id: statement.value
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }


def last(name: str) -> str:
    """Return the last word of a name."""
    return name.rpartition("_")[2]


def read(name: str, default: Any, word: str) -> Any:
    """Return a word of the command line as a value of the same kind as the default.

    >>> read("batches", [0.1, 0.2], "0.1,0.3"), read("batches", [0.1, 0.2], "1"), read("delta", 1.0, "2")
    ([0.1, 0.3], [1.0], 2.0)
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
    check(name, value, word)
    return value


def check(name: str, value: Any, word: str) -> None:
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


def is_default(values: Mapping[str, Any], usual: Mapping[str, Any]) -> bool:
    """Tell whether a run has the physics of the notebook's own parameters."""
    return all(values[name] == usual[name] for name in usual if name not in RUN)


def put(notebook: "NotebookNode", values: Mapping[str, Any], *, claims: bool = True) -> None:
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
