// The live page: what the reader chose, the run that belongs to it, and the frames in which it is computed.
"use strict";
(function (live) {
  const GHOSTS = 6; // earlier runs that stay to be seen
  const NAMES = { phase: "phase", batch: "b", persistence: "tau", rate: "dt", features: "N", momentum: "beta", seed: "seed" };

  // What the sliders offer. A shuffled epoch has a whole number of batches, and no persistence.
  function offered(content, { phase, sampling }) {
    const { batches, epochs, persistences, features, momenta: momentum } = content;
    const shuffled = sampling === "shuffled";
    return {
      batch: shuffled ? epochs.map((n) => 1 / n) : batches,
      persistence: shuffled ? [null] : persistences,
      rate: content.phases[phase].rates,
      features,
      momentum,
    };
  }

  // After another choice of batches: the batch fraction nearest to the present one, and a persistence that is offered.
  function fit(content, settings) {
    const values = offered(content, settings);
    const factor = (batch) => Math.abs(Math.log(batch / settings.batch));
    settings.batch = values.batch.reduce((best, batch) => (factor(batch) < factor(best) ? batch : best));
    if (!values.persistence.includes(settings.persistence)) settings.persistence = null;
  }

  // Settings as the end of an address, and back; what is not among the values of the page is left as it is.
  function toHash(settings) {
    const sampling = settings.sampling === "shuffled" ? "&batches=shuffled" : "";
    return `#${Object.entries(NAMES).map(([name, short]) => `${short}=${settings[name] ?? "none"}`).join("&")}${sampling}`;
  }

  function fromHash(hash, content) {
    const settings = { ...content.start };
    const given = new URLSearchParams(hash.slice(1));
    const phase = given.get("phase");
    if (phase in content.phases) {
      settings.phase = phase;
      settings.rate = content.phases[phase].rate;
    }
    if (Object.keys(live.controls.SAMPLINGS).includes(given.get("batches"))) settings.sampling = given.get("batches");
    fit(content, settings);
    for (const [name, values] of Object.entries(offered(content, settings))) {
      const text = given.get(NAMES[name]);
      const found = values.find((value) => String(value ?? "none") === text);
      if (found !== undefined) settings[name] = found;
    }
    if (/^\d{1,9}$/.test(given.get("seed") || "")) settings.seed = Number(given.get("seed"));
    return settings;
  }

  class Live {
    // `content` is what the notebook shipped: phases, lists of values, the first settings, and the theory.
    constructor(root, content) {
      Object.assign(this, { root, content, settings: fromHash(location.hash, content), request: null, run: null });
      Object.assign(this, { ghosts: [], finished: [] });
      this.pace = new live.pace.Pace();
      this.playing = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.view = new live.view.View(root, content, this.settings, {
        change: (name, value) => this.change(name, value),
        toggle: () => this.toggle(),
        restart: () => this.restart(true),
        renew: () => this.change("seed", this.settings.seed + 1),
      });
      this.view.setSliders(offered(content, this.settings), this.settings);
      root.hidden = false;
      new ResizeObserver(() => this.draw()).observe(this.view.plots);
      // The theme of the page is an attribute of its first element.
      new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
      this.restart(this.playing);
    }

    change(name, value) {
      this.settings[name] = value;
      if (name === "phase") this.settings.rate = this.content.phases[value].rate; // each phase has rates of its own
      if (name === "sampling") fit(this.content, this.settings);
      if (name === "phase" || name === "sampling") {
        this.view.setSliders(offered(this.content, this.settings), this.settings);
      }
      this.restart(this.playing);
    }

    toggle() {
      if (this.state === "running" || this.state === "paused") this.play(!this.playing);
      else this.restart(true);
    }

    restart(playing) {
      const { settings } = this;
      const { problem, duration, wait } = this.content.phases[settings.phase];
      const last = this.run;
      if (last !== null && last.step > last.wait) this.ghosts = [...this.ghosts, last].slice(-GHOSTS);
      this.ghosts = this.ghosts.filter((each) => each.problem === problem);
      this.view.link.href = toHash(settings);
      const refused = live.words.refusal(settings) !== "";
      this.theory = refused ? null : live.theory.solved(this.content.groups, settings);
      this.run = refused ? null : new live.simulate.Run({ ...settings, problem, duration, wait });
      this.pace.restart();
      this.summarise();
      this.play(playing);
    }

    // Finished runs and solutions at the present setting, whatever their batch fraction.
    summarise() {
      const { settings, content } = this;
      const others = ["phase", "sampling", "persistence", "rate", "features", "momentum"];
      const finished = this.finished.filter((each) => others.every((name) => each[name] === settings[name]));
      const batches = offered(content, settings).batch.map((batch) => ({ ...settings, batch }));
      const solved = batches.map((each) => live.theory.solved(content.groups, each)).filter((each) => each !== null);
      const { wait } = content.phases[settings.phase];
      this.view.summarise(finished, solved.map((each) => ({ batch: each.batch, ...live.theory.late(each, wait) })));
    }

    // Note what a run found, once.
    note() {
      const { run, settings } = this;
      if (run === null || run.noted || this.state !== "finished") return;
      run.noted = true;
      const { time, distance, response } = run.series;
      const displacement = live.view.displacement(run.series, run.wait);
      const found = live.theory.late({ time, distance, response, displacement }, time[run.wait]);
      this.finished.push({ ...settings, ...found });
      this.summarise();
    }

    play(playing) {
      this.playing = playing;
      this.pace.pause();
      this.tell();
      this.draw();
      this.next();
    }

    get state() {
      if (this.run === null) return "refused";
      if (live.words.divergence(this.run) !== "") return "diverged";
      if (this.run.verdict === "finished") return "finished";
      return this.playing ? "running" : "paused";
    }

    next() {
      if (this.request !== null || this.state !== "running") return;
      this.request = requestAnimationFrame(() => {
        this.request = null;
        if (this.state !== "running") return;
        this.pace.frame(this.run);
        this.draw();
        if (this.state !== "running") this.tell();
        this.next();
      });
    }

    // Say what is going on: when it changes, and never in every frame.
    tell() {
      this.note();
      const { settings, theory, run, state } = this;
      const readings = live.view.read(run, theory);
      const sentence = {
        refused: () => live.words.refusal(settings),
        diverged: () => live.words.divergence(run),
        finished: () => live.words.finished(readings),
        running: () => live.words.running(settings, run),
        paused: () => "Paused. Press Run to go on.",
      }[state]();
      const legend = live.words.theoryLegend(theory, live.theory.nearest(this.content.groups, settings));
      this.view.tell(state, sentence, settings, legend);
      this.view.describe(readings);
      this.root.dataset.framesPerSecond = this.pace.framesPerSecond.toFixed(1);
      this.root.dataset.slowestFrame = this.pace.slowest.toFixed(1);
    }

    draw() {
      this.view.draw(this.run, this.theory, this.content.phases[this.settings.phase].duration, this.ghosts);
    }
  }

  // The page of the book has one of these; the theory stands beside it as JSON.
  function begin() {
    const root = document.getElementById("live");
    if (root === null) return;
    live.page = new Live(root, JSON.parse(document.getElementById("live-content").textContent));
  }

  live.Live = Live;
  live.links = { fromHash, offered, toHash };
  // After the load event, not within it: the text is there first.
  if (document.readyState === "complete") begin();
  else window.addEventListener("load", () => setTimeout(begin));
})((window.sgdnoise = window.sgdnoise || {}));
