"""Notebooks as text: parameters, keys, and what keeps the text clean."""

import os
import re
import shutil
import subprocess
import sys
import time

import nbformat
import pytest

from bookbuild import notebooks, page
from bookbuild.check import toc_pages
from bookbuild.paths import NOTEBOOKS, ROOT
from bookbuild.texts import Refusal

TEXT = '# %% [markdown]\n# # A title\n\n# %% tags=["parameters"]\nprofile = "standard"\nseed = 0\nwidth = 0.5\n'
NOTEBOOK = notebooks.Notebook("example", TEXT)


def test_parameters_are_those_of_the_cell():
    assert NOTEBOOK.parameters("smoke") == {"profile": "smoke", "seed": 0, "width": 0.5}
    assert NOTEBOOK.parameters("smoke", {"seed": "3", "width": "2"}) == {"profile": "smoke", "seed": 3, "width": 2.0}


@pytest.mark.parametrize(
    ("profile", "overrides", "sentence"),
    [
        ("quick", {}, "profile must be smoke, standard or paper, got 'quick'"),
        ("smoke", {"sede": "3"}, "notebook example has the parameters profile, seed, width, and no 'sede'"),
        ("smoke", {"seed": "-1"}, "seed must be at least 0 and at most 9223372036854775807, got -1"),
        ("smoke", {"seed": str(2**63)}, f"seed must be at least 0 and at most {2**63 - 1}, got {2**63}"),
        ("smoke", {"seed": "three"}, "seed must be of type int, like its default 0, got 'three'"),
        ("smoke", {"seed": "1.5"}, "seed must be of type int, like its default 0, got '1.5'"),
        ("smoke", {"profile": "paper"}, "profile must be set by PROFILE=paper, and not with -p"),
    ],
)
def test_wrong_parameters_are_refused(profile, overrides, sentence):
    with pytest.raises(Refusal) as caught:
        NOTEBOOK.parameters(profile, overrides)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# %%\nseed = 0\n", "must have one cell tagged 'parameters', and has 0"),
        (TEXT + TEXT, "must have one cell tagged 'parameters', and has 2"),
        ('# %% tags=["parameters"]\nseed = 0\n', "must include 'profile'"),
    ],
)
def test_notebooks_without_proper_parameters_are_refused(text, sentence):
    with pytest.raises(Refusal, match=sentence):
        notebooks.Notebook("example", text).parameters("smoke")


def test_key_changes_with_everything_the_result_depends_on(monkeypatch, tmp_path):
    key = NOTEBOOK.key(NOTEBOOK.parameters("smoke"))
    assert key == NOTEBOOK.key(NOTEBOOK.parameters("smoke"))
    others = [
        NOTEBOOK.key(NOTEBOOK.parameters("standard")),
        NOTEBOOK.key(NOTEBOOK.parameters("smoke", {"seed": "1"})),
        notebooks.Notebook("example", TEXT + "\n").key(NOTEBOOK.parameters("smoke")),
    ]
    monkeypatch.setattr(notebooks.paths, "ROOT", tmp_path)
    for name in ("LIBRARY", "LOCK"):
        (tmp_path / name).write_text("before")
        monkeypatch.setattr(notebooks.paths, name, tmp_path / name)
    for name in ("LIBRARY", "LOCK"):
        others.append(NOTEBOOK.key(NOTEBOOK.parameters("smoke")))
        (tmp_path / name).write_text("after")
        others.append(NOTEBOOK.key(NOTEBOOK.parameters("smoke")))
    assert len({key, *others}) == len(others), "all differ, but for the state that two changes share"


def test_the_hash_of_a_tree_ignores_caches(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks.paths, "ROOT", tmp_path)
    (tmp_path / "a" / "__pycache__").mkdir(parents=True)
    (tmp_path / "a" / "b.py").write_text("x")
    before = notebooks.tree_hash(tmp_path / "a")
    (tmp_path / "a" / "__pycache__" / "b.pyc").write_text("y")
    assert notebooks.tree_hash(tmp_path / "a") == before
    (tmp_path / "a" / "b.py").rename(tmp_path / "a" / "c.py")
    assert notebooks.tree_hash(tmp_path / "a") != before


def test_unknown_name_is_refused():
    with pytest.raises(Refusal, match=r"NAME must be a notebook of the project \(.*the_model.*\), got 'fig99'"):
        notebooks.read("fig99")


