// The filter of the scorecard: by verdict, and by words. Without scripts all claims are there, and this is not.
(function () {
  "use strict";
  const KINDS = {
    "": "all",
    "verdict-not-reproduced": "✗ not reproduced",
    "verdict-left-open": "? left open",
    "verdict-reproduced-with-a-remark": "✓* with a remark",
    "verdict-reproduced": "✓ reproduced",
    "verdict-holds": "our own",
  };

  function make(tag, properties, ...children) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  }

  function begin() {
    const claims = [...document.querySelectorAll("details.claim")];
    if (claims.length === 0) return;
    // Words as they are written, once: a formula that is typeset has them twice.
    const words = claims.map((claim) => claim.textContent.toLowerCase());
    let chosen = "";
    const search = make("input", { type: "search", placeholder: "search the claims" });
    search.setAttribute("aria-label", "Search the claims");
    const told = make("span", {});
    told.setAttribute("role", "status");
    const buttons = Object.entries(KINDS)
      .map(([kind, label]) => [kind, label, claims.filter((claim) => claim.className.split(" ").includes(kind)).length])
      .filter(([kind, , count]) => kind === "" || count > 0)
      .map(([kind, label]) => {
        const button = make("button", { type: "button" }, label);
        button.addEventListener("click", () => {
          chosen = kind;
          show();
        });
        return [kind, button];
      });
    const all = make("button", { type: "button" }, "open all");
    all.addEventListener("click", () => {
      const open = all.textContent === "open all";
      for (const claim of claims) if (!claim.hidden) claim.open = open;
      all.textContent = open ? "close all" : "open all";
    });

    function show() {
      const wanted = search.value.trim().toLowerCase();
      let count = 0;
      claims.forEach((claim, i) => {
        claim.hidden = !(chosen === "" || claim.classList.contains(chosen)) || !words[i].includes(wanted);
        if (!claim.hidden) count += 1;
      });
      for (const [kind, button] of buttons) button.setAttribute("aria-pressed", String(kind === chosen));
      told.textContent = `${count} of ${claims.length}`;
    }

    function follow() {
      const claim = claims.find((each) => `#${each.id}` === location.hash);
      if (!claim) return;
      if (claim.hidden) {
        chosen = search.value = "";
        show();
      }
      claim.open = true;
      claim.scrollIntoView({ block: "center" });
      claim.firstElementChild.focus({ preventScroll: true });
    }

    search.addEventListener("input", show);
    window.addEventListener("hashchange", follow);
    const filter = make("div", { className: "claim-filter" }, ...buttons.map(([, button]) => button), search, all, told);
    filter.setAttribute("role", "group");
    filter.setAttribute("aria-label", "Which claims are shown");
    claims[0].before(filter);
    show();
    follow();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
