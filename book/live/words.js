// Every sentence that the live page says of a run.
"use strict";
(function (live) {
  const GROWN = 20; // a loss so many times that of the start: training has left all scales

  function round(value) {
    return Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "–";
  }

  // A number of the table, with all its three digits, so that a column does not jump.
  function reading(value) {
    if (value === null || !Number.isFinite(value)) return "–";
    return value === 0 || Math.abs(value) >= 1e-4 ? value.toPrecision(3) : round(value);
  }

  // Why these settings cannot be run, or nothing.
  function refusal({ batch, persistence, rate }) {
    if (persistence === null || batch === 1) return "";
    const limit = live.batches.largestRate(batch, persistence);
    if (rate <= limit * (1 + 1e-12)) return "";
    return (
      `No run: with b = ${batch}, τ = ${persistence} and dt = ${rate} a sample would enter or leave the batch with ` +
      `a probability above one. Take dt at most ${round(limit)}, a longer τ, or vanilla SGD.`
    );
  }

  // Why a run that was begun is of no use, or nothing.
  function divergence({ verdict, series, rate }) {
    const advice = `The learning rate dt = ${rate} is too large here; take a smaller one.`;
    if (verdict === "rising") return `Gradient descent does not settle, its loss rises and falls for ever. ${advice}`;
    const grown = series.loss[series.loss.length - 1] > GROWN * series.loss[0];
    return verdict === "grown" || grown ? `Training diverges, its loss grows without bound. ${advice}` : "";
  }

  function running(settings, { samples }) {
    return (
      `Training two networks of ${settings.features} features on the same ${samples} samples, from the same start, ` +
      `with different batches: ${live.theory.describe(settings)}.`
    );
  }

  function finished(readings) {
    const { run, theory } = readings.distance;
    const expected = theory === null ? "" : `, in theory ${round(theory)}`;
    return `Finished. The two networks are ${round(run)} apart${expected}.`;
  }

  // `nearest` is where the reader finds a theory, if there is none of the present setting.
  function theoryLegend(theory, nearest) {
    if (theory !== null) return `DMFT for ${live.theory.describe(theory)}`;
    const where = nearest === null ? "" : ` (the nearest setting with one: ${live.theory.describe(nearest)})`;
    return `no theory was solved for this setting${where}`;
  }

  function plotLabel(what, { run, theory }) {
    return `${what}: ${round(run)} in the simulation, ${theory === null ? "no theory" : `${round(theory)} in theory`}`;
  }

  live.words = { divergence, finished, plotLabel, reading, refusal, round, running, theoryLegend };
})((window.sgdnoise = window.sgdnoise || {}));
