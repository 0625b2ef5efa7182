"""Every page of the finished book as readers see it: wide and narrow, light and dark, by eye and otherwise.

Colours, and with them contrast, depend on the theme and not on the width; all else that a checker of accessibility
looks at does not depend on the theme.
"""

from importlib.resources import files
from pathlib import Path

import pytest
from conftest import open_page

from bookbuild.check import toc_pages
from bookbuild.paths import BUILD

pytestmark = pytest.mark.looks

PAGES = [*toc_pages(), "genindex", "search"]
SCREENSHOTS = BUILD / "screenshots"
LOOKS = (Path(__file__).parent / "looks.js").read_text()
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
# Contrast is slow to measure, and the same wherever colours, ground and size are: one text of each kind is looked at.
RUN_AXE = """async ([contrast, everything]) => {
  const seen = new Set();
  document.querySelectorAll("[data-sample]").forEach(element => element.removeAttribute("data-sample"));
  for (const element of document.querySelectorAll("body *")) {
    const words = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!words || element.closest("math") || !element.checkVisibility({visibilityProperty: true})) continue;
    const style = getComputedStyle(element);
    let kind = [style.color, style.fontSize, style.fontWeight, style.textDecorationLine, style.opacity].join();
    for (let around = element; around; around = around.parentElement) {
      const ground = getComputedStyle(around).backgroundColor;
      if (ground !== "rgba(0, 0, 0, 0)") kind += ground;
    }
    if (!seen.has(kind)) element.setAttribute("data-sample", "");
    seen.add(kind);
  }
  const settings = {resultTypes: ["violations"], preload: false};
  const found = [await axe.run({include: [["[data-sample]"]]}, {...settings, runOnly: contrast})];
  const others = {rules: Object.fromEntries(contrast.map(rule => [rule, {enabled: false}]))};
  if (everything) found.push(await axe.run(document, {...settings, ...others}));
  // axe does not read MathML: to it a heading that is a formula is empty. One that is empty otherwise still counts.
  const formula = (rule, node) =>
    rule === "empty-table-header" && document.querySelector(node.target[0])?.querySelector("math");
  return found.flatMap(run => run.violations).flatMap(
    violation => violation.nodes.filter(node => !formula(violation.id, node)).map(
      node => `${violation.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`.replace(/\\s+/g, " ")));
}"""
REACHABLE = """() => [
  ...document.querySelectorAll("pre, .pst-scrollable-table-container, .formula")].every(
  box => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""
CONTRAST = ["color-contrast", "link-in-text-block"]
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 375, "height": 800}}


def dress(page, theme, size):
    """Switch a page that is open already: it need not be loaded again."""
    page.evaluate("theme => Object.assign(document.documentElement.dataset, {theme, mode: theme})", theme)
    if page.viewport_size != SIZES[size]:
        page.set_viewport_size(SIZES[size])
        page.wait_for_timeout(350)  # the theme makes boxes that scroll reachable by keyboard a moment later
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # drawn anew
    page.wait_for_function(REACHABLE)
    page.wait_for_function("[...document.images].every(image => image.complete)")  # a narrow page loads its panels


@pytest.mark.parametrize("name", PAGES)
def test_page_as_readers_see_it(page, html, name):
    """From disk, without network; wide and narrow, light and dark; for eyes and for assistive technology."""
    open_page(page, html / f"{name}.html")
    formulas = page.locator(".math").count()
    assert page.locator(".math math").count() == formulas
    assert not formulas or page.evaluate("document.fonts.check('12px Book Math')")
    page.evaluate(AXE)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    found = []
    for theme, size in (("light", "desktop"), ("dark", "desktop"), ("dark", "phone"), ("light", "phone")):
        dress(page, theme, size)
        found += [f"{theme}, {size}: {complaint}" for complaint in page.evaluate(LOOKS)]
        if theme == "light" and size == "desktop":
            found += [f"{theme}, {size}: {complaint}" for complaint in page.evaluate(RUN_AXE, [CONTRAST, False])]
        if theme == "dark" and size == "phone":
            found += [f"{theme}, {size}: {complaint}" for complaint in page.evaluate(RUN_AXE, [CONTRAST, True])]
        picture = SCREENSHOTS / f"{name.replace('/', '-')}-{theme}-{size}.jpg"
        page.screenshot(path=picture, full_page=True, type="jpeg", quality=60)
    assert not found, "\n".join(found)
    assert page.complaints == []
    assert page.outside == []


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("a.append(Object.assign(new Image(), {src: 'nowhere.png', alt: 'x', width: 90, height: 90}))", "no picture"),
        ("a.querySelector('p').style.cssText = 'width: 3000px'", "beyond the edge"),
        ("a.querySelector('p').style.fontSize = '6px'", "text of 6px"),
        ("a.querySelector('p').style.cssText = 'width: 50px; overflow: hidden; white-space: nowrap'", "text cut off"),
        ("a.querySelector('div.cell:not([class*=tag_]) pre').prepend('wide '.repeat(40))", "code wider than"),
        ("a.querySelector('p').style.cssText = 'width: 50px; overflow: auto; white-space: nowrap'", "without a sign"),
        ("a.querySelector('img').style.filter = 'none'", "black on black"),
        ("a.querySelector('img').style.cssText = 'width: 90px; min-width: 0'", "drawn too small"),
        ("a.querySelector('.figure-box img').style.cssText = 'width: 500px'", "letters of 8."),
        ("a.querySelector('p').style.color = '#333'", "color-contrast"),
        ("a.querySelector('img').removeAttribute('alt')", "image-alt"),
        ("a.insertAdjacentHTML('beforeend', '<h5>Out of order</h5>')", "heading-order"),
    ],
)
def test_what_is_wrong_would_be_noticed(page, html, damage, complaint):
    """Negative control, on a dark page: each kind of complaint appears when there is reason for it."""
    page.goto((html / "notebooks/the_model.html").as_uri())
    page.evaluate(AXE)
    dress(page, "dark", "desktop")
    page.evaluate(f"(a => {{ {damage} }})(document.querySelector('article'))")
    page.wait_for_timeout(100)
    found = page.evaluate(LOOKS) + page.evaluate(RUN_AXE, [CONTRAST, True])
    assert any(complaint in line for line in found), found
