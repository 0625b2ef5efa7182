// Keys of random streams from a seed, as NumPy's SeedSequence spawns them: a pool of four words is mixed from the seed
// and the numbers of the children, and hashed into as many words as are wanted.
"use strict";
(function (live) {
  const POOL = 4;
  const [INIT_A, MULT_A, INIT_B, MULT_B] = [0x43b0d7e5, 0x931e8875, 0x8b51f9dd, 0x58f38ded];
  const [MIX_LEFT, MIX_RIGHT] = [0xca01f9dd, 0x4973f715];

  function hasher(start, multiplier) {
    let constant = start;
    return function (value) {
      value ^= constant;
      constant = Math.imul(constant, multiplier);
      value = Math.imul(value, constant);
      return value ^ (value >>> 16);
    };
  }

  function mix(x, y) {
    const value = (Math.imul(MIX_LEFT, x) - Math.imul(MIX_RIGHT, y)) | 0;
    return value ^ (value >>> 16);
  }

  // Words of SeedSequence(seed, spawn_key=path).generate_state(count), for a seed below 2^32.
  function generateState(seed, path, count) {
    const entropy = [seed, 0, 0, 0, ...path];
    const hash = hasher(INIT_A, MULT_A);
    const pool = entropy.slice(0, POOL).map(hash);
    for (let source = 0; source < POOL; source++) {
      for (let target = 0; target < POOL; target++) {
        if (source !== target) pool[target] = mix(pool[target], hash(pool[source]));
      }
    }
    for (const word of entropy.slice(POOL)) {
      for (let target = 0; target < POOL; target++) pool[target] = mix(pool[target], hash(word));
    }
    const last = hasher(INIT_B, MULT_B);
    return Uint32Array.from({ length: count }, (_, i) => last(pool[i % POOL]));
  }

  // Keys of the first data set of a seed, in the order of lib/sgdnoise/simulation/training.py.
  function streams(seed) {
    const [data, start, first, second, probes] = [0, 1, 2, 3, 4].map((i) => generateState(seed, [0, i], 2));
    return { data, start, batches: [first, second], probes };
  }

  live.seed = { generateState, streams };
})((window.sgdnoise = window.sgdnoise || {}));
