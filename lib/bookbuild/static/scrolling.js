// Boxes that are wider than the page scroll by themselves. Their end fades while there is more of them, so that nobody takes
// it for all, and a formula that scrolls can be reached by keyboard (the theme sees to the others).
(function () {
  "use strict";
  const BOXES = ".figure-box, .pst-scrollable-table-container, .formula, pre, .cell_output .output";

  function look(box) {
    const hidden = box.scrollWidth - box.clientWidth;
    box.classList.toggle("goes-on", box.scrollLeft < hidden - 1);
    if (box.matches(".formula")) {
      if (hidden > 0) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  }

  const widths = new ResizeObserver((changes) => changes.forEach((change) => look(change.target)));

  function watch() {
    const boxes = document.querySelectorAll(BOXES);
    boxes.forEach((box) => widths.observe(box)); // tells the widths at the start, too
    document.fonts.ready.then(() => boxes.forEach(look)); // the letters of a font that arrives late may be wider
  }

  function follow(event) {
    if (event.target instanceof Element && event.target.matches(BOXES)) look(event.target);
  }

  window.addEventListener("load", watch);
  document.addEventListener("scroll", follow, { capture: true, passive: true });
})();
