"""The claims ledger: a finding that contradicts it stops the build."""

import json
import math
from dataclasses import replace

import nbformat
import numpy as np
import pytest
from conftest import run, small_project
from scipy import stats

from bookbuild import ledger, paths
from bookbuild.ledger import Claim, Finding
from bookbuild.sphinx_ext import templates
from bookbuild.texts import Refusal, fill
from sgdnoise import report
from sgdnoise.estimates import Estimate

POSITIVE = ledger.Trial(quantity="Its slope", above=0.0)
GOOD = Claim("good", "Fig. 1", "It rises.", [POSITIVE], "notebooks/the_model", "reproduced")
BAD = Claim("bad", "Fig. 2", "It falls.", [POSITIVE], "notebooks/the_model", "not reproduced", "It does not.")
FOUND = {"good": Finding("good", "1.0 ± 0.1", sigma=10.0), "bad": Finding("bad", "0.5 ± 0.1", sigma=-5.0)}
GIVEN = "[{quantity: q, above: 0}]"
MANY = 1e6  # degrees of freedom: the normal law


def judge(test, *points):
    """Return the significance of some values, each with error and degrees of freedom."""
    measured = [{str(i): list(point) for i, point in enumerate(points)}]
    claim = Claim("x", "Fig. 1", "", [test], "", "reproduced")
    return Finding("x", "", measured).judged(claim)


def scorecard(claims, found):
    """Return the page, in MyST."""
    return fill("scorecard.md", **ledger.scorecard(claims, found))


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
        ledger.check([GOOD, BAD], FOUND | {name: Finding(name, "x", sigma=sigma)}, profile)


def test_smoke_may_leave_a_claim_open():
    ledger.check([GOOD, BAD], FOUND | {"good": Finding("good", "x", sigma=2.0)}, "smoke")


@pytest.mark.parametrize("sigma", [-4.0, 0.0, 4.0])
def test_a_claim_that_we_leave_open_is_shown_as_open_whatever_a_seed_says(sigma):
    unsure = Claim("unsure", "Fig. 3", "It bends.", [POSITIVE], "notebooks/the_model", "left open", "Too noisy.")
    found = FOUND | {"unsure": Finding("unsure", "x", sigma=sigma)}
    ledger.check([GOOD, unsure], {name: found[name] for name in ("good", "unsure")}, "standard")
    table = scorecard([GOOD, unsure], found)
    assert "1 reproduced, 0 reproduced with a remark, 0 not reproduced, 1 left open." in table
    assert 'class="claim verdict-left-open"' in table
    assert "left open whatever this test says, for the reason in the remark" in table


def test_significance_is_that_of_students_law():
    assert judge(POSITIVE, (4.0, 1.0, MANY)).sigma == pytest.approx(4.0, abs=1e-3)
    few = judge(POSITIVE, (4.0, 1.0, 4)).sigma
    assert few == pytest.approx(stats.norm.isf(stats.t.sf(4.0, 4)))
    assert few < ledger.DECISIVE, "four standard errors of five realisations decide nothing"


def test_equivalence_is_two_one_sided_tests():
    margin = ledger.Trial(quantity="Ratio", within=0.1, of=1.0)
    assert judge(margin, (1.0, 0.02, MANY)).sigma == pytest.approx(5.0, abs=1e-3)
    assert judge(margin, (0.94, 0.01, MANY)).sigma == pytest.approx(4.0, abs=1e-3)
    assert judge(margin, (1.3, 0.05, MANY)).sigma == pytest.approx(-4.0, abs=1e-3)
    assert judge(margin, (1.0, 0.1, MANY)).decision() == "open", "not different is not yet equal"


def test_a_difference_of_exactly_zero_can_only_fail():
    exact = ledger.Trial(quantity="Change", within=0.0)
    assert judge(exact, (0.0, 1.0, MANY)).decision() == "open"
    two_sided = -stats.norm.isf(2 * stats.norm.sf(4.0))
    assert judge(exact, (4.0, 1.0, MANY)).sigma == pytest.approx(two_sided, abs=1e-3)
    assert "can only fail" in exact.words()


