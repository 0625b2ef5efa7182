// The live page: what the reader chose, the run that belongs to it, and the frames in which it is computed.
"use strict";
(function (live) {
  const GHOSTS = 6; // earlier runs that stay to be seen
  const NAMES = { phase: "phase", batch: "b", persistence: "tau", rate: "dt", features: "N", momentum: "beta", seed: "seed" };

  // Settings as the end of an address, and back; what is not among the values of the page is left as it is.
  function toHash(settings) {
    return `#${Object.entries(NAMES).map(([name, short]) => `${short}=${settings[name] ?? "none"}`).join("&")}`;
  }

  function fromHash(hash, content) {
    const settings = { ...content.start };
    const given = new URLSearchParams(hash.slice(1));
    const phase = given.get("phase");
    if (phase in content.phases) {
      settings.phase = phase;
      settings.rate = content.phases[phase].rate;
    }
    const { rates } = content.phases[settings.phase];
    const { batches: batch, persistences: persistence, features, momenta: momentum } = content;
    for (const [name, values] of Object.entries({ batch, persistence, rate: rates, features, momentum })) {
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
      this.view.setSliders(content, this.settings);
      root.hidden = false;
      new ResizeObserver(() => this.draw()).observe(this.view.plots);
      // The theme of the page is an attribute of its first element.
      new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
      this.restart(this.playing);
    }

    change(name, value) {
      this.settings[name] = value;
      if (name === "phase") {
        this.settings.rate = this.content.phases[value].rate; // each phase has learning rates of its own
        this.view.setSliders(this.content, this.settings);
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
      const others = ["phase", "persistence", "rate", "features", "momentum"];
      const finished = this.finished.filter((each) => others.every((name) => each[name] === settings[name]));
      const batches = content.batches.map((batch) => ({ ...settings, batch }));
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
  live.links = { fromHash, toHash };
  // After the load event, not within it: the text is there first.
  if (document.readyState === "complete") begin();
  else window.addEventListener("load", () => setTimeout(begin));
})((window.sgdnoise = window.sgdnoise || {}));
