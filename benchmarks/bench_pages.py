"""How fast the pages of the finished book open from disk, in headless Chromium.

    python benchmarks/bench_pages.py --out _build/bench/bench_pages.json

Each page is opened anew a few times; what counts is the browser's own time from the start to the load event, when the
text, its formulas and all pictures are there.
"""

import argparse
import json
import statistics
from pathlib import Path

from playwright.sync_api import sync_playwright

from bookbuild import printing
from bookbuild.paths import HTML

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def measure(chromium, path, repeats):
    """Median time in seconds to the load event, each time in a fresh context."""
    times = []
    for _ in range(repeats):
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True)
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function(f"{LOADED} > 0")
        times.append(page.evaluate(LOADED))
        context.close()
    return {"page": path.relative_to(HTML).as_posix(), "loaded_seconds": statistics.median(times) / 1000}


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--repeats", type=int, default=3)
    arguments, _ = parser.parse_known_args(words)  # `make bench ARGS=...` is for all benchmarks
    program = printing.browser()
    pages = sorted(path for path in HTML.rglob("*.html") if "_static" not in path.parts)
    if program is None or not pages:
        print("no Chromium or no finished book here: its pages are not measured")
        return
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=list(printing.FLAGS))
        measure(chromium, pages[0], 1)  # starts the browser's own processes
        rows = [measure(chromium, path, arguments.repeats) for path in pages]
        version = chromium.version
        chromium.close()
    rows.sort(key=lambda row: -row["loaded_seconds"])
    for row in rows:
        print(f"{row['page']:45s} {row['loaded_seconds']:.2f} s")
    archives = sum(path.stat().st_size for path in HTML.rglob("*.zip"))
    site = sum(path.stat().st_size for path in HTML.rglob("*") if path.is_file())
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        results = {"browser": f"Chromium {version}", "pages": rows, "site": site, "archives": archives}
        arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
