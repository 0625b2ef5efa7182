"""The book as a reader sees it: opened from disk in a browser with no network."""

import pytest
import yaml

from bookbuild.check import toc_pages
from bookbuild.paths import BUILD, TOC

pytestmark = pytest.mark.endtoend

PAGES = list(toc_pages(yaml.safe_load(TOC.read_text())))
SCREENSHOTS = BUILD / "screenshots"


def open_page(page, file):
    page.goto(file.as_uri())
    page.wait_for_load_state("load")
    if page.locator(".math").count():
        page.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
        page.evaluate("MathJax.startup.promise")


@pytest.mark.parametrize("name", PAGES)
def test_page_renders_without_network(page, html, name):
    file = html / f"{name}.html"
    open_page(page, file)
    formulas = page.locator(".math").count()
    assert page.locator("mjx-container").count() >= formulas
    assert page.locator("mjx-merror").count() == 0
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert page.complaints == []
    assert page.outside == []
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name.replace('/', '-')}.png", full_page=True)


def test_the_model_has_its_formulas(page, html):
    open_page(page, html / "notebooks/the_model.html")
    assert page.locator("mjx-container").count() >= 30
    # Drawn, not just present: a formula that MathJax could not typeset has no width.
    assert page.evaluate("[...document.querySelectorAll('mjx-container')].every(e => e.offsetWidth > 0)")


def test_first_page_leads_into_the_book(page, html):
    page.goto((html / "index.html").as_uri())
    page.wait_for_url("**/book/index.html")
    page.get_by_role("link", name="The model, and three ways to train it").first.click()
    page.wait_for_url("**/notebooks/the_model.html")
    assert page.complaints == []


@pytest.mark.parametrize(("word", "target"), [("persistence", "the_model"), ("DivergedError", "api")])
def test_search_works_from_disk(page, html, word, target):
    page.goto((html / "search.html").as_uri() + f"?q={word}")
    page.locator("#search-results li a").first.wait_for(timeout=20_000)
    links = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
    assert any(target in link for link in links)
    assert page.outside == []


def test_a_broken_formula_would_be_noticed(page, html):
    """Negative control: MathJax marks what it cannot read, and the test above counts those marks."""
    text = (html / "notebooks/the_model.html").read_text().replace(r"\[", r"\[\begin{nowhere}\end{nowhere}", 1)
    broken = html / "notebooks" / "broken.html"
    broken.write_text(text)
    try:
        open_page(page, broken)
        assert page.locator("mjx-merror").count() > 0
    finally:
        broken.unlink()
