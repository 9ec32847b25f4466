// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The header of a safetensors file: read with all checks of the format, and written. native/lib/safetensors_header.cc
// does the same, in the same order and with the same texts, so that a file is refused for the same reason everywhere.

import type { DType } from './dtypes.js';
import type { ErrorCode, TandemError } from './errors.js';

/** Bytes of the header at most: the format's own limit. */
const MAX_HEADER_BYTES = 100_000_000;
/** Bytes of the header's length, which come before it. */
export const PREFIX_BYTES = 8;
const METADATA_KEY = '__metadata__';
const MAX_RANK = 8;
const MAX_SHOWN = 64;

// Name of the format, ours if there is one, bits of an element; narrow ones first, as the format's own writer has them.
const DTYPES: readonly (readonly [string, DType | undefined, bigint])[] = [
  ['BOOL', 'bool', 8n], ['F4', undefined, 4n], ['F6_E2M3', undefined, 6n], ['F6_E3M2', undefined, 6n], ['U8', 'u8', 8n],
  ['I8', 'i8', 8n], ['F8_E5M2', undefined, 8n], ['F8_E4M3', undefined, 8n], ['F8_E8M0', undefined, 8n],
  ['F8_E4M3FNUZ', undefined, 8n], ['F8_E5M2FNUZ', undefined, 8n], ['I16', 'i16', 16n], ['U16', 'u16', 16n],
  ['F16', 'f16', 16n], ['BF16', 'bf16', 16n], ['I32', 'i32', 32n], ['U32', 'u32', 32n], ['F32', 'f32', 32n],
  ['C64', 'c64', 64n], ['F64', 'f64', 64n], ['I64', 'i64', 64n], ['U64', 'u64', 64n],
];

/** One tensor of a file. */
export interface Entry {
  readonly name: string;
  /** As the file has it: 'F32'. */
  readonly storedDType: string;
  /** Undefined if it is one of the format's that Tandem lacks. */
  readonly dtype: DType | undefined;
  readonly shape: readonly number[];
  /** Where its data begins and ends in that of the file, in bytes. */
  readonly begin: number;
  readonly end: number;
}

/** What a header says. */
export interface Header {
  /** In the order of their data. */
  readonly entries: readonly Entry[];
  readonly metadata: Map<string, string>;
  /** Bytes of the data. */
  readonly dataBytes: number;
}

/** Makes an error that names the file. */
export type Fail = (code: ErrorCode, text: string) => TandemError;

/** A name as errors show it: quoted, on one line, cut if it is long. */
export function shown(name: string): string {
  const cut = Array.from(name.slice(0, 2 * MAX_SHOWN)).slice(0, MAX_SHOWN).join('');
  const text = cut.replace(/["\\\u0000-\u001f\u007f]/g, (c) => {
    const letter = { '\n': 'n', '\t': 't', '\r': 'r', '"': '"', '\\': '\\' }[c];
    return letter === undefined ? `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}` : `\\${letter}`;
  });
  return `"${text}"${cut.length < name.length ? '...' : ''}`;
}

/** The header's size from the first bytes of a file, of which it is known how long it is, or not. */
export function readHeaderSize(prefix: Uint8Array, fileBytes: number | undefined, fail: Fail): number {
  const size = new DataView(prefix.buffer, prefix.byteOffset, PREFIX_BYTES).getBigUint64(0, true);
  if (size > MAX_HEADER_BYTES) {
    throw fail('DataLoss', `byte 0: expected a header of at most ${MAX_HEADER_BYTES} bytes, got a length of ${size}`);
  }
  if (fileBytes !== undefined && Number(size) > fileBytes - PREFIX_BYTES) {
    throw fail('DataLoss', `byte 0: expected a header within the file of ${fileBytes} bytes, got a length of ${size}`);
  }
  return Number(size);
}

const encoder = /* @__PURE__ */ new TextEncoder();

function decode(bytes: Uint8Array, fail: Fail): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // What is wrong becomes another character.
    const likely = encoder.encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
    const at = bytes.findIndex((byte, i) => byte !== likely[i]);
    throw fail('DataLoss', `byte ${PREFIX_BYTES + at}: expected UTF-8, got byte ${bytes[at]}`);
  }
}

const SPACE = /[ \n\t\r]*/y;
const UNSIGNED = /(?:0|[1-9]\d*)(?![\d+.eE-])/y;
const SPECIAL = /[\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})?/g;
const MAX_U64 = 2n ** 64n - 1n;
const MAX_I64 = 2n ** 63n - 1n;

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** Takes JSON text token by token. What a function refuses it leaves there. */
class Scanner {
  at = 0;

  constructor(readonly text: string) {}

  skipSpace(): void {
    SPACE.lastIndex = this.at;
    SPACE.test(this.text);
    this.at = SPACE.lastIndex;
  }

