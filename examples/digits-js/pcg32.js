// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Pcg32: the random numbers of the native example, so that both draw the same digits and train in the same order.

// The multiplier 6364136223846793005 as two halves, and the lower of them as two quarters.
const MULTIPLIER_HIGH = 0x5851f42d;
const MULTIPLIER_LOW = 0x4c957f2d;
const MULTIPLIER_LOW_1 = MULTIPLIER_LOW >>> 16;
const MULTIPLIER_LOW_0 = MULTIPLIER_LOW & 0xffff;

/**
 * PCG32 (XSH-RR 64/32; M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
 * Random Number Generation", 2014): the same numbers everywhere for the same seed and stream. The state of 64 bits is
 * kept as two halves, which is some twenty times as fast as a BigInt.
 */
export class Pcg32 {
  #high = 0;
  #low = 0;
  #incrementHigh;
  #incrementLow;

  /**
   * @param {number} seed  an integer in [0, 2^53)
   * @param {number} stream  an integer in [0, 2^31)
   */
  constructor(seed, stream) {
    this.#incrementHigh = stream >>> 31;
    this.#incrementLow = ((stream << 1) | 1) >>> 0;
    this.next();
    const low = this.#low + (seed >>> 0);
    this.#low = low >>> 0;
    this.#high = (this.#high + Math.floor(seed / 2 ** 32) + (low > 0xffffffff ? 1 : 0)) >>> 0;
    this.next();
  }

  /** Uniform over all u32. */
  next() {
    const high = this.#high;
    const low = this.#low;
    const low1 = low >>> 16;
    const low0 = low & 0xffff;
    const lowest = low0 * MULTIPLIER_LOW_0;
    const middle = low1 * MULTIPLIER_LOW_0 + low0 * MULTIPLIER_LOW_1 + Math.floor(lowest / 65536);
    const newLow = (((middle & 0xffff) << 16) | (lowest & 0xffff)) >>> 0;
    const carried = low1 * MULTIPLIER_LOW_1 + Math.floor(middle / 65536);
    const newHigh = carried + Math.imul(high, MULTIPLIER_LOW) + Math.imul(low, MULTIPLIER_HIGH);
    const sum = newLow + this.#incrementLow;
    this.#low = sum >>> 0;
    this.#high = (newHigh + this.#incrementHigh + (sum > 0xffffffff ? 1 : 0)) >>> 0;

    const xoredHigh = (high >>> 18) ^ high;
    const xoredLow = ((low >>> 18) | (high << 14)) ^ low;
    const xored = (xoredLow >>> 27) | (xoredHigh << 5);
    const rotation = high >>> 27;
    return ((xored >>> rotation) | (xored << (-rotation & 31))) >>> 0;
  }

  /**
   * Uniform in [0, bound), without bias.
   * @param {number} bound  an integer in [1, 2^32)
   */
  below(bound) {
    const threshold = 2 ** 32 % bound;
    for (;;) {
      const value = this.next();
      if (value >= threshold) return value % bound;
    }
  }

  /**
   * Uniform in [low, high).
   * @param {number} low
   * @param {number} high
   */
  uniform(low, high) {
    return low + (high - low) * ((this.next() >>> 8) * 2 ** -24);
  }

  /**
   * Near enough to a normal distribution (four uniforms added), and never beyond 3.5 deviations.
   * @param {number} deviation
   */
  normal(deviation) {
    let sum = 0;
    for (let i = 0; i < 4; ++i) sum += this.uniform(-1, 1);
    return sum * 0.8660254 * deviation;
  }
}
