"""What pages offer: means of the results behind them, and notebooks that run where nothing but the wheel is."""

import ast
import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import nbformat
import numpy as np
import pytest
import xarray as xr
from packaging.requirements import Requirement
from PIL import Image

from bookbuild import downloads, notebooks, page
from bookbuild.paths import ROOT
from bookbuild.texts import Refusal
from sgdnoise.report import MIME
from sgdnoise.sweep.entry import decode, encode
from sgdnoise.sweep.store import Store

NOTE = {"point": "b=0.1", "version": "1", "revision": "r", "wall_time": 2.0}


def result(realisations=3):
    values = np.array([[1.0, 5.0], [2.0, np.nan], [6.0, np.nan]])[:realisations]
    return xr.Dataset(
        {
            "error": (("realisation", "time"), values, {"long_name": "generalisation error"}),
            "count": (("time", "realisation"), np.arange(2 * realisations).reshape(2, realisations)),
            "exact": ("time", [0.25, 0.5]),
        },
        coords={"time": ("time", [0.0, 0.1], {"long_name": "time"}), "realisation": np.arange(realisations)},
        attrs={"learning_rate": 0.1},
    )


def test_mean_error_and_number_by_hand():
    """1, 2 and 6: their mean is 3, their variance 7; of the other three only one is there."""
    short = downloads.summarise(result())
    np.testing.assert_allclose(short.error, [3.0, 5.0])
    half = 2.0**-9  # of the last bit of an error
    np.testing.assert_allclose(short.error_standard_error, [np.sqrt(7 / 3), np.nan], rtol=half)
    assert short.error_realisations.values.tolist() == [3, 1]
    np.testing.assert_allclose(short["count"], [1.0, 4.0])
    np.testing.assert_allclose(short.count_standard_error, np.sqrt([1 / 3, 1 / 3]), rtol=half)


def test_what_has_no_realisations_and_what_describes_the_run_is_kept():
    full, short = result(), downloads.summarise(result())
    xr.testing.assert_identical(short.exact, full.exact)
    assert list(short.coords) == list(full.coords)
    assert short.attrs == full.attrs
    assert short.error.attrs == {"long_name": "generalisation error"}
    assert short.error_standard_error.attrs["long_name"] == "standard error of generalisation error"


def test_a_response_is_offered_once_as_its_integral_where_that_is_there():
    alone = result().rename(error="response")
    both = alone.assign(integrated_response=0.1 * alone.response.cumsum("time"))
    assert "response" in downloads.summarise(alone)
    assert "response" not in downloads.summarise(both)
    assert "integrated_response_standard_error" in downloads.summarise(both)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("realisations", [0, 1])
def test_too_few_realisations_have_no_error_and_give_no_warning(realisations):
    short = downloads.summarise(result(realisations))
    assert short.error_standard_error.isnull().all()
    assert (short.error_realisations == realisations).all()
    assert bool(short.error.isnull().all()) == (realisations == 0)


def test_the_zip_of_the_book_holds_means_that_any_reader_opens_and_the_export_holds_all(tmp_path):
    store = Store(tmp_path / "store")
    store.write("k", encode(result(), NOTE))
    store.write_zip(["k"], tmp_path / "book.zip", shorten=downloads.summary)
    store.write_zip(["k"], tmp_path / "export.zip")
    with zipfile.ZipFile(tmp_path / "book.zip") as archive:
        assert archive.namelist() == ["k.nc", "results.csv"]
        assert "k.nc,b=0.1,1,r,2.000" in archive.read("results.csv").decode()
        assert decode(archive.read("k.nc"))[1] == NOTE
        with xr.open_dataset(io.BytesIO(archive.read("k.nc")), engine="scipy") as short:
            assert short.error.dims == ("time",)
            assert json.loads(short.attrs["provenance"]) == NOTE
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        assert archive.read("k.nc") == store.path("k").read_bytes()


RUNNERS = ("papermill", "ipykernel")  # what runs a notebook; IPython comes with them