def test_of_several_points_all_must_hold_and_one_is_enough_to_fail():
    sure, unsure, against = (9.0, 1.0, MANY), (2.0, 1.0, MANY), (-4.0, 1.0, MANY)
    assert judge(POSITIVE, sure, unsure).sigma == pytest.approx(2.0, abs=1e-3)
    failed = judge(POSITIVE, sure, against)
    assert failed.sigma == pytest.approx(stats.norm.ppf(2 * stats.norm.sf(4.0)), abs=1e-3), "Bonferroni"
    assert "signs +−" in failed.points
    assert "Worst of 2 points: 1, -4.0 standard errors from 0" in failed.points


@pytest.mark.statistical
def test_false_alarms_are_as_rare_as_they_should_be():
    """Where nothing is there, five realisations decide about a family of ten in at most 0.00135 of all cases.

    With 20,000 experiments more than 46 false alarms have a probability below 0.001; the normal law in the place of
    Student's, the control, gives hundreds.
    """
    rng = np.random.default_rng(5)
    alarms, naive, count = 0, 0, 20_000
    values = rng.standard_normal((count, 10, 5)) + rng.standard_normal((count, 1, 5))  # correlated points
    means, errors = values.mean(axis=2), values.std(axis=2, ddof=1) / np.sqrt(5)
    for mean, error in zip(means, errors, strict=True):
        p = 10 * stats.t.sf(np.abs(mean / error).max(), 4) * 2
        if p < 0.004:  # the ledger itself is slower: ask it where it may decide
            points = [(m, e, 4) for m, e in zip(mean, error, strict=True)]
            alarms += judge(ledger.Trial(quantity="Change", within=0.0), *points).decision() == "fails"
        naive += 10 * stats.norm.sf(np.abs(mean / error).max()) * 2 < 0.00135
    assert alarms <= 46
    assert naive > 200


@pytest.mark.statistical
def test_the_joint_test_is_right_for_correlated_points():
    """Ten correlated points of 15 realisations, all exactly zero, fail at the level 0.05 in 5 per cent of all cases.

    With 2,000 experiments the share has the standard error 0.005; four of them are a false-alarm rate of 6e-5.
    Bonferroni, the control, is too careful by far.
    """
    rng = np.random.default_rng(8)
    zero, found, careful = ledger.Trial(quantity="Change", within=0.0), [], []
    for _ in range(2000):
        values = 0.3 * rng.standard_normal((10, 15)) + rng.standard_normal(15)
        family = {str(i): Estimate.mean(row) for i, row in enumerate(values)}
        least = min(zero.by_chance(e)[1] for e in family.values())
        found.append(least < 0.05 and zero.jointly(family)[1] < 0.05)  # the joint probability is the larger one
        careful.append(10 * least < 0.05)
    assert abs(np.mean(found) - 0.05) < 4 * 0.005
    assert np.mean(careful) < 0.05 - 4 * 0.005


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_leaves_a_claim_open_and_survives_the_notebook(value, shown, monkeypatch):
    report.claim("good", "x", {"a": Estimate(5.0, 1.0), "b": Estimate(value, 1.0, 3)})
    output = nbformat.v4.new_output("display_data", json.loads(json.dumps(shown[0], allow_nan=False)))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])])
    monkeypatch.setattr(ledger, "read_ledger", lambda _: [GOOD])
    assert ledger.findings([notebook])["good"].decision() == "open"
    with pytest.raises(Refusal, match="claim good is reported twice"):
        ledger.findings([notebook, notebook])
    notebook.cells *= 2
    with pytest.raises(Refusal, match="claim 'good' is reported twice by one notebook"):
        ledger.findings([notebook])


def test_a_notebook_reports_as_many_quantities_as_there_are_tests():
    with pytest.raises(Refusal, match="claim good has 1 tests, and its notebook reports 0 quantities"):
        Finding("good", "x").judged(GOOD)


