// Points with a name each: the one that the reader points at, or chooses from a list, shows the data sets behind it.
"use strict";
(function (alive) {
  const { element } = alive.controls;

  class Pairs {
    constructor(root, content) {
      this.content = content;
      const id = "alive-pairs";
      const options = content.points.map(({ label }, i) => element("option", { value: String(i) }, label));
      this.select = element("select", { id }, ...options);
      this.select.addEventListener("input", () => this.choose(Number(this.select.value)));
      this.chart = new alive.Chart("Point at a pair of parameters: small dots are the two runs on each data set");
      this.told = element("p", { className: "alive-reading", role: "status" });
      root.append(
        element("p", {}, element("label", { htmlFor: id }, `${content.choose} `), this.select),
        this.told,
        element("div", { className: "alive-plots" }, this.chart.node),
      );
      this.choose(content.start);
    }

    choose(i) {
      if (this.chosen === i) return;
      this.chosen = i;
      this.select.value = String(i);
      const { content } = this;
      const { points, axes } = content;
      const point = points[i];
      const column = (name) => points.map((each) => each[name]);
      const [x, y] = [column("x"), column("y")];
      const same = points.filter(({ line }) => line === point.line);
      const lines = [...new Set(column("line"))].map((name) => {
        const mine = points.filter(({ line }) => line === name);
        return { kind: "curve", x: mine.map((p) => p.x), y: mine.map((p) => p.y), look: "ghost thin" };
      });
      const ends = [...new Set(column("line"))].map((name) => {
        const last = points.filter(({ line }) => line === name).at(-1);
        return { kind: "name", x: last.x, y: last.y, text: name, anchor: "middle", dx: 0, dy: -10 };
      });
      const errors = { xError: column("xError"), yError: column("yError") };
      const chosen = (each) => this.choose(each);
      this.chart.draw(
        axes,
        [
          ...lines,
          { kind: "curve", x: same.map((p) => p.x), y: same.map((p) => p.y), look: "run thin" },
          { kind: "points", x: point.xs, y: point.ys, look: "second", size: 2 },
          { kind: "points", x, y, ...errors, look: "theory", size: 5, chosen },
          { kind: "points", x: [point.x], y: [point.y], xError: [point.xError], yError: [point.yError], look: "run", size: 6 },
          ...ends,
        ],
        `${axes.y.label} against ${axes.x.label} for ${points.length} pairs of parameters; chosen: ${point.label}`,
      );
      const value = (name) => alive.quoted({ value: point[name], error: point[`${name}Error`] });
      const span = (values) => [Math.min(...values), Math.max(...values)].map((v) => v.toFixed(3)).join(" to ");
      this.told.replaceChildren(
        element("strong", {}, `${point.label}: ${content.names.y} = ${value("y")}, ${content.names.x} = ${value("x")}.`),
        ` Pairs of runs on ${point.xs.length} data sets: ${content.names.y} ${span(point.ys)}, ${content.names.x} ${span(point.xs)}.`,
      );
    }
  }

  alive.views = { ...alive.views, pairs: Pairs };
})((window.sgdnoise = window.sgdnoise || {}));
