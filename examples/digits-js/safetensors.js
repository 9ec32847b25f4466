// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads and writes tensors in the safetensors format, the same files as the native example's.

import { InputError } from './input-error.js';

// The format (https://github.com/huggingface/safetensors): a little-endian u64 N; N bytes of JSON that give for each
// tensor name its dtype, shape and [begin, end) in the data, and under "__metadata__" a map of text to text; the data,
// which the tensors fill without holes or overlaps, row-major and little-endian.

/** The format's own limit, in bytes. */
const MAX_HEADER = 100_000_000;
const PREFIX_SIZE = 8;
const ALIGNMENT = 8;
const METADATA_KEY = '__metadata__';

/** Bytes of an element of each dtype of the format. */
const ELEMENT_SIZES = Object.freeze({
  BOOL: 1,
  U8: 1,
  I8: 1,
  U16: 2,
  I16: 2,
  I32: 4,
  U32: 4,
  I64: 8,
  U64: 8,
  F16: 2,
  BF16: 2,
  F32: 4,
  F64: 8,
});

/** @typedef {keyof typeof ELEMENT_SIZES} StoredDType */

/**
 * @typedef {object} StoredTensor
 * @property {StoredDType} dtype
 * @property {readonly number[]} shape
 * @property {Uint8Array} bytes  little-endian, at any alignment
 */

/**
 * @typedef {object} SafetensorsContents
 * @property {Map<string, StoredTensor>} tensors  in the order of their data
 * @property {Map<string, string>} metadata
 */

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} value
 * @returns {value is number[]}
 */
function isSizes(value) {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** @param {unknown} value */
function quoted(value) {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 64 ? `${text.slice(0, 64)}...` : text;
}

/**
 * Where the data begins, and the header.
 * @param {Uint8Array} bytes
 * @param {string} path
 */
function parseHeader(bytes, path) {
  if (bytes.length < PREFIX_SIZE) {
    throw new InputError(`${path}: expected ${PREFIX_SIZE} bytes of header length, got ${bytes.length}`);
  }
  const size = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (size > MAX_HEADER) {
    throw new InputError(`${path}: byte 0: expected a header of at most ${MAX_HEADER} bytes, got a length of ${size}`);
  }
  const begin = PREFIX_SIZE + Number(size);
  if (begin > bytes.length) {
    throw new InputError(
      `${path}: byte 0: expected a header within the file of ${bytes.length} bytes, got a length of ${size}`,
    );
  }
  let header;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(PREFIX_SIZE, begin)));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(`${path}: byte ${PREFIX_SIZE}: expected valid JSON, got: ${reason}`);
  }
  if (!isObject(header)) throw new InputError(`${path}: expected a JSON object, got ${quoted(header)}`);
  return { begin, header };
}

/**
 * @param {unknown} value
 * @param {string} path
 */
function parseMetadata(value, path) {
  if (value === undefined) return new Map();
  if (!isObject(value)) {
    throw new InputError(`${path}: expected an object of text for __metadata__, got ${quoted(value)}`);
  }
  return new Map(
    Object.entries(value).map(([key, text]) => {
      if (typeof text === 'string') return [key, text];
      throw new InputError(`${path}: expected text as value in __metadata__, got ${quoted(text)} for ${quoted(key)}`);
    }),
  );
}

/**
 * @param {string} name
 * @param {unknown} entry
 * @param {string} path
 */