  take(token: string): boolean {
    this.skipSpace();
    if (this.text[this.at] !== token) return false;
    ++this.at;
    return true;
  }

  takeUnsigned(): bigint | undefined {
    this.skipSpace();
    UNSIGNED.lastIndex = this.at;
    const digits = UNSIGNED.exec(this.text)?.[0];
    // None has more digits; and what has millions would take its time.
    if (digits === undefined || digits.length > 20 || BigInt(digits) > MAX_U64) return undefined;
    this.at += digits.length;
    return BigInt(digits);
  }

  /** A string, or what was expected at `at`. */
  takeString(): { readonly value: string } | string {
    this.skipSpace();
    const begin = this.at + 1;
    let end = begin;
    for (;;) {
      end = this.text.indexOf('"', end);
      if (end < 0) {
        this.at = this.text.length;
        return 'the end of a string';
      }
      let slashes = 0;
      while (this.text[end - 1 - slashes] === '\\') ++slashes;
      if (slashes % 2 === 0) break;
      ++end;
    }
    const raw = this.text.slice(begin, end);
    const wrong = this.checkEscapes(raw, begin);
    if (wrong !== undefined) return wrong;
    this.at = end + 1;
    return { value: JSON.parse(`"${raw}"`) as string };
  }

  private checkEscapes(raw: string, begin: number): string | undefined {
    let high = -1;  // where what follows the first half of a pair has to begin
    for (const { 0: special, index } of raw.matchAll(SPECIAL)) {
      this.at = begin + index;
      if (high >= 0 && index !== high) return 'both halves of a UTF-16 pair';
      if (special.length === 1) {
        if (special !== '\\') return 'control characters of strings as escapes';
        ++this.at;
        if (raw[index + 1] !== 'u') return 'an escape of JSON';
        ++this.at;
        return 'four hexadecimal digits';
      }
      const code = special[1] === 'u' ? parseInt(special.slice(2), 16) : 0;
      const isLow = code >= 0xdc00 && code < 0xe000;
      if (isLow !== high >= 0) return 'both halves of a UTF-16 pair';
      high = isHigh(code) ? index + special.length : -1;
    }
    if (high >= 0) return 'both halves of a UTF-16 pair';
    return undefined;
  }

  /** What comes next. */
  describe(): string {
    const rest = this.text.slice(this.at, this.at + 32);
    const [first = ''] = rest;
    if (first === '') return 'the end of the text';
    if (first === '"') return 'text';
    if (first === '{') return 'an object';
    if (first === '[') return 'an array';
    if (/[\d-]/.test(first)) return `the number ${/^[\d+.eE-]*/.exec(rest)![0]}`;
    if (/[a-zA-Z]/.test(first)) return /^[a-zA-Z]*/.exec(rest)![0];
    return first > ' ' && first < '\x7f' ? `'${first}'` : `byte ${encoder.encode(first)[0]}`;
  }
}

interface Fields {
  dtype?: readonly [string, DType | undefined, bigint];
  shape?: readonly bigint[];
  range?: readonly [bigint, bigint];
}

/** Knows the grammar of the header, so that every departure from the format is seen where it happens. */
class Parser {
  readonly entries = new Map<string, Entry>();
  metadata: Map<string, string> | undefined;
  private readonly scanner: Scanner;
  private tensor: string | undefined;

  constructor(text: string, private readonly dataBytes: number | undefined, private readonly failFile: Fail) {
    this.scanner = new Scanner(text);
  }

  parse(): void {
    const { scanner } = this;
    if (scanner.text[0] !== '{') {
      throw this.broken(`byte ${PREFIX_BYTES}: expected a header that begins with '{', got ${scanner.describe()}`);
    }
    scanner.at = 1;
    this.takeMembers((name) => {
      if (name === METADATA_KEY) this.takeMetadata();
      else this.takeEntry(name);
    });
    scanner.skipSpace();
    if (scanner.at < scanner.text.length) throw this.unexpected("spaces behind the header's object");
  }

  broken(text: string, code: ErrorCode = 'DataLoss'): TandemError {
    return this.failFile(code, this.tensor === undefined ? text : `tensor ${shown(this.tensor)}: ${text}`);
  }

  private unexpected(expected: string): TandemError {
    const { scanner } = this;
    const at = PREFIX_BYTES + encoder.encode(scanner.text.slice(0, scanner.at)).length;
    return this.broken(`byte ${at}: expected ${expected}, got ${scanner.describe()}`);
  }

  private takeString(what: string): string {
    const { scanner } = this;
    scanner.skipSpace();
    if (scanner.text[scanner.at] !== '"') throw this.unexpected(what);
    const taken = scanner.takeString();
    if (typeof taken === 'string') throw this.unexpected(taken);
    return taken.value;
  }

