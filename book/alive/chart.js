// A chart in SVG, drawn with D3 in the colours of the page, light or dark. It is drawn anew when its box changes.
"use strict";
(function (alive) {
  const { element } = alive.controls;
  const MARGIN = { left: 62, right: 14, top: 10, bottom: 42 };

  function said(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e4)) return value.toExponential(0).replace("e", "·10^").replace("+", "");
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }

  function scale({ from, to, log }, range) {
    return (log ? d3.scaleLog() : d3.scaleLinear()).domain([from, to]).range(range);
  }

  // About four round numbers; on a logarithmic axis those that begin with 1, 2 or 5, over many decades with 1.
  function ticks({ from, to, log }, along) {
    if (!log) return along.ticks(4);
    const digits = to > 150 * from ? [1] : [1, 2, 5];
    return along.ticks(10).filter((value) => digits.includes(Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9))));
  }

  class Chart {
    // `moved(name, x, y)` is called while the reader drags a handle of that name.
    constructor(caption, moved = null) {
      this.node = element("figure", { className: "live-plot" }, element("figcaption", {}, caption));
      this.svg = d3.select(this.node).insert("svg", "figcaption").attr("role", "img").attr("class", "alive-chart");
      this.moved = moved;
      new ResizeObserver(() => this.paint()).observe(this.node);
    }

    // `axes`: x and y, each {label, from, to, log}; `layers` in the order in which they are drawn; `words` for those who
    // do not see it.
    draw(axes, layers, words) {
      Object.assign(this, { axes, layers });
      this.svg.attr("aria-label", words);
      this.paint();
    }

    paint() {
      const { clientWidth: width, clientHeight: height } = this.svg.node();
      if (!this.axes || width === 0) return;
      const { left, top } = MARGIN;
      const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
      this.x = scale(this.axes.x, [left, right]);
      this.y = scale(this.axes.y, [bottom, top]);
      this.svg.attr("viewBox", [0, 0, width, height]).selectAll("*").remove();
      const clip = `clip-${(alive.clips = (alive.clips || 0) + 1)}`;
      const frame = this.svg.append("clipPath").attr("id", clip).append("rect");
      frame.attr("x", left).attr("y", top - 4).attr("width", right - left + 5).attr("height", bottom - top + 8);
      this.frame(left, right, top, bottom);
      this.inside = this.svg.append("g").attr("clip-path", `url(#${clip})`);
      for (const layer of this.layers) this[layer.kind](layer);
    }

    frame(left, right, top, bottom) {
      const group = this.svg.append("g").attr("class", "alive-axes");
      const axis = (made, name, place) => {
        const values = ticks(this.axes[name], this[name]);
        made.tickValues(values).tickFormat(said).tickSizeInner(-4).tickSizeOuter(0).tickPadding(7);
        group.append("g").attr("transform", place).call(made);
      };
      axis(d3.axisBottom(this.x), "x", `translate(0 ${bottom})`);
      axis(d3.axisLeft(this.y), "y", `translate(${left} 0)`);
      const name = (words, place) => group.append("text").attr("transform", place).attr("text-anchor", "middle").text(words);
      name(this.axes.x.label, `translate(${(left + right) / 2} ${bottom + 34})`);
      name(this.axes.y.label, `translate(13 ${(top + bottom) / 2}) rotate(-90)`);
    }

    add(tag, look) {
      return this.inside.append(tag).attr("class", look);
    }

    curve({ x, y, look }) {
      const known = (value, i) => Number.isFinite(this.x(value)) && Number.isFinite(this.y(y[i]));
      const line = d3.line().defined(known).x((value) => this.x(value)).y((_, i) => this.y(y[i]));
      this.add("path", `alive-curve ${look}`).attr("d", line(Array.from(x)));
    }

    // A value of a coordinate, or the end of its logarithmic axis where a bar goes beyond it.
    end(name, value) {
      return this[name](this.axes[name].log ? Math.max(value, this.axes[name].from) : value);
    }

    // A band of two standard errors around a curve.
    band({ x, y, error, look }) {
      const area = d3.area().defined((_, i) => Number.isFinite(y[i]) && Number.isFinite(error[i])).x((value) => this.x(value));
      area.y0((_, i) => this.end("y", y[i] - 2 * error[i])).y1((_, i) => this.end("y", y[i] + 2 * error[i]));
      this.add("path", `alive-band ${look}`).attr("d", area(Array.from(x)));
    }

    // Points, with bars of two standard errors where errors are given.
    points({ x, y, xError, yError, look, size = 3.5, chosen = null }) {
      Array.from(x).forEach((value, i) => {
        const [u, v] = [this.x(value), this.y(y[i])];
        if (!Number.isFinite(u) || !Number.isFinite(v)) return; // no number, or none that a logarithm has
        const ends = (name, centre, error) => [-1, 1].map((sign) => this.end(name, centre + sign * 2 * error));
        const bar = (path) => this.add("path", `alive-bar ${look}`).attr("d", path);
        if (yError && yError[i] > 0) bar(`M${u} ${ends("y", y[i], yError[i]).join("V")}`);
        if (xError && xError[i] > 0) bar(`M${ends("x", value, xError[i]).join(` ${v}H`)}`);
        const mark = this.add("circle", `alive-point ${look}`).attr("cx", u).attr("cy", v).attr("r", size);
        if (chosen) mark.on("pointerenter click", () => chosen(i));
      });
    }

    // A level that crosses the chart, with its name.
    level({ y, name, look = "paper" }) {
      this.curve({ x: this.x.domain(), y: [y, y], look });
      this.name({ x: this.x.domain()[1], y, text: name, anchor: "end", dx: -4, dy: 15 });
    }

    // A word beside a point.
    name({ x, y, text, look = "", anchor = "start", dx = 6, dy = -6 }) {
      const mark = this.add("text", `alive-name ${look}`).attr("x", this.x(x) + dx).attr("y", this.y(y) + dy);
      mark.attr("text-anchor", anchor).text(text);
    }

    // What the reader can take hold of; the same can be done with a slider.
    handle({ x, y, name }) {
      const drag = d3.drag().on("drag", () => this.moved(name, this.x.invert(d3.event.x), this.y.invert(d3.event.y)));
      const mark = this.svg.append("circle").attr("cx", this.x(x)).attr("cy", this.y(y)).attr("r", 8);
      mark.attr("class", "alive-handle").attr("data-name", name).call(drag);
    }
  }

  alive.Chart = Chart;
})((window.sgdnoise = window.sgdnoise || {}));
