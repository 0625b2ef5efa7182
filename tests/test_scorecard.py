"""The scorecard as a reader uses it: all claims at a glance, one line each, which opens; a filter; by keyboard."""

import re

import pytest
from conftest import open_page, watched

from bookbuild import ledger, paths
from bookbuild.ledger import Claim, Finding
from bookbuild.texts import fill
from sgdnoise.estimates import Estimate

TEST = ledger.Trial(quantity="Its slope", above=0.0)
HELD = Claim("it-rises", "Fig. 1", "It rises.", [TEST], "notebooks/the_model", "reproduced")
FAILED = Claim("it-falls", "Fig. 2", "It falls.", [TEST], "notebooks/the_model", "not reproduced", "It does not.")
OURS = Claim("it-is-flat-0.2", ledger.OURS, "It is flat.", [TEST], "notebooks/the_model", ledger.HOLDS)
FOUND = {
    "it-rises": Finding("it-rises", "x", sigma=5.0),
    "it-falls": Finding("it-falls", "y", sigma=-4.0),
    "it-is-flat-0.2": Finding("it-is-flat-0.2", "z", sigma=40.0),
}


def glance(claims, found):
    """The picture of all claims."""
    return fill("scorecard.md", **ledger.scorecard(claims, found)).partition("</figure>")[0]


def bars(text):
    """Name, length and number of every bar, in their order."""
    return re.findall(r'--length:(\d+)%"><span>(.*?)</span> <span>(.*?)</span>', text)


def test_every_claim_is_a_bar_of_its_significance_failures_first_and_ours_apart():
    drawn = glance([HELD, OURS, FAILED], FOUND)
    assert bars(drawn) == [("40", "it falls", "−4.0"), ("50", "it rises", "5.0"), ("100", "it is flat 0.2", "&gt;30")]
    assert drawn.count('class="glance-column"') == 3
    assert 'class="verdict-not-reproduced"' in drawn.split("it falls")[0]
    assert 'href="#claim-it-is-flat-0-2"' in drawn, "an address without a dot, which selectors take for a class"


def test_what_this_build_leaves_open_has_a_group_of_its_own():
    drawn = glance([HELD, FAILED], FOUND | {"it-rises": Finding("it-rises", "x", sigma=2.0)})
    assert "? Left open: 1" in drawn
    assert "Reproduced: " not in drawn


def test_a_number_without_an_error_is_exact_and_has_no_standard_errors():
    exact = Finding("it-rises", "x", [{"a": [0.3, 0.0, 1e9], "b": [0.2, 0.0, 1e9]}]).judged(HELD)
    assert exact.exact
    assert exact.decision() == "holds"
    assert exact.margin() == "holds, exactly"
    assert exact.points == "Worst of 2 points: b, +0.2 from 0, exactly; signs ++."
    assert bars(glance([HELD], {"it-rises": exact})) == [("100", "it rises", "exact")]
    measured = Finding("it-rises", "x", [{"a": [0.3, 0.0, 1e9], "b": [0.2, 0.1, 1e9]}]).judged(HELD)
    assert not measured.exact
    assert "standard errors" in TEST.pattern({"a": Estimate(0.3, 0.001), "b": Estimate(0.2, 0.0001)})


@pytest.fixture
def card(page, html):
    """The scorecard of the book; nothing may be complained of and nothing fetched."""
    open_page(page, html / "book/scorecard.html")
    yield page
    assert page.complaints == []
    assert page.outside == []


def shown(page):
    return page.evaluate(
        "[...document.querySelectorAll('details.claim')].filter(c => c.checkVisibility()).map(c => c.id)"
    )


@pytest.mark.looks  # of the finished book, which has all claims
def test_all_claims_are_there_on_two_screens(card):
    claims = ledger.read_ledger(paths.LEDGER)
    assert len(shown(card)) == len(claims)
    assert card.locator(".glance li").count() == len(claims)
    card.set_viewport_size({"width": 1280, "height": 800})
    assert (
        card.evaluate("[...document.querySelectorAll('details.claim')].at(-1).getBoundingClientRect().bottom") <= 1700
    )
    card.set_viewport_size({"width": 390, "height": 800})
    assert (
        card.evaluate("[...document.querySelectorAll('details.claim')].at(-1).getBoundingClientRect().bottom") <= 6000
    )
    assert card.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.looks  # of the finished book, which has all claims
def test_a_line_opens_by_keyboard_and_from_its_bar(card):
    first = card.locator("details.claim").first
    assert not first.locator("p").first.is_visible()
    first.locator("summary").focus()
    card.keyboard.press("Enter")
    assert "Tested:" in first.locator("p").first.inner_text()
    bar = card.locator(".glance a").last
    bar.focus()
    card.keyboard.press("Enter")
    name = bar.get_attribute("href")
    card.wait_for_function("name => document.querySelector(name).open", arg=name)
    assert card.locator(name).locator("p").first.is_visible()


@pytest.mark.looks  # of the finished book, which has all claims
def test_the_filter_shows_what_is_asked_for(card):
    claims = ledger.read_ledger(paths.LEDGER)
    card.get_by_role("button", name="our own").press("Enter")
    ours = [ledger.title(c.name) for c in claims if c.where == ledger.OURS]
    found = shown(card)
    assert 0 < len(found) <= len(ours)
    assert card.locator(".claim-filter [role=status]").inner_text() == f"{len(found)} of {len(claims)}"
    card.get_by_role("button", name="all", exact=True).press("Enter")
    card.get_by_role("searchbox").fill("support vectors")
    assert "claim-persistence-lowers-support" in shown(card)
    assert "claim-phases" not in shown(card)
    card.get_by_role("searchbox").fill("no claim has these words")
    assert shown(card) == []


@pytest.mark.looks  # of the finished book, which has all claims
def test_without_scripts_all_claims_are_there_and_no_dead_filter(browser, html):
    with watched(browser, java_script_enabled=False) as page:
        page.goto((html / "book/scorecard.html").as_uri())
        assert page.locator("details.claim").count() == len(ledger.read_ledger(paths.LEDGER))
        assert page.locator(".claim-filter").count() == 0
        page.locator("details.claim summary").first.click()
        assert page.locator("details.claim p").first.is_visible()
