// A chart in SVG whose colours are those of the page, light or dark. It is drawn anew when its box changes.
"use strict";
(function (alive) {
  const { element } = alive.controls;
  const MARGIN = { left: 62, right: 14, top: 10, bottom: 42 };
  const SPACE = "http://www.w3.org/2000/svg";

  function shape(tag, attributes, ...children) {
    const node = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  function said(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e4)) return value.toExponential(0).replace("e", "·10^").replace("+", "");
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }

  // Round numbers within a range, about four of them; for a logarithmic axis those that begin with 1, 2 or 5.
  function ticks({ from, to, log }) {
    if (!log) {
      const rough = (to - from) / 4;
      const unit = 10 ** Math.floor(Math.log10(rough));
      const step = unit * [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough * (1 - 1e-9));
      const first = Math.ceil(from / step - 1e-9);
      const count = Math.floor(to / step + 1e-9) - first + 1;
      return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
    }
    const found = [];
    const wide = Math.log10(to / from) > 2.2;
    for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
      for (const digit of wide ? [1] : [1, 2, 5]) found.push(Number(`${digit}e${power}`));
    }
    return found.filter((value) => value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9));
  }

  class Chart {
    // `moved(name, x, y)` is called while the reader drags a handle of that name.
    constructor(caption, moved = null) {
      this.svg = shape("svg", { role: "img", class: "alive-chart" });
      this.node = element("figure", { className: "live-plot" }, this.svg, element("figcaption", {}, caption));
      this.moved = moved;
      new ResizeObserver(() => this.paint()).observe(this.node);
    }

    // `axes`: x and y, each {label, from, to, log}; `layers` in the order in which they are drawn; `words` for those who
    // do not see it.
    draw(axes, layers, words) {
      Object.assign(this, { axes, layers });
      this.svg.setAttribute("aria-label", words);
      this.paint();
    }

    place(axis, value) {
      const { from, to, log } = this.axes[axis];
      const part = log ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
      const { left, right, top, bottom } = this.area;
      return axis === "x" ? left + part * (right - left) : bottom - part * (bottom - top);
    }

    value(axis, pixel) {
      const { from, to, log } = this.axes[axis];
      const { left, right, top, bottom } = this.area;
      const part = axis === "x" ? (pixel - left) / (right - left) : (bottom - pixel) / (bottom - top);
      return log ? from * (to / from) ** part : from + part * (to - from);
    }

    paint() {
      const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
      if (!this.axes || width === 0) return;
      this.area = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
      const { left, right, top, bottom } = this.area;
      const clip = `clip-${(alive.clips = (alive.clips || 0) + 1)}`;
      const frame = shape("rect", { x: left, y: top - 4, width: right - left + 5, height: bottom - top + 8 });
      this.inside = shape("g", { "clip-path": `url(#${clip})` });
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.replaceChildren(shape("clipPath", { id: clip }, frame), this.frame(), this.inside);
      for (const layer of this.layers) this[layer.kind](layer);
    }

    frame() {
      const { left, right, top, bottom } = this.area;
      const group = shape("g", { class: "alive-axes" }, shape("path", { d: `M${left} ${top}V${bottom}H${right}` }));
      const text = (words, attributes) => group.append(shape("text", attributes, words));
      for (const value of ticks(this.axes.x)) {
        const x = this.place("x", value);
        group.append(shape("path", { d: `M${x} ${bottom}v-4` }));
        text(said(value), { x, y: bottom + 16, "text-anchor": "middle" });
      }
      for (const value of ticks(this.axes.y)) {
        const y = this.place("y", value);
        group.append(shape("path", { d: `M${left} ${y}h4` }));
        text(said(value), { x: left - 6, y: y + 4, "text-anchor": "end" });
      }
      text(this.axes.x.label, { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" });
      const turned = `translate(13 ${(top + bottom) / 2}) rotate(-90)`;
      text(this.axes.y.label, { transform: turned, "text-anchor": "middle" });
      return group;
    }

    // The points that have a place, one after the other.
    path(points) {
      const places = points.map(([x, y]) => [this.place("x", x), this.place("y", y)]);
      const known = places.filter((pair) => pair.every(Number.isFinite));
      return known.map((pair) => pair.map((pixel) => pixel.toFixed(1)).join(" ")).join("L");
    }

    curve({ x, y, look }) {
      const d = this.path(Array.from(x, (value, i) => [value, y[i]]));
      if (d) this.inside.append(shape("path", { d: `M${d}`, class: `alive-curve ${look}` }));
    }

    // A band of two standard errors around a curve.
    band({ x, y, error, look }) {
      const floor = this.axes.y.log ? this.axes.y.from : -Infinity;
      const edge = (sign) => Array.from(x, (value, i) => [value, Math.max(y[i] + sign * 2 * error[i], floor)]);
      const d = this.path([...edge(1), ...edge(-1).reverse()]);
      if (d) this.inside.append(shape("path", { d: `M${d}Z`, class: `alive-band ${look}` }));
    }

    // Points, with bars of two standard errors where errors are given.
    points({ x, y, xError, yError, look, size = 3.5, chosen }) {
      const floor = (axis, value) => (this.axes[axis].log ? Math.max(value, this.axes[axis].from) : value);
      Array.from(x).forEach((value, i) => {
        const [u, v] = [this.place("x", value), this.place("y", y[i])];
        if (!Number.isFinite(u) || !Number.isFinite(v)) return; // no number, or none that a logarithm has
        if (yError && yError[i] > 0) {
          const ends = [-1, 1].map((sign) => this.place("y", floor("y", y[i] + sign * 2 * yError[i])));
          this.inside.append(shape("path", { d: `M${u} ${ends[0]}V${ends[1]}`, class: `alive-bar ${look}` }));
        }
        if (xError && xError[i] > 0) {
          const ends = [-1, 1].map((sign) => this.place("x", floor("x", value + sign * 2 * xError[i])));
          this.inside.append(shape("path", { d: `M${ends[0]} ${v}H${ends[1]}`, class: `alive-bar ${look}` }));
        }
        const mark = shape("circle", { cx: u, cy: v, r: size, class: `alive-point ${look}` });
        if (chosen) {
          mark.addEventListener("pointerenter", () => chosen(i));
          mark.addEventListener("click", () => chosen(i));
        }
        this.inside.append(mark);
      });
    }

    // A level that crosses the chart, with its name.
    level({ y, name, look = "paper" }) {
      const { left, right } = this.area;
      const at = this.place("y", y);
      this.inside.append(shape("path", { d: `M${left} ${at}H${right}`, class: `alive-curve ${look}` }));
      this.inside.append(shape("text", { x: right - 4, y: at + 15, "text-anchor": "end", class: "alive-name" }, name));
    }

    // A word beside a point.
    name({ x, y, text, look = "", anchor = "start", dx = 6, dy = -6 }) {
      const at = { x: this.place("x", x) + dx, y: this.place("y", y) + dy, "text-anchor": anchor };
      this.inside.append(shape("text", { ...at, class: `alive-name ${look}` }, text));
    }

    // What the reader can take hold of; the same can be done with a slider.
    handle({ x, y, name }) {
      const mark = shape("circle", { cx: this.place("x", x), cy: this.place("y", y), r: 8, class: "alive-handle" });
      mark.dataset.name = name;
      mark.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        const follow = ({ clientX, clientY }) => {
          const box = this.svg.getBoundingClientRect();
          this.moved(name, this.value("x", clientX - box.left), this.value("y", clientY - box.top));
        };
        const end = () => {
          window.removeEventListener("pointermove", follow);
          window.removeEventListener("pointerup", end);
          window.removeEventListener("pointercancel", end);
        };
        window.addEventListener("pointermove", follow);
        window.addEventListener("pointerup", end);
        window.addEventListener("pointercancel", end);
      });
      this.svg.append(mark);
    }
  }

  alive.Chart = Chart;
})((window.sgdnoise = window.sgdnoise || {}));
