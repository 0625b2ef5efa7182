"""What several test files share: a book built in a copy of the project, or the finished one, and a browser to read it.

The copy has all pages of prose and four notebooks, in the smoke profile; of the others it has the titles and the
equations, so that links lead somewhere. ``make looks`` has the same tests read the book that ``make book`` has made.
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from bookbuild import notebooks, printing
from bookbuild.book import STAMP
from bookbuild.paths import HTML, LEDGER, ROOT
from bookbuild.texts import read_yaml

# A shell that starts `make test` in the background has it ignore interrupts, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

BUILDER = "test_book.py"  # begins early, and builds the book that other files read
LONGEST = "test_live_page.py"  # of those: it waits for pictures that move
# A table with bands over time, the live page, a drawing without numbers, a notebook that is run elsewhere.
KEPT = ("the_model", "live", "memory", "fig10_phases")


def pytest_addoption(parser):
    parser.addoption("--built", action="store_true", help="read the book that is in _build, and no copy")


def pytest_collection_modifyitems(items):
    """Put the other files that need the finished book last, and the longest of them first.

    Nobody then waits for the book with work left to do, nor for a long file that was begun late.
    """
    readers = {item.path for item in items if "finished" in getattr(item, "fixturenames", ())}
    order = {path: {BUILDER: 0, LONGEST: 1}.get(path.name, 2) for path in readers}
    items.sort(key=lambda item: order.get(item.path, 0))


COPIED = (
    "book",
    "notebooks",
    "lib",
    "_config.yml",
    "_toc.yml",
    "requirements.lock",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CITATION.cff",
)


def copy_project(folder: Path) -> Path:
    """Copy what the build needs; the copy finds its own paths, so that nothing of the user's build is touched.

    The build's code is imported from ``build/bookbuild`` of the copy, and the library, which is the same, from its
    usual place: its kernels are compiled there already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ignore = shutil.ignore_patterns("__pycache__", "*.ipynb")
    for top in (ROOT / name for name in COPIED):
        shutil.copytree(top, folder / top.name, ignore=ignore) if top.is_dir() else shutil.copy(top, folder)
    shutil.copytree(ROOT / "lib" / "bookbuild", folder / "build" / "bookbuild", ignore=ignore)
    return folder


NOTEBOOK = """\
# ---
# jupyter:
#   expected_seconds: {{paper: 1, smoke: 1, standard: 1}}
# ---

# %% [markdown]
# # {name}

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %%
{code}
"""


def write_notebook(project: Path, name: str, code: str) -> None:
    """Write a notebook of a title and one cell."""
    (project / "notebooks" / f"{name}.py").write_text(NOTEBOOK.format(name=name, code=code))


def small_project(folder: Path, **notebooks: str) -> Path:
    """Copy the project with these notebooks and one page in place of its own."""
    project = copy_project(folder)
    for path in (project / "notebooks").glob("*.py"):
        path.unlink()
    for name, code in notebooks.items():
        write_notebook(project, name, code)
    first = "# A book\n\n{{ pdf() }}" + " Words." * 50 + "\n\n## How to cite\n\nLike this.\n"
    (project / "book" / "index.md").write_text(first)
    (project / "book" / "claims.yml").write_text("[]")
    chapters = "".join(f"  - file: notebooks/{name}\n" for name in notebooks)
    (project / "_toc.yml").write_text(f"format: jb-book\nroot: book/index\nchapters:\n{chapters}")
    return project


