"""Numbers that a notebook puts into its text, written as in print.

A notebook formats numbers as Python does. A page has a minus sign where Python has a hyphen, a power of ten for its
exponent, and a value within the formula to which it belongs, so that no line breaks between the two.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bookbuild.refusal import Refusal
from bookbuild.source import told

if TYPE_CHECKING:
    from nbformat import NotebookNode

TABLE = "text/markdown"
EXPONENT = re.compile(r"(?<=\d)e([+-]?)0*(\d+)\b")
HYPHEN = re.compile(r"(?<![\w.-])-(?=\d)")
MATHS = re.compile(r"(\$[^$]*\$|`[^`]*`)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The place of a value, with the formula before it where that ends with an equals sign.
GLUED = re.compile(r"(?:\$([^$]*=)\$\s+)?\{glue:(?:text)?\}`([^`]+)`")
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def printed(text: str) -> str:
    r"""Write the numbers of a text, outside of its formulas and its code, as they are printed.

    >>> printed(r"-1.5 ± 2e-07, $10^{-3}$, `1e-3`, x-1, 2022-03")
    '−1.5 ± 2×10⁻⁷, $10^{-3}$, `1e-3`, x-1, 2022-03'
    """
    parts = MATHS.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = EXPONENT.sub(lambda m: f"×10{(m[1].strip('+') + m[2]).translate(RAISED)}", parts[i])
        parts[i] = HYPHEN.sub("−", parts[i])
    return "".join(parts)


def typeset(executed: "NotebookNode") -> None:
    """Put the values that a notebook reports into its text, and write all its numbers as they are printed."""
    values = {name: content["text"] for name, content in told(executed, "value").items()}
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell.source = filled(cell.source, values)
        for output in cell.get("outputs", []):
            if TABLE in output.get("data", {}):
                output["data"][TABLE] = printed(output["data"][TABLE])


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values where a text asks for them, within the formula before if that ends with an equals sign.

    >>> filled("$N=$ {glue:}`n` samples of {glue:text}`what`, $x=$ {glue:}`y`", {"n": "9", "what": "-1", "y": "2, 3"})
    '$N=9$ samples of −1, $x=$ 2, 3'
    """

    def put(place: re.Match[str]) -> str:
        formula, name = place.groups()
        if name not in values:
            raise Refusal(f"the text asks for the value {name!r}, which its notebook does not report")
        if formula and NUMBER.fullmatch(values[name]):
            return f"${formula}{values[name]}$"
        return (f"${formula}$ " if formula else "") + printed(values[name])

    return GLUED.sub(put, text)
