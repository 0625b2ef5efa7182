// Temperature against batch size, for the sum and the mean of the gradients, at the reader's learning rate and momentum.
"use strict";
(function (alive) {
  const { Slider, choice, element } = alive.controls;
  const LOOKS = { sum: "run", mean: "second" };

  class Batch {
    constructor(root, content) {
      this.content = content;
      this.state = { ...content.start, gradients: ["sum", "mean"] };
      const slider = (name, label) =>
        new Slider(name, label, String, (value) => {
          this.state[name] = value;
          this.draw();
        });
      this.sliders = { rate: slider("rate", "learning rate dt"), momentum: slider("momentum", "momentum β") };
      this.sliders.rate.set(content.rates, this.state.rate);
      this.sliders.momentum.set(content.momenta, this.state.momentum);
      this.chart = new alive.Chart("Lines: linear response. Dashed: closed form for dt → 0. Points: measured, with two standard errors");
      this.told = element("p", { className: "alive-reading", role: "status" });
      const kinds = [["sum", "mean"], ["sum"], ["mean"]];
      root.append(
        choice("Gradient", ["both", "sum over the batch", "mean over the batch"], 0, (i) => {
          this.state.gradients = kinds[i];
          this.draw();
        }),
        element("div", { className: "live-sliders" }, ...Object.values(this.sliders).map(({ node }) => node)),
        this.told,
        element("div", { className: "alive-plots" }, this.chart.node),
      );
      this.draw();
    }

    draw() {
      const { content, state } = this;
      const shown = ({ gradient }) => state.gradients.includes(gradient);
      const here = (each) => each.rate === state.rate && each.momentum === state.momentum;
      const curves = content.curves.filter((each) => shown(each) && here(each));
      const measured = content.measured.filter((each) => shown(each) && here(each));
      const first = content.curves.filter((each) => shown(each) && each.rate === content.start.rate && each.momentum === content.start.momentum);
      const limit = ({ gradient }) => content.limits[gradient].map((each) => (each * state.rate) / (1 - state.momentum));
      const values = [...curves.flatMap(({ T }) => T), ...first.flatMap(({ T }) => T), ...curves.flatMap(limit)].filter((T) => T > 0);
      const single = state.gradients.length === 1;
      this.chart.draw(
        {
          x: { label: "batch fraction b", from: 0, to: 1 },
          y: single
            ? { label: "temperature T_int", from: 0, to: 1.15 * Math.max(...values) }
            : { label: "temperature T_int", from: 0.5 * Math.max(Math.min(...values), 1e-5), to: 2 * Math.max(...values), log: true },
        },
        [
          ...first.map(({ T }) => ({ kind: "curve", x: content.batches, y: T, look: "ghost thin" })),
          ...curves.map((each) => ({ kind: "curve", x: content.batches, y: limit(each), look: `${LOOKS[each.gradient]} thin dashed` })),
          ...curves.map(({ gradient, T }) => ({ kind: "curve", x: content.batches, y: T, look: LOOKS[gradient] })),
          ...measured.map(({ gradient, b, T, error }) => ({ kind: "points", x: b, y: T, yError: error, look: LOOKS[gradient], size: 4.5 })),
          ...curves.map(({ gradient, T }) => ({ kind: "name", x: content.batches[8], y: T[8], text: gradient, look: LOOKS[gradient], dy: -10 })),
        ],
        `Temperature against batch fraction at dt = ${state.rate}, momentum ${state.momentum}`,
      );
      const peak = ({ gradient, T }) => {
        const at = content.batches[T.indexOf(Math.max(...T))];
        const end = at === content.batches[0] || at === content.batches.at(-1);
        return `${gradient}: highest at b = ${at}${end ? ", the end of the range" : ", a maximum inside"}`;
      };
      const offs = measured.map(({ off }) => off);
      const percent = (off) => `${off < 0 ? "−" : "+"}${Math.abs(off).toFixed(1)}`;
      this.told.replaceChildren(
        element("strong", {}, `dt = ${state.rate}, β = ${state.momentum}. ${curves.map(peak).join("; ")}.`),
        measured.length
          ? ` Linear response is off from the points by ${percent(Math.min(...offs))} to ${percent(Math.max(...offs))} per cent.`
          : " Measured at other settings only; grey: the first setting.",
      );
    }
  }

  alive.views = { ...alive.views, batch: Batch };
})((window.sgdnoise = window.sgdnoise || {}));
