"""The commands behind the Makefile; ``python -m bookbuild --help`` lists them."""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from bookbuild import notebooks, paths
from bookbuild.texts import Refusal, citation_files, clock, read_json, say

# What only one command needs is imported there: a wrong word is then refused at once.
SCHEDULER_VARIABLE = "SGDNOISE_SCHEDULER"
README = paths.ROOT / "README.md"
MARKS = ("<!-- timings: written by `make readme` -->\n", "\n<!-- end of timings -->")
TIMINGS = {
    "setup": "installation {} (once)",
    "book/standard": "`make book` {}",
    "book/smoke": "`make book PROFILE=smoke` {}",
}


def make_book(arguments: argparse.Namespace) -> None:
    """Run the notebooks and render the book; as ``pdf`` make one PDF of it all, too."""
    from bookbuild import book

    first = book.build(arguments.profile, need_pdf=arguments.command == "pdf")
    print(f"The book ({arguments.profile} profile) is ready. Open {first.as_uri()}")
    if arguments.command == "pdf":
        print(f"As one PDF: {os.path.relpath(book.pdf_file(arguments.profile))}")


def run_notebook(arguments: argparse.Namespace) -> None:
    """Run one notebook, with other parameters if wanted, and say where its result is."""
    names = [name for name, _ in arguments.p]
    if len(set(names)) < len(names):
        raise Refusal(f"each parameter must be given once, got -p {' -p '.join(names)}")
    notebook = notebooks.read(arguments.name)
    parameters = notebook.parameters(arguments.profile, dict(arguments.p))
    from bookbuild.book import writable
    from bookbuild.run import Job, run_all

    job = Job(notebook, parameters)
    writable(paths.BUILD)
    run_all([job])
    if not notebook.tests_claims(parameters):
        print("The claims are about the notebook's own parameters; this run, with others, did not test them.")
    print(f"Executed notebook: {os.path.relpath(job.output)}")
    for figure in notebooks.extract(job.output):
        print(f"Figure: {os.path.relpath(figure)}")


def compare_seeds(arguments: argparse.Namespace) -> None:
    """Test all claims with several seeds, and print their significance side by side."""
    words = arguments.seeds.split()
    if not words or not all(word.isdecimal() for word in words) or len(set(words)) < len(words):
        raise Refusal(f"SEEDS must be different whole numbers, as in SEEDS='0 1 2', got {arguments.seeds!r}")
    from bookbuild import book, ledger

    book.writable(paths.BUILD)
    for name, row in ledger.compare_seeds([int(word) for word in words], arguments.profile).items():
        print(f"{name:40}", *(f"{sigma:+6.1f}" for sigma in row))


def pair(_: argparse.Namespace) -> None:
    """Write an .ipynb beside each notebook's text for people who work in Jupyter; never over somebody's work."""
    import jupytext

    for notebook in notebooks.read_all():
        path = paths.NOTEBOOKS / f"{notebook.name}.ipynb"
        fresh = notebook.convert()
        if path.exists():
            if [cell.source for cell in jupytext.read(path).cells] == [cell.source for cell in fresh.cells]:
                say(f"{os.path.relpath(path)} is up to date.")
                continue
            kept = path.with_suffix(f".{time.strftime('%Y%m%d-%H%M%S')}.ipynb")
            path.replace(kept)
            say(f"{os.path.relpath(path)} differs from its text; it is kept as {os.path.relpath(kept)}.")
        jupytext.write(fresh, path)
        say(f"{os.path.relpath(path)} written.")


