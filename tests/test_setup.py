"""The environment that make makes: what it refuses, in a sentence each, and that a failure is not taken for success."""

import os
import shutil
import subprocess
import sys

import pytest

from bookbuild.paths import ROOT

pytestmark = pytest.mark.endtoend
# A Python of another version: it runs one-line programs, which learn that version, and cannot read our files.
OTHER_PYTHON = """\
#!/bin/sh
case "$1" in
  -c) exec {python} -c "import sys; sys.version_info = {version}; exec(sys.argv[1])" "$2" ;;
  --version) echo Python {dotted} >&2 ;;
  *) echo "SyntaxError: invalid syntax" >&2; exit 1 ;;
esac
"""
# A Python whose environments have a pip that says why it fails, and that notes that it was asked.
NO_INDEX_PYTHON = """\
#!/bin/sh
if [ "$2" = venv ]; then
  mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
elif [ "$2" = pip ]; then
  echo "no index" >&2; exit 1
else
  exec {python} "$@"
fi
"""


def program(path, text, **words):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.format(python=sys.executable, **words))
    path.chmod(0o755)
    return path


@pytest.fixture
def clone(tmp_path):
    """A project as make sees it before anything is installed."""
    return clone_in(tmp_path / "with blanks")


def clone_in(folder):
    (folder / "lib" / "bookbuild").mkdir(parents=True)
    (folder / "lib" / "bookbuild" / "book.py").touch()
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def make(folder, *words, programs=None):
    """Run make, with a folder of programs that come before all others; return what it said."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    if programs is not None:
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def sentences(done):
    """What was said, without the line in which make names the rule that failed."""
    assert done.returncode == 2
    assert done.stdout == ""
    return [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 4), (3, 14, 0)])
def test_another_python_is_refused(clone, tmp_path, version):
    dotted = ".".join(map(str, version))
    python = program(tmp_path / "other", OTHER_PYTHON, version=version, dotted=dotted)
    said = sentences(make(clone, "book", f"PYTHON={python}"))
    assert said == [f"setup: PYTHON must name a Python 3.11 to 3.13, got '{python}': Python {dotted}"]
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("PROFILE=tiny", "PROFILE must be smoke, standard or paper, got 'tiny'"),
        ("PYTHON=/nowhere", "PYTHON must name a Python 3.11 to 3.13, got '/nowhere'"),
        ("PYTHON=/bin/ls", "PYTHON must name a Python 3.11 to 3.13, got '/bin/ls'"),
        ("PYTHON=", "PYTHON must name a Python 3.11 to 3.13, got ''"),
    ],
)
def test_wrong_words_are_refused_before_any_work(words, sentence):
    done = make(ROOT, "book", words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


def test_a_colon_in_the_path_is_refused(tmp_path):
    (said,) = sentences(make(clone_in(tmp_path / "a:b"), "book"))
    assert (
        f"the path of the project must have no colon, which no environment of Python can have, got {tmp_path}" in said
    )


def test_make_from_elsewhere_is_refused(tmp_path):
    (said,) = sentences(make(tmp_path, "-f", str(ROOT / "Makefile"), "book"))
    assert f"make must run in the folder of the project (cd there, or make -C FOLDER), and runs in {tmp_path}" in said


def test_a_full_disk_is_refused(clone, tmp_path):
    program(tmp_path / "bin" / "df", "#!/bin/sh\necho head\necho disk 9000000 8500000 500000 94% /\n")
    said = sentences(make(clone, "setup", programs=tmp_path / "bin"))
    assert said == ["setup: the disk of this folder must have 2.0 GB free, and has 0.5 GB."]
    assert not (clone / ".venv").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(clone):
    clone.chmod(0o555)
    try:
        assert sentences(make(clone, "setup")) == [f"setup: the folder {clone} must be writable, and is not."]
    finally:
        clone.chmod(0o755)


def test_a_place_that_cannot_be_written_is_one_sentence(clone):
    (clone / ".venv").write_text("in the way")
    said = sentences(make(clone, "setup"))
    assert said[-1].startswith("setup: cannot make the environment .venv: ")


def test_an_installation_that_fails_is_not_taken_for_finished(clone, tmp_path):
    python = program(tmp_path / "python", NO_INDEX_PYTHON)
    program(tmp_path / "bin" / "uv", "#!/bin/sh\necho no index >&2\nexit 1\n")
    for _ in range(2):
        said = sentences(make(clone, "setup", f"PYTHON={python}", programs=tmp_path / "bin"))
        assert said[0] == "Making the environment in .venv (once)."
        assert "uv is not to be had or failed; using pip, which takes a minute longer." in said
        assert said[-1].startswith("setup: installing the packages failed (the reason is printed above)")
    assert not list((clone / ".venv").glob("made-*"))


def test_a_finished_environment_is_kept_until_what_it_is_made_from_changes(clone, tmp_path):
    python = program(tmp_path / "python", NO_INDEX_PYTHON)
    program(tmp_path / "bin" / "uv", "#!/bin/sh\nexit 0\n")
    once = "Making the environment in .venv (once).\n"

    def setup():
        done = make(clone, "setup", f"PYTHON={python}", programs=tmp_path / "bin")
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert [setup(), setup()] == [once, ""]
    with open(clone / "requirements.lock", "a") as lock:
        lock.write("# another\n")
    assert [setup(), setup()] == [once, ""]
    clone.rename(tmp_path / "moved")
    clone = tmp_path / "moved"
    assert [setup(), setup()] == [once, ""]
