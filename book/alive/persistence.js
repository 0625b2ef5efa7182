// Persistent SGD at the batch and the persistence that the reader sets: FDT plot, local temperature, T(omega).
"use strict";
(function (alive) {
  const { Slider, element } = alive.controls;

  class Persistence {
    constructor(root, content) {
      this.content = content;
      this.state = { ...content.start };
      const slider = (name, label) =>
        new Slider(name, label, String, (value) => {
          this.state[name] = value;
          this.draw();
        });
      this.sliders = { batch: slider("batch", "batch fraction b"), persistence: slider("persistence", "persistence τ") };
      this.sliders.batch.set(content.batches, this.state.batch);
      this.sliders.persistence.set(content.persistences, this.state.persistence);
      this.charts = {
        fdt: new alive.Chart("FDT plot; slope = temperature"),
        local: new alive.Chart("Slope at each lag; the upright line is the memory bτ"),
        frequency: new alive.Chart("Temperature at each frequency"),
      };
      this.told = element("p", { className: "alive-reading", role: "status" });
      root.append(
        element("div", { className: "live-sliders" }, ...Object.values(this.sliders).map(({ node }) => node)),
        this.told,
        element("p", { className: "live-legend" }, element("span", {}, "mean-field theory, with two standard errors"), element("span", {}, "linear response")),
        element("div", { className: "alive-plots" }, ...Object.values(this.charts).map(({ node }) => node)),
      );
      this.draw();
    }

    draw() {
      const { content, state } = this;
      const same = (each) => each.batch === state.batch && each.persistence === state.persistence;
      const weak = content.weak.find(same);
      const found = content.measured.find(same) || null;
      const curves = Object.fromEntries(
        ["response", "displacement", "slope", "frequency"].map((name) => [name, alive.unpack(weak[name])]),
      );
      const layers = (x, y, points) => [
        { kind: "curve", x, y, look: "theory" },
        ...(found === null ? [] : [{ kind: "points", ...points, look: "run" }]),
      ];
      const past = content.weak.filter((each) => each.batch === state.batch && !same(each));
      const ghosts = past.map((each) => ({
        kind: "curve",
        x: alive.unpack(each.response),
        y: alive.unpack(each.displacement),
        look: "ghost thin",
      }));
      const top = 1.1 * Math.max(...curves.displacement, ...(found?.displacement || []));
      const words = `b = ${state.batch}, τ = ${state.persistence}`;
      this.charts.fdt.draw(
        {
          x: { label: "integrated response χ", from: 0, to: 1.05 * Math.max(...curves.response, ...(found?.response || [])) },
          y: { label: "displacement B", from: 0, to: top },
        },
        [...ghosts, ...layers(curves.response, curves.displacement, found && { x: found.response, y: found.displacement, yError: found.displacementError })],
        `FDT plot at ${words}`,
      );
      const range = { label: "T", from: content.range[0], to: content.range[1], log: true };
      const memory = state.batch * state.persistence;
      this.charts.local.draw(
        { x: { label: "lag", from: 0, to: content.lags.at(-1) }, y: { ...range, label: "slope at this lag" } },
        [
          { kind: "curve", x: [memory, memory], y: content.range, look: "paper" },
          ...layers(content.lags, curves.slope, found && { x: found.lags, y: found.slope, yError: found.slopeError }),
        ],
        `Slope at each lag at ${words}`,
      );
      this.charts.frequency.draw(
        {
          x: { label: "frequency ω", from: content.frequencies[0], to: content.frequencies.at(-1), log: true },
          y: { ...range, label: "T(ω)" },
        },
        layers(content.frequencies, curves.frequency, found && { x: found.frequencies, y: found.temperature, yError: found.temperatureError }),
        `Temperature at each frequency at ${words}`,
      );
      const time = (1 / weak.softest).toFixed(2);
      const [temperature, plateau] = found?.told || [
        `T_int = ${weak.chord} in linear response, which is off by ${content.off} per cent where mean-field theory was solved.`,
        memory * weak.softest < 1
          ? `which is shorter than the time 1/a = ${time} of the softest mode. Formally, at infinite lag, the slope has a limit in linear response`
          : `which is longer than the time 1/a = ${time} of the softest mode. Formally, at infinite lag, the slope has no limit in linear response`,
      ];
      this.told.replaceChildren(
        element("strong", {}, `${words}: ${temperature}`),
        ` The batch is remembered for bτ = ${Number(memory.toFixed(3))}`,
        found ? `. ${plateau}` : `, ${plateau}. Mean-field theory was not solved here.`,
      );
    }
  }

  alive.views = { ...alive.views, persistence: Persistence };
})((window.sgdnoise = window.sgdnoise || {}));