def update_readme(_: argparse.Namespace) -> None:
    """Remake the figure and the timings of the README, and the costs and benchmarks that the book quotes.

    The pages of a build cannot know how long that build takes, and would measure how busy the machine is with building.
    So ``book/costs.json`` and ``book/benchmarks.json`` keep what was measured last.
    """
    from bookbuild.book import writable
    from bookbuild.run import Job, load_timings, run_all
    from sgdnoise._machine import cores

    writable(paths.BUILD)
    notebook = notebooks.read("the_model")
    job = Job(notebook, notebook.parameters("standard"))
    run_all([job])
    shutil.copyfile(notebooks.extract(job.output)[0], paths.README_FIGURE)
    timings = load_timings(paths.TIMINGS)
    costs = {name: round(seconds, 1) for name, seconds in timings.items()}
    keep(paths.COSTS, {**costs, "cores": cores()} if any(name.startswith("book/") for name in costs) else {})
    keep(paths.BENCHMARK_RESULTS, {path.stem: read_json(path) for path in sorted(paths.BENCH.glob("*.json"))})
    installed = paths.ROOT / ".venv" / "setup-seconds"
    known = read_json(paths.COSTS) | timings
    known |= {"setup": float(installed.read_text(encoding="utf-8"))} if installed.is_file() else {}
    before, after = README.read_text(encoding="utf-8").split(MARKS[0])
    text = before + MARKS[0] + sentence(known, cores()) + MARKS[1] + after.split(MARKS[1])[1]
    README.write_text(text, encoding="utf-8")
    print("README.md and its figure are up to date.")


def keep(path: Path, found: Mapping[str, Any]) -> None:
    """Keep what was measured, besides what the file has of other things."""
    path.write_text(json.dumps({**read_json(path), **found}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def sentence(seconds: Mapping[str, float], workers: int) -> str:
    """Say how long things take.

    >>> sentence({"setup": 30.0, "book/smoke": 41.0, "book/standard": 95.2}, 2)
    'Measured on 2 cores: installation 30 s (once), `make book` 1 min 35 s, ...
    """
    known = [words.format(clock(seconds[name])) for name, words in TIMINGS.items() if name in seconds]
    if not known:
        raise Refusal("a book must have been built from scratch in this folder, to be timed")
    return f"Measured on {workers} cores: {', '.join(known)}."


def write_citation(_: argparse.Namespace) -> None:
    """Write the files that are made from CITATION.cff."""
    for path, text in citation_files().items():
        path.write_text(text, encoding="utf-8")
        print(f"{os.path.relpath(path)} written.")


def compile_all(_: argparse.Namespace) -> None:
    """Compile the library."""
    from bookbuild import run

    run.compile_all()


PROFILE: dict[str, dict[str, Any]] = {"--profile": {"default": "standard"}}
OVERRIDE: dict[str, Any] = {"nargs": 2, "action": "append", "default": [], "metavar": ("NAME", "VALUE")}
# Each command, what does it, and its arguments.
COMMANDS = {
    "book": (make_book, PROFILE),
    "pdf": (make_book, PROFILE),
    "notebook": (run_notebook, {"name": {}, **PROFILE, "-p": OVERRIDE}),
    "ledger": (compare_seeds, {**PROFILE, "--seeds": {"default": "0 1 2 3 4"}}),
    "pair": (pair, {}),
    "kernels": (compile_all, {}),
    "readme": (update_readme, {}),
    "citation": (write_citation, {}),
}


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong; ``make help`` says how it is done."""
        self.exit(2, f"bookbuild: {message} (`make help` lists what there is).\n")


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = Parser(prog="bookbuild", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    for name, (run, arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__)
        command.set_defaults(run=run)
        for argument, settings in arguments.items():
            command.add_argument(argument, **settings)
    return parser.parse_args(words)


def check_scheduler(address: str | None) -> None:
    """Refuse a cluster that cannot be one, before any notebook runs into it."""
    if address:
        from sgdnoise.sweep.executors import check_address

        try:
            check_address("SCHEDULER", address)
        except ValueError as error:
            raise Refusal(str(error)) from error


def main(words: list[str]) -> int:
    """Run a command; return the exit status. Whatever goes wrong for a known reason is one sentence."""
    arguments = parse(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the processes are then ended in order
    try:
        check_scheduler(os.environ.get(SCHEDULER_VARIABLE))
        arguments.run(arguments)
    except (Refusal, OSError) as refusal:
        say(f"bookbuild: {refusal}.")
        return 2
    except KeyboardInterrupt:
        say("\nInterrupted. Finished notebooks are kept; the same command goes on from there.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
