// Which samples are in the batch: one two-state chain a sample, or shuffled epochs, as lib/sgdnoise/random/processes.py
// and lib/sgdnoise/random/batches.py have them. Probabilities are whole multiples of 2^-30.
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

  // The number of batches in an epoch, which splits the samples equally.
  function epoch(batch) {
    const batches = Math.round(1 / batch);
    if (!(batch > 0 && Math.abs(batch * batches - 1) <= 1e-9)) throw new RangeError("the batch is not one over a whole number");
    return batches;
  }

  // Words for `shuffle`: one a sample, and two that no sample uses.
  function epochBuffers(samples) {
    return live.normals.buffers(samples + 4);
  }

  // Bring `s` to step `step`. An epoch begins with a random order of the samples, which is cut into equal batches;
  // `slots` keeps the batch of each sample until the next epoch.
  function shuffle(key, batches, step, buffers, slots, s) {
    const samples = s.length;
    const now = step % batches;
    if (now === 0 && (batches > 1 || step === 0)) {
      const [first, second] = buffers;
      const half = first.length - 2;
      live.threefry.words(key, step, first, second);
      const order = Uint32Array.from({ length: samples }, (_, mu) => mu);
      for (let i = 0; i < samples - 1; i++) {
        const word = (i < half ? first[i] : second[i - half]) >>> 0;
        const j = i + Math.floor((word * (samples - i)) / 2 ** 32);
        [order[i], order[j]] = [order[j], order[i]];
      }
      let place = (first[step === 0 ? half : half + 1] >>> 2) / UNIT; // where the first batch begins
      for (const mu of order) {
        slots[mu] = Math.floor((place / samples) * batches);
        place += 1;
      }
    }
    for (let mu = 0; mu < samples; mu++) s[mu] = slots[mu] === now ? 1 : 0;
  }

  live.batches = { advance, chain, epoch, epochBuffers, largestRate, shuffle, thresholds };
})((window.sgdnoise = window.sgdnoise || {}));