  private takeMembers(member: (name: string) => void): void {
    const { scanner } = this;
    if (scanner.take('}')) return;
    for (;;) {
      const name = this.takeString('a name or the end of the object');
      if (!scanner.take(':')) throw this.unexpected("':'");
      member(name);
      if (scanner.take('}')) return;
      if (!scanner.take(',')) throw this.unexpected("',' or '}'");
    }
  }

  private takeNumbers(what: string, room: number): bigint[] {
    const { scanner } = this;
    const numbers: bigint[] = [];
    if (!scanner.take('[')) throw this.unexpected(`an array for ${what}`);
    if (scanner.take(']')) return numbers;
    for (;;) {
      const number = scanner.takeUnsigned();
      if (number === undefined) throw this.unexpected(`integers from 0 on in ${what}`);
      if (numbers.length <= room) numbers.push(number);
      if (scanner.take(']')) return numbers;
      if (!scanner.take(',')) throw this.unexpected("',' or ']'");
    }
  }

  private takeMetadata(): void {
    if (this.metadata !== undefined) throw this.broken(`expected ${METADATA_KEY} once, got it again`);
    const metadata = new Map<string, string>();
    this.metadata = metadata;
    if (!this.scanner.take('{')) throw this.unexpected(`an object of text for ${METADATA_KEY}`);
    this.takeMembers((key) => {
      const value = this.takeString('text as value in __metadata__');
      if (metadata.has(key)) throw this.broken(`expected each key of ${METADATA_KEY} once, got ${shown(key)} again`);
      metadata.set(key, value);
    });
  }

  private takeEntry(name: string): void {
    this.tensor = name;
    if (!this.scanner.take('{')) throw this.unexpected('an object with dtype, shape and data_offsets');
    const fields: Fields = {};
    this.takeMembers((field) => this.takeField(field, fields));
    const { dtype, shape, range } = fields;
    if (dtype === undefined) throw this.broken('expected a field dtype, got none');
    if (shape === undefined) throw this.broken('expected a field shape, got none');
    if (range === undefined) throw this.broken('expected a field data_offsets, got none');
    const [storedDType, ours, bits] = dtype;
    const [begin, end] = range;
    const count = shape.reduce((product, dim) => product * dim, 1n);
    if (count * bits !== (end - begin) * 8n) {
      throw this.broken(`expected data_offsets that are ${count} elements of ${bits} bits apart for ` +
        `${storedDType}[${shape}], got [${begin}, ${end}]`);
    }
    const wide = [...shape, end].find((number) => number > Number.MAX_SAFE_INTEGER);
    if (wide !== undefined) throw this.broken(`expected numbers below 2^53, got ${wide}`, 'Unimplemented');
    this.tensor = undefined;
    if (this.entries.has(name)) throw this.broken(`expected each tensor's name once, got ${shown(name)} again`);
    this.entries.set(name, {
      name, storedDType, dtype: ours, shape: shape.map(Number), begin: Number(begin), end: Number(end),
    });
  }

  private takeField(field: string, fields: Fields): void {
    const once = (value: unknown): void => {
      if (value !== undefined) throw this.broken(`expected ${field} once, got it again`);
    };
    if (field === 'dtype') {
      once(fields.dtype);
      const name = this.takeString("a dtype's name");
      fields.dtype = DTYPES.find(([stored]) => stored === name);
      if (fields.dtype === undefined) {
        throw this.broken(`expected a dtype of the format, such as F32 or I64, got ${shown(name)}`, 'Unimplemented');
      }
    } else if (field === 'shape') {
      once(fields.shape);
      fields.shape = this.takeShape();
    } else if (field === 'data_offsets') {
      once(fields.range);
      fields.range = this.takeRange();
    } else {
      throw this.broken(`expected dtype, shape or data_offsets, got field ${shown(field)}`);
    }
  }

  private takeShape(): bigint[] {
    const shape = this.takeNumbers('shape', MAX_RANK);
    if (shape.length > MAX_RANK) {
      throw this.broken(`expected at most ${MAX_RANK} dimensions, got more`, 'Unimplemented');
    }
    const large = shape.find((dim) => dim > MAX_I64);
    if (large !== undefined) throw this.broken(`expected dimensions below 2^63, got ${large}`);
    if (shape.reduce((product, dim) => product * (dim || 1n), 1n) > MAX_I64) {
      throw this.broken(`expected a shape with fewer than 2^63 elements, got [${shape}]`);
    }
    return shape;
  }

