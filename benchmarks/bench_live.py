"""How smoothly the live page runs: frames a second and the slowest frame, in headless Chromium.

    python benchmarks/bench_live.py --out _build/bench/bench_live.json

The scripts of the page are opened from disk in a bare page, with a curve for the theory to draw, and trained at each
setting for a whole run. Beside the frames, the time of a step without drawing is measured.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from bookbuild import printing, sphinx_ext
from bookbuild.paths import LIVE

UNSAT = {"alpha": 6, "delta": 1, "ridge": 1, "margin": 1, "init_variance": 1}
SAT = {"alpha": 0.5, "delta": 0.5, "ridge": 0, "margin": 1, "init_variance": 1}
PHASES = {
    "unsat": {"label": "UNSAT", "problem": UNSAT, "duration": 12, "wait": 6, "rates": [0.1], "rate": 0.1},
    "sat": {"label": "SAT", "problem": SAT, "duration": 40, "wait": 20, "rates": [0.2], "rate": 0.2},
}
CURVE = [i / 100 for i in range(100)]
OBSERVABLES = ("distance", "loss", "magnetization", "response", "displacement")
SETTINGS = [(phase, b, tau) for phase in PHASES for b, tau in ((0.3, None), (0.3, 2), (0.8, None), (1, None))]
STEP = """() => {
    const { settings, content } = sgdnoise.page;
    const run = new sgdnoise.simulate.Run({ ...settings, ...content.phases[settings.phase], ...settings });
    while (run.rowsDrawn < run.samples) run.work();
    const began = performance.now();
    while (run.work());
    return (performance.now() - began) / run.steps;
}"""


def page_with(phase, batch, persistence, features):
    """The live page, bare: one setting, and a curve in the place of the theory."""
    rate = PHASES[phase]["rate"]
    setting = {"phase": phase, "batch": batch, "persistence": persistence, "rate": rate, "features": features}
    point = {"batch": batch, "persistence": persistence} | dict.fromkeys(OBSERVABLES, CURVE)
    content = {
        "phases": PHASES,
        "batches": [batch],
        "persistences": [persistence],
        "features": [features],
        "start": setting | {"seed": 0},
        "groups": [{"phase": phase, "rate": rate, "time": CURVE, "points": [point]}],
    }
    names = [name for name in sphinx_ext.LIVE_FILES if name.endswith(".js")]
    files = (sphinx_ext.D3 if name == sphinx_ext.D3_NAME else LIVE.parent / name for name in names)
    scripts = "".join(f'<script defer src="{file.as_uri()}"></script>' for file in files)
    style = f'<link rel="stylesheet" href="{(LIVE / "live.css").as_uri()}">'
    shipped = f'<script type="application/json" id="live-content">{json.dumps(content)}</script>'
    body = f'<section id="live" class="live" hidden></section>{shipped}'
    return f'<!doctype html><html lang="en"><meta charset="utf-8">{style}{scripts}<body>{body}'


def measure(page, folder, setting, features, repeats):
    """Median frame rate and slowest frame over whole runs, and the time of a step."""
    file = folder / "live.html"
    file.write_text(page_with(*setting, features), encoding="utf-8")
    rates, slowest, steps = [], [], []
    for _ in range(repeats):
        page.goto(file.as_uri())
        page.wait_for_function("document.getElementById('live').dataset.state === 'finished'", timeout=120_000)
        found = page.evaluate("({...document.getElementById('live').dataset})")
        rates.append(float(found["framesPerSecond"]))
        slowest.append(float(found["slowestFrame"]))
        steps.append(page.evaluate(STEP))
    phase, batch, persistence = setting
    return {
        "phase": PHASES[phase]["label"],
        "batch": batch,
        "persistence": persistence,
        "features": features,
        "frames_per_second": statistics.median(rates),
        "slowest_milliseconds": statistics.median(slowest),
        "step_milliseconds": statistics.median(steps),
    }


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--features", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    arguments, _ = parser.parse_known_args(words)  # `make bench ARGS=...` is for all benchmarks
    path = printing.browser()
    if path is None:
        print("no Chromium here: the live page is not measured")
        return
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        chromium = playwright.chromium.launch(executable_path=path, args=list(printing.FLAGS))
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        for setting in SETTINGS:
            row = measure(page, Path(folder), setting, arguments.features, arguments.repeats)
            rows.append(row)
            print(
                f"{row['phase']:5s} b={row['batch']:<4g} tau={row['persistence'] or '-':<2} N={row['features']}: "
                f"{row['frames_per_second']:.0f} frames a second, slowest {row['slowest_milliseconds']:.0f} ms, "
                f"{row['step_milliseconds']:.2f} ms a step",
                flush=True,
            )
        version, budget = chromium.version, page.evaluate("sgdnoise.pace.BUDGET")
        chromium.close()
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        results = {"browser": f"Chromium {version}", "budget_milliseconds": budget, "runs": rows}
        arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
