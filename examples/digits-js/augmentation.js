// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Turns, scales, slants and shifts pictures a little, so that a network sees no digit twice: affine maps and bilinear
// sampling, op by op.

import {
  add,
  cast,
  cos,
  floor,
  floorDiv,
  floorMod,
  gather,
  maximum,
  minimum,
  mul,
  range,
  reshape,
  sin,
  statelessRandomUniform,
  sub,
} from 'tandem-rt';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('tandem-rt').Tensor} Tensor */

const TURN = 0.2; // radians
const SCALE = 0.15;
const SLANT = 0.2;
const SHIFT = 0.1; // of the size

/**
 * A coordinate between two pixels: their numbers i32 and how far it is from the lower one, each [n, pixels].
 * @param {Tensor} position
 * @param {number} size
 */
function locate(position, size) {
  const inside = minimum(maximum(position, 0), size - 1);
  const floored = floor(inside);
  return {
    low: cast(floored, 'i32'),
    high: cast(minimum(add(floored, 1), size - 1), 'i32'),
    fraction: sub(inside, floored),
  };
}

/** Draws an affine map for each picture and samples through it, bilinearly, in op calls. */
export class Augmentation {
  #runtime;
  #rows;
  #cols;
  #seed;
  #draws = 0;
  /** @type {Tensor} f32 [1, rows * cols]: each pixel's distance from the middle */
  #x;
  /** @type {Tensor} */
  #y;

  /**
   * For pictures of `rows` x `cols`. The largest changes: turned by 0.2 radians, 15 % larger or smaller, slanted by
   * 0.2, shifted by a tenth of the size.
   * @param {Runtime} runtime
   * @param {number} rows
   * @param {number} cols
   * @param {number} seed  an integer in [0, 2^32]
   */
  constructor(runtime, rows, cols, seed) {
    this.#runtime = runtime;
    this.#rows = rows;
    this.#cols = cols;
    this.#seed = seed;
    [this.#x, this.#y] = runtime.scope(() => {
      const pixel = range(runtime, 0, rows * cols, 1);
      const centred = (/** @type {Tensor} */ number, /** @type {number} */ size) =>
        reshape(sub(cast(number, 'f32'), (size - 1) / 2), [1, -1]);
      return [centred(floorMod(pixel, cols), cols), centred(floorDiv(pixel, cols), rows)];
    });
  }

  dispose() {
    this.#x.dispose();
    this.#y.dispose();
  }

  /**
   * Of pictures f32 [n, rows * cols], changed ones of the same shape, others in each call. Beyond its edges a picture
   * goes on as it is at the edge. Temporary results belong to the scope around the call.
   * @param {Tensor} pictures
   */
  apply(pictures) {
    const n = pictures.shape[0];
    const turn = this.#draw(n, TURN);
    const scaleX = add(this.#draw(n, SCALE), 1);
    const scaleY = add(this.#draw(n, SCALE), 1);
    const slant = this.#draw(n, SLANT);
    const cosine = cos(turn);
    const sine = sin(turn);
    // Where pixel (x, y) of the result comes from.
    const slanted = add(this.#x, mul(slant, this.#y));
    const x = mul(sub(mul(cosine, slanted), mul(sine, this.#y)), scaleX);
    const y = mul(add(mul(sine, slanted), mul(cosine, this.#y)), scaleY);
    const column = this.#shifted(x, this.#cols, n);
    const row = this.#shifted(y, this.#rows, n);

    const flat = reshape(pictures, [-1]);
    const first = reshape(mul(range(this.#runtime, 0, n, 1), this.#rows * this.#cols), [n, 1]);
    const sampledRow = (/** @type {Tensor} */ number) => {
      const start = add(mul(number, this.#cols), first);
      const left = gather(flat, add(start, column.low), 0);
      return add(left, mul(sub(gather(flat, add(start, column.high), 0), left), column.fraction));
    };
    const top = sampledRow(row.low);
    return add(top, mul(sub(sampledRow(row.high), top), row.fraction));
  }

  /**
   * @param {Tensor} position
   * @param {number} size
   * @param {number} n
   */
  #shifted(position, size, n) {
    return locate(add(position, add(this.#draw(n, SHIFT * size), (size - 1) / 2)), size);
  }

  /**
   * f32 [n, 1], uniform in [-limit, limit).
   * @param {number} n
   * @param {number} limit
   */
  #draw(n, limit) {
    const key = this.#runtime.tensor([this.#seed | 0, this.#draws++], { dtype: 'i32' });
    return mul(sub(statelessRandomUniform(this.#runtime, [n, 1], key), 0.5), 2 * limit);
  }
}
