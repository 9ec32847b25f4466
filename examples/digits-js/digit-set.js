// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DigitSet: labelled pictures of handwritten digits, as MNIST keeps them.

/** How many digits there are to tell apart. */
export const NUM_CLASSES = 10;

/**
 * @typedef {object} DigitSet
 * @property {number} count
 * @property {number} rows
 * @property {number} cols
 * @property {Uint8Array} images  [count, rows, cols]; 0 is paper, 255 is ink
 * @property {Uint8Array} labels  [count], each in [0, 9]
 */

/**
 * @typedef {object} DigitFolder
 * @property {DigitSet} train
 * @property {DigitSet} test
 */

/**
 * The pixels of picture `i`, [rows, cols].
 * @param {DigitSet} set
 * @param {number} i
 */
export function imageOf(set, i) {
  const pixels = set.rows * set.cols;
  return set.images.subarray(i * pixels, (i + 1) * pixels);
}
