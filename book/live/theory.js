// The solutions of mean-field theory that were shipped with the page, and the one of what the sliders say.
"use strict";
(function (live) {
  // Gradient descent, shuffled epochs, vanilla SGD and persistent SGD are never taken for one another.
  function kind({ batch, persistence, sampling }) {
    if (batch === 1) return "gradient descent";
    if (sampling === "shuffled") return "shuffled SGD";
    return persistence === null ? "vanilla SGD" : "persistent SGD";
  }

  function logRatio(a, b) {
    return a === null || b === null ? 0 : Math.abs(Math.log(a / b));
  }

  // How far apart two settings are: a factor e in rate or persistence counts as much as 0.2 in the batch fraction.
  function gap(a, b) {
    return Math.abs(a.batch - b.batch) / 0.2 + logRatio(a.persistence, b.persistence) + logRatio(a.rate, b.rate);
  }

  // The nearest solution of the same phase and kind with all its curves, or null.
  function nearest(groups, wanted) {
    let best = null;
    for (const { phase, rate, time, points } of groups) {
      if (phase !== wanted.phase) continue;
      for (const point of points) {
        const found = { ...point, rate, time };
        if (kind(found) === kind(wanted) && (best === null || gap(found, wanted) < gap(best, wanted))) best = found;
      }
    }
    return best;
  }

  // The solution of this very setting, or null: a run is compared with no other. None was solved with momentum.
  function solved(groups, wanted) {
    if (wanted.momentum) return null;
    const best = nearest(groups, wanted);
    return best !== null && gap(best, wanted) === 0 ? best : null;
  }

  function describe(point) {
    const words = { "gradient descent": "GD", "vanilla SGD": `vanilla SGD, b = ${point.batch}` };
    words["shuffled SGD"] = `SGD in shuffled epochs, b = 1/${Math.round(1 / point.batch)}`;
    const algorithm = words[kind(point)] || `p-SGD, b = ${point.batch}, τ = ${point.persistence}`;
    return `${algorithm}${point.momentum ? `, momentum ${point.momentum}` : ""}, dt = ${point.rate}`;
  }

  // One curve of a solution at a time, between its points by a straight line; those from the waiting time on have no earlier.
  function at({ time, ...curves }, name, when) {
    const values = curves[name];
    const times = time.slice(time.length - values.length);
    if (!(when >= times[0] - 1e-9)) return NaN;
    const next = times.findIndex((t) => t >= when - 1e-9);
    if (next <= 0) return values[next === 0 ? 0 : values.length - 1];
    const part = (when - times[next - 1]) / (times[next] - times[next - 1]);
    return values[next - 1] + part * (values[next] - values[next - 1]);
  }

  // The mean of a curve from a time on, and the ratio of displacement and response at the end: what is drawn against b.
  function late({ time, distance, response, displacement }, wait) {
    const from = time.findIndex((t) => t >= wait - 1e-9);
    let [area, width] = [0, 0];
    for (let i = from + 1; i < time.length; i++) {
      area += ((distance[i] + distance[i - 1]) / 2) * (time[i] - time[i - 1]);
      width += time[i] - time[i - 1];
    }
    return { distance: area / width, temperature: displacement.at(-1) / response.at(-1) };
  }

  live.theory = { late, at, describe, nearest, solved };
})((window.sgdnoise = window.sgdnoise || {}));
