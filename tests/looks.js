// What is wrong with the looks of a page at its present width and theme: a list of complaints, empty if nothing is.
() => {
  const width = document.documentElement.clientWidth;
  const dark = document.documentElement.dataset.theme === "dark";
  const complaints = [];
  const about = (element) => `<${element.tagName.toLowerCase()} class="${element.className}"> ${element.textContent.trim().slice(0, 40)}`;
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const contained = new Map([[document.body, false], [document.documentElement, false]]);
  const inside = (element) => {  // of a box that scrolls by itself
    if (!contained.has(element)) contained.set(element, scrolls(element) || inside(element.parentElement));
    return contained.get(element);
  };
  const opens = (element) => {  // part of a line that ends with an ellipsis, and is there as a whole once it is opened
    const line = element.closest("details:not([open]) > summary > *");
    return line !== null && getComputedStyle(line).textOverflow === "ellipsis";
  };
  if (document.documentElement.scrollWidth > width) complaints.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const element of document.querySelectorAll(".bd-article-container *, .bd-footer-content *")) {
    if (element.closest("math, svg") && element.localName !== "math") continue;
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (box.right > width + 1 && !inside(element.parentElement) && !opens(element)) complaints.push(`beyond the edge: ${about(element)}`);
    if ([...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())) {
      const style = getComputedStyle(element);
      if (parseFloat(style.fontSize) < 11) complaints.push(`text of ${style.fontSize}: ${about(element)}`);
      if (/hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1 && !opens(element))
        complaints.push(`text cut off: ${about(element)}`);
    }
    const hidden = scrolls(element) ? element.scrollWidth - element.clientWidth - element.scrollLeft : 0;
    if (element.tagName === "PRE" && width > 1000 && hidden > 1) complaints.push(`code wider than its column: ${about(element)}`);
    if (hidden > 1 && getComputedStyle(element).maskImage === "none")
      complaints.push(`goes on without a sign of it: ${about(element)}`);
    if (element.tagName === "IMG") {
      const style = getComputedStyle(element);
      if (!element.naturalWidth) complaints.push(`no picture: ${element.src}`);
      // Figures are drawn in black and colours, without a ground.
      if (dark && !style.filter.includes("invert")) complaints.push(`black on black: ${element.src}`);
      // As wide as the column; a panel alone is smaller where its letters would be larger than those of the text.
      const column = Math.min(element.parentElement.clientWidth, parseFloat(style.maxWidth) || Infinity);
      const figure = element.closest(".figure-box");
      if (figure && box.width < 0.95 * column) complaints.push(`drawn too small: ${element.src}`);
      const letters = figure ? (figure.dataset.letters * box.width) / (element.dataset.width || figure.dataset.width) : NaN;
      if (letters < 11) complaints.push(`letters of ${letters.toFixed(1)}px: ${element.src}`);
    }
  }
  return complaints;
}
