"""The claims ledger: a finding that contradicts it stops the build."""

import json
import math

import nbformat
import pytest

from bookbuild import ledger, paths
from bookbuild.ledger import Claim, Finding
from bookbuild.texts import Refusal
from sgdnoise import report

GOOD = Claim("good", "Fig. 1", "It rises.", "Its slope.", "notebooks/the_model", "reproduced")
BAD = Claim("bad", "Fig. 2", "It falls.", "Its slope.", "notebooks/the_model", "not reproduced", "It does not.")
FOUND = {"good": Finding("good", "1.0 ± 0.1", 10.0), "bad": Finding("bad", "0.5 ± 0.1", -5.0)}


def test_agreement_passes():
    ledger.check([GOOD, BAD], FOUND, "standard")


@pytest.mark.parametrize(
    ("name", "sigma", "profile", "sentence"),
    [
        ("good", -4.0, "smoke", "claim good is recorded as reproduced, and this build finds that it fails"),
        ("bad", 4.0, "standard", "claim bad is recorded as not reproduced, and this build finds that it holds"),
        ("good", 2.0, "standard", "claim good is recorded as reproduced, and this build finds that it is left open"),
    ],
)
def test_disagreement_stops_the_build(name, sigma, profile, sentence):
    with pytest.raises(Refusal, match=sentence):
        ledger.check([GOOD, BAD], FOUND | {name: Finding(name, "x", sigma)}, profile)


def test_smoke_may_leave_a_claim_open():
    ledger.check([GOOD, BAD], FOUND | {"good": Finding("good", "x", 2.0)}, "smoke")


@pytest.mark.parametrize(("sigma", "decision"), [(math.nan, "open"), (math.inf, "holds"), (-math.inf, "fails")])
def test_what_has_no_finite_number_of_errors_survives_the_notebook(sigma, decision, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda data, **_: shown.append(data))
    report.claim("good", "x", sigma)
    output = nbformat.v4.new_output("display_data", json.loads(json.dumps(shown[0], allow_nan=False)))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])])
    assert ledger.findings([notebook])["good"].decision() == decision
    with pytest.raises(Refusal, match="claim good is reported twice"):
        ledger.findings([notebook, notebook])
    notebook.cells *= 2
    with pytest.raises(Refusal, match="claim 'good' is reported twice by one notebook"):
        ledger.findings([notebook])


def test_claims_of_our_own_stand_apart(tmp_path):
    ours = Claim("ours", ledger.OURS, "It is flat.", "Its slope.", "notebooks/the_model", ledger.HOLDS)
    found = FOUND | {"ours": Finding("ours", "0.0 ± 0.1", 4.0)}
    text = ledger.scorecard([GOOD, ours, BAD], found)
    assert text.index("It falls.") < text.index("## Claims of our own") < text.index("It is flat.")
    assert "Of 2 claims of the paper: 1 reproduced" in text
    assert "Claims of our own: 1, of which 1 hold." in text
    with pytest.raises(Refusal, match="claim ours is recorded as holds, and this build finds that it fails"):
        ledger.check([ours], {"ours": Finding("ours", "x", -4.0)}, "smoke")
    path = tmp_path / "claims.yml"
    path.write_text("- {name: a, where: This book, statement: s, test: t, page: p, verdict: reproduced}\n")
    with pytest.raises(Refusal, match="verdict of claim a must be holds, got 'reproduced'"):
        ledger.read_ledger(path)


def test_missing_and_unknown_claims_stop_the_build():
    with pytest.raises(Refusal, match=r"claim bad is listed in book/claims\.yml, and no notebook reports on it"):
        ledger.check([GOOD, BAD], {"good": FOUND["good"]}, "smoke")
    with pytest.raises(Refusal, match=r"claim bad must be listed in book/claims\.yml"):
        ledger.check([GOOD], FOUND, "smoke")


def test_the_ledger_of_the_project_is_in_order():
    claims = ledger.read_ledger(paths.LEDGER)
    assert len(claims) >= 20
    for claim in claims:
        assert (paths.ROOT / f"{claim.page}.py").is_file(), claim
        assert claim.statement.endswith(".")
        assert claim.test.endswith((".", ")."))


def test_table_shows_every_claim():
    table = ledger.scorecard([GOOD, BAD], FOUND)
    assert "Of 2 claims of the paper: 1 reproduced, 0 reproduced with a remark, 1 not reproduced." in table
    assert table.count("* - ") == 3
    assert "* - ✗" in table
    assert "?" in ledger.scorecard([GOOD], {"good": Finding("good", "x", 0.0)})


def test_a_page_says_what_it_tests_and_what_this_build_says_of_it():
    text = ledger.listed([GOOD, BAD], {"bad": FOUND["bad"]})
    assert "*Not reproduced:* It falls." in text
    assert "It rises." not in text, "which another page tests"
    assert "*Left open by this build:* It falls." in ledger.listed([BAD], {"bad": Finding("bad", "x", -1.0)})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- {name: a, where: b, statement: c, test: t, page: d, verdict: yes}", "verdict of claim a must be"),
        ("- {name: a, where: b, statement: c, test: t, page: d, verdict: not reproduced}", "must have a remark"),
        ("- {name: a, where: b, statement: c, test: t, page: d, verdict: reproduced, remark: x}", "must have a remark"),
    ],
)
def test_a_ledger_in_disorder_is_refused(tmp_path, text, sentence):
    (tmp_path / "claims.yml").write_text(text)
    with pytest.raises(Refusal, match=sentence):
        ledger.read_ledger(tmp_path / "claims.yml")
