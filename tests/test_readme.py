"""The README does what it says."""

import json
import re

import matplotlib as mpl
import pytest

from bookbuild import __main__ as commands
from bookbuild import notebooks
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
    assert notebooks.read(name)
    assert TEXT.count(commands.MARKS[0]) == TEXT.count(commands.MARKS[1]) == 1


def test_every_target_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make ([a-z]+)", TEXT):
        assert f"\n{target}:" in makefile, target


def test_what_is_measured_is_kept_besides_what_was_measured_before(tmp_path):
    path = tmp_path / "costs.json"
    path.write_text('{"book/paper": 3600, "book/smoke": 90}')
    commands.keep(path, {"book/smoke": 100})
    assert json.loads(path.read_text()) == {"book/paper": 3600, "book/smoke": 100}


def test_the_picture_of_the_architecture_has_every_module():
    picture = (ROOT / "book" / "images" / "architecture.svg").read_text(encoding="utf-8")
    titles = " ".join(re.findall(r'class="[mst]"[^>]*>([^<]+)<', picture))
    folder = ROOT / "lib" / "sgdnoise"
    modules = {path.stem for path in folder.rglob("*.py")} - {"__init__"}
    packages = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    assert modules | packages <= set(re.findall(r"\w+/?", titles))