def closure(*roots):
    """Names of distributions with all that they need here, extras aside."""
    found, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needs = map(Requirement, distribution(name).requires or [])
            waiting += [need.name for need in needs if not need.marker or need.marker.evaluate({"extra": ""})]
    return found


def executed(text):
    """A notebook that ran in the folder of a build."""
    cells = [
        nbformat.v4.new_markdown_cell("# A title\n\nWords."),
        nbformat.v4.new_code_cell("seed = 3", metadata={"tags": ["parameters"], "papermill": {}}),
        nbformat.v4.new_code_cell("1", metadata={"tags": ["hide-input"]}, execution_count=3),
        nbformat.v4.new_markdown_cell(text),
    ]
    cells[2].outputs = [nbformat.v4.new_output("display_data", {MIME: {"kind": "value", "name": "n", "text": "-7"}})]
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    papermill = {"input_path": "/home/somebody/start.ipynb"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "papermill": papermill})


def offered(text):
    return downloads.convert(executed(text), "The book", "version 1, smoke profile")


@pytest.mark.parametrize(
    ("myst", "plain"),
    [
        ("$N=$ {glue:}`n` and {glue:text}`n`", "$N=-7$ and −7"),
        ("see {doc}`/notebooks/memory` or {doc}`this </book/dmft>`", "see *{memory}* or *this*"),
        ("$$\na\n$$ (eq-a)\n\nof {eq}`eq-a`", "$$\na\n\\tag{1}\n$$\n\nof (1)"),
        (
            "{cite:p}`cover1965geometrical,mignacco2022effective`",
            "(Cover, 1965; [Mignacco and Urbani, 2022](https://doi.org/10.1088/1742-5468/ac841d))",
        ),
        ("{cite:t}`mignacco2020dynamical`", "Mignacco et al. (2020)"),
        (
            "```{glue:figure} plot\n---\nname: fig-plot\nalt: a\n---\nA caption,\nlong.\n```\n\n{numref}`fig-plot`",
            "**Figure 1** (`plot`). A caption,\nlong.\n\nFigure 1",
        ),
        (":::{admonition} Found\n:class: found\n- One.\n- Two.\n:::", "> **Found**\n>\n> - One.\n> - Two."),
    ],
)
def test_roles_and_directives_become_plain_text(myst, plain):
    memory = re.search(r"^# # (.*)$", notebooks.read("memory").text, re.MULTILINE)[1]
    assert offered(myst).cells[-1].source == plain.replace("{memory}", memory)


@pytest.mark.parametrize("myst", ["{term}`heat`", ":::{note}\nWords.\n:::", "(there)=\n## Here", "{eq}`eq-elsewhere`"])
def test_what_has_no_plain_form_is_refused(myst):
    with pytest.raises(
        Refusal, match=r"the page '# A title' has .*, which a notebook that is offered to run cannot show"
    ):
        offered(myst)


def test_one_cell_of_parameters_and_nothing_of_the_machine():
    before = executed("Text.")
    notebook = downloads.convert(before, "The book", "version 1, smoke profile")
    assert notebook.cells[0].source.startswith("# A title\n\n*A page of “The book”, version 1, smoke profile.")
    assert [cell.metadata.get("tags") for cell in notebook.cells] == [None, ["parameters"], ["hide-input"], None]
    assert notebook.cells[1].source == "seed = 3"
    assert "somebody" not in nbformat.writes(notebook)
    assert len(before.cells) == 4, "the executed copy is left as it is"


def test_outputs_are_there_as_jupyter_shows_them():
    """Words, and each picture once, half as wide; nothing of what is for the book alone."""
    before, png = executed("Text."), io.BytesIO()
    Image.new("RGB", (300, 200), "red").save(png, "png")
    shown = {"image/png": base64.b64encode(png.getvalue()).decode(), "image/svg+xml": "<svg/>", "text/plain": "Figure"}
    before.cells[2].outputs += [
        nbformat.v4.new_output("display_data", {MIME: {"kind": "figure", "netcdf": "long"}, **shown}),
        nbformat.v4.new_output("stream", text="T = 0.015"),
        nbformat.v4.new_output("display_data", {"text/html": "<script>for the live page</script>", "text/plain": "x"}),
    ]
    value, figure, words, script = downloads.convert(before, "The book", "version 1, smoke profile").cells[2].outputs
    assert value["data"] == {}
    assert set(script["data"]) == {"text/plain"}
    assert words["text"] == "T = 0.015"
    assert set(figure["data"]) == {"image/png", "text/plain"}
    with Image.open(io.BytesIO(base64.b64decode(figure["data"]["image/png"]))) as picture:
        assert picture.size == (150, 100)
        assert picture.convert("RGB").getpixel((75, 50)) == (255, 0, 0)


