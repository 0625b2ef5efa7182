// The live page as it is seen: controls, plots, the small table, and the sentence about the present state.
"use strict";
(function (live) {
  const { Slider, button, element, figure, phaseChoice, readings, samplingChoice } = live.controls;
  const ROWS = {
    distance: "distance d",
    loss: "loss per feature L/N",
    magnetization: "magnetisation m",
    slope: "displacement over response, B/χ",
  };
  // What an axis shows in any case, so that a curve of zeros has a scale; for the FDT plot, the least temperature that
  // fills it, so that a network at rest has a flat curve.
  const [LEAST_DISTANCE, LEAST_LOSS, LEAST_TEMPERATURE] = [0.05, 0.1, 0.01];
  const CAP = 3; // curves that leave the theory by more than this factor are cut off

  // Squared displacement since the waiting time over 2N, from norm and correlation.
  function displacement({ norm, correlation }, wait) {
    return correlation.map((c, k) => (norm[k] + norm[wait]) / 2 - c);
  }

  function last(values) {
    return values.length === 0 ? NaN : values[values.length - 1];
  }

  // Every observable of the run at its last step, and of the theory at the same time (without a run, at its end).
  function read(run, theory) {
    const now = run === null ? theory && last(theory.time) : last(run.series.time);
    const expected = (name) => theory && live.theory.at(theory, name, now);
    const found = {};
    for (const name of ["distance", "loss", "magnetization"]) {
      found[name] = { run: run === null ? NaN : last(run.series[name]), theory: expected(name) };
    }
    found.slope = {
      run: run === null ? NaN : last(displacement(run.series, run.wait)) / last(run.series.response),
      theory: theory && expected("displacement") / expected("response"),
    };
    return found;
  }

  class View {
    // `actions`: change(name, value), toggle, restart and renew.
    constructor(root, content, settings, actions) {
      this.root = root;
      const slider = (name, label, show) => new Slider(name, label, show, (value) => actions.change(name, value));
      this.sliders = {
        batch: slider("batch", "batch fraction b", (b) => (b === 1 ? "1 (GD)" : String(b))),
        persistence: slider("persistence", "persistence τ", (tau) => (tau === null ? "none" : String(tau))),
        rate: slider("rate", "learning rate dt", String),
        features: slider("features", "features N", String),
        momentum: slider("momentum", "momentum β", String),
      };
      this.toggle = button("Pause", actions.toggle);
      this.status = element("p", { className: "live-status", role: "status" });
      this.legends = { run: element("span"), theory: element("span") };
      this.figures = {
        distance: figure("Distance of the two networks"),
        loss: figure("Loss, mean of the two"),
        fdt: figure("FDT plot: slope = temperature"),
      };
      this.summaries = {
        distance: new live.Chart("Distance after the waiting time, against b: every finished run adds a point"),
        temperature: new live.Chart("Temperature (displacement over response at the end), against b"),
      };
      this.link = element("a", { href: "#" }, "Link to this setting");
      this.readings = readings(ROWS);
      const nodes = (parts) => Object.values(parts).map(({ node }) => node);
      this.plots = element("div", { className: "live-plots" }, ...nodes(this.figures), this.readings.node);
      root.append(
        phaseChoice(content.phases, settings.phase, (phase) => actions.change("phase", phase)),
        samplingChoice(settings.sampling, (sampling) => actions.change("sampling", sampling)),
        element("div", { className: "live-sliders" }, ...nodes(this.sliders)),
        element(
          "div",
          { className: "live-buttons" },
          this.toggle,
          button("Start again", actions.restart),
          button("New data", actions.renew),
          this.link,
        ),
        this.status,
        element("p", { className: "live-legend" }, this.legends.run, this.legends.theory),
        this.plots,
        element("div", { className: "alive-plots" }, ...nodes(this.summaries)),
      );
    }

    // `values` has what each slider offers.
    setSliders(values, settings) {
      for (const [name, slider] of Object.entries(this.sliders)) slider.set(values[name], settings[name]);
    }

    // What changes only when a run begins, ends, or is paused.
    tell(state, sentence, settings, legend) {
      this.root.dataset.state = state;
      this.status.textContent = sentence;
      this.toggle.textContent = state === "running" ? "Pause" : "Run";
      this.legends.run.textContent = `simulation, N = ${settings.features}, seed ${settings.seed}`;
      this.legends.theory.textContent = legend;
    }

    // Distance and temperature against the batch fraction: finished runs, and the theory where all else is the same.
    summarise(finished, solved) {
      const sorted = [...solved].sort((a, b) => a.batch - b.batch);
      for (const [name, chart] of Object.entries(this.summaries)) {
        const values = [...finished, ...solved].map((each) => each[name]).filter(Number.isFinite);
        const largest = Math.max(name === "distance" ? LEAST_DISTANCE : LEAST_TEMPERATURE, ...values);
        const columns = (each) => ({ x: each.map(({ batch }) => batch), y: each.map((one) => one[name]) });
        const label = name === "distance" ? "distance d" : "temperature";
        chart.draw(
          { x: { label: "batch fraction b", from: 0, to: 1 }, y: { label, from: 0, to: 1.1 * largest } },
          [
            ...(sorted.length > 3 ? [{ kind: "curve", ...columns(sorted), look: "theory" }] : []), // two are no curve
            { kind: "points", ...columns(sorted), look: "theory", size: 4 },
            { kind: "points", ...columns(finished), look: "run", size: 4.5 },
          ],
          `${label} against the batch fraction: ${finished.length} finished runs, theory at ${solved.length} values`,
        );
      }
    }

    // What changes with every frame; `ghosts` are earlier runs.
    draw(run, theory, duration, ghosts) {
      const series = run === null ? null : run.series;
      const moved = series === null ? [] : displacement(series, run.wait);
      const pair = (x, y, theoryX, theoryY, past) => [
        ...(theory === null ? [] : [{ x: theoryX, y: theoryY, style: "theory" }]),
        ...past.map((each) => ({ ...each, style: "ghost" })),
        ...(series === null ? [] : [{ x, y, style: "run" }]),
      ];
      const show = (name, xLabel, yLabel, largest, floor, curves) => {
        const values = curves.flatMap(({ y }) => y);
        const cap = theory === null ? Infinity : CAP * live.plot.upTo(curves[0].y, floor);
        const y = { label: yLabel, largest: live.plot.upTo(values, floor, cap) };
        live.plot.draw(this.figures[name].canvas, { x: { label: xLabel, largest }, y }, curves);
      };
      const past = (name) => ghosts.map((each) => ({ x: each.series.time, y: each.series[name] }));
      const curve = (name) => pair(series?.time, series?.[name], theory?.time, theory?.[name], past(name));
      show("distance", "time t", "distance d", duration, LEAST_DISTANCE, curve("distance"));
      show("loss", "time t", "loss per feature L/N", duration, LEAST_LOSS, curve("loss"));
      const before = ghosts.map((each) => ({ x: each.series.response, y: displacement(each.series, each.wait) }));
      const fdt = pair(series?.response, moved, theory?.response, theory?.displacement, before);
      const widest = live.plot.upTo(fdt.flatMap(({ x }) => x), 0.1);
      show("fdt", "integrated response χ", "displacement B", widest, LEAST_TEMPERATURE * widest, fdt);
      for (const [name, values] of Object.entries(read(run, theory))) {
        const { run: first, theory: second } = this.readings.cells[name];
        first.textContent = live.words.reading(values.run);
        second.textContent = live.words.reading(values.theory);
      }
    }

    // The plots in words, for those who do not see them; not in every frame.
    describe(readings) {
      const label = (name, what, reading) => {
        this.figures[name].canvas.setAttribute("aria-label", live.words.plotLabel(what, reading));
      };
      label("distance", "Distance between the two networks against time, now", readings.distance);
      label("loss", "Loss per feature against time, now", readings.loss);
      label("fdt", "Displacement against integrated response, ratio now", readings.slope);
    }
  }

  live.view = { View, displacement, read };
})((window.sgdnoise = window.sgdnoise || {}));