def test_seeds_stand_side_by_side():
    table = {"version": "1.0", "revision": "abc1234", "profile": "standard", "seeds": [0, 7]}
    table["claims"] = {"a": [4.0, 30.0], "b": [-3.5, -4.0], "c": [3.5, 2.5], "d": [1.0, -1.0], "e": [None, 4.0]}
    table |= {"open": ["d"], "others": ["new"], "edited": ["b"]}
    environment = templates()
    environment.globals["seeds"] = lambda: table
    text = environment.from_string((paths.ROOT / "book" / "seeds.md").read_text(encoding="utf-8")).render()
    assert "| `a` | +4.0 | +30.0 | holds |" in text
    assert "| `b` † | −3.5 | −4.0 | fails |" in text
    assert "† The code of the notebook was edited" in text
    assert "| `c` | +3.5 | +2.5 | differs |" in text
    assert "| `d` | +1.0 | −1.0 | left open |" in text
    assert "| `e` | not run | +4.0 | one seed only |" in text
    assert "Of 4 claims that were tested with all 2 seeds, 2 are decided in the same way by each." in text
    assert "1 others were tested with some of the seeds only." in text
    assert "5 of 6 claims and 9 verdicts" in text
    assert "0.012 of these would be false by chance" in text
    assert "revision `abc1234`" in text
    assert "1 claims are not in it" in text
    assert "- `new`" in text


def test_every_claim_is_in_the_stored_table_of_seeds_or_named_as_missing():
    table = ledger.stored_seeds()
    assert table["revision"]
    names = {entry.name for entry in ledger.read_ledger(paths.LEDGER)}
    assert set(table["claims"]) | set(table["others"]) == names
    assert not set(table["claims"]) & set(table["others"])
    assert all(len(sigmas) == len(table["seeds"]) for sigmas in table["claims"].values())


def test_all_seeds_of_the_stored_table_decide_as_recorded():
    table = ledger.stored_seeds()
    for entry in ledger.read_ledger(paths.LEDGER):
        for sigma in set(table["claims"].get(entry.name, ())) - {None}:
            ledger.check([entry], {entry.name: Finding(entry.name, "x", sigma=sigma)}, table["profile"])


def test_a_claim_with_other_tests_is_not_in_the_table_of_seeds(monkeypatch, tmp_path):
    claims = ledger.read_ledger(paths.LEDGER)
    rows = {entry.name: ledger.marks(entry) | {"found": [4.0]} for entry in claims[:3]}
    rows[claims[2].name]["code"] = "other"
    rows[claims[3].name] = ledger.marks(claims[3]) | {"found": [None]}
    path = tmp_path / "seeds.json"
    path.write_text(json.dumps({"seeds": [0], "claims": rows}))
    monkeypatch.setattr(paths, "SEEDS", path)
    assert list(ledger.stored_seeds()["claims"]) == [entry.name for entry in claims[:3]], "the fourth was not finished"
    assert ledger.stored_seeds()["edited"] == [claims[2].name]
    other = replace(claims[0], tests=[replace(claims[0].tests[0], quantity="Something else")])
    monkeypatch.setattr(ledger, "read_ledger", lambda _: [other, *claims[1:]])
    assert list(ledger.stored_seeds()["claims"]) == [entry.name for entry in claims[1:3]]
    assert claims[0].name in ledger.stored_seeds()["others"]


def test_claims_of_our_own_stand_apart(tmp_path):
    ours = Claim("ours", ledger.OURS, "It is flat.", [POSITIVE], "notebooks/the_model", ledger.HOLDS)
    found = FOUND | {"ours": Finding("ours", "0.0 ± 0.1", sigma=4.0)}
    text = scorecard([GOOD, ours, BAD], found)
    assert text.index("It falls.") < text.index("## Claims of our own") < text.index("It is flat.")
    assert "Of 2 claims of the paper: 1 reproduced" in text
    assert "Our own runs suggested 1 further statements, of which 1 hold." in text
    with pytest.raises(Refusal, match="claim ours is recorded as holds, and this build finds that it fails"):
        ledger.check([ours], {"ours": Finding("ours", "x", sigma=-4.0)}, "smoke")
    path = tmp_path / "claims.yml"
    path.write_text(f"- {{name: a, where: This book, statement: s, tests: {GIVEN}, page: p, verdict: reproduced}}\n")
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
        assert all(not test.quantity.endswith(".") for test in claim.tests), claim
        assert all(test.reason for test in claim.tests if test.within or test.above or test.below), claim


