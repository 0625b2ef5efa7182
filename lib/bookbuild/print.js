// What is done to the one page of the whole book before it is printed.

// Formulas wider than the text are made smaller, until they fit.
function fitFormulas() {
  for (const formula of document.querySelectorAll("mjx-container")) {
    const box = formula.closest("td, th, li, dd, p, div, figcaption");
    const wide = formula.querySelector("mjx-math").getBoundingClientRect().width;
    const tag = formula.parentElement.querySelector(".eqno");
    const room = box.clientWidth - (tag ? tag.getBoundingClientRect().width + 12 : 0);
    if (formula.hasAttribute("display") && wide > room) formula.style.fontSize = (100 * room) / wide + "%";
  }
}

// The table of contents says on which page a chapter begins.
function numberPages(pages) {
  for (const place of document.querySelectorAll("[data-page-of]")) place.textContent = pages[place.dataset.pageOf];
}
