"""Run one notebook in a process of its own: ``python -m bookbuild.execute NAME PARAMETERS_AS_JSON OUTPUT``.

What is said goes to a log, which the parent reads: the number of the cell, and at the end of a failure the reason in
one line, below its traceback. The result is written next to its place and moved there at the very end, so that a killed
run leaves nothing that looks finished.
"""

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
import papermill

from bookbuild import paths, source
from bookbuild.processes import stop_with_parent
from bookbuild.refusal import Refusal
from bookbuild.runner import FAILED


def run(notebook: source.Notebook, parameters: source.Parameters, output: Path) -> None:
    """Execute a notebook and move the result to ``output`` if, and only if, all of it succeeded."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.SCRATCH) as scratch:
        start, end = Path(scratch) / "start.ipynb", Path(scratch) / "end.ipynb"
        node = notebook.convert()
        node.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
        nbformat.write(node, start)
        papermill.execute_notebook(
            start,
            end,
            parameters=dict(parameters),
            kernel_name="python3",
            cwd=paths.ROOT,
            progress_bar={"bar_format": "cell {n_fmt} of {total_fmt}"},
            log_output=False,
        )
        done = nbformat.read(end, as_version=4)
        for cell in done.cells:
            # The page shows the values that were used, in place of the defaults.
            if "parameters" in cell.metadata.get("tags", []):
                cell.metadata["tags"] = ["parameters", "remove-cell"]
        done.metadata[source.USED] = json.loads(uses().read_text(encoding="utf-8")) if uses().is_file() else []
        source.seal(done)
        nbformat.write(done, end)
        if notebook.executed(parameters) != output:
            raise Refusal(f"the library changed while notebook {notebook.name} ran; run it again")
        os.replace(end, output)


def isolate(scratch: Path) -> None:
    """Keep the settings of the user (IPython start-up files, matplotlibrc) out of the figures of the book."""
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        folder = scratch / variable.lower()
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(folder)


def uses() -> Path:
    """Return the file in which the store lists the results that this run uses."""
    return paths.RESULTS / "used" / f"{os.environ.get('SGDNOISE_LABEL')}.json"


def failed(reason: str, trace: Sequence[str] = ()) -> int:
    """Write why the run failed; return the exit status."""
    print("\n", *trace, FAILED + " ".join(reason.split()), sep="\n", flush=True)
    return 1


def main(name: str, parameters: str, output: str) -> int:
    """Run one notebook; return the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    stop_with_parent()
    paths.SCRATCH.mkdir(parents=True, exist_ok=True)
    settings = Path(tempfile.mkdtemp(prefix="settings-", dir=paths.SCRATCH))
    try:
        isolate(settings)
        uses().unlink(missing_ok=True)
        run(source.read(name), json.loads(parameters), Path(output))
    except papermill.PapermillExecutionError as error:
        return failed(f"{error.ename}: {error.evalue}", error.traceback)
    except (Refusal, OSError) as error:
        return failed(str(error))
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(settings, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
