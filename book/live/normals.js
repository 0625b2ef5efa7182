// Standard normals, bit for bit those of lib/sgdnoise/simulation/normals.py: Box and Muller's map with a logarithm and
// a rotation in single precision. Every operation is rounded to float32 where the library's is.
"use strict";
(function (live) {
  const f = Math.fround;
  const [HALF_PI, LN2] = [f(Math.PI / 2), f(Math.log(2))];
  const SQRT_HALF_BITS = 0x3f3504f3;
  const [S3, S5, S7] = [f(-1 / 6), f(1 / 120), f(-1 / 5040)];
  const [C2, C4, C6, C8] = [f(-1 / 2), f(1 / 24), f(-1 / 720), f(1 / 40320)];
  const [L0, L1, L2, L3, L4, L5, L6, L7, L8] = [
    7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
  ].map(f);
  const real = new Float32Array(1);
  const bits = new Int32Array(real.buffer);

  // sqrt(-2 ln u) for the uniform number u = word / 2^32, never zero.
  function radius(word) {
    const low = f(f(word & 0xffff) + f(0.5));
    real[0] = f(f(f(f(word >>> 16) * f(65536)) + low) * f(2 ** -32));
    const e = (bits[0] - SQRT_HALF_BITS) >> 23;
    bits[0] -= e << 23; // u = 2^e times a number from sqrt(1/2) to sqrt(2)
    const x = f(real[0] - f(1));
    const square = f(x * x);
    let p = f(f(L0 * x) + L1);
    p = f(f(p * x) + L2);
    p = f(f(p * x) + L3);
    p = f(f(p * x) + L4);
    p = f(f(p * x) + L5);
    p = f(f(p * x) + L6);
    p = f(f(p * x) + L7);
    p = f(f(p * x) + L8);
    const tail = f(f(f(p * x) * square) - f(f(0.5) * square));
    const minus = f(f(-2) * f(f(x + tail) + f(f(e) * LN2)));
    return f(Math.sqrt(minus > 0 ? minus : 0));
  }

  // Fill `out[offset ... offset + length - 1]` with mean + scale z; `row` is the second half of the counter.
  function fillRow(key, row, length, buffers, mean, scale, out, offset) {
    const half = (length + 1) >> 1;
    const [first, second] = buffers;
    live.threefry.words(key, row, first, second);
    for (let j = 0; j < half; j++) {
      const r = radius(first[j]);
      const word = second[j];
      // Within an eighth of a turn from zero the series are short; the top two bits then choose the quarter.
      const x = f(HALF_PI * f(f(f(word & 0x3fffffff) * f(2 ** -30)) - f(0.5)));
      const y = f(x * x);
      const s = f(x * f(f(1) + f(y * f(S3 + f(y * f(S5 + f(y * S7)))))));
      const c = f(f(1) + f(y * f(C2 + f(y * f(C4 + f(y * f(C6 + f(y * C8))))))));
      const quarter = word >>> 30;
      const sign = 1 - (quarter & 2);
      const [cosine, sine] = quarter & 1 ? [-s, c] : [c, s];
      out[offset + j] = mean + scale * f(r * (sign * cosine));
      if (half + j < length) out[offset + half + j] = mean + scale * f(r * (sign * sine));
    }
  }

  // Two buffers for the random words of a row of this length.
  function buffers(length) {
    const half = (length + 1) >> 1;
    return [new Uint32Array(half), new Uint32Array(half)];
  }

  live.normals = { buffers, fillRow };
})((window.sgdnoise = window.sgdnoise || {}));
