"""The commands behind the Makefile; ``python -m bookbuild --help`` lists them."""

import argparse
import contextlib
import functools
import http.server
import os
import subprocess
import sys
import time
from typing import NoReturn

from bookbuild import book, paths, processes, source
from bookbuild.refusal import Refusal, say

# What only one command needs is imported there: a wrong word is then refused at once.
SCHEDULER_VARIABLE = "SGDNOISE_SCHEDULER"


def make_book(arguments: argparse.Namespace) -> None:
    """Build the book and say where it is."""
    first = book.build(arguments.profile)
    print(f"The book ({arguments.profile} profile) is ready. Open {first.as_uri()}")


def make_pdf(arguments: argparse.Namespace) -> None:
    """Build the book with its PDF and say where that is."""
    book.build(arguments.profile, need_pdf=True)
    print(f"The book ({arguments.profile} profile) as one PDF: {os.path.relpath(book.pdf_file(arguments.profile))}")


def run_notebook(arguments: argparse.Namespace) -> None:
    """Run one notebook, with other parameters if wanted, and say where its result is."""
    names = [name for name, _ in arguments.p]
    if len(set(names)) < len(names):
        raise Refusal(f"each parameter must be given once, got -p {' -p '.join(names)}")
    notebook = source.read(arguments.name)
    parameters = notebook.parameters(arguments.profile, dict(arguments.p))
    from bookbuild.figures import extract
    from bookbuild.runner import Job, run_all

    job = Job(notebook, parameters)
    book.writable(paths.BUILD)
    run_all([job])
    print(f"Executed notebook: {os.path.relpath(job.output)}")
    for figure in extract(job.output):
        print(f"Figure: {os.path.relpath(figure)}")


def pair(_: argparse.Namespace) -> None:
    """Write an .ipynb beside each notebook's text for people who work in Jupyter; never over somebody's work."""
    import jupytext

    for notebook in source.read_all():
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


def bench(arguments: argparse.Namespace) -> None:
    """Run every benchmark, one after the other, and keep what they measured."""
    folder = paths.BENCH
    folder.mkdir(parents=True, exist_ok=True)
    for script in sorted(paths.BENCHMARKS.glob("bench_*.py")):
        say(f"{script.stem}:")
        out = folder / f"{script.stem}.json"
        if subprocess.call([sys.executable, str(script), "--out", str(out), *arguments.words], cwd=paths.ROOT) != 0:
            raise Refusal(f"benchmark {script.stem} failed")
        say(f"  measured: {os.path.relpath(out)}")


def timed(arguments: argparse.Namespace) -> None:
    """Remember how long something took, for the README."""
    from bookbuild.progress import save_timings

    paths.BUILD.mkdir(exist_ok=True)
    save_timings({arguments.what: arguments.seconds})


def remake_readme(_: argparse.Namespace) -> None:
    """Remake the figure and the timings of the README."""
    from bookbuild import measured

    measured.update()
    print("README.md and its figure are up to date.")


def serve(arguments: argparse.Namespace) -> None:
    """Serve the finished book on this machine only."""
    if not (paths.HTML / "index.html").is_file():
        raise Refusal("there is no book to serve yet; run `make book` first")
    if not (arguments.port.isdecimal() and int(arguments.port) <= 65535):
        raise Refusal(f"PORT must be a number from 0 to 65535, got {arguments.port!r}")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(paths.HTML))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(arguments.port)), handler)
    except OSError as error:
        raise Refusal(f"port {arguments.port} cannot be used ({error.strerror}); name another with PORT=") from error
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"Serving the book at http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it).", flush=True)
        server.serve_forever()


def check_scheduler(address: str | None) -> None:
    """Refuse a cluster that cannot be one, before any notebook runs into it."""
    if not address:
        return
    from sgdnoise.sweep.executors import check_address

    try:
        check_address("SCHEDULER", address)
    except ValueError as error:
        raise Refusal(str(error)) from error


def compile_all(_: argparse.Namespace) -> None:
    """Compile the library."""
    from bookbuild import runner

    runner.compile_all()


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong; ``make help`` says how it is done."""
        self.exit(2, f"bookbuild: {message} (`make help` lists what there is).\n")


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = Parser(prog="bookbuild", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("book", help="run the notebooks and render the book")
    one.set_defaults(run=make_book)
    one.add_argument("--profile", default="standard")
    one = commands.add_parser("pdf", help="the same, and one PDF of it all")
    one.set_defaults(run=make_pdf)
    one.add_argument("--profile", default="standard")
    one = commands.add_parser("notebook", help="run one notebook")
    one.set_defaults(run=run_notebook)
    one.add_argument("name")
    one.add_argument("--profile", default="standard")
    one.add_argument("-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), help="override a parameter")
    one = commands.add_parser("pair", help="write .ipynb files for Jupyter")
    one.set_defaults(run=pair)
    one = commands.add_parser("serve", help="serve the book on this machine")
    one.set_defaults(run=serve)
    one.add_argument("--port", default="8000")
    one = commands.add_parser("bench", help="measure speed")
    one.set_defaults(run=bench)
    one.add_argument("words", nargs="*", help="passed on to the benchmarks")
    one = commands.add_parser("kernels", help="compile the library")
    one.set_defaults(run=compile_all)
    one = commands.add_parser("timed", help="remember how long something took")
    one.set_defaults(run=timed)
    one.add_argument("what")
    one.add_argument("seconds", type=float)
    one = commands.add_parser("readme", help="remake the figure and the timings of the README")
    one.set_defaults(run=remake_readme)
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run a command; return the exit status. Whatever goes wrong for a known reason is one sentence."""
    arguments = parse(words)
    processes.interrupt_on_termination()
    try:
        check_scheduler(os.environ.get(SCHEDULER_VARIABLE))
        arguments.run(arguments)
    except Refusal as refusal:
        say(f"bookbuild: {refusal}.")
        return 2
    except OSError as error:
        say(f"bookbuild: {error}.")
        return 2
    except KeyboardInterrupt:
        say("\nInterrupted. Finished notebooks are kept; the same command goes on from there.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
