"""The book in a browser, opened from disk with no network: formulas, the way in, search."""

from urllib.parse import quote

import pytest
from conftest import open_page

pytestmark = pytest.mark.endtoend


def test_the_model_has_its_formulas(page, html):
    open_page(page, html / "notebooks/the_model.html")
    assert page.locator("math").count() >= 30
    widths = "[...document.querySelectorAll('article math')].map(e => e.getBoundingClientRect().width)"
    assert min(page.evaluate(widths)) > 0, "drawn, not just present"


def test_first_page_leads_into_the_book(page, html):
    page.goto((html / "index.html").as_uri())
    page.wait_for_url("**/book/index.html")
    page.get_by_role("link", name="The model, and three ways to train it").first.click()
    page.wait_for_url("**/notebooks/the_model.html")
    assert page.complaints == []


@pytest.mark.reads
@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("persistence", "the_model"),
        ("temperature", "notebooks/temperature"),
        ("support vectors", "fig04_support_vectors"),
        ("DivergedError", "api"),
    ],
)
def test_search_works_from_disk(page, html, notebook_pages, words, target):
    if target.startswith("fig") and f"notebooks/{target}" not in notebook_pages:
        pytest.skip("not in the short book; `make looks` has it")
    page.goto((html / "search.html").as_uri() + f"?q={quote(words)}")
    page.locator(f"#search-results li a[href*='{target}']").first.wait_for(timeout=20_000)  # they appear one by one
    assert page.outside == []


def test_punctuation_stays_with_its_formula(page, html):
    open_page(page, html / "notebooks/the_model.html")
    kept = page.locator(".unbroken")
    assert kept.count() > 20
    one_line = "boxes => boxes.every(box => getComputedStyle(box).whiteSpace === 'nowrap')"
    assert kept.evaluate_all(one_line)
