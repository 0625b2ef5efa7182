"""Notebooks as text: parameters, keys, and what keeps the text clean."""

import ast
import math
import os
import re
import shutil
import subprocess
import sys
import time

import nbformat
import pytest
import yaml

from bookbuild import notebooks, page
from bookbuild.check import toc_pages
from bookbuild.paths import NOTEBOOKS, ROOT
from bookbuild.texts import Refusal
from sgdnoise._checks import MAX_SEED

TEXT = """\
# %% [markdown]
# # A title

# %% tags=["parameters"]
profile = "standard"
seed = 0
delta = 1.0  # noise of the data
batches = [0.1, 0.2]  # fractions
window = [0.0, 2.5]  # lags
"""
NOTEBOOK = notebooks.Notebook("example", TEXT)
USUAL = {"profile": "smoke", "seed": 0, "delta": 1.0, "batches": [0.1, 0.2], "window": [0.0, 2.5]}


@pytest.mark.parametrize(
    ("overrides", "others"),
    [
        ({}, {}),
        ({"seed": "3", "delta": "2"}, {"seed": 3, "delta": 2.0}),
        ({"batches": "0.1,0.3,1"}, {"batches": [0.1, 0.3, 1.0]}),
        ({"batches": "0.4"}, {"batches": [0.4]}),
        ({"batches": "(0.4,)"}, {"batches": [0.4]}),
        ({"batches": "[0.4, 0.5]", "window": "1, 2"}, {"batches": [0.4, 0.5], "window": [1.0, 2.0]}),
    ],
)
def test_parameters_are_those_of_the_cell_or_of_the_command(overrides, others):
    assert NOTEBOOK.parameters("smoke", overrides) == USUAL | others


BATCHES = "batches must be one or more numbers above 0 and at most 1, increasing, separated by commas, got "
WINDOW = "window must be two numbers of at least 0, increasing, separated by commas, got "
SEED = "seed must be a whole number of at least 0 and at most 9223372036854775807, got "


@pytest.mark.parametrize(
    ("profile", "overrides", "sentence"),
    [
        ("quick", {}, "profile must be smoke, standard or paper, got 'quick'"),
        (
            "smoke",
            {"sede": "3"},
            "notebook example has the parameters profile, seed, delta, batches, window, and no 'sede'",
        ),
        *(("smoke", {"seed": word}, f"{SEED}{word!r}") for word in ("-1", str(2**63), "three", "1.5", "True", "1,2")),
        ("smoke", {"profile": "paper"}, "profile must be set by PROFILE=paper, and not with -p"),
        *(
            ("smoke", {"delta": w}, f"delta must be a number above 0, got {w!r}")
            for w in ("0", "-1", "x", "1e999", "1,2", "")
        ),
        *(
            ("smoke", {"batches": w}, f"{BATCHES}{w!r}")
            for w in ("0.3,0.1", "0.1,0.1", "0", "1.1", "b", "()", "0.1;2", "'0.1'")
        ),
        *(("smoke", {"window": word}, f"{WINDOW}{word!r}") for word in ("1", "1,2,3", "2,1", "-1,2")),
    ],
)
def test_wrong_parameters_are_refused(profile, overrides, sentence):
    with pytest.raises(Refusal) as caught:
        NOTEBOOK.parameters(profile, overrides)
    assert str(caught.value) == sentence


def test_the_largest_seed_is_that_of_the_library():
    assert notebooks.MAX_SEED == MAX_SEED


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# %%\nseed = 0\n", "must have one cell tagged 'parameters', and has 0"),
        (TEXT + TEXT, "must have one cell tagged 'parameters', and has 2"),
        ('# %% tags=["parameters"]\nseed = 0\n', "must include 'profile'"),
        (TEXT + "width = 0.5\n", "parameter width of notebook example must end with one of alpha, "),
        (TEXT + "slow_batches = [0.5, 0.1]\n", "slow_batches must be one or more numbers above 0 and at most 1, incr"),
    ],
)
def test_notebooks_without_proper_parameters_are_refused(text, sentence):
    with pytest.raises(Refusal, match=sentence):
        notebooks.Notebook("example", text).parameters("smoke")


