// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is computed by relaxed SIMD where the engine has it; everything but the last bits holds without, too. In Node 20,
// which has it by an option, test/node/relaxed_simd.test.js runs this once more.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import {
  conv2d, conv2dBackpropFilter, createRuntime, exp, fusedConv2d, matMul, sigmoid, softmax,
} from 'tandem-rt';

// f(): at 48, the multiplication and addition of the vectors at 0, 16 and 32, as relaxed SIMD has it here.
const FUSED = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 9, 2, 1, 109, 2, 0, 1, 102, 0, 0, 10, 31,
  1, 29, 0, 65, 0, 65, 0, 253, 0, 4, 0, 65, 0, 253, 0, 4, 16, 65, 0, 253, 0, 4, 32, 253, 133, 2, 253, 11, 4, 48, 11,
];
const hasRelaxedSimd = WebAssembly.validate(new Uint8Array(FUSED));

// The same numbers each time, in [-1, 1), with 24 bits.
let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) / (1 << 23) - 1;
};
const randoms = (count) => Float32Array.from({ length: count }, random);
const EPSILON = 2 ** -24;

/** Whether each result is a sum, in f64, within what so many roundings may change. */
function checkSums(results, count, sumOf) {
  for (let i = 0; i < count; ++i) {
    const { sum, terms, size } = sumOf(i);
    const error = Math.abs(results[i] - sum);
    if (!(error <= (terms + 2) * EPSILON * size)) {
      expect.fail(`expected ${sum} at ${i}, got ${results[i]}: ${terms} terms, error ${error}`);
    }
  }
}

// What there is to compute, and how it is checked. Filters and matrices are read twice, so that they are constants, too.
const products = [];
for (const [m, k, n] of [
  [1, 1, 1], [1, 605, 700], [1, 1021, 2100], [2, 3, 5], [3, 70, 9], [4, 8, 7], [5, 1, 17], [7, 257, 13],
  [16, 256, 24], [17, 255, 31], [33, 600, 66], [129, 40, 90], [400, 300, 130],
]) {
  for (const [transposeA, transposeB] of [[false, false], [true, false], [false, true]]) {
    products.push({
      name: `${m}x${k} times ${k}x${n}${transposeA ? ', the first transposed' : ''}${transposeB ? ', the second' : ''}`,
      inputs: [[transposeA ? [k, m] : [m, k], randoms(m * k)], [transposeB ? [n, k] : [k, n], randoms(k * n)]],
      compute: (a, b) => matMul(a, b, { transposeA, transposeB }),
      check(results, [[, a], [, b]]) {
        checkSums(results, m * n, (i) => {
          const row = Math.floor(i / n);
          const col = i % n;
          let sum = 0;
          let size = 0;
          for (let p = 0; p < k; ++p) {
            const product = a[transposeA ? p * m + row : row * k + p] * b[transposeB ? col * k + p : p * n + col];
            sum += product;
            size += Math.abs(product);
          }
          return { sum, terms: k, size };
        });
      },
    });
  }
}
for (const { size, channels, out, taps, stride, fused } of [
  { size: 5, channels: 1, out: 1, taps: 1, stride: 1 },
  { size: 9, channels: 3, out: 11, taps: 3, stride: 2, fused: ['BiasAdd', 'Relu6'] },
  { size: 12, channels: 5, out: 32, taps: 3, stride: 1, fused: ['BiasAdd'] },
  { size: 7, channels: 40, out: 13, taps: 3, stride: 1, fused: ['BiasAdd', 'Relu'] },
  { size: 14, channels: 70, out: 20, taps: 1, stride: 1 },
]) {
  const pad = (taps - 1) / 2;
  const outSize = Math.ceil((size + 2 * pad - taps + 1) / stride);
  const explicitPaddings = [0, 0, pad, pad, pad, pad, 0, 0];
  const options = { explicitPaddings };
  products.push({
    name: `filter of ${taps}x${taps}x${channels}x${out} over ${size}x${size}${fused ? `, ${fused.join(' and ')}` : ''}`,
    inputs: [[[2, size, size, channels], randoms(2 * size * size * channels)],
      [[taps, taps, channels, out], randoms(taps * taps * channels * out)], [[out], randoms(out)]],
    compute: (x, filter, bias) => (fused
      ? fusedConv2d(x, filter, [bias], [1, stride, stride, 1], 'EXPLICIT', { ...options, fusedOps: fused })
      : conv2d(x, filter, [1, stride, stride, 1], 'EXPLICIT', options)),
    check(results, [[, x], [, filter], [, bias]]) {
      checkSums(results, 2 * outSize * outSize * out, (i) => {
        const o = i % out;
        const col = Math.floor(i / out) % outSize;
        const row = Math.floor(i / out / outSize) % outSize;
        const image = Math.floor(i / out / outSize / outSize);
        let sum = fused ? bias[o] : 0;
        let scale = Math.abs(sum);
        for (let r = 0; r < taps; ++r) {
          const y = row * stride + r - pad;
          for (let s = 0; s < taps && y >= 0 && y < size; ++s) {
            const at = col * stride + s - pad;
            for (let c = 0; c < channels && at >= 0 && at < size; ++c) {
              const product = x[((image * size + y) * size + at) * channels + c] *
                filter[((r * taps + s) * channels + c) * out + o];
              sum += product;
              scale += Math.abs(product);
            }
          }
        }
        if (fused?.[1]) sum = Math.max(0, fused[1] === 'Relu6' ? Math.min(6, sum) : sum);
        return { sum, terms: taps * taps * channels, size: scale };
      });
    },
  });
}
{
  const [size, channels, out] = [10, 1, 9];
  products.push({
    name: 'gradient of a filter of one channel',
    inputs: [[[3, size, size, channels], randoms(3 * size * size)], [[3, size, size, out], randoms(3 * size * size * out)]],
    compute: (x, gradient) => conv2dBackpropFilter(x, [3, 3, channels, out], gradient, [1, 1, 1, 1], 'SAME'),
    check(results, [[, x], [, gradient]]) {
      checkSums(results, 9 * out, (i) => {
        const [o, s, r] = [i % out, Math.floor(i / out) % 3, Math.floor(i / out / 3)];
        let sum = 0;
        let scale = 0;
        for (let pixel = 0; pixel < 3 * size * size; ++pixel) {
          const y = Math.floor(pixel / size) % size + r - 1;
          const at = pixel % size + s - 1;
          if (y < 0 || y >= size || at < 0 || at >= size) continue;
          const product = x[(Math.floor(pixel / size / size) * size + y) * size + at] * gradient[pixel * out + o];
          sum += product;
          scale += Math.abs(product);
        }
        return { sum, terms: 3 * size * size, size: scale };
      });
    },
  });
}

