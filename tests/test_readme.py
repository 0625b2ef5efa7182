"""The README does what it says."""

import re

import matplotlib as mpl
import pytest

from bookbuild import measured, source
from bookbuild.paths import README_FIGURE, ROOT

TEXT = (ROOT / "README.md").read_text()


@pytest.mark.endtoend
def test_the_ten_lines_run(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    with mpl.rc_context({"backend": "agg"}):
        exec(code, {})
    assert "±" in capsys.readouterr().out


def test_what_the_readme_names_is_there():
    for name in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / name).is_file(), name
    assert README_FIGURE.stat().st_size > 1000
    (name,) = re.findall(r"make notebook NAME=(\w+)", TEXT)
    assert source.read(name)
    assert TEXT.count(measured.MARKS[0]) == TEXT.count(measured.MARKS[1]) == 1


def test_every_target_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make ([a-z]+)", TEXT):
        assert f"\n{target}:" in makefile, target