def start(project: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command of the copy."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "bookbuild", *words]
    return subprocess.Popen(command, cwd=project, env=environment(project), **pipes)


def environment(project: Path, **more: str) -> dict[str, str]:
    """Return an environment in which the copy builds itself, without a PDF, which takes as long as all pages."""
    path = os.pathsep.join([str(project / "build"), str(ROOT / "lib")])
    inherited = {name: value for name, value in os.environ.items() if name != "SGDNOISE_STORE"}
    return {**inherited, "PYTHONPATH": path, printing.BROWSER_VARIABLE: "", **more}


def run(project: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the copy and return what it said."""
    command, options = [sys.executable, "-m", "bookbuild", *words], {"capture_output": True, "text": True}
    return subprocess.run(command, cwd=project, env=environment(project, **more), check=False, **options)


EQUATION = re.compile(r"^\$\$\n.*?^\$\$ \([\w-]+\)$", re.MULTILINE | re.DOTALL)


def shortened_project(folder: Path) -> Path:
    """Copy the project with all prose and few notebooks; a page with the title and equations stands for each other."""
    project = copy_project(folder)
    gone = [notebook for notebook in notebooks.read_all() if notebook.name not in KEPT]
    for notebook in gone:
        (project / "notebooks" / f"{notebook.name}.py").unlink()
        text = "\n\n".join(cell.source for cell in notebook.convert().cells if cell.cell_type == "markdown")
        page = [text.partition("\n")[0], "Words. " * 50, *EQUATION.findall(text)]
        (project / "notebooks" / f"{notebook.name}.md").write_text("\n\n".join(page))
    names = "|".join(notebook.name for notebook in gone)
    for path in (project / "book").glob("*.md"):
        text = re.sub(rf"{{glue:text}}`/notebooks/({names})\.py::[\w-]+`", "a number", path.read_text())
        text = re.sub(rf"/_build/figures/({names})\.[\w-]+\.svg", "/_build/figures/the_model.training.svg", text)
        path.write_text(text)
    claims = [claim for claim in read_yaml(LEDGER) if Path(claim["page"]).name in KEPT]
    (project / "book" / "claims.yml").write_text(json.dumps(claims))
    return project


@pytest.fixture(scope="session")
def finished(tmp_path_factory, request):
    """A project with a finished book, and that book: a copy of its own which nobody builds anew.

    Test processes share the project: the first to come builds it, the others wait.
    """
    if request.config.getoption("--built"):
        assert (HTML / STAMP).is_file(), "there is no finished book to look at; `make looks` builds it first"
        return ROOT, HTML
    place = tmp_path_factory.getbasetemp()
    place = place.parent if "PYTEST_XDIST_WORKER" in os.environ else place
    project, book = place / "sgdnoise", place / "finished"
    with FileLock(place / "project.lock"):
        if not book.exists():
            shortened_project(project)
            assert run(project, "pair").returncode == 0  # copies for Jupyter must not disturb the build
            done = run(project, "book", "--profile", "smoke")
            assert done.returncode == 0, done.stderr
            shutil.copytree(project / "_build" / "html", book)
    return project, book


@pytest.fixture(scope="session")
def project(finished):
    """The project; one file of tests may change and rebuild it."""
    return finished[0]


@pytest.fixture(scope="session")
def source(finished):
    """The project that the book was made in, to be read."""
    return finished[0]


@pytest.fixture(scope="session")
def html(finished):
    """The rendered book."""
    return finished[1]


@pytest.fixture(scope="session")
def profile(html):
    """The profile of the rendered book."""
    return json.loads((html / STAMP).read_text())["profile"]


@pytest.fixture(scope="session")
def notebook_pages(html):
    """The pages of the book that are notebooks, by name."""
    return [f"notebooks/{file.name.split('-')[0]}" for file in sorted((html / "downloads").glob("*.ipynb"))]


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window; where there is none, what needs it is skipped (and fails in CI)."""
    from playwright.sync_api import sync_playwright  # most tests need none of it

    path = printing.browser()
    if path is None:
        reason = "no Chromium here; install the package chromium (apt-get install chromium) to run this test"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(printing.FLAGS))
        yield launched
        launched.close()


@contextmanager
def watched(browser, **options):
    """A page that notes every complaint and every request that leaves the disk."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "offline": True, **options})
    page = context.new_page()
    page.complaints, page.outside = [], []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    local = ("file:", "data:", "blob:", "about:")
    page.on("request", lambda request: None if request.url.startswith(local) else page.outside.append(request.url))
    yield page
    context.close()


@pytest.fixture
def page(browser):
    """A watched page of the size of a desktop."""
    with watched(browser) as page:
        yield page


def open_page(page, file):
    """Open a file, and wait for its fonts."""
    page.goto(file.as_uri())
    page.wait_for_load_state("load")
    page.evaluate("document.fonts.ready.then(() => true)")


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What notebooks show, collected."""
    outputs = []
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda data, **_: outputs.append(data))
    return outputs
