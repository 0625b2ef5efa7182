// Shows the title of a symbol near it: on hover, on keyboard focus and on touch. Escape puts it away.
(function () {
  "use strict";
  const box = document.createElement("div");
  box.id = "symbol-meaning";
  box.hidden = true;
  box.setAttribute("aria-hidden", "true"); // the title itself is what a screen reader announces
  let shown = null;

  function place(symbol) {
    const at = symbol.getBoundingClientRect();
    box.style.left = box.style.top = "0"; // measured where nothing is in its way
    const room = document.documentElement.clientWidth - box.offsetWidth - 8;
    const below = at.bottom + 6;
    const fits = below + box.offsetHeight < window.innerHeight;
    box.style.left = Math.max(8, Math.min(at.left, room)) + "px";
    box.style.top = Math.max(8, fits ? below : at.top - box.offsetHeight - 6) + "px";
  }

  function show(symbol) {
    hide();
    shown = { symbol: symbol, title: symbol.title };
    box.textContent = symbol.title;
    symbol.title = ""; // or the browser would show it a second time
    box.hidden = false;
    place(symbol);
  }

  function hide() {
    if (shown) {
      shown.symbol.title = shown.title;
      shown = null;
      box.hidden = true;
    }
  }

  function symbolOf(event) {
    return event.target instanceof Element ? event.target.closest("abbr.symbol") : null;
  }

  document.addEventListener("DOMContentLoaded", function () {
    document.body.appendChild(box);
    document.addEventListener("mouseover", function (event) {
      const symbol = symbolOf(event);
      if (symbol && !(shown && shown.symbol === symbol)) show(symbol);
      else if (!symbol && shown && shown.symbol !== document.activeElement) hide();
    });
    document.addEventListener("focusin", function (event) {
      const symbol = symbolOf(event);
      symbol ? show(symbol) : hide();
    });
    document.addEventListener("focusout", hide);
    document.addEventListener("click", function (event) {
      const symbol = symbolOf(event);
      symbol ? show(symbol) : hide();
    });
    document.addEventListener("keydown", function (event) {
      if (event.key === "Escape") hide();
    });
    window.addEventListener("scroll", hide, { passive: true });
  });
})();
