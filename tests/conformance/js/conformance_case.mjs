// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading of case files: strict, so that a slip of the pen is an error rather than a case that tests nothing.

import { isFloat, Pcg32, roundTo, toBits16 } from './numbers.mjs';

const ARRAYS = {
  bool: Uint8Array, u8: Uint8Array, i8: Int8Array, u16: Uint16Array, i16: Int16Array, i32: Int32Array,
  u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, f16: Uint16Array, bf16: Uint16Array, f32: Float32Array,
  f64: Float64Array, c64: Float32Array, string: Array,
};
const RANGES = {
  u8: [0n, 255n], i8: [-128n, 127n], u16: [0n, 65535n], i16: [-32768n, 32767n], i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u32: [0n, 2n ** 32n - 1n], i64: [-(2n ** 63n), 2n ** 63n - 1n], u64: [0n, 2n ** 64n - 1n],
};
const MAX_RANK = 8;

// Marks the texts that stand for integers which a number cannot hold; no case has a text that begins with it.
const INTEGER_MARK = '\ue000';

/** As JSON.parse, but integers beyond 2^53 are bigints. */
export function parseJson(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = text.replace(tokens, (token) =>
    (/^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${INTEGER_MARK}${token}"` : token));
  return JSON.parse(marked, (_, value) =>
    (typeof value === 'string' && value.startsWith(INTEGER_MARK) ? BigInt(value.slice(1)) : value));
}

function show(value) {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}` : member));
}

function fail(text) {
  throw new Error(text);
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkKeys(object, what, known) {
  if (!isObject(object)) fail(`${what} must be an object, got ${show(object)}`);
  for (const key of Object.keys(object)) {
    if (!known.includes(key)) fail(`${what} has an unknown field "${key}"`);
  }
}

function required(object, key) {
  if (!(key in object)) fail(`field "${key}" is missing`);
  return object[key];
}

function parseText(object, key) {
  const value = required(object, key);
  if (typeof value !== 'string' || value === '') {
    fail(`field "${key}" must be a string that is not empty, got ${show(value)}`);
  }
  return value;
}

const REALS = { nan: NaN, inf: Infinity, '-inf': -Infinity, '-0': -0 };

function parseReal(value) {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && value in REALS) return REALS[value];
  return fail(`expected a number, "nan", "inf", "-inf" or "-0", got ${show(value)}`);
}

/** An integer as a bigint. */
function parseInteger(value, dtype) {
  const isText = typeof value === 'string' && /^-?\d+$/.test(value);
  if (!isText && typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
    fail(`expected an integer of dtype ${dtype}, got ${show(value)}`);
  }
  const integer = BigInt(value);
  const [min, max] = RANGES[dtype];
  if (integer < min || integer > max) fail(`expected an integer of dtype ${dtype}, got ${show(value)}`);
  return integer;
}

function parseBool(value) {
  if (value === true || value === 1) return 1;
  if (value === false || value === 0) return 0;
  return fail(`expected true, false, 1 or 0, got ${show(value)}`);
}

/** What goes into the typed array of a dtype. */
function fromReal(value, dtype) {
  if (dtype === 'f16' || dtype === 'bf16') return toBits16(value, dtype);
  if (isFloat(dtype)) return roundTo(value, dtype);
  const truncated = Math.trunc(value);
  if (!Number.isFinite(truncated)) fail(`random number ${value} is out of range`);
  const integer = BigInt(truncated);
  if (integer < RANGES[dtype][0] || integer > RANGES[dtype][1]) fail(`random number ${value} is out of range`);
  return dtype === 'i64' || dtype === 'u64' ? integer : truncated;
}

function parseElement(value, dtype) {
  if (dtype === 'bool') return parseBool(value);
  if (dtype === 'i64' || dtype === 'u64') return parseInteger(value, dtype);
  if (dtype in RANGES) return Number(parseInteger(value, dtype));
  return fromReal(parseReal(value), dtype);
}

function parseStrings(data, count) {
  if (!Array.isArray(data) || data.length !== count) fail(`data must be a list of ${count} strings`);
  for (const element of data) {
    if (typeof element !== 'string') fail(`expected a string, got ${show(element)}`);
  }
  return data;
}

function parseData(data, dtype, count) {
  const length = dtype === 'c64' ? 2 * count : count;
  if (!Array.isArray(data) || data.length !== length) {
    fail(`data must be a list of ${length} numbers, got ${Array.isArray(data) ? data.length : show(data)}`);
  }
  const result = new ARRAYS[dtype](length);
  for (let i = 0; i < length; ++i) result[i] = parseElement(data[i], dtype);
  return result;
}

function drawData(random, dtype, count) {
  checkKeys(random, 'random', ['seed', 'low', 'high']);
  const generator = new Pcg32(parseInteger(required(random, 'seed'), 'u64'));
  const low = parseReal(required(random, 'low'));
  const high = parseReal(required(random, 'high'));
  const result = new ARRAYS[dtype](count);
  for (let i = 0; i < count; ++i) {
    const value = generator.uniform(low, high);
    result[i] = dtype === 'bool' ? (fromReal(value, 'u8') === 0 ? 0 : 1) : fromReal(value, dtype);
  }
  return result;
}

function parseShape(dims) {
  if (!Array.isArray(dims)) fail(`shape must be a list, got ${show(dims)}`);
  const shape = dims.map((dim) => Number(parseInteger(dim, 'i64')));
  if (shape.length > MAX_RANK) fail(`expected at most ${MAX_RANK} dimensions, got ${shape.length}`);
  if (shape.some((dim) => dim < 0)) fail(`dimensions must not be negative, got ${show(dims)}`);
  return shape;
}

/** { dtype, shape, data }, the data as `Tensor.data()` gives it. */
export function parseTensor(object) {
  checkKeys(object, 'a tensor', ['dtype', 'shape', 'data', 'random']);
  const dtype = parseText(object, 'dtype');
  if (!Object.hasOwn(ARRAYS, dtype)) fail(`unknown dtype "${dtype}"`);
  const shape = parseShape(required(object, 'shape'));
  const count = shape.reduce((product, dim) => product * dim, 1);
  if (dtype === 'string') return { dtype, shape, data: parseStrings(required(object, 'data'), count) };
  if (!('random' in object)) return { dtype, shape, data: parseData(required(object, 'data'), dtype, count) };
  if ('data' in object) fail('a tensor has either data or random, not both');
  if (dtype === 'c64') fail('random is not for c64');
  return { dtype, shape, data: drawData(object.random, dtype, count) };
}

function parseTensors(list, what) {
  if (!Array.isArray(list)) fail(`${what} must be a list, got ${show(list)}`);
  return list.map((tensor, i) => {
    try {
      return parseTensor(tensor);
    } catch (error) {
      return fail(`${what}[${i}]: ${error.message}`);
    }
  });
}

function parseTolerance(object) {
  checkKeys(object, 'tolerance', ['ulp', 'abs']);
  const tolerance = { ulp: parseReal(object.ulp ?? 0), abs: parseReal(object.abs ?? 0) };
  if (!(tolerance.ulp >= 0 && tolerance.abs >= 0)) {
    fail(`tolerance must not be negative, got ${show(object)}`);
  }
  return tolerance;
}

/** The case of one line of a file; throws an Error that says what is wrong with it. */
export function parseCase(line) {
  const object = parseJson(line);
  checkKeys(object, 'a case', ['name', 'op', 'attrs', 'inputs', 'outputs', 'error', 'tolerance', 'tags']);
  const attrs = object.attrs ?? {};
  if (!isObject(attrs)) fail(`attrs must be an object, got ${show(attrs)}`);
  if ('outputs' in object === 'error' in object) fail('a case has either outputs or an error');
  const tags = object.tags ?? [];
  if (!Array.isArray(tags) || tags.some((tag) => typeof tag !== 'string')) fail('tags must be a list of strings');
  return {
    name: parseText(object, 'name'),
    op: parseText(object, 'op'),
    attrs,
    inputs: parseTensors(object.inputs ?? [], 'inputs'),
    outputs: parseTensors(object.outputs ?? [], 'outputs'),
    error: 'error' in object ? parseText(object, 'error') : undefined,
    tolerance: parseTolerance(object.tolerance ?? {}),
    tags,
  };
}
