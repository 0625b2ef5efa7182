"""Run one notebook in a process of its own: ``python -m bookbuild.execute NAME PARAMETERS_AS_JSON OUTPUT``.

Progress goes to standard output, one JSON object a line; a failure is a line too, with the traceback. The result is
written next to its place and moved there at the very end, so that a killed run leaves nothing that looks finished.
"""

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import nbformat
import papermill
from papermill.engines import NBClientEngine, papermill_engines

from bookbuild import paths, source
from bookbuild.refusal import Refusal


def report(**event: Any) -> None:
    """Tell the parent process what happened."""
    print(json.dumps(event), flush=True)


class ReportingEngine(NBClientEngine):  # type: ignore[misc]
    """Papermill's engine, which also reports each finished cell."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
        """Run the notebook cell by cell."""
        finish = nb_man.cell_complete
        total = len(nb_man.nb.cells)

        def cell_complete(cell: Any, cell_index: int | None = None, **more: Any) -> None:
            finish(cell, cell_index, **more)
            report(cell=(cell_index or 0) + 1, cells=total)

        nb_man.cell_complete = cell_complete
        return super().execute_managed_notebook(nb_man, kernel_name, **options)


def run(notebook: source.Notebook, parameters: source.Parameters, output: Path) -> None:
    """Execute a notebook and move the result to ``output`` if, and only if, all of it succeeded."""
    papermill_engines.register("reporting", ReportingEngine)
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
            engine_name="reporting",
            kernel_name="python3",
            cwd=paths.ROOT,
            progress_bar=False,
            log_output=False,
        )
        done = nbformat.read(end, as_version=4)
        for cell in done.cells:
            # The page shows the values that were used, in place of the defaults.
            if "parameters" in cell.metadata.get("tags", []):
                cell.metadata["tags"] = ["parameters", "remove-cell"]
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


def forget_uses() -> None:
    """Start the list of results that this run uses anew."""
    (paths.RESULTS / "used" / f"{os.environ.get('SGDNOISE_LABEL')}.json").unlink(missing_ok=True)


def stop_with_parent() -> None:
    """End this process, and with it its kernel, when the parent is killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def main(name: str, parameters: str, output: str) -> int:
    """Run one notebook; return the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    stop_with_parent()
    paths.SCRATCH.mkdir(parents=True, exist_ok=True)
    settings = Path(tempfile.mkdtemp(prefix="settings-", dir=paths.SCRATCH))
    try:
        isolate(settings)
        forget_uses()
        run(source.read(name), json.loads(parameters), Path(output))
    except papermill.PapermillExecutionError as error:
        trace = "\n".join(error.traceback)
        report(failed=f"{error.ename}: {error.evalue}", trace=trace, source=error.source)
        return 1
    except (Refusal, OSError) as error:
        report(failed=str(error))
        return 1
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(settings, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
