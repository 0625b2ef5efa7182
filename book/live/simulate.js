// Two replicas trained on one data set: what sgdnoise.simulate(..., replicas=2, realisations=1, precision="double")
// computes, in the same order of events. At step k the waiting time is marked or the kick applied, the batch is drawn,
// everything is recorded, and the step is taken. The sums run in another order, so that numbers agree to rounding.
"use strict";
(function (live) {
  const PROBES = 4; // random signs from which the response is estimated; tangents are stored four to a feature
  const ROWS = 64; // of the data set, drawn in one piece of work
  const REPLICAS = 2;
  // A full-batch run whose loss still rises in its second half is beyond its stability limit; see simulation/guard.py.
  const [RISE, RISE_FLOOR] = [1e-5, 1e-10];

  class Replica {
    constructor(start, samples, key) {
      const features = start.length;
      this.key = key;
      this.w = Float64Array.from(start);
      this.h = new Float64Array(samples);
      this.s = new Uint8Array(samples);
      this.slots = new Uint16Array(samples);
      this.gradient = new Float64Array(features);
      this.velocity = new Float64Array(features);
      this.marked = new Float64Array(features);
      this.tangents = new Float64Array(PROBES * features);
      this.tangentGradient = new Float64Array(PROBES * features);
      this.tangentVelocity = new Float64Array(PROBES * features);
      this.chi = 0;
    }
  }

  class Run {
    // `problem` has alpha, delta, ridge, margin and init_variance; `persistence` is null for vanilla SGD; `sampling` is
    // "random", for vanilla and persistent SGD, or "shuffled", for epochs.
    constructor(settings) {
      const { problem, batch, persistence, sampling = "random", momentum = 0, rate, duration, wait, features, seed } = settings;
      Object.assign(this, { problem, rate, momentum, features });
      this.steps = Math.round(duration / rate);
      this.wait = Math.round(wait / rate);
      this.samples = Math.max(1, Math.round(problem.alpha * features));
      this.fullBatch = batch === 1;
      this.epoch = sampling === "shuffled" ? live.batches.epoch(batch) : null;
      this.limits = live.batches.thresholds(live.batches.chain(batch, persistence, rate));
      this.keys = live.seed.streams(seed);
      this.buffers = live.normals.buffers(features);
      this.batchBuffers = (this.epoch === null ? live.normals.buffers : live.batches.epochBuffers)(this.samples);
      this.data = new Float64Array(this.samples * features);
      this.rowsDrawn = 0;
      this.step = 0;
      this.verdict = "running";
      this.previousLoss = Infinity;
      const names = ["time", "magnetization", "norm", "loss", "distance", "correlation", "response"];
      this.series = Object.fromEntries(names.map((name) => [name, []]));
      const start = new Float64Array(features);
      live.normals.fillRow(this.keys.start, 0, features, this.buffers, 0, Math.sqrt(problem.init_variance), start, 0);
      this.replicas = this.keys.batches.map((key) => new Replica(start, this.samples, key));
      this.probes = this.drawProbes();
    }

    // Do one piece of work, a few milliseconds at most: some rows of data, or a step. Say whether there is more.
    work() {
      if (this.verdict !== "running") return false;
      if (this.rowsDrawn < this.samples) this.drawRows();
      else this.takeStep();
      return this.verdict === "running";
    }

    // Rows y x / sqrt(N) = v / N + sqrt(delta / N) z, so that the pre-activations are h = data w.
    drawRows() {
      const [N, mean, scale] = [this.features, 1 / this.features, Math.sqrt(this.problem.delta / this.features)];
      const end = Math.min(this.rowsDrawn + ROWS, this.samples);
      for (let mu = this.rowsDrawn; mu < end; mu++) {
        live.normals.fillRow(this.keys.data, mu, N, this.buffers, mean, scale, this.data, mu * N);
      }
      this.rowsDrawn = end;
    }

    drawProbes() {
      const [first, second] = this.buffers;
      const probes = new Float64Array(PROBES * this.features);
      for (let p = 0; p < PROBES; p++) {
        live.threefry.words(this.keys.probes, p, first, second);
        for (let j = 0; j < this.features; j++) {
          const word = j < first.length ? first[j] : second[j - first.length];
          probes[PROBES * j + p] = word >>> 31 ? 1 : -1;
        }
      }
      return probes;
    }

    takeStep() {
      const k = this.step;
      for (const replica of this.replicas) {
        if (k === this.wait) replica.marked.set(replica.w);
        if (k === this.wait + 1) {
          replica.tangents.set(this.probes); // the kick is a step of the velocity, which momentum remembers
          for (let i = 0; i < this.probes.length; i++) replica.tangentVelocity[i] = -this.probes[i] / this.rate;
        }
        if (k > this.wait) replica.chi += (this.rate * dot(replica.tangents, this.probes)) / (PROBES * this.features);
      }
      project(this.data, this.features, this.replicas[0], this.replicas[1]);
      this.record(k);
      this.judge(k);
      if (this.verdict !== "running") return;
      for (const replica of this.replicas) {
        this.drawBatch(replica, k);
        this.descend(replica, k > this.wait);
      }
      this.step = k + 1;
    }

    drawBatch({ key, slots, s }, k) {
      if (this.epoch === null) live.batches.advance(key, this.limits, k, this.batchBuffers, s);
      else live.batches.shuffle(key, this.epoch, k, this.batchBuffers, slots, s);
    }

    record(k) {
      const { series, problem, features: N } = this;
      const [one, two] = this.replicas;
      const mean = (observable) => (observable(one) + observable(two)) / REPLICAS;
      const norm = mean(({ w }) => dot(w, w)) / N;
      let gap = 0;
      for (let j = 0; j < N; j++) gap += (one.w[j] - two.w[j]) ** 2;
      series.time.push(k * this.rate);
      series.magnetization.push(mean(({ w }) => w.reduce((sum, x) => sum + x, 0)) / N);
      series.norm.push(norm);
      series.loss.push(mean(({ h }) => hinge(h, problem.margin)) / N + 0.5 * problem.ridge * norm);
      series.distance.push(Math.sqrt(gap / N));
      series.correlation.push(k < this.wait ? NaN : mean(({ w, marked }) => dot(w, marked)) / N);
      series.response.push(k < this.wait ? NaN : mean(({ chi }) => chi));
    }

    // The run is over, has grown without bound, or is full-batch descent that does not settle.
    judge(k) {
      const { problem, series } = this;
      const limit = 1e12 * (1 + problem.init_variance + problem.margin ** 2) * (1 + 1 / problem.delta);
      const loss = series.loss[k];
      if (!(series.norm[k] <= limit)) this.verdict = "grown";
      else if (k === this.steps) this.verdict = "finished";
      else if (this.fullBatch && 2 * k > this.steps && loss > (1 + RISE) * this.previousLoss + RISE_FLOOR) {
        this.verdict = "rising";
      }
      this.previousLoss = loss;
    }

    // v <- beta v + g + ridge w, w <- w - dt v with g = sum_mu s_mu l'(h_mu) x_mu, and the tangents with l'' for l'.
    descend(replica, kicked) {
      const { data, features: N } = this;
      const margin = this.problem.margin;
      const { w, h, s, gradient, velocity, tangents, tangentGradient, tangentVelocity } = replica;
      gradient.fill(0);
      if (kicked) tangentGradient.fill(0);
      for (let mu = 0; mu < this.samples; mu++) {
        const slope = h[mu] - margin;
        if (s[mu] === 0 || slope >= 0) continue;
        const row = mu * N;
        for (let j = 0; j < N; j++) gradient[j] += slope * data[row + j];
        if (kicked) addCurvature(data, row, N, tangents, tangentGradient);
      }
      this.update(w, velocity, gradient);
      if (kicked) this.update(tangents, tangentVelocity, tangentGradient);
    }

    update(w, velocity, gradient) {
      const { rate, momentum } = this;
      const { ridge } = this.problem;
      for (let j = 0; j < w.length; j++) {
        velocity[j] = momentum * velocity[j] + (gradient[j] + ridge * w[j]);
        w[j] -= rate * velocity[j];
      }
    }
  }

  function dot(x, y) {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += x[j] * y[j];
    return sum;
  }

  function hinge(h, margin) {
    let sum = 0;
    for (let mu = 0; mu < h.length; mu++) if (h[mu] < margin) sum += (margin - h[mu]) ** 2;
    return 0.5 * sum;
  }

  // Pre-activations of both replicas in one pass over the data, in sums that do not wait for each other.
  function project(data, N, one, two) {
    const [w, v] = [one.w, two.w];
    const even = N - (N % 2);
    for (let mu = 0; mu < one.h.length; mu++) {
      const row = mu * N;
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let j = 0; j < even; j += 2) {
        const x = data[row + j];
        const y = data[row + j + 1];
        a += x * w[j];
        b += y * w[j + 1];
        c += x * v[j];
        d += y * v[j + 1];
      }
      if (even < N) {
        a += data[row + even] * w[even];
        c += data[row + even] * v[even];
      }
      one.h[mu] = a + b;
      two.h[mu] = c + d;
    }
  }

  // Add x (x . tangent) of one sample to the gradients of its four tangents.
  function addCurvature(data, row, N, D, E) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let j = 0, i = 0; j < N; j++, i += 4) {
      const x = data[row + j];
      a += x * D[i];
      b += x * D[i + 1];
      c += x * D[i + 2];
      d += x * D[i + 3];
    }
    for (let j = 0, i = 0; j < N; j++, i += 4) {
      const x = data[row + j];
      E[i] += a * x;
      E[i + 1] += b * x;
      E[i + 2] += c * x;
      E[i + 3] += d * x;
    }
  }

  live.simulate = { PROBES, Run };
})((window.sgdnoise = window.sgdnoise || {}));
