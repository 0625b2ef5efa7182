"""Write ``requirements.lock`` from ``pyproject.toml``: ``python -m bookbuild.lock`` (needs the package index).

One file pins everything. Packages that only the ``bench`` extra needs carry the marker ``extra == 'bench'``, which
is false for ``pip install -r`` and for uv alike: a plain installation leaves them out, ``make bench`` takes them in.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bookbuild.paths import LOCK, ROOT

DEFAULT_EXTRAS = ("book", "test", "cluster")
BENCH_MARKER = "extra == 'bench'"
HEADER = """\
# Every package of the project, pinned with hashes, for all supported Pythons. Written by `make lock`.
# Those marked extra == 'bench' are left out by a plain installation.
"""
# Dictionary from the requirement's first line to its whole text with hashes.
Blocks = dict[str, str]


def compile_blocks(extras: tuple[str, ...], constraints: Path | None = None) -> Blocks:
    """Resolve the project with these extras for every supported Python, and split the result by package."""
    command = ["uv", "pip", "compile", str(ROOT / "pyproject.toml"), "--quiet", "--universal"]
    command += ["--python-version", "3.11", "--fork-strategy", "fewest", "--generate-hashes"]
    command += ["--no-annotate", "--no-header", "--no-emit-index-url"]
    command += [word for extra in extras for word in ("--extra", extra)]
    if constraints is not None:
        command += ["--constraints", str(constraints)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return split(text)


def split(text: str) -> Blocks:
    """Split a requirements file into its packages.

    >>> split("a==1 \\\\\\n    --hash=x\\nb==2 ; python_version < '3.12' \\\\\\n    --hash=y\\n").keys()
    dict_keys(['a==1', "b==2 ; python_version < '3.12'"])
    """
    blocks = re.findall(r"^[A-Za-z0-9].*?(?=^[A-Za-z0-9]|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return {block.splitlines()[0].removesuffix("\\").strip(): block for block in blocks}


def for_bench(first_line: str, block: str) -> str:
    """Add the bench marker to a requirement."""
    name, _, marker = (part.strip() for part in first_line.partition(";"))
    marked = f"{name} ; ({marker}) and {BENCH_MARKER}" if marker else f"{name} ; {BENCH_MARKER}"
    return block.replace(first_line, marked, 1)


def supported(first_line: str) -> bool:
    """Leave out what is meant for a Python newer than any supported one."""
    return not re.search(r"python_full_version >= '3\.1[4-9]'", first_line)


def main() -> int:
    """Write the lock."""
    base = {line: block for line, block in compile_blocks(DEFAULT_EXTRAS).items() if supported(line)}
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch) / "constraints.txt"
        constraints.write_text("\n".join(base), encoding="utf-8")
        everything = compile_blocks((*DEFAULT_EXTRAS, "bench"), constraints)
    extra = {line: for_bench(line, block) for line, block in everything.items() if supported(line) and line not in base}
    blocks = sorted((base | extra).items(), key=lambda item: item[0].lower())
    LOCK.write_text(HEADER + "".join(block for _, block in blocks), encoding="utf-8")
    print(f"{LOCK.name}: {len(base)} packages, and {len(extra)} for the benchmarks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
