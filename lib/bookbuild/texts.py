"""Texts: those that people edit, read or refused in a sentence, and what is said to the user and printed in the book.

A notebook formats numbers as Python does. The book has a minus sign where Python has a hyphen, and a power of ten for
its exponent.
"""

import json
import os
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from bookbuild import paths

Record = TypeVar("Record")
EXPONENT = re.compile(r"(?<=\d)e([+-]?)0*(\d+)\b")
HYPHEN = re.compile(r"(?<![\w.-])-(?=\d)")
MATHS = re.compile(r"(\$[^$]*\$|`[^`]*`)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Refusal(Exception):
    """Why something cannot be done, in one sentence for the user."""


def say(sentence: str) -> None:
    """Print a line of progress at once."""
    print(sentence, file=sys.stderr, flush=True)


def read_text(path: Path) -> str:
    """Return the text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise Refusal(f"{_name(path)} must be UTF-8 text, and its line {line} is not") from error


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds."""
    import yaml

    try:
        return yaml.load(read_text(path), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).partition("\n")[0]
        line = "" if mark is None else f", line {mark.line + 1}"
        raise Refusal(f"{_name(path)}{line} is not YAML: {why}") from error


def read_json(path: Path) -> dict[str, Any]:
    """Return what a file that commands write has kept."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def read_records(path: Path, kind: type[Record]) -> list[Record]:
    """Return the entries of a YAML file that is a list of records."""
    entries = read_yaml(path)
    if not isinstance(entries, list):
        raise Refusal(f"{_name(path)} must be a list of entries, and is none")
    records = []
    for number, entry in enumerate(entries, 1):
        try:
            records.append(kind(**entry))
        except TypeError as error:
            known = ", ".join(field.name for field in fields(kind))  # type: ignore[arg-type]
            raise Refusal(f"entry {number} of {_name(path)} must give {known}, and no others: {error}") from error
    return records


def templates() -> Any:
    """Return our templates; those of pages escape what they are given."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    from bookbuild.maths import in_html

    options: dict[str, Any] = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    options["autoescape"] = select_autoescape(["html"], default_for_string=False)
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"), **options)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {"clock": clock, "printed": printed, "in_html": in_html}
    return environment


def fill(template: str, **values: Any) -> str:
    """Fill in one of our templates."""
    return str(templates().get_template(template).render(values))


def citation() -> dict[str, Any]:
    """Return how to cite the software and the paper, for templates."""
    from sgdnoise import __version__

    cited = read_yaml(paths.ROOT / "CITATION.cff")
    return {"cited": {**cited, "version": __version__}, "paper": cited["preferred-citation"]}


def citation_files() -> dict[Path, str]:
    """Return the files for archives and search engines that are made from the citation, with their texts."""
    made = {name: json.loads(fill(name.lstrip("."), **citation())) for name in (".zenodo.json", "codemeta.json")}
    return {paths.ROOT / name: json.dumps(told, indent=2, ensure_ascii=False) + "\n" for name, told in made.items()}


def _name(path: Path) -> str:
    return os.path.relpath(path, paths.ROOT)


def clock(seconds: float) -> str:
    """Write a duration for people.

    >>> clock(3.2), clock(75), clock(7322)
    ('3 s', '1 min 15 s', '2 h 02 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


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