function parseEntry(name, entry, path) {
  const fail = (/** @type {string} */ text) => new InputError(`${path}: tensor ${quoted(name)}: ${text}`);
  if (!isObject(entry)) throw fail(`expected an object with dtype, shape and data_offsets, got ${quoted(entry)}`);
  const { dtype, shape, data_offsets: offsets, ...others } = entry;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw fail(`expected dtype, shape or data_offsets, got field ${quoted(unknown)}`);
  if (typeof dtype !== 'string' || !Object.hasOwn(ELEMENT_SIZES, dtype)) {
    throw fail(`expected one of the dtypes ${Object.keys(ELEMENT_SIZES).join(', ')}, got ${quoted(dtype)}`);
  }
  if (!isSizes(shape)) throw fail(`expected an array of non-negative integers for shape, got ${quoted(shape)}`);
  if (!isSizes(offsets) || offsets.length !== 2) {
    throw fail(`expected two non-negative integers in data_offsets, got ${quoted(offsets)}`);
  }
  const stored = /** @type {StoredDType} */ (dtype);
  const size = shape.reduce((product, dim) => product * dim, ELEMENT_SIZES[stored]);
  const [begin, end] = offsets;
  if (end - begin !== size) {
    throw fail(`expected data_offsets ${size} bytes apart for ${dtype}[${shape}], got [${begin}, ${end}]`);
  }
  return { name, dtype: stored, shape, begin, end };
}

/**
 * Trusts nothing in the file: an InputError names the file, the tensor or the byte, what was expected and what was
 * given.
 * @param {Uint8Array} bytes  the whole file; the tensors refer to it
 * @param {string} path  what errors call it
 * @returns {SafetensorsContents}
 */
export function parseSafetensors(bytes, path) {
  const { begin, header } = parseHeader(bytes, path);
  const { [METADATA_KEY]: metadata, ...rest } = header;
  const entries = Object.entries(rest).map(([name, entry]) => parseEntry(name, entry, path));
  entries.sort((a, b) => a.begin - b.begin || a.end - b.end);
  const data = bytes.subarray(begin);
  /** @type {Map<string, StoredTensor>} */
  const tensors = new Map();
  let endOfPrevious = 0;
  for (const { name, dtype, shape, begin: from, end } of entries) {
    if (from !== endOfPrevious || end > data.length) {
      throw new InputError(
        `${path}: tensor ${quoted(name)}: expected data_offsets that begin at ${endOfPrevious} where the data before ` +
          `ends, within the data of ${data.length} bytes, got [${from}, ${end}]`,
      );
    }
    endOfPrevious = end;
    tensors.set(name, { dtype, shape, bytes: data.subarray(from, end) });
  }
  if (endOfPrevious !== data.length) {
    throw new InputError(
      `${path}: byte ${begin + endOfPrevious}: expected the end of the file after the last tensor, ` +
        `got ${data.length - endOfPrevious} more bytes`,
    );
  }
  return { tensors, metadata: parseMetadata(metadata, path) };
}

/**
 * `value` with its keys in order, as the native example writes them.
 * @template T
 * @param {Iterable<readonly [string, T]>} entries
 * @returns {Record<string, T>}
 */
function sorted(entries) {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The whole file, to the byte what the native example writes for the same tensors.
 * @param {SafetensorsContents} contents  names other than "__metadata__", as many bytes as shape and dtype say
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function formatSafetensors({ tensors, metadata }) {
  // Widest elements first keeps every tensor aligned to its elements.
  const ordered = [...tensors].sort(([, a], [, b]) => ELEMENT_SIZES[b.dtype] - ELEMENT_SIZES[a.dtype]);
  let end = 0;
  /** @type {[string, unknown][]} */
  const entries = ordered.map(([name, { dtype, shape, bytes }]) => {
    const begin = end;
    end += bytes.length;
    return [name, { data_offsets: [begin, end], dtype, shape }];
  });
  if (metadata.size > 0) entries.push([METADATA_KEY, sorted(metadata)]);
  const json = new TextEncoder().encode(JSON.stringify(sorted(entries)));
  const header = new Uint8Array(Math.ceil(json.length / ALIGNMENT) * ALIGNMENT).fill(' '.charCodeAt(0));
  header.set(json);
  const file = new Uint8Array(PREFIX_SIZE + header.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, PREFIX_SIZE);
  let offset = PREFIX_SIZE + header.length;
  for (const [, { bytes }] of ordered) {
    file.set(bytes, offset);
    offset += bytes.length;
  }
  return file;
}
