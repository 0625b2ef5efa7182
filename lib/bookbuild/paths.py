"""Where things are: the one place that knows the layout of the project."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
LIBRARY = ROOT / "lib" / "sgdnoise"
BENCHMARK_RESULTS = ROOT / "book" / "benchmarks.json"
SEEDS = ROOT / "book" / "seeds.json"
COSTS = ROOT / "book" / "costs.json"
LEDGER = ROOT / "book" / "claims.yml"
BIBLIOGRAPHY = ROOT / "book" / "references.bib"
SYMBOLS = ROOT / "book" / "symbols.yml"
LIVE = ROOT / "book" / "live"
ALIVE = ROOT / "book" / "alive"
README_FIGURE = ROOT / "book" / "images" / "training.svg"
LOCK = ROOT / "requirements.lock"
CONFIG = ROOT / "_config.yml"
TOC = ROOT / "_toc.yml"

BUILD = ROOT / "_build"
EXECUTED = BUILD / "executed"
RESULTS = Path(os.environ.get("SGDNOISE_STORE") or BUILD / "results").expanduser().absolute()
FIGURES = BUILD / "figures"
HTML = BUILD / "html"
SCRATCH = BUILD / "scratch"
LOGS = BUILD / "logs"
BENCH = BUILD / "bench"
TIMINGS = BUILD / "timings.json"
