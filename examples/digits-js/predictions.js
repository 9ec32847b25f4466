// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a network makes of each digit of a set, and the file of it that the native example writes, too.

import { argMax, cast, mul, slice, softmax } from 'tandem-rt';

import { NUM_CLASSES } from './digit-set.js';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('tandem-rt').Tensor} Tensor */
/** @typedef {import('./digit-set.js').DigitSet} DigitSet */
/** @typedef {import('./network.js').Network} Network */

/**
 * @typedef {object} Predictions
 * @property {Uint8Array} digits  [count], the likeliest of each picture
 * @property {Float32Array} probabilities  [count, NUM_CLASSES]
 */

/**
 * The pictures of `set` as f32 [n, rows * cols] in [0, 1].
 * @param {Runtime} runtime
 * @param {DigitSet} set
 */
export function picturesOf(runtime, set) {
  return runtime.scope(() => {
    const bytes = runtime.tensor(set.images, [set.count, set.rows * set.cols]);
    return mul(cast(bytes, 'f32'), 1 / 255);
  });
}

/**
 * Reads pictures f32 [n, rows * cols].
 * @param {Runtime} runtime
 * @param {Network} network
 * @param {Tensor} pictures
 * @returns {Promise<Predictions>}
 */
export async function readPictures(runtime, network, pictures) {
  const results = runtime.scope(() => {
    const logits = network.forward(pictures);
    return { likeliest: argMax(logits, 1, { outputType: 'i32' }), chances: softmax(logits) };
  });
  try {
    return {
      digits: Uint8Array.from(/** @type {Int32Array} */ (await results.likeliest.data())),
      probabilities: /** @type {Float32Array} */ (await results.chances.data()),
    };
  } finally {
    results.likeliest.dispose();
    results.chances.dispose();
  }
}

/**
 * Reads all of `set`, a part at a time: activations of all of them need much memory.
 * @param {Runtime} runtime
 * @param {Network} network
 * @param {DigitSet} set
 * @param {object} [options]
 * @param {number} [options.part]  pictures at a time
 * @param {(done: number) => void} [options.onProgress]  called after each part
 * @returns {Promise<Predictions>}
 */
export async function predict(runtime, network, set, { part: most = 250, onProgress } = {}) {
  const digits = new Uint8Array(set.count);
  const probabilities = new Float32Array(set.count * NUM_CLASSES);
  const pictures = picturesOf(runtime, set);
  for (let begin = 0; begin < set.count; begin += most) {
    const count = Math.min(most, set.count - begin);
    const part = slice(pictures, [begin, 0], [count, -1]);
    const read = await readPictures(runtime, network, part);
    part.dispose();
    digits.set(read.digits, begin);
    probabilities.set(read.probabilities, begin * NUM_CLASSES);
    onProgress?.(begin + count);
  }
  pictures.dispose();
  return { digits, probabilities };
}

/**
 * Text: a line "label,predicted,p0,p1,...,p9" and below it a line for each digit of `set`. Nine significant digits give
 * back each f32 as it was.
 * @param {DigitSet} set
 * @param {Predictions} predictions
 */
export function formatPredictions(set, { digits, probabilities }) {
  const header = ['label', 'predicted', ...Array.from({ length: NUM_CLASSES }, (_, digit) => `p${digit}`)];
  const lines = Array.from({ length: set.count }, (_, i) => {
    const chances = [...probabilities.subarray(i * NUM_CLASSES, (i + 1) * NUM_CLASSES)];
    return [set.labels[i], digits[i], ...chances.map((p) => Number(p.toPrecision(9)))];
  });
  return [header, ...lines].map((line) => `${line.join(',')}\n`).join('');
}