def test_table_shows_every_claim():
    table = scorecard([GOOD, BAD], FOUND)
    assert "Of 2 claims of the paper: 1 reproduced, 0 reproduced with a remark, 1 not reproduced." in table
    assert table.count("<details") == 2
    assert table.index("It falls.") < table.index("It rises."), "failures come first"
    assert 'class="claim verdict-left-open"' in scorecard([GOOD], {"good": Finding("good", "x")})


def test_a_page_says_what_it_tests_and_what_this_build_says_of_it():
    text = ledger.listed([GOOD, BAD], {"bad": FOUND["bad"]})
    assert "*Not reproduced:* It falls." in text
    assert "It rises." not in text, "which another page tests"
    assert "*Left open by this build:* It falls." in ledger.listed([BAD], {"bad": Finding("bad", "x", sigma=-1.0)})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"tests: {GIVEN}, verdict: yes", "verdict of claim a must be"),
        (f"tests: {GIVEN}, verdict: not reproduced", "must have a remark"),
        (f"tests: {GIVEN}, verdict: reproduced, remark: x", "must have a remark"),
        (f"tests: {GIVEN}, verdict: reproduced, kind: guess", "kind of claim a must be measurement or check"),
        ("tests: [], verdict: reproduced", "each test of claim a must be a quantity and a statement"),
        ("tests: [{quantity: q}], verdict: reproduced", "must give one of above, below and within"),
        ("tests: [{quantity: q, above: 0, below: 1}], verdict: reproduced", "must give one of above, below and within"),
        ("tests: [{what: q}], verdict: reproduced", "each test of claim a must be a quantity and a statement"),
        (
            "tests: [{quantity: q, above: high}], verdict: reproduced",
            "each test of claim a must be a quantity and a statement",
        ),
    ],
)
def test_a_ledger_in_disorder_is_refused(tmp_path, text, sentence):
    (tmp_path / "claims.yml").write_text(f"- {{name: a, where: b, statement: c, page: d, {text}}}")
    with pytest.raises(Refusal, match=sentence):
        ledger.read_ledger(tmp_path / "claims.yml")


MEASURES = """\
from sgdnoise.estimates import Estimate
from sgdnoise.report import claim

claim("grows", f"seed {seed}", Estimate(seed - 4.0, 1.0))
"""
LISTED = """\
- name: grows
  where: This book
  statement: It grows with the seed.
  tests: [{quantity: Growth, above: 0}]
  page: notebooks/one
  verdict: holds
"""


@pytest.mark.endtoend
def test_a_notebook_that_fails_with_a_seed_leaves_a_gap_and_is_named(tmp_path):
    project = small_project(tmp_path / "small", one=MEASURES + "assert seed != 9\n")
    (project / "book" / "claims.yml").write_text(LISTED)
    done = run(project, "ledger", "--profile", "smoke", "--seeds", "9 8")
    assert done.returncode == 2
    assert "one with seed 9" in done.stderr
    assert json.loads((project / "book" / "seeds.json").read_text())["claims"]["grows"]["found"] == [None, 4.0]


@pytest.mark.endtoend
def test_the_command_compares_seeds_and_goes_on_where_it_was(tmp_path):
    project = small_project(tmp_path / "small", one=MEASURES)
    (project / "book" / "claims.yml").write_text(LISTED)
    done = run(project, "ledger", "--profile", "smoke", "--seeds", "0 9")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["grows", "-4.0", "+5.0"]
    table = json.loads((project / "book" / "seeds.json").read_text())
    assert table["claims"]["grows"]["found"] == [-4.0, 5.0]
    assert (table["seeds"], table["profile"]) == ([0, 9], "smoke")
    again = run(project, "ledger", "--profile", "smoke", "--seeds", "9 0")
    assert again.stderr.count("The notebook is up to date.") == 2, again.stderr
    assert again.stdout.split() == ["grows", "+5.0", "-4.0"]
    for words in ("", "1 x", "2 2", "-1"):
        refused = run(project, "ledger", f"--seeds={words}")
        assert refused.returncode == 2
        assert "SEEDS must be different whole numbers" in refused.stderr
