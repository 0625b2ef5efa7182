"""What several test files share: a smoke-profile book built in a copy of the project."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bookbuild.paths import ROOT

# A shell that starts `make test` in the background has it ignore interrupts, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

COPIED = ("book", "notebooks", "lib", "_config.yml", "_toc.yml", "requirements.lock", "README.md", "CITATION.cff")


def copy_project(folder: Path) -> Path:
    """Copy what the build needs; the copy finds its own paths, so that nothing of the user's build is touched.

    The build's code is imported from ``build/bookbuild`` of the copy, and the library, which is the same, from its
    usual place: its kernels are compiled there already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ignore = shutil.ignore_patterns("__pycache__", "*.ipynb")
    for name in COPIED:
        top = ROOT / name
        if top.is_dir():
            shutil.copytree(top, folder / name, ignore=ignore)
        else:
            shutil.copy(top, folder / name)
    shutil.copytree(ROOT / "lib" / "bookbuild", folder / "build" / "bookbuild", ignore=ignore)
    return folder


def environment(project: Path, **more: str) -> dict[str, str]:
    """Return an environment in which the copy builds itself."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(project / "build"), str(ROOT / "lib")]), **more}


def run(project: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the copy and return what it said."""
    return subprocess.run(
        [sys.executable, "-m", "bookbuild", *words],
        cwd=project,
        env=environment(project, **more),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A copy of the project with a finished smoke-profile book, and a copy of that book which nobody builds anew.

    Test processes share the project: the first to come builds it, the others wait.
    """
    place = tmp_path_factory.getbasetemp()
    place = place.parent if "PYTEST_XDIST_WORKER" in os.environ else place
    project, book = place / "sgdnoise", place / "finished"
    with open(place / "project.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not book.exists():
            copy_project(project)
            done = run(project, "book", "--profile", "smoke")
            assert done.returncode == 0, done.stderr
            shutil.copytree(project / "_build" / "html", book)
    return project, book


@pytest.fixture(scope="session")
def project(finished):
    """The project; one file of tests may change and rebuild it."""
    return finished[0]


@pytest.fixture(scope="session")
def html(finished):
    """The rendered book."""
    return finished[1]