  private takeRange(): [bigint, bigint] {
    const numbers = this.takeNumbers('data_offsets', 2);
    const [begin, end] = numbers;
    if (begin === undefined || end === undefined || numbers.length > 2) {
      const got = numbers.length > 2 ? 'more' : numbers.length > 0 ? 'one' : 'none';
      throw this.broken(`expected two numbers in data_offsets, got ${got}`);
    }
    if (end < begin) throw this.broken(`expected data_offsets in ascending order, got [${begin}, ${end}]`);
    if (this.dataBytes !== undefined && end > this.dataBytes) {
      throw this.broken(`expected data_offsets within the data of ${this.dataBytes} bytes, got [${begin}, ${end}]`);
    }
    return [begin, end];
  }
}

/** Reads a header, of a file of which it is known how many bytes follow, or not. */
export function parseHeader(bytes: Uint8Array, dataBytes: number | undefined, failFile: Fail): Header {
  const parser = new Parser(decode(bytes, failFile), dataBytes, failFile);
  parser.parse();
  const entries = [...parser.entries.values()].sort((a, b) =>
    a.begin - b.begin || a.end - b.end || (a.name < b.name ? -1 : 1));
  let end = 0;
  for (const entry of entries) {
    if (entry.begin !== end) {
      throw failFile('DataLoss', `tensor ${shown(entry.name)}: expected data_offsets that begin at ${end}, where the ` +
        `data before ends, got [${entry.begin}, ${entry.end}]`);
    }
    end = entry.end;
  }
  if (dataBytes !== undefined && end !== dataBytes) {
    throw tooLong(PREFIX_BYTES + bytes.length + end, dataBytes - end, failFile);
  }
  return { entries, metadata: parser.metadata ?? new Map<string, string>(), dataBytes: end };
}

/** The error of a file with something behind its last tensor. */
export function tooLong(end: number, rest: number, fail: Fail): TandemError {
  return fail('DataLoss', `byte ${end}: expected the end of the file after the last tensor, got ${rest} more bytes`);
}

/** A tensor to write. */
export interface TensorToSave {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly byteLength: number;
}

function rankOf(dtype: DType): number {
  return DTYPES.findIndex(([, ours]) => ours === dtype);
}

// By characters, as UTF-8 has them, not by halves of pairs.
function compareNames(a: string, b: string): number {
  const [left, right] = [encoder.encode(a), encoder.encode(b)];
  const at = left.findIndex((byte, i) => byte !== right[i]);
  return at < 0 ? left.length - right.length : left[at]! - (right[at] ?? -1);
}

function checkText(text: unknown, what: string, fail: Fail): asserts text is string {
  if (typeof text !== 'string') throw fail('InvalidArgument', `expected ${what} to be a string, got ${typeof text}`);
  // A half of a pair has no UTF-8.
  if (/\p{Surrogate}/u.test(text)) throw fail('InvalidArgument', `expected ${what} in Unicode, got half of a pair`);
}

/**
 * Puts the tensors in the order of a file: the widest elements first, so that each is aligned to its elements, and by
 * name among those of a dtype. Gives its first bytes, up to where the data begins, a multiple of 8.
 */
export function formatHeader(
  tensors: TensorToSave[], metadata: readonly (readonly [string, string])[], fail: Fail,
): Uint8Array {
  for (const { name, dtype } of tensors) {
    checkText(name, `the name ${shown(String(name))}`, fail);
    if (name === METADATA_KEY) {
      throw fail('InvalidArgument', `tensor ${shown(name)}: expected another name, got the one kept for metadata`);
    }
    if (rankOf(dtype) < 0) {
      throw fail('InvalidArgument', `tensor ${shown(name)}: expected a dtype of the format, got ${dtype}`);
    }
  }
  tensors.sort((a, b) => rankOf(b.dtype) - rankOf(a.dtype) || compareNames(a.name, b.name));
  for (const [key, value] of metadata) {
    checkText(key, 'keys of metadata', fail);
    checkText(value, `metadata ${shown(key)}`, fail);
  }
  const members: string[] = [];
  if (metadata.length > 0) {
    const texts = [...metadata].sort(([a], [b]) => compareNames(a, b));
    const pairs = texts.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
    members.push(`${JSON.stringify(METADATA_KEY)}:{${pairs.join(',')}}`);
  }
  let begin = 0;
  for (const { name, dtype, shape, byteLength } of tensors) {
    const end = begin + byteLength;
    const value = { dtype: DTYPES[rankOf(dtype)]![0], shape, data_offsets: [begin, end] };
    members.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
    begin = end;
  }
  const text = encoder.encode(`{${members.join(',')}}`);
  const size = Math.ceil(text.length / 8) * 8;
  if (size > MAX_HEADER_BYTES) {
    throw fail('InvalidArgument',
      `expected names and metadata that make a header of at most ${MAX_HEADER_BYTES} bytes, got one of ${size}`);
  }
  const header = new Uint8Array(PREFIX_BYTES + size).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(size), true);
  header.set(text, PREFIX_BYTES);
  return header;
}
