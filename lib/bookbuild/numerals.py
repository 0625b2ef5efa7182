"""Numbers that a notebook puts into its text, written as in print.

A notebook formats numbers as Python does. A page has a minus sign where Python has a hyphen, a power of ten for its
exponent, and a value within the formula to which it belongs, so that no line breaks between the two.
"""

import re

from nbformat import NotebookNode

from bookbuild.check import GLUE_PREFIX

TEXTS = (f"{GLUE_PREFIX}text/plain", "text/markdown")
EXPONENT = re.compile(r"(?<=\d)e([+-]?)0*(\d+)\b")
HYPHEN = re.compile(r"(?<![\w.-])-(?=\d)")
MATHS = re.compile(r"(\$[^$]*\$|`[^`]*`)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# A formula that ends with an equals sign, and the value that the build puts behind it.
OPEN_FORMULA = re.compile(r"\$([^$]*=)\$\s+\{glue:(?:text)?\}`([\w-]+)`")
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


def typeset(executed: NotebookNode) -> None:
    """Write the numbers of an executed notebook as they are printed."""
    values: dict[str, str] = {}
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            for kind in TEXTS:
                if kind in output.get("data", {}):
                    output["data"][kind] = printed(output["data"][kind])
                    name = output["metadata"].get("scrapbook", {}).get("name")
                    values[name] = output["data"][kind].strip("'")

    def close(formula: re.Match[str]) -> str:
        value = values.get(formula[2], "").replace("−", "-")
        return f"${formula[1]}{value}$" if NUMBER.fullmatch(value) else formula[0]

    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell.source = OPEN_FORMULA.sub(close, cell.source)
