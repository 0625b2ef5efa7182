// The arithmetic of lib/sgdnoise/fdt.py and temperature.py that figures need which answer to the reader.
"use strict";
(function (alive) {
  // Numbers that the build has packed: base64 of 32-bit floats.
  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  }

  // Slope and intercept of the least-squares line of y on x.
  function line(x, y) {
    const n = x.length;
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / n;
    const [centre, level] = [mean(x), mean(y)];
    let [square, product] = [0, 0];
    for (let i = 0; i < n; i++) {
      square += (x[i] - centre) ** 2;
      product += (x[i] - centre) * y[i];
    }
    return { slope: product / square, intercept: level - (product / square) * centre };
  }

  // Mean over rows, of all or without one.
  function meanWithout(rows, left) {
    const kept = rows.filter((_, i) => i !== left);
    return rows[0].map((_, j) => kept.reduce((sum, row) => sum + row[j], 0) / kept.length);
  }

  // An estimate at the means over realisations, and its error from leaving out one at a time.
  function jackknife(estimate, ...columns) {
    const n = columns[0].length;
    const value = estimate(...columns.map((rows) => meanWithout(rows, -1)));
    if (n === 1) return { value, error: NaN };
    const without = columns[0].map((_, i) => estimate(...columns.map((rows) => meanWithout(rows, i))));
    const mean = without.reduce((sum, each) => sum + each, 0) / n;
    return { value, error: Math.sqrt(((n - 1) / n) * without.reduce((sum, each) => sum + (each - mean) ** 2, 0)) };
  }

  // One run of an engine: response and squared displacement by realisation, waiting time and lag.
  class Run {
    constructor({ step, waits, lags, realisations, end, response, displacement, ...about }) {
      Object.assign(this, { step, waits, lags, realisations, end, about });
      this.response = unpack(response);
      this.displacement = unpack(displacement);
    }

    // Waiting times from `first` on whose window ends within the run, as the library takes them.
    fitting(first, high) {
      const fits = (wait) => wait >= first - 1e-9 && wait + high * this.step <= this.end + 1e-9;
      return this.waits.map((wait, i) => [wait, i]).filter(([wait]) => fits(wait)).map(([, i]) => i);
    }

    // Curves averaged over waiting times, a row a realisation, from lag number `low` to `high`.
    pooled(first, low, high) {
      const waits = this.fitting(first, high);
      const rows = (values) =>
        Array.from({ length: this.realisations }, (_, r) =>
          Array.from({ length: high - low + 1 }, (_, l) => {
            const at = (w) => values[(r * this.waits.length + w) * this.lags + low + l];
            return waits.reduce((sum, w) => sum + at(w), 0) / waits.length;
          }),
        );
      return { x: rows(this.response), y: rows(this.displacement), waits };
    }

    // What effective_temperature(run, "line", lags, waiting_times) gives.
    temperature(first, low, high) {
      const { x, y, waits } = this.pooled(first, low, high);
      const found = jackknife((u, v) => line(u, v).slope, x, y);
      const [u, v] = [meanWithout(x, -1), meanWithout(y, -1)];
      const { slope, intercept } = line(u, v);
      const off = Math.max(...u.map((each, i) => Math.abs(v[i] - slope * each - intercept)));
      return { ...found, intercept, variation: off / (Math.max(...v) - Math.min(...v)), waits, x: u, y: v };
    }
  }

  // A number with two digits of its error.
  function quoted({ value, error }) {
    if (!Number.isFinite(error) || error <= 0) return `${Number(value.toPrecision(4))}`.replace("-", "−");
    const digits = Math.max(0, 1 - Math.floor(Math.log10(error)));
    return `${value.toFixed(digits)} ± ${error.toFixed(digits)}`.replace("-", "−");
  }

  Object.assign(alive, { Run, jackknife, line, quoted, unpack });
})((window.sgdnoise = window.sgdnoise || {}));
