// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Number formats by precision and exponent range, in exact steps of f64, and the generator of `random` inputs.

/** Bits of the significand with the leading one, exponents of the smallest normal and of the largest number. */
const FORMATS = {
  f16: { precision: 11, minExponent: -14, maxExponent: 15 },
  bf16: { precision: 8, minExponent: -126, maxExponent: 127 },
  f32: { precision: 24, minExponent: -126, maxExponent: 127 },
  c64: { precision: 24, minExponent: -126, maxExponent: 127 },
  f64: { precision: 53, minExponent: -1022, maxExponent: 1023 },
};

const bits = new DataView(new ArrayBuffer(8));

/** The exponent of a finite number that is not 0. */
function exponentOf(value) {
  bits.setFloat64(0, value);
  const exponent = (bits.getUint16(0) >> 4) & 0x7ff;
  return exponent === 0 ? exponentOf(value * 2 ** 54) - 54 : exponent - 1023;
}

/** The exponent of the last bit of a number like `value`, which is finite and not 0. */
function lastBit(value, format) {
  return Math.max(exponentOf(value), format.minExponent) - (format.precision - 1);
}

export function isFloat(dtype) {
  return dtype in FORMATS;
}

/** The nearest number of a floating-point dtype, ties to even. */
export function roundTo(value, dtype) {
  if (dtype === 'f64' || !Number.isFinite(value) || value === 0) return value;
  const format = FORMATS[dtype];
  const last = lastBit(value, format);
  const scaled = value * 2 ** -last;
  const below = Math.floor(scaled);
  const rest = scaled - below;
  const rounded = (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below) * 2 ** last;
  if (Math.abs(rounded) >= 2 ** (format.maxExponent + 1)) return value < 0 ? -Infinity : Infinity;
  // A number that rounds to 0 keeps its sign.
  return rounded === 0 && value < 0 ? -0 : rounded;
}

/** The distance from `value`, which is finite, to the next number of its dtype; 1 for integers. */
export function ulpOf(value, dtype) {
  if (!isFloat(dtype)) return 1;
  const format = FORMATS[dtype];
  return 2 ** (value === 0 ? format.minExponent - (format.precision - 1) : lastBit(value, format));
}

function isNegative(value) {
  return value < 0 || Object.is(value, -0);
}

/** The 16 bits of a number; it is rounded first. */
export function toBits16(value, dtype) {
  const number = roundTo(value, dtype);
  if (dtype === 'bf16') {
    if (Number.isNaN(number)) return 0x7fc0;
    bits.setFloat32(0, number);
    return bits.getUint16(0);
  }
  if (Number.isNaN(number)) return 0x7e00;
  const sign = isNegative(number) ? 0x8000 : 0;
  const magnitude = Math.abs(number);
  if (magnitude === Infinity) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | (magnitude * 2 ** 24);
  const exponent = exponentOf(magnitude);
  return sign | ((exponent + 15) << 10) | (magnitude * 2 ** (10 - exponent) - 1024);
}

/** The value of 16 bits of dtype f16 or bf16. */
export function fromBits16(value, dtype) {
  if (dtype === 'bf16') {
    bits.setUint32(0, value << 16);
    return bits.getFloat32(0);
  }
  const sign = value & 0x8000 ? -1 : 1;
  const exponent = (value >> 10) & 31;
  const fraction = value & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/**
 * PCG32 XSH-RR on stream 54: O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
 * Random Number Generation" (2014), seeded as its reference implementation does. The 64-bit state is in two halves.
 */
export class Pcg32 {
  #high = 0;
  #low = 0;

  /** @param {bigint} seed of 64 bits */
  constructor(seed) {
    this.next();
    const low = this.#low + Number(seed & 0xffffffffn);
    this.#high = (this.#high + Number(seed >> 32n) + (low > 0xffffffff ? 1 : 0)) >>> 0;
    this.#low = low >>> 0;
    this.next();
  }

  /** 32 bits. */
  next() {
    const high = this.#high;
    const low = this.#low;
    // state * 6364136223846793005 + 109, modulo 2^64
    const product = multiply32(low, 0x4c957f2d);
    const sum = product.low + 109;
    this.#low = sum >>> 0;
    this.#high = (product.high + Math.imul(low, 0x5851f42d) + Math.imul(high, 0x4c957f2d) +
      (sum > 0xffffffff ? 1 : 0)) >>> 0;
    // (old >> 18 ^ old) >> 27, of which the lower half counts
    const mixedHigh = (high >>> 18) ^ high;
    const mixedLow = ((high << 14) | (low >>> 18)) ^ low;
    const xored = (mixedHigh << 5) | (mixedLow >>> 27);
    const rotation = high >>> 27;
    return ((xored >>> rotation) | (xored << (-rotation & 31))) >>> 0;
  }

  /** In [low, high), in steps of 2^-24 of the interval; one draw. */
  uniform(low, high) {
    return low + (high - low) * (this.next() >>> 8) * 2 ** -24;
  }
}

/** The 64-bit product of two 32-bit numbers, in halves. */
function multiply32(a, b) {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const b0 = b & 0xffff;
  const b1 = b >>> 16;
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  const carried = a0 * b1 + (middle & 0xffff);
  return {
    low: Math.imul(a, b) >>> 0,
    high: (a1 * b1 + Math.floor(middle / 65536) + Math.floor(carried / 65536)) >>> 0,
  };
}
