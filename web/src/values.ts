// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads values as JavaScript writes them into flat arrays of an element type, checking each.

import { dtypeOfArray, isSameLayout, lengthOfArray, numberToBF16, numberToF16 } from './dtypes.js';
import type { DType, TypedArray } from './dtypes.js';
import { errorIn, TandemError } from './errors.js';

/** What errors call the values, and the op they are for. */
export interface ValuesContext {
  /** What stands in brackets in front: "tf.AddV2", or "tensor" for the function of that name. */
  readonly op?: string;
  /** "y"; "values" by default. */
  readonly name?: string;
  /** Whether finite numbers that a floating-point type can only make infinite are an error. */
  readonly isStrict?: boolean;
}

type Element = number | bigint | boolean | string;

/** Where elements are written to. */
export type ElementsOut = TypedArray | (string | Uint8Array)[];

/** Of lists of tensors, and of values of attributes. */
const MAX_LIST = 2 ** 20;

function placeOf(context: ValuesContext, path: readonly number[]): string {
  return (context.name ?? 'values') + path.map((index) => `[${index}]`).join('');
}

/** Throws the error of the value at a path: `[tensor] values[1][0]: text`. */
export function failAt(
  context: ValuesContext, path: readonly number[], code: 'InvalidArgument' | 'OutOfRange', text: string,
): never {
  const prefix = context.op === undefined ? '' : `[${context.op}] `;
  const options = context.op === undefined ? {} : { op: context.op };
  throw new TandemError(code, `${prefix}${placeOf(context, path)}: ${text}`, options);
}

/** Whether a value has further values in it. */
export function isList(value: unknown): value is readonly unknown[] | TypedArray {
  return Array.isArray(value) || dtypeOfArray(value) !== undefined;
}

/** Whether a value is an element of a tensor of strings, its bytes. */
export function isBytes(value: unknown, dtype: DType | undefined): value is Uint8Array {
  return dtype === 'string' && dtypeOfArray(value) === 'u8';
}

/** How many values are in a list. */
export function lengthOf(list: readonly unknown[] | TypedArray): number {
  return Array.isArray(list) ? list.length : lengthOfArray(list as TypedArray);
}

/**
 * The values of an array, each read once: whatever the program's code does when they are read, and afterwards, the copy
 * is what was checked.
 *
 * @throws TandemError InvalidArgument for more than 2^20.
 */
export function copyOf(list: readonly unknown[], op: string): unknown[] {
  const { length } = list;
  if (!(length <= MAX_LIST)) {
    throw errorIn(op, 'InvalidArgument', `expected at most ${MAX_LIST} values in a list, got ${length}`);
  }
  const copy: unknown[] = [];
  for (let i = 0; i < length; ++i) copy.push(list[i]);
  return copy;
}

/** Whether a value can be an element. */
export function isScalar(value: unknown): value is Element {
  const type = typeof value;
  return type === 'number' || type === 'bigint' || type === 'boolean' || type === 'string';
}

/** "number 5", "null", "a Date", "an array of 3 elements": what an error says was given. */
export function describe(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return `${typeof value} ${value}`;
  if (typeof value === 'bigint') return `bigint ${value}n`;
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  if (Array.isArray(value)) return `an array of ${value.length} elements`;
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `a ${name}` : 'an object';
}

type Store = (reader: Reader, value: Element) => void;

function wrongKind(reader: Reader, value: Element): never {
  const expected = reader.dtype === 'string' ? 'a string' : `a number for ${reader.dtype}`;
  return reader.fail('InvalidArgument', `expected ${expected}, got ${describe(value)}`);
}

function outOfRange(reader: Reader, min: number | bigint, max: number | bigint, value: Element): never {
  return reader.fail('OutOfRange', `expected ${min} to ${max} for ${reader.dtype}, got ${value}`);
}

function checkInteger(reader: Reader, value: number): void {
  if (!Number.isInteger(value)) {
    reader.fail('InvalidArgument', `expected an integer for ${reader.dtype}, got ${value}`);
  }
}

function integer(min: number, max: number): Store {
  return (reader, value) => {
    if (typeof value === 'string') wrongKind(reader, value);
    const number = Number(value);
    checkInteger(reader, number);
    if (number < min || number > max) outOfRange(reader, min, max, value);
    (reader.out as Int32Array)[reader.at++] = number;
  };
}

function integer64(min: bigint, max: bigint): Store {
  return (reader, value) => {
    if (typeof value === 'string') wrongKind(reader, value);
    if (typeof value === 'number') checkInteger(reader, value);
    const number = BigInt(value);
    if (number < min || number > max) outOfRange(reader, min, max, value);
    (reader.out as BigInt64Array)[reader.at++] = number;
  };
}

/** Whether a number that became `rounded` still is what it was: infinite only if it was before. */
export function fitsFloat(value: number, rounded: number): boolean {
  return Math.abs(rounded) !== Infinity || Math.abs(value) === Infinity;
}

function float(encode: (value: number) => number, largest = 3.4028234663852886e38): Store {
  const infinities = [encode(Infinity), encode(-Infinity)];
  return (reader, value) => {
    if (typeof value === 'string') wrongKind(reader, value);
    const number = Number(value);
    const encoded = encode(number);
    if (reader.isStrict && infinities.includes(encoded) && Math.abs(number) !== Infinity) {
      outOfRange(reader, -largest, largest, value);
    }
    (reader.out as Float32Array)[reader.at++] = encoded;
  };
}

const asIs = (value: number): number => value;

