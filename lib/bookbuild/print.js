// What is done to the one page of the whole book before it is printed.

// Formulas wider than the text are made smaller, until they fit.
function fitFormulas() {
  for (const formula of document.querySelectorAll(".formula > math")) {
    const boxes = [...formula.children].map((part) => part.getBoundingClientRect());
    const wide = Math.max(...boxes.map((box) => box.right)) - Math.min(...boxes.map((box) => box.left));
    const room = formula.parentElement.clientWidth;
    if (wide > room) formula.style.fontSize = (108 * room) / wide + "%";
  }
}

// The table of contents says on which page a chapter begins.
function numberPages(pages) {
  for (const place of document.querySelectorAll("[data-page-of]")) place.textContent = pages[place.dataset.pageOf];
}
