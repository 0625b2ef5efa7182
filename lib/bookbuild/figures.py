"""Take the pictures out of an executed notebook, for people who want the figure and not the page."""

import base64
from pathlib import Path

import nbformat

from bookbuild.check import GLUE_PREFIX

ENDINGS = {"image/svg+xml": "svg", "image/png": "png"}


def extract(executed: Path) -> list[Path]:
    """Write every picture of an executed notebook beside it, and return the files."""
    written: list[Path] = []
    for cell in nbformat.read(executed, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = {kind.removeprefix(GLUE_PREFIX): value for kind, value in output.get("data", {}).items()}
            kind = next((kind for kind in ENDINGS if kind in data), None)
            if kind is None:
                continue
            path = executed.with_name(f"{executed.stem}-{len(written) + 1}.{ENDINGS[kind]}")
            text = data[kind]
            path.write_bytes(text.encode() if kind == "image/svg+xml" else base64.b64decode(text))
            written.append(path)
    return written
