// What the reader sees and moves: built here and not in the page, so that without scripts there is nothing dead to see.
"use strict";
(function (live) {
  let identifiers = 0;

  function element(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in node) node[name] = value;
      else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }

  // A slider over a list of values, with its label and the value that it stands at.
  class Slider {
    constructor(name, label, show, changed) {
      this.show = show;
      const id = `live-${name}-${(identifiers += 1)}`;
      this.input = element("input", { type: "range", id, name, min: "0", step: "1" });
      this.output = element("output", { htmlFor: id });
      const parts = [element("label", { htmlFor: id }, label), this.output, this.input];
      this.node = element("div", { className: "live-slider" }, ...parts);
      this.input.addEventListener("input", () => {
        this.tell();
        changed(this.values[Number(this.input.value)]);
      });
    }

    set(values, value) {
      this.values = values;
      this.input.max = String(values.length - 1);
      this.input.disabled = values.length === 1;
      this.input.value = String(values.indexOf(value));
      this.tell();
    }

    tell() {
      const words = this.show(this.values[Number(this.input.value)]);
      this.output.textContent = words;
      this.input.setAttribute("aria-valuetext", words);
    }
  }

  // One of several, by name; `changed` is told its number.
  function choice(title, labels, chosen, changed) {
    const name = `live-choice-${(identifiers += 1)}`;
    const parts = labels.map((words, i) => {
      const input = element("input", { type: "radio", name, value: String(i), checked: i === chosen });
      input.addEventListener("change", () => changed(i));
      return element("label", {}, input, ` ${words}`);
    });
    return element("fieldset", { className: "live-phase" }, element("legend", {}, title), ...parts);
  }

  function phaseChoice(phases, chosen, changed) {
    const names = Object.keys(phases);
    const labels = Object.values(phases).map(
      ({ label, problem }) => `${label}: α = ${problem.alpha}, Δ = ${problem.delta}, λ = ${problem.ridge}`,
    );
    return choice("Phase", labels, names.indexOf(chosen), (i) => changed(names[i]));
  }

  const SAMPLINGS = { random: "drawn at random (SGD, p-SGD)", shuffled: "shuffled epochs" };

  function samplingChoice(chosen, changed) {
    const names = Object.keys(SAMPLINGS);
    return choice("Batches", Object.values(SAMPLINGS), names.indexOf(chosen), (i) => changed(names[i]));
  }

  function button(words, pressed) {
    const node = element("button", { type: "button", className: "live-button" }, words);
    node.addEventListener("click", pressed);
    return node;
  }

  function figure(caption) {
    const canvas = element("canvas", { role: "img" });
    return { canvas, node: element("figure", { className: "live-plot" }, canvas, element("figcaption", {}, caption)) };
  }

  // A small table: a row an observable, a column for the run and one for the theory.
  function readings(rows) {
    const cells = {};
    const body = Object.entries(rows).map(([name, label]) => {
      cells[name] = { run: element("td"), theory: element("td") };
      return element("tr", {}, element("th", { scope: "row" }, label), cells[name].run, cells[name].theory);
    });
    const heads = ["at the last step so far", "simulation", "theory"];
    const head = element("tr", {}, ...heads.map((words) => element("th", { scope: "col" }, words)));
    const parts = [element("thead", {}, head), element("tbody", {}, ...body)];
    return { cells, node: element("table", { className: "live-readings" }, ...parts) };
  }

  live.controls = { SAMPLINGS, Slider, button, choice, element, figure, phaseChoice, readings, samplingChoice };
})((window.sgdnoise = window.sgdnoise || {}));
