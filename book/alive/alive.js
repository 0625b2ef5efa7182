// Figures that answer to the reader: each element of class "alive" has its numbers inside, and names its view.
"use strict";
(function (alive) {
  function begin() {
    alive.figures = [...document.querySelectorAll("section.alive")].map((root) => {
      const content = JSON.parse(root.querySelector("script").textContent);
      root.hidden = false;
      return new alive.views[root.dataset.view](root, content);
    });
  }

  // After the load event, not within it: the text is there first.
  if (document.readyState === "complete") begin();
  else window.addEventListener("load", () => setTimeout(begin));
})((window.sgdnoise = window.sgdnoise || {}));
