"""What is made and kept in git: the figure of the README, and how long things take, as measured in this folder."""

import os
import re
import shutil

from bookbuild import benchmarks, book, costs, paths, source
from bookbuild.figures import extract
from bookbuild.processes import cores
from bookbuild.progress import clock, load_timings
from bookbuild.refusal import Refusal
from bookbuild.runner import Job, run_all

README = paths.ROOT / "README.md"
MARKS = ("<!-- timings: written by `make readme` -->\n", "\n<!-- end of timings -->")


def update() -> None:
    """Remake the figure, the sentence about time, and the costs and benchmarks that the book quotes."""
    notebook = source.read("the_model")
    job = Job(notebook, notebook.parameters("standard"))
    book.writable(paths.BUILD)
    run_all([job])
    shutil.copyfile(extract(job.output)[0], paths.README_FIGURE)
    text = README.read_text(encoding="utf-8")
    start, end = map(re.escape, MARKS)
    timings = load_timings()
    costs.save(costs.measured(timings, cores()))
    books = {f"book/{profile}": cost["seconds"] for profile, cost in costs.load().items()}
    block = MARKS[0] + sentence(books | timings | setup_seconds(), cores()) + MARKS[1]
    text, count = re.subn(f"{start}.*?{end}", lambda _: block, text, flags=re.DOTALL)
    if count != 1:
        raise Refusal("README.md must have one block of timings")
    README.write_text(text, encoding="utf-8")
    benchmarks.adopt()


def sentence(seconds: dict[str, float], workers: int) -> str:
    """Say how long things take.

    >>> sentence({"setup": 30.0, "book/smoke": 41.0, "book/standard": 95.2, "test": 130.0}, 2)
    'Measured on 2 cores: installation 30 s (once), `make book` 1 min 35 s, ...
    """
    names = {
        "setup": "installation {} (once)",
        "book/standard": "`make book` {}",
        "book/smoke": "`make book PROFILE=smoke` {}",
        "test": "`make test` {}",
    }
    measured = [words.format(clock(seconds[name])) for name, words in names.items() if name in seconds]
    if not measured:
        raise Refusal("a book must have been built from scratch in this folder, to be timed")
    return f"Measured on {workers} cores: {', '.join(measured)}."


def setup_seconds() -> dict[str, float]:
    """Return how long the installation took."""
    path = paths.ROOT / ".venv" / "setup-seconds"
    return {"setup": float(path.read_text(encoding="utf-8"))} if os.access(path, os.R_OK) else {}
