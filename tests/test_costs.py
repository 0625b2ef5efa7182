"""What the book says of its own cost."""

import json

import pytest

from bookbuild import costs, paths

TIMES = {"book/smoke": 100.0, "notebooks/smoke": 150.0, "book/paper": 900.0}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    path = tmp_path / "costs.json"
    path.write_text("{}")
    monkeypatch.setattr(paths, "COSTS", path)
    return path


def test_only_a_whole_book_counts():
    found = costs.measured(TIMES, 2)
    assert list(found) == ["smoke"], "of the paper profile the notebooks were not timed"
    assert found["smoke"]["seconds"] == 100


def test_another_profile_is_kept(kept):
    costs.save({"paper": {"core_seconds": 7200, "seconds": 3600, "cores": 2, "machine": "x"}})
    costs.save(costs.measured(TIMES, 2))
    assert set(json.loads(kept.read_text())) == {"paper", "smoke"}
    assert "| `paper` | 2 core-hours | 1 h 00 min on 2 cores |" in costs.table()


def test_the_tracked_file_can_be_read():
    assert set(costs.load()) <= {"smoke", "standard", "paper"}
    assert costs.table()