@pytest.mark.parametrize("notebook", notebooks.read_all(), ids=lambda notebook: notebook.name)
def test_every_notebook_of_the_project(notebook):
    assert notebook.convert().cells[0].source.startswith("# "), "the first cell is the title"
    for profile in notebooks.PROFILES:
        assert notebook.parameters(profile)["seed"] == 0
        assert notebook.expected_seconds(profile) is not None


# The first page, and those that are looked things up in.
REFERENCE = ("book/index", "book/api", "book/glossary", "book/bibliography")
CHAPTERS = [page for page in toc_pages() if page not in REFERENCE]


def prose(page):
    """The text of a page, without its code."""
    if page.startswith("notebooks/"):
        cells = notebooks.read(page.removeprefix("notebooks/")).convert().cells
        return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return (ROOT / f"{page}.md").read_text()


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_chapter_opens_with_what_is_learned_and_closes_with_what_was_found(page):
    text = prose(page)
    boxes = re.findall(
        r"^:::\{admonition\} ([^\n]+)\n:class: (learn|found)\n(.+?)^:::$", text, re.MULTILINE | re.DOTALL
    )
    assert [kind for _, kind, _ in boxes] == ["learn", "found"]
    assert boxes[0][0] == "What you will learn"
    assert all(len(content.split()) >= 8 for *_, content in boxes)
    assert len(text[: text.index(":class: learn")].splitlines()) <= 4, "it opens the chapter"
    assert "\n#" not in text[text.index(":class: found") :], "no section follows it"


@pytest.mark.parametrize("notebook", notebooks.read_all(), ids=lambda notebook: notebook.name)
def test_folded_code_says_what_it_is(notebook):
    for cell in notebook.convert().cells:
        if page.FOLDED in cell.metadata.get("tags", []):
            first = cell.source.splitlines()[0]
            assert re.fullmatch(r"# [A-Z].{4,60}\.", first), first


@pytest.mark.endtoend
def test_a_round_trip_through_jupyter_leaves_the_texts_as_they_are(tmp_path):
    shutil.copytree(NOTEBOOKS, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.ipynb"))
    texts = sorted(tmp_path.glob("*.py"))
    before = [path.read_bytes() for path in texts]
    sync = [sys.executable, "-m", "jupytext", "--quiet", "--sync", *texts]
    subprocess.run(sync, check=True, cwd=tmp_path)
    for path in tmp_path.glob("*.ipynb"):
        os.utime(path, (time.time() + 100, time.time() + 100))  # as if saved in Jupyter
    subprocess.run(sync, check=True, cwd=tmp_path)
    assert [path.read_bytes() for path in texts] == before
    assert len(list(tmp_path.glob("*.ipynb"))) == len(texts)


def test_no_notebook_with_outputs_is_tracked():
    tracked = subprocess.run(["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert tracked.stdout == ""
    assert (NOTEBOOKS / "jupytext.toml").is_file()


def test_an_executed_notebook_is_read_once_until_it_changes(tmp_path, monkeypatch):
    path, reads = tmp_path / "page.ipynb", []
    read = nbformat.read
    monkeypatch.setattr(nbformat, "read", lambda *words, **more: reads.append(words) or read(*words, **more))
    assert notebooks.read_executed(path) is None
    notebook = NOTEBOOK.convert()
    notebooks.seal(notebook)
    nbformat.write(notebook, path)
    assert notebooks.read_executed(path) is notebooks.read_executed(path) is not None
    assert len(reads) == 1
    path.write_text(path.read_text().replace("title", "tilte"))
    assert notebooks.read_executed(path) is None, "of the same length, and altered"


def test_the_sizes_in_the_list_of_figures_are_those_of_the_notebooks():
    text = (ROOT / "book" / "figures.md").read_text(encoding="utf-8")
    rows = re.split(r"^\* - ", text, flags=re.MULTILINE)[2:]
    assert len(rows) == 9
    for row in rows:
        name = re.search(r"</notebooks/(\w+)>", row)[1]
        source = notebooks.read(name).text.replace("_000", "000")
        given = [f'"features": {n}, "realisations": {r}' for n, r in re.findall(r"N=(\d+), (\d+) sets", row)]
        given += [f'"paths": {n}, "realisations": {r}' for n, r in re.findall(r"(\d+) paths, (\d+) populations", row)]
        given += [
            f'"{profile}": ([{a}, {b}]' for profile, a, b in re.findall(r"\*(\w+):\* two sizes, (\d+) and (\d+)", row)
        ]
        assert len(given) >= 2, name
        for words in given:
            assert words in source, (name, words)
