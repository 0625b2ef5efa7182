// What is done to the one page of the whole book before it is printed.

// Formulas wider than the text are made smaller, until they fit.
function fitFormulas() {
  for (const formula of document.querySelectorAll("div.math > math")) {
    const boxes = [...formula.children].map((part) => part.getBoundingClientRect());
    const wide = Math.max(...boxes.map((box) => box.right)) - Math.min(...boxes.map((box) => box.left));
    const tag = formula.parentElement.querySelector(".eqno");
    const room = formula.parentElement.clientWidth - (tag ? tag.getBoundingClientRect().width + 12 : 0);
    if (wide > room) formula.style.fontSize = (108 * room) / wide + "%";
  }
}

// The table of contents says on which page a chapter begins.
function numberPages(pages) {
  for (const place of document.querySelectorAll("[data-page-of]")) place.textContent = pages[place.dataset.pageOf];
}
