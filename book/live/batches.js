// Which samples are in the batch: one two-state chain a sample, as lib/sgdnoise/algorithms.py and
// lib/sgdnoise/simulation/batches.py have it. Probabilities are whole multiples of 2^-30.
"use strict";
(function (live) {
  const UNIT = 2 ** 30;

  // The largest learning rate at which Euler's switching probabilities of persistent SGD stay within one.
  function largestRate(batch, persistence) {
    return persistence * (batch < 1 ? Math.min(1, batch / (1 - batch)) : 1);
  }

  // Probabilities to start in the batch, to enter it and to leave it; without persistence, those of vanilla SGD.
  function chain(batch, persistence, rate) {
    if (persistence === null) return { batch, enter: batch, leave: 1 - batch };
    if (rate > largestRate(batch, persistence) * (1 + 1e-12)) throw new RangeError("a probability exceeds one");
    return {
      batch,
      enter: Math.min(rate / persistence, 1),
      leave: Math.min((((1 - batch) / batch) * rate) / persistence, 1),
    };
  }

  function thresholds({ batch, enter, leave }) {
    return [batch, enter, 1 - leave].map((probability) => roundHalfToEven(UNIT * probability));
  }

  function roundHalfToEven(x) {
    const below = Math.floor(x);
    if (x - below !== 0.5) return Math.round(x);
    return below % 2 === 0 ? below : below + 1;
  }

  // Bring `s` from step `step - 1` to `step`, or to its start at step 0.
  function advance(key, [start, enter, stay], step, buffers, s) {
    if (start === UNIT && stay === UNIT && step > 0) return; // every sample is in, for good
    const [first, second] = buffers;
    const half = first.length;
    live.threefry.words(key, step, first, second);
    for (let mu = 0; mu < s.length; mu++) {
      const word = mu < half ? first[mu] : second[mu - half];
      const limit = step === 0 ? start : s[mu] ? stay : enter;
      s[mu] = word >>> 2 < limit ? 1 : 0;
    }
  }

  live.batches = { advance, chain, largestRate, thresholds };
})((window.sgdnoise = window.sgdnoise || {}));