// Those near a limit between formulas, those whose results are subnormal or infinite, and all that is special.
const SPECIAL = [
  0, -0, 1, -1, 86.99, 87, 87.5, 88.7, 88.8, 89.5, 127, 1e30, Infinity, -86.99, -87, -87.5, -90, -103, -103.9, -104.5, -1e30,
  -Infinity, NaN, 1e-40, 2 ** -24,
];
const powers = [];
for (const count of [1, 3, 4, 7, 127, 128, 130, 1000, 70_001]) {
  const usual = Float32Array.from(randoms(count), (x) => 40 * x);
  for (const [name, values] of [
    ['usual numbers', usual],
    ['all numbers', usual.map((x, i) => (i % 3 === 1 ? SPECIAL[(i * 7) % SPECIAL.length] : 3 * x))],
  ]) powers.push({ name: `${count} of ${name}`, values: Float32Array.from(values) });
}

/** Whether an f32 is what is expected, within so many units in the last place, and of subnormal numbers one. */
function expectNear(result, expected, ulps, what) {
  const wanted = Math.fround(expected);
  if (Object.is(result, wanted) || (Number.isNaN(result) && Number.isNaN(wanted))) return;
  const unit = 2 ** (Math.max(-126, Math.floor(Math.log2(Math.abs(expected)))) - 23);
  if (!(Math.abs(result - expected) <= ulps * unit)) expect.fail(`expected ${expected} of ${what}, got ${result}`);
}

async function resultsOf(rt, { inputs, compute }) {
  const tensors = inputs.map(([shape, values]) => rt.tensor(values, shape));
  const first = await compute(...tensors).data();
  expect(await compute(...tensors).data()).to.deep.equal(first);
  return first;
}