def imported(code):
    """Names of the packages that code imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


IMPORTED_AS = {"scikit-learn": "sklearn"}


@pytest.mark.parametrize("notebook", notebooks.read_all(), ids=lambda notebook: notebook.name)
def test_notebooks_import_what_the_wheel_brings_or_say_what_to_install(notebook):
    cells = notebook.convert().cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    asked = re.findall(r"`pip install ([\w-]+)`", cells[0].source)
    brought = {Requirement(need).name for need in distribution("sgdnoise").requires if "extra ==" not in need}
    known = brought | {"sgdnoise", "IPython"} | {IMPORTED_AS.get(name, name) for name in asked}
    assert set(imported(code)) - set(sys.stdlib_module_names) <= known


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.endtoend
@pytest.mark.reads
def test_every_notebook_that_a_page_offers_is_plain(html, source):
    files = sorted((html / "downloads").glob("*.ipynb"))
    assert len(files) == len(list((source / "notebooks").glob("*.py")))
    for file in files:
        text = file.read_text()
        for path in (str(source), str(ROOT), tempfile.gettempdir(), os.path.expanduser("~/")):
            assert path not in text, (file, path)
        notebook = nbformat.reads(text, as_version=4)
        tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
        assert tags.count("parameters") == 1, file
        assert sum('profile = "' in cell.source for cell in notebook.cells) == 1, file
        pictures = [output for output in outputs(notebook) if "image/png" in output.get("data", {})]
        assert len(pictures) == len(list(file.parent.glob(f"{file.stem}-*.png"))) > 0, file
        assert MIME not in text, file
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                assert not downloads.LEFT.search(cell.source), file
                assert not page.GLUED.search(cell.source), file
                assert "{glue" not in cell.source, file
                assert ":::" not in cell.source, file


@pytest.fixture(scope="module")
def python(tmp_path_factory, html):
    """A Python with the wheel that the book offers, the packages that it asks for, what runs notebooks, and no more."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    needs = [Requirement(need).name for need in distribution("sgdnoise").requires if "extra ==" not in need]
    for name in closure(*needs, *RUNNERS):
        for top in {file.parts[0] for file in distribution(name).files} - {"..", "__pycache__"}:
            link = site / top
            if not link.exists():
                link.symlink_to(Path(distribution(name).locate_file(top)))
    (wheel,) = (html / "downloads").glob("*.whl")
    python = folder / "venv" / "bin" / "python"
    install = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--python"]
    subprocess.run([sys.executable, "-m", *install, python, wheel], check=True)
    for package in ("bookbuild", "myst_nb"):
        done = subprocess.run([python, "-c", f"import {package}"], capture_output=True, cwd=folder, check=False)
        assert b"ModuleNotFoundError" in done.stderr, "this environment would prove nothing"
    return python


@pytest.mark.endtoend
def test_an_offered_notebook_runs_in_a_fresh_environment(html, profile, python, tmp_path):
    """It shows its figure, says what it found, and takes other parameters."""
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    offered = html / "downloads" / f"fig10_phases-{profile}.ipynb"
    words = ["-m", "papermill", offered, "out.ipynb", *["-k", "python3", "-p", "seed", "1", "-p", "profile", "smoke"]]
    done = subprocess.run([python, *words], cwd=tmp_path, env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs(ran)) == 1
    assert list(notebooks.told(ran, "claim")) == ["phases"]
    assert not any(output.output_type == "error" for output in outputs(ran))