def test_other_values_take_the_place_of_the_defaults_and_comments_stay():
    node = NOTEBOOK.convert()
    notebooks.put_values(node, USUAL | {"batches": [0.3], "delta": 2.0})
    lines = ['profile = "smoke"', "seed = 0", "delta = 2.0  # noise of the data", "batches = [0.3]  # fractions"]
    assert node.cells[1].source == "\n".join([*lines, "window = [0.0, 2.5]  # lags"])


def test_claims_are_tested_with_the_physics_that_they_are_about():
    text = TEXT + '\n# %% tags=["claims"]\nclaim()\n'
    for overrides, tested in (({}, True), ({"seed": "1"}, True), ({"batches": "0.1"}, False), ({"delta": "1"}, True)):
        notebook = notebooks.Notebook("example", text)
        chosen = notebook.parameters("smoke", overrides)
        node = notebook.convert()
        assert notebook.tests_claims(chosen) is tested
        notebooks.put_values(node, chosen, claims=tested)
        assert node.cells[-1].source == ("claim()" if tested else notebooks.LEFT_OUT)


def names(source, context):
    """The names that code assigns (Store) or uses (Load)."""
    found = {
        node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }
    definitions = (ast.FunctionDef, ast.ClassDef)
    return found | {
        node.name for node in ast.walk(ast.parse(source)) if isinstance(node, definitions) and context is ast.Store
    }


@pytest.mark.parametrize("notebook", notebooks.read_all(), ids=lambda notebook: notebook.name)
def test_no_cell_needs_one_that_tests_claims(notebook):
    """With other physics these are left out, and the notebook runs to its end."""
    known, left_out = set(), set()
    for cell in (cell for cell in notebook.convert().cells if cell.cell_type == "code"):
        if notebooks.CLAIMS in cell.metadata.get("tags", []):
            left_out |= names(cell.source, ast.Store) - known
            continue
        assert not (names(cell.source, ast.Load) - names(cell.source, ast.Store)) & left_out
        known |= names(cell.source, ast.Store)
        left_out -= known


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


@pytest.mark.parametrize("notebook", notebooks.read_all(), ids=lambda notebook: notebook.name)
def test_every_notebook_of_the_project(notebook):
    assert notebook.convert().cells[0].source.startswith("# "), "the first cell is the title"
    for profile in notebooks.PROFILES:
        assert notebook.parameters(profile)["seed"] == 0
        assert 0 < notebook.expected_seconds(profile) < math.inf
    name, word = notebook.example().split(maxsplit=1)
    assert notebook.parameters("smoke", {name: word}) != notebook.parameters("smoke"), "the page invites to try it"


@pytest.mark.parametrize("notebook", notebooks.read_all(), ids=lambda notebook: notebook.name)
def test_a_notebook_that_is_offered_to_run_can_show_its_references_and_figures(notebook):
    text = prose(f"notebooks/{notebook.name}")
    assert set(re.findall(r"\{eq\}`(.+?)`", text)) <= set(re.findall(r"\$\$ \((.+?)\)", text)), "equations of its own"
    for block in re.findall(r"\{glue:figure\} .+?\n---\n(.+?)\n---\n", text, re.DOTALL):
        assert {"name", "alt"} <= set(yaml.safe_load(block))


# The first page, and those that are looked things up in.
REFERENCE = ("book/index", "book/api", "book/glossary", "book/bibliography")
CHAPTERS = [page for page in toc_pages() if page not in {*REFERENCE, "book/scorecard"}]  # which opens with its picture


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
    later = re.findall(r"^#+ (.+)", text[text.index(":class: found") :], re.MULTILINE)
    assert later in ([], ["How it was made"]), "no other section follows it"


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
        if "from sgdnoise.landing import" in source:  # two figures share their runs
            source += (ROOT / "lib" / "sgdnoise" / "landing.py").read_text(encoding="utf-8")
        given = [f'"features": {n}, "realisations": {r}' for n, r in re.findall(r"N=(\d+), (\d+) sets", row)]
        given += [f'"paths": {n}, "realisations": {r}' for n, r in re.findall(r"(\d+) paths, (\d+) populations", row)]
        given += [
            f'"{profile}": ([{first}, {last}]'
            for profile, first, last in re.findall(r"\*(\w+):\* sizes ([\d, ]+) and (\d+);", row)
        ]
        assert len(given) >= 2, name
        for words in given:
            assert words in source, (name, words)
