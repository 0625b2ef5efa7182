"""What was measured becomes tables of the book."""

import json

import pytest

from bookbuild import measured, paths

WORK = {"work": "(ii)", "numpy_over_jax": None, "numpy_over_ours": 12.3, "goal": 12, "part_of_gemm": 0.31}
SIZES = [
    WORK | {"work": "(i) N=325", "numpy_seconds": 9.0, "ours_seconds": 1.0},
    WORK | {"work": "(i) N=750", "numpy_seconds": 60.0, "ours_seconds": 3.0},
]
ROUND = {"steps": 200, "paths": 4000, "tolerance": 1e-14, "iterations": 40, "ratio": 36.4, "residual": 0.0}
GROWTH = {"rows": [{"steps": 400, "seconds": 1.5, "megabytes": 80.0}], "exponents": {"time": 2.1, "memory": 1.2}}
SIMULATE = {
    "cores": [0, 1],
    "work": [*SIZES, WORK],
    "limits": {"gemm_gflops_float32": 90.0, "gemm_gflops_float64": 40.0, "read_gb_per_s": 14.0},
}
DMFT = {
    "targets": {"T=200": {"seconds": 0.3, "promised": 1.0}},
    "public": [{"steps": 200, "paths": 10_000, "ratio": 3000.0, "extrapolated": True}],
    "iteration": [ROUND, ROUND | {"ratio": 50.0}, ROUND | {"ratio": 9.0, "residual": 1e-3}],
    "growth": {"steps": GROWTH},
}
LIVE_RUN = {"phase": "SAT", "batch": 0.3, "persistence": None, "features": 300, "frames_per_second": 59.7}
LIVE = {
    "browser": "Chromium 1",
    "budget_milliseconds": 12,
    "runs": [LIVE_RUN | {"slowest_milliseconds": 30.2, "step_milliseconds": 0.41}],
}
PAGE = {"page": "notebooks/live.html", "loaded_seconds": 0.52, "view_seconds": 0.9, "typeset_seconds": 1.4}
PAGES = {
    "browser": "Chromium 1",
    "pages": [PAGE, PAGE | {"loaded_seconds": 0.31}, PAGE | {"loaded_seconds": 0.2}],
    "site": 22.4e6,
    "archives": 3.7e6,
}


TIMES = {"book/smoke": 100.0, "notebooks/smoke": 150.0, "book/paper": 900.0}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    for name in ("COSTS", "BENCHMARK_RESULTS"):
        monkeypatch.setattr(paths, name, tmp_path / name)
        (tmp_path / name).write_text("{}")
    return tmp_path


def test_results_are_kept_and_shown(kept):
    assert "Nothing" in measured.benchmarks()
    measured.keep(paths.BENCHMARK_RESULTS, {"bench_simulate": SIMULATE})
    measured.keep(paths.BENCHMARK_RESULTS, {"bench_dmft": DMFT, "bench_live": LIVE, "bench_pages": PAGES})
    assert len(json.loads((kept / "BENCHMARK_RESULTS").read_text())) == 4, "a run of one keeps the others"
    text = measured.benchmarks().replace("\n", " ")
    assert "| (ii) | 1 |  | 1/12.3 | 1/12 | 31% |" in text
    assert "| (i) all sizes | 1 |  | 1/17.2 | 1/12 |  |" in text, "the goal is for all sizes together"
    assert "| $T=200$ | 0.3 s | 1 s |" in text
    assert "| 200 | 10,000 | 3,000 | extrapolated" in text
    assert "| 200 | 4,000 | 1×10⁻¹⁴ | 40 | 36 |" in text, "the best damping among those that converged"
    assert "| steps | 2.1 | 1.2 | steps = 400: 1.5 s, 80 MB |" in text

    assert "half of the 3 pages load in 0.31 s or less, the slowest, `notebooks/live.html`, in 0.52 s" in text
    assert "The formulas in view are typeset after 0.9 s at the latest, all formulas of a page after 1.4 s" in text
    assert "The whole site is 22 MB, with its PDF and 4 MB of results behind the figures" in text
    assert "| SAT | 0.3 | none | 300 | 60 | 30 ms | 0.41 ms |" in text


def test_only_a_whole_book_has_a_cost_and_those_of_other_profiles_are_kept(kept):  # noqa: ARG001
    found = measured.costs(TIMES, 2)
    assert list(found) == ["smoke"], "of the paper profile the notebooks were not timed"
    measured.keep(paths.COSTS, {"paper": {"core_seconds": 7200, "seconds": 3600, "cores": 2, "machine": "x"}})
    measured.keep(paths.COSTS, found)
    assert measured.costs_table().splitlines()[2:] == [
        "| `smoke` | 0.042 core-hours | 1 min 40 s on 2 cores |",
        "| `paper` | 2 core-hours | 1 h 00 min on 2 cores |",
    ]