describe('relaxed SIMD', () => {
  const runtimes = new Map();
  before(async () => {
    runtimes.set('one thread', await createRuntime({ device: 'cpu', threads: 1 }));
    runtimes.set('three threads', await createRuntime({ device: 'cpu', threads: 3 }));
    runtimes.set('exact', await createRuntime({ device: 'cpu', threads: 1, exact: true }));
  });
  after(async () => {
    for (const rt of runtimes.values()) await rt.dispose();
  });

  it('is used where the engine has it, and the runtime says so', () => {
    for (const rt of runtimes.values()) expect(rt.capabilities.relaxedSimd).to.equal(hasRelaxedSimd);
  });

  it('rounds as the engine does, and in exact mode after each product (NU-3)', async () => {
    // The sum of -1 * (1 + 2^-11) and (1 + 2^-12)^2: 2^-24 if the second product is not rounded, else 0.
    const x = 1 + 2 ** -12;
    let fused = 0;
    if (hasRelaxedSimd) {
      const { m, f } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(FUSED))).exports;
      new Float32Array(m.buffer).set([x, 0, 0, 0, x, 0, 0, 0, -(1 + 2 ** -11)]);
      f();
      fused = new Float32Array(m.buffer)[12];
      expect([0, 2 ** -24]).to.include(fused);
    }
    // Enough for several threads.
    const [rows, cols] = [20_000, 133];
    const a = Float32Array.from({ length: 2 * rows }, (_, i) => (i % 2 ? x : -1));
    const b = Float32Array.from({ length: 2 * cols }, (_, i) => (i < cols ? 1 + 2 ** -11 : x));
    for (const [name, rt] of runtimes) {
      const wanted = name === 'exact' ? 0 : fused;
      const product = matMul(rt.tensor(a, [rows, 2]), rt.tensor(b, [2, cols]));
      const image = conv2d(rt.tensor(a, [1, rows, 1, 2]), rt.tensor(b, [1, 1, 2, cols]), [1, 1, 1, 1], 'VALID');
      for (const y of [product, image]) {
        expect(await y.data(), name).to.deep.equal(new Float32Array(rows * cols).fill(wanted));
      }
    }
  });

  for (const product of products) {
    it(`gives the sums of products, the same with any number of threads: ${product.name} (NU-2)`, async () => {
      const first = await resultsOf(runtimes.get('one thread'), product);
      product.check(first, product.inputs);
      expect(await resultsOf(runtimes.get('three threads'), product)).to.deep.equal(first);
    });
  }

  for (const { name, values } of powers) {
    it(`gives powers of e and sigmoids, each whatever is beside it: ${name} (NU-2)`, async () => {
      for (const [op, ulps, exact] of [[exp, 1.5, Math.exp], [sigmoid, 3, (x) => 1 / (1 + Math.exp(-x))]]) {
        const results = await op(runtimes.get('one thread').tensor(values)).data();
        for (let i = 0; i < values.length; ++i) expectNear(results[i], exact(values[i]), ulps, `${op.name}(${values[i]})`);
        expect(await op(runtimes.get('three threads').tensor(values)).data()).to.deep.equal(results);
        for (let i = 0; i < Math.min(values.length, 60); ++i) {
          const alone = await op(runtimes.get('one thread').tensor(values.slice(i, i + 1))).data();
          expect(alone, `${op.name}(${values[i]})`).to.deep.equal(results.slice(i, i + 1));
        }
      }
    });
  }

  for (const [rows, cols, range] of [
    [1, 1, 5], [3, 15, 5], [5, 16, 5], [4, 17, 30], [7, 130, 200], [2, 1000, 5], [3, 1003, 300], [300, 257, 40],
    [1, 32_768, 3], [2, 40_001, 3],
  ]) {
    it(`gives the softmax of ${rows} rows of ${cols} numbers up to ${range} (NU-2)`, async () => {
      const values = Float32Array.from(randoms(rows * cols), (x) => range * x);
      const results = await softmax(runtimes.get('one thread').tensor(values, [rows, cols])).data();
      for (let row = 0; row < rows; ++row) {
        const x = values.subarray(row * cols, (row + 1) * cols);
        const largest = x.reduce((a, b) => Math.max(a, b));
        const total = x.reduce((sum, each) => sum + Math.exp(each - largest), 0);
        // A difference, of up to twice the range, is rounded: to a part of 2^-24 of itself.
        const ulps = 8 + 2 * range;
        for (let i = 0; i < cols; ++i) {
          expectNear(results[row * cols + i], Math.exp(x[i] - largest) / total, ulps, `${x[i]} of row ${row}`);
        }
      }
      expect(await softmax(runtimes.get('three threads').tensor(values, [rows, cols])).data()).to.deep.equal(results);
    });
  }

  it('gives NaN for a row with NaN or an infinite largest number, and no other', async () => {
    const cols = 37;
    const values = randoms(6 * cols);
    values[cols + 5] = NaN;
    values[2 * cols + 36] = Infinity;
    values[3 * cols] = -Infinity;
    values.fill(-Infinity, 4 * cols, 5 * cols);
    for (const [name, rt] of runtimes) {
      const y = await softmax(rt.tensor(values, [6, cols])).data();
      for (let row = 0; row < 6; ++row) {
        const ofRow = [...y.subarray(row * cols, (row + 1) * cols)];
        expect(ofRow.some(Number.isNaN), `${name}, row ${row}`).to.equal([1, 2, 4].includes(row));
        if (row === 3) expect(ofRow[0], name).to.equal(0);
      }
    }
  });

  it('lets NaN and infinities through', async () => {
    const [rows, depth, cols] = [6, 20, 19];
    const a = new Float32Array(rows * depth).fill(1);
    a[3] = NaN;
    a[depth + 1] = Infinity;
    const b = new Float32Array(depth * cols).fill(1);
    const args = (rt) => [rt.tensor(a, [1, rows, 1, depth]), rt.tensor(b, [1, 1, depth, cols]), [rt.zeros([cols])]];
    for (const [name, rt] of runtimes) {
      const y = fusedConv2d(...args(rt), [1, 1, 1, 1], 'VALID', { fusedOps: ['BiasAdd', 'Relu'] });
      const wanted = new Float32Array(rows * cols).fill(depth).fill(NaN, 0, cols).fill(Infinity, cols, 2 * cols);
      expect(await y.data(), name).to.deep.equal(wanted);
    }
  });
});
