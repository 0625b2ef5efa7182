"""Texts that people edit: read, or refused in one sentence that names the file and the place."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from bookbuild import paths
from bookbuild.refusal import Refusal

Record = TypeVar("Record")


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
        return yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).partition("\n")[0]
        line = "" if mark is None else f", line {mark.line + 1}"
        raise Refusal(f"{_name(path)}{line} is not YAML: {why}") from error


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


def _name(path: Path) -> str:
    return os.path.relpath(path, paths.ROOT)