const STORES: Readonly<Record<DType, Store>> = {
  bool: integer(0, 1),
  u8: integer(0, 255),
  i8: integer(-128, 127),
  u16: integer(0, 65535),
  i16: integer(-32768, 32767),
  i32: integer(-2147483648, 2147483647),
  u32: integer(0, 4294967295),
  i64: integer64(-9223372036854775808n, 9223372036854775807n),
  u64: integer64(0n, 18446744073709551615n),
  f16: float(numberToF16, 65504),
  bf16: float(numberToBF16, 3.3895313892515355e38),
  f32: float(Math.fround),
  f64: float(asIs),
  c64: float(Math.fround),
  string: (reader, value) => {
    if (typeof value !== 'string') wrongKind(reader, value);
    (reader.out as string[])[reader.at++] = value;
  },
};

class Reader {
  /** Where the next element goes. */
  at = 0;
  private readonly path: number[] = [];
  private readonly store: Store;
  /** Of the first element, which all others must be of. */
  private kind: string | undefined;

  constructor(
    readonly out: ElementsOut,
    readonly dtype: DType,
    private readonly lengths: readonly number[],
    private readonly context: ValuesContext,
  ) {
    this.store = STORES[dtype];
  }

  get isStrict(): boolean {
    return this.context.isStrict === true;
  }

  fail(code: 'InvalidArgument' | 'OutOfRange', text: string): never {
    return failAt(this.context, this.path, code, text);
  }

  read(value: unknown): void {
    const length = this.lengths[this.path.length];
    if (length === undefined) return isBytes(value, this.dtype) ? this.readBytes(value) : this.readElement(value);
    if (!isList(value)) this.failUneven(`an array of ${length} elements`, describe(value));
    const got = lengthOf(value);
    if (got !== length) this.failUneven(`${length} elements`, String(got));
    const own = dtypeOfArray(value);
    if (own !== undefined) return this.readTyped(value as TypedArray, own, length);
    const isPlain = this.dtype === 'f64' || (this.dtype === 'f32' && !this.isStrict);
    if (isPlain && this.path.length + 1 === this.lengths.length) {
      return this.readNumbers(value as readonly unknown[], length);
    }
    this.readAll(value as readonly unknown[], 0, length);
  }

  // Up to the length that it had: reading may run code of the program's, which changes it.
  private readAll(list: readonly unknown[], begin: number, end: number): void {
    const depth = this.path.length;
    this.path.push(0);
    for (let i = begin; i < end; ++i) {
      this.path[depth] = i;
      this.read(list[i]);
    }
    this.path.pop();
  }

  // What readAll does, fast for what is most frequent: a list of numbers that need no check.
  private readNumbers(list: readonly unknown[], end: number): void {
    let i = 0;
    if (this.kind === undefined || this.kind === 'number') {
      const out = this.out as Float32Array;
      for (; i < end; ++i) {
        const value = list[i];
        if (typeof value !== 'number') break;
        out[this.at++] = value;
      }
      if (i > 0) this.kind = 'number';
    }
    if (i < end) this.readAll(list, i, end);
  }

  private readElement(value: unknown): void {
    if (isList(value)) this.failUneven('one element', describe(value));
    if (!isScalar(value)) {
      this.fail('InvalidArgument', `expected a ${this.kind ?? 'number'}, got ${describe(value)}`);
    }
    this.checkKind(typeof value);
    this.store(this, value);
  }

  private readBytes(bytes: Uint8Array): void {
    this.checkKind('string');
    (this.out as Uint8Array[])[this.at++] = bytes;
  }

  private readTyped(list: TypedArray, own: DType, length: number): void {
    if (this.path.length + 1 !== this.lengths.length) {
      const inner = this.lengths[this.path.length + 1];
      this.failUneven(`arrays of ${inner} elements`, describe(list));
    }
    this.checkKind(describe(list).replace(/^an? /, ''));
    if (isSameLayout(own, this.dtype)) {
      // A Float16Array converts its elements, but here they are bits.
      const bits = own === 'f16' ? new Uint16Array(list.buffer, list.byteOffset, length) : list;
      (this.out as Float32Array).set(bits as Float32Array, this.at);
      this.at += length;
      return;
    }
    const depth = this.path.length;
    this.path.push(0);
    for (let i = 0; i < length; ++i) {
      this.path[depth] = i;
      this.store(this, list[i]!);
    }
    this.path.pop();
  }

  private checkKind(kind: string): void {
    this.kind ??= kind;
    if (this.kind !== kind) {
      this.fail('InvalidArgument', `expected all elements to be of one kind, got ${kind} after ${this.kind}`);
    }
  }

  private failUneven(expected: string, got: string): never {
    const first = this.path.map(() => 0);
    const like = this.path.length > 0 ? ` as in ${placeOf(this.context, first)}` : '';
    return this.fail('InvalidArgument', `expected ${expected}${like}, got ${got}`);
  }
}

/**
 * Writes values whose lists have these lengths at each depth into `out`, as elements of the dtype.
 *
 * @throws TandemError as `readElements` says.
 */
export function readValues(
  values: unknown, dtype: DType, lengths: readonly number[], out: ElementsOut, context: ValuesContext,
): void {
  const reader = new Reader(out, dtype, lengths, context);
  reader.read(values);
  if (dtype === 'c64' && lengths.length === 0) (out as Float32Array)[reader.at++] = 0;  // a number is its real part
  // Code of the program's that was run meanwhile has changed the lists, or moved the module's memory.
  if (reader.at !== out.length) {
    failAt(context, [], 'InvalidArgument', 'expected values that reading them does not change, got others');
  }
}
