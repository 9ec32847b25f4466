// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Compares tensors element by element; the text shows the first few elements that differ.

import { fromBits16, isFloat, ulpOf } from './numbers.mjs';

const MAX_SHOWN = 4;

/** "f32[2,3]" */
export function describeTensor({ dtype, shape }) {
  return `${dtype}[${shape.join(',')}]`;
}

function positionOf(element, shape) {
  const position = [];
  let rest = element;
  for (const dim of [...shape].reverse()) {
    position.unshift(rest % dim);
    rest = Math.floor(rest / dim);
  }
  return `[${position.join(',')}]`;
}

/** Counts differences and describes the first of them. */
class Differences {
  #shape;
  #count = 0;
  #texts = [];

  constructor(shape) {
    this.#shape = shape;
  }

  add(element, expected, actual, ulp = 0) {
    if (++this.#count > MAX_SHOWN) return;
    const shown = (value) => (Object.is(value, -0) ? '-0' : typeof value === 'string' ? JSON.stringify(value) : value);
    const error = ulp > 0 ? ` (${Number(ulp.toPrecision(6))} ulp)` : '';
    const position = positionOf(element, this.#shape);
    this.#texts.push(`${position}: expected ${shown(expected)}, got ${shown(actual)}${error}`);
  }

  text() {
    const more = this.#count > MAX_SHOWN ? [`${this.#count} elements differ`] : [];
    return [...this.#texts, ...more].join('; ');
  }
}

/** The error in ULP; 0 if it is within the absolute tolerance. Infinite where no tolerance helps. */
function errorInUlp(expected, actual, dtype, absTolerance) {
  if (Number.isNaN(expected) || Number.isNaN(actual)) {
    return Number.isNaN(expected) === Number.isNaN(actual) ? 0 : Infinity;
  }
  if (expected === actual) return 0;
  if (!Number.isFinite(expected) || !Number.isFinite(actual)) return Infinity;
  const error = Math.abs(actual - expected);
  return error <= absTolerance ? 0 : error / ulpOf(expected, dtype);
}

function compareFloats(expected, actual, tolerance, isStrict) {
  const { dtype } = expected;
  const is16 = dtype === 'f16' || dtype === 'bf16';
  const parts = dtype === 'c64' ? 2 : 1;
  const differences = new Differences(expected.shape);
  let worstUlp = 0;
  for (let i = 0; i < expected.data.length; ++i) {
    const want = is16 ? fromBits16(expected.data[i], dtype) : expected.data[i];
    const got = is16 ? fromBits16(actual.data[i], dtype) : actual.data[i];
    const ulp = errorInUlp(want, got, dtype, tolerance.abs);
    const isSameZero = !isStrict || want !== 0 || got !== 0 || Object.is(want, got);
    if (ulp > tolerance.ulp || !isSameZero) differences.add(Math.floor(i / parts), want, got, ulp);
    if (Number.isFinite(ulp)) worstUlp = Math.max(worstUlp, ulp);
  }
  return { difference: differences.text(), worstUlp };
}

function compareIntegers(expected, actual, allowed) {
  const differences = new Differences(expected.shape);
  for (let i = 0; i < expected.data.length; ++i) {
    const want = expected.data[i];
    const got = actual.data[i];
    if (want === got) continue;
    const error = Math.abs(Number(got) - Number(want));
    // 64-bit integers that differ may be equal as doubles.
    if (allowed < 1 || error > allowed) differences.add(i, want, got);
  }
  return { difference: differences.text(), worstUlp: 0 };
}

function isSameMetadata(a, b) {
  return a.dtype === b.dtype && a.shape.length === b.shape.length && a.shape.every((dim, i) => dim === b.shape[i]);
}

/**
 * { difference, worstUlp }; the difference is empty if the tensors agree.
 * @param isStrict whether the sign of zero must match, too
 */
export function compare(expected, actual, tolerance, isStrict) {
  if (!isSameMetadata(expected, actual)) {
    return { difference: `expected ${describeTensor(expected)}, got ${describeTensor(actual)}`, worstUlp: 0 };
  }
  if (actual.data.length !== expected.data.length) {
    const text = `expected ${expected.data.length} numbers of data, got ${actual.data.length}`;
    return { difference: text, worstUlp: 0 };
  }
  if (isFloat(expected.dtype)) return compareFloats(expected, actual, tolerance, isStrict);
  // Bools are compared as bytes: a true that is not 1 is a fault.
  const isExact = expected.dtype === 'bool' || expected.dtype === 'string';
  return compareIntegers(expected, actual, isExact ? 0 : Math.max(tolerance.abs, tolerance.ulp));
}

/** Whether two tensors are the same, bit for bit. */
export function isSame(a, b) {
  if (!isSameMetadata(a, b) || a.data.length !== b.data.length) return false;
  if (a.dtype === 'string') return a.data.every((text, i) => text === b.data[i]);
  const bytesOf = ({ data }) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const bytes = bytesOf(b);
  return bytesOf(a).every((byte, i) => byte === bytes[i]);
}
