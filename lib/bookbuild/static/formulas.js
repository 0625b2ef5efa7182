// Typesets the formulas once the page has loaded: those in view first, then the others. A page without any loads nothing.
(function () {
  "use strict";
  const folder = document.currentScript.src.replace(/[^/]*$/, "mathjax");
  const settings = window.MathJax || {};

  function inView(formula) {
    const box = formula.getBoundingClientRect();
    return box.bottom > 0 && box.top < window.innerHeight;
  }

  function typeset() {
    const first = [...document.querySelectorAll(".math")].filter(inView);
    return MathJax.typesetPromise(first).then(function () {
      performance.mark("formulas in view"); // for the benchmark
      return MathJax.typesetPromise();
    }).then(function () {
      document.dispatchEvent(new Event("formulas")); // there are now, with widths
    });
  }

  function begin() {
    const program = document.createElement("script");
    program.src = folder + "/startup.js";
    document.head.append(program);
  }

  // The parts that are needed and no more; with MathJax's menu each formula would be a stop on the way of the tab key.
  const parts = ["core", "input/tex", "output/chtml", "a11y/assistive-mml"];
  window.MathJax = {
    ...settings,
    loader: { load: parts, paths: { mathjax: folder } },
    startup: { pageReady: typeset },
    chtml: { matchFontHeight: false, scale: 1.1 }, // by the height of an x, formulas would be a quarter larger than the text
  };
  window.addEventListener("load", function () {
    if (document.querySelector(".math")) setTimeout(begin); // after the event, not within it
  });
})();
