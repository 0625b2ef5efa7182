// Counter-based random bits, word for word those of lib/sgdnoise/simulation/threefry.py: Threefry-2x32.
// `words(key, row, first, second)` fills two buffers with the words of the counters (0, row), (1, row), ...
"use strict";
(function (live) {
  const PARITY = 0x1bd11bda;
  const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24];
  const ROUNDS = 20; // a multiple of four: after every fourth round a word of the key is added

  function words(key, row, first, second) {
    const keys = [key[0] | 0, key[1] | 0, PARITY ^ key[0] ^ key[1]];
    for (let j = 0; j < first.length; j++) {
      let a = (j + keys[0]) | 0;
      let b = (row + keys[1]) | 0;
      for (let round = 0; round < ROUNDS; round += 4) {
        for (let i = 0; i < 4; i++) {
          const r = ROTATIONS[(round + i) & 7];
          a = (a + b) | 0;
          b = ((b << r) | (b >>> (32 - r))) ^ a;
        }
        const n = round / 4 + 1;
        a = (a + keys[n % 3]) | 0;
        b = (b + keys[(n + 1) % 3] + n) | 0;
      }
      first[j] = a;
      second[j] = b;
    }
  }

  live.threefry = { ROUNDS, words };
})((window.sgdnoise = window.sgdnoise || {}));
