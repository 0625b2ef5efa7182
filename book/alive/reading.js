// Reading a temperature off an FDT plot: the reader moves the window of lags and the waiting times, the line follows.
"use strict";
(function (alive) {
  const { Slider, choice, element } = alive.controls;
  const LEAST = 4; // points of a line, as in effective_temperature
  const TOLERANCE = 0.15; // of its straightness
  const KNOWN = 0.3; // relative error up to which the figures of the book show a number

  class Reading {
    constructor(root, content) {
      this.runs = content.runs.map((run) => new alive.Run(run));
      const labels = this.runs.map(({ about }) => about.label);
      const slider = (name, label, change) =>
        new Slider(name, label, (value) => String(Number(value.toFixed(3))), (value) => change(value));
      const lag = (value) => Math.round(value / this.run.step);
      this.sliders = {
        low: slider("low", "window of lags from", (value) => this.set({ low: lag(value) })),
        high: slider("high", "window of lags to", (value) => this.set({ high: lag(value) })),
        first: slider("first", "waiting times t_w from", (value) => this.set({ first: value })),
      };
      this.plot = new alive.Chart("FDT plot; slope = temperature. Drag the two ends of the window.", (name, x) => {
        const { x: response } = this.whole;
        const nearest = response.reduce((best, each, i) => (Math.abs(each - x) < Math.abs(response[best] - x) ? i : best), 0);
        this.set({ [name]: nearest });
      });
      this.ends = new alive.Chart("The same T, against the end of the window");
      this.told = element("p", { className: "alive-reading", role: "status" });
      root.append(
        choice("Run", labels, 0, (i) => this.choose(i)),
        element("div", { className: "live-sliders" }, ...Object.values(this.sliders).map(({ node }) => node)),
        this.told,
        element("div", { className: "alive-plots" }, this.plot.node, this.ends.node),
      );
      this.choose(0);
    }

    choose(i) {
      this.run = this.runs[i];
      const { window, first } = this.run.about;
      this.state = { low: Math.round(window[0] / this.run.step), high: Math.round(window[1] / this.run.step), first };
      this.set({});
    }

    // Change the state, kept to what the run allows; whichever end is moved, the other makes room.
    set(change) {
      const { run } = this;
      const state = { ...this.state, ...change };
      const most = Math.min(run.lags - 1, Math.floor((run.end - state.first) / run.step + 1e-9));
      if ("low" in change) {
        state.low = Math.max(0, Math.min(state.low, most - LEAST + 1));
        state.high = Math.max(state.high, state.low + LEAST - 1);
      }
      state.high = Math.max(LEAST - 1, Math.min(state.high, most));
      state.low = Math.max(0, Math.min(state.low, state.high - LEAST + 1));
      this.state = state;
      const lags = Array.from({ length: run.lags }, (_, i) => Number((i * run.step).toFixed(9)));
      this.sliders.low.set(lags, lags[state.low]);
      this.sliders.high.set(lags, lags[state.high]);
      this.sliders.first.set(run.waits, state.first);
      this.draw();
    }

    draw() {
      const { run, state } = this;
      const { low, high, first } = state;
      const { about, step } = run;
      const found = run.temperature(first, low, high);
      const longest = Math.min(run.lags - 1, Math.floor((run.end - first) / step + 1e-9));
      const whole = run.pooled(first, 0, longest);
      const mean = (rows) => rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);
      this.whole = { x: mean(whole.x), y: mean(whole.y) };
      this.found = found;
      const [right, top] = [1.04 * Math.max(...this.whole.x), 1.06 * Math.max(...this.whole.y)];
      const through = (slope, intercept) => ({ x: [0, right], y: [intercept, slope * right + intercept] });
      const [centre, level] = [found.x, found.y].map((values) => values.reduce((sum, each) => sum + each, 0) / values.length);
      const end = { x: found.x.at(-1), y: found.y.at(-1) };
      this.plot.draw(
        { x: { label: "integrated response χ", from: 0, to: right }, y: { label: "displacement B", from: 0, to: top } },
        [
          { kind: "curve", ...this.whole, look: "theory" },
          { kind: "curve", ...through(about.paper, level - about.paper * centre), look: "paper" },
          { kind: "name", x: right, y: 0, text: `dashed: the paper's T = ${about.paper}`, anchor: "end", dx: -4, dy: -8 },
          { kind: "curve", ...through(found.value, found.intercept), look: "run" },
          { kind: "handle", x: found.x[0], y: found.y[0], name: "low" },
          { kind: "handle", ...end, name: "high" },
        ],
        `FDT plot of ${about.label} with a line over lags ${(low * step).toFixed(2)} to ${(high * step).toFixed(2)}, ` +
          `slope ${alive.quoted(found)}`,
      );
      this.drawEnds(longest);
      const lags = [low, high].map((l) => String(Number((l * step).toFixed(3))));
      const waits = `${found.waits.length} waiting time${found.waits.length > 1 ? "s" : ""} from ${first} on`;
      const bent = `; the curve leaves the line by ${Math.round(100 * found.variation)} per cent of its height` +
        (found.variation > TOLERANCE ? ", and the library calls it bent" : "");
      const known = found.error > KNOWN * Math.abs(found.value) ? "Not known to 30 per cent: " : "";
      this.told.replaceChildren(
        element("strong", {}, `${known}T = ${alive.quoted(found)}`),
        ` over lags ${lags[0]} to ${lags[1]}, ${waits}${bent}. The paper: ${about.paper}.`,
      );
    }

    drawEnds(longest) {
      const { run, state } = this;
      const every = Math.max(1, Math.floor(longest / 40));
      const ends = [];
      for (let high = state.low + LEAST - 1; high <= longest; high += every) ends.push(high);
      const found = ends.map((high) => run.temperature(state.first, state.low, high));
      const [x, y, error] = [ends.map((high) => high * run.step), found.map((f) => f.value), found.map((f) => f.error)];
      const known = y.filter(Number.isFinite);
      const levels = [run.about.paper, this.found.value, ...known];
      const [least, most] = [Math.min(...levels), Math.max(...levels)];
      const room = Math.max(0.4 * (most - least), 0.05 * most);
      this.ends.draw(
        {
          x: { label: "end of the window (lag)", from: 0, to: 1.02 * run.step * longest },
          y: { label: "T", from: Math.max(0, least - room), to: most + room },
        },
        [
          { kind: "band", x, y, error, look: "theory" },
          { kind: "curve", x, y, look: "theory" },
          { kind: "level", y: run.about.paper, name: `the paper: ${run.about.paper}` },
          { kind: "points", x: [state.high * run.step], y: [this.found.value], yError: [this.found.error], look: "run", size: 5 },
        ],
        `T against the end of the window: from ${y[0].toPrecision(3)} to ${y.at(-1).toPrecision(3)}`,
      );
    }
  }

  alive.views = { ...alive.views, reading: Reading };
})((window.sgdnoise = window.sgdnoise || {}));
