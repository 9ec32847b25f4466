// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element types: their names, codes of the C interface, sizes and typed arrays, and the 16-bit floating-point formats.

import { DTYPE_CODES } from './codes.js';

/** The element type of a tensor. */
export type DType =
  | 'bool' | 'u8' | 'i8' | 'u16' | 'i16' | 'i32' | 'u32' | 'i64' | 'u64' | 'f16' | 'bf16' | 'f32' | 'f64' | 'c64'
  | 'string';

/** What holds the elements of a tensor outside of it, row-major and without gaps. */
export type TypedArray =
  | Uint8Array | Int8Array | Uint16Array | Int16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array
  | Float32Array | Float64Array;

/**
 * What `data()` gives for each element type: bool is 0 or 1, f16 and bf16 are their bits, c64 has the real and the
 * imaginary part of one element after the other.
 */
export interface DataTypes {
  bool: Uint8Array;
  u8: Uint8Array;
  i8: Int8Array;
  u16: Uint16Array;
  i16: Int16Array;
  i32: Int32Array;
  u32: Uint32Array;
  i64: BigInt64Array;
  u64: BigUint64Array;
  f16: Uint16Array;
  bf16: Uint16Array;
  f32: Float32Array;
  f64: Float64Array;
  c64: Float32Array;
  string: string[];
}

/** The element type that values have by themselves; what is in arrays, of at most so many depths, decides for them. */
export type DTypeOf<V, Depths extends readonly unknown[] = [0, 0, 0, 0, 0, 0]> =
  V extends number ? 'f32' : V extends bigint ? 'i64' : V extends boolean ? 'bool' : V extends string ? 'string'
  : V extends Float32Array ? 'f32' : V extends Float64Array ? 'f64' : V extends Int32Array ? 'i32'
  : V extends Uint8Array | Uint8ClampedArray ? 'u8' : V extends Int8Array ? 'i8' : V extends Uint16Array ? 'u16'
  : V extends Int16Array ? 'i16' : V extends Uint32Array ? 'u32' : V extends BigInt64Array ? 'i64'
  : V extends BigUint64Array ? 'u64'
  : Depths extends readonly [unknown, ...infer Rest]
    ? (V extends readonly (infer E)[] ? ([E] extends [never] ? DType : DTypeOf<E, Rest>) : DType) : DType;

/** The constructor of a kind of typed array. */
export interface TypedArrayConstructor {
  new (length: number): TypedArray;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
  readonly BYTES_PER_ELEMENT: number;
}

const ARRAYS: Readonly<Record<Exclude<DType, 'string'>, TypedArrayConstructor>> = {
  bool: Uint8Array, u8: Uint8Array, i8: Int8Array, u16: Uint16Array, i16: Int16Array, i32: Int32Array,
  u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, f16: Uint16Array, bf16: Uint16Array, f32: Float32Array,
  f64: Float64Array, c64: Float32Array,
};
const CODES: ReadonlyMap<string, number> = new Map(DTYPE_CODES.map((name, i) => [name, i + 1]));
const BY_TAG: ReadonlyMap<string, DType> = new Map<string, DType>([
  ['Uint8Array', 'u8'], ['Uint8ClampedArray', 'u8'], ['Int8Array', 'i8'], ['Uint16Array', 'u16'],
  ['Int16Array', 'i16'], ['Int32Array', 'i32'], ['Uint32Array', 'u32'], ['BigInt64Array', 'i64'],
  ['BigUint64Array', 'u64'], ['Float16Array', 'f16'], ['Float32Array', 'f32'], ['Float64Array', 'f64'],
]);

/** All element types, in the order of their codes. */
export const DTYPES: readonly DType[] = DTYPE_CODES;

/** Whether a value names an element type. */
export function isDType(value: unknown): value is DType {
  return typeof value === 'string' && CODES.has(value);
}

/** What a wrong name of an element type, as TensorFlow.js and NumPy have them, most likely means; else an example. */
export function dtypeLike(wrong: unknown): DType {
  const [, kind, bits] = /^(bfloat|float|int|uint|complex|i|u|f)(\d*)$/.exec(String(wrong).toLowerCase()) ?? [];
  if (kind === 'complex') return 'c64';
  const like = kind === undefined ? String(wrong).slice(0, 4)
    : `${kind === 'bfloat' ? 'bf' : kind[0]!}${bits === '' ? 32 : bits!}`;
  return isDType(like) ? like : like === 'str' ? 'string' : 'f32';
}

/** The code of the C interface, 1 to 15; 0 if there is no such element type. */
export function dtypeCode(dtype: DType): number {
  return CODES.get(dtype) ?? 0;
}

/** The element type of a code of the C interface, 1 to 15. */
export function dtypeOfCode(code: number): DType {
  return DTYPE_CODES[code - 1]!;
}

/** Bytes of one element; 0 for strings, which have no fixed size. */
export function byteSize(dtype: DType): number {
  return dtype === 'string' ? 0 : arrayType(dtype).BYTES_PER_ELEMENT * partsOf(dtype);
}

/** Elements of the typed array for one element of a tensor: 2 for c64, else 1. */
export function partsOf(dtype: DType): number {
  return dtype === 'c64' ? 2 : 1;
}

/** The typed array that holds elements of the type. Not for strings. */
export function arrayType<D extends Exclude<DType, 'string'>>(dtype: D): TypedArrayConstructor & {
  new (length: number): DataTypes[D];
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): DataTypes[D];
};
export function arrayType(dtype: DType): TypedArrayConstructor;
export function arrayType(dtype: DType): TypedArrayConstructor {
  return ARRAYS[dtype as Exclude<DType, 'string'>];
}

// What all typed arrays inherit from. Its getters work for those of other realms (frames, vm contexts), too, and no
// program changes what they say of an array.
const inherited = Object.getPrototypeOf(Uint8Array.prototype) as object;
const tagGetter = Object.getOwnPropertyDescriptor(inherited, Symbol.toStringTag)!.get!;
const lengthGetter = Object.getOwnPropertyDescriptor(inherited, 'length')!.get!;

/** What `dtype` of a typed array's elements is; undefined for anything that is not a typed array. */
export function dtypeOfArray(value: unknown): DType | undefined {
  return ArrayBuffer.isView(value) ? BY_TAG.get(tagGetter.call(value) as string) : undefined;
}

/** How many elements a typed array has. TypeError if its buffer is detached, or has been made too small for it. */
export function lengthOfArray(array: TypedArray): number {
  const length = lengthGetter.call(array) as number;
  // It has none then either.
  if (length === 0) Uint8Array.prototype.at.call(array as Uint8Array, 0);
  return length;
}

/** Whether the elements of a typed array of type `from` are those of a tensor of type `to`, bit for bit. */
export function isSameLayout(from: DType, to: DType): boolean {
  return from === to || (from === 'u16' && (to === 'f16' || to === 'bf16')) || (from === 'f32' && to === 'c64');
}

const f64Scratch = new Float64Array(1);
const u64Scratch = new BigUint64Array(f64Scratch.buffer);
const f32Scratch = new Float32Array(1);
const u32Scratch = new Uint32Array(f32Scratch.buffer);

/** The value of the bits of an IEEE binary16 number. */
export function f16ToNumber(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const magnitude =
    exponent === 0 ? fraction * 2 ** -24
    : exponent === 31 ? (fraction === 0 ? Infinity : NaN)
    : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// The bits of a number with 8 or fewer exponent bits and `fractionBits` fraction bits, rounded once, half to even.
function roundTo16(value: number, fractionBits: number): number {
  f64Scratch[0] = value;
  const sign = u64Scratch[0]! >> 63n ? 0x8000 : 0;
  const exponentBits = 15 - fractionBits;
  const infinity = ((1 << exponentBits) - 1) << fractionBits;
  if (Number.isNaN(value)) return sign | infinity | (1 << (fractionBits - 1));
  const magnitude = Math.abs(value);
  if (magnitude === Infinity) return sign | infinity;
  const bias = (1 << (exponentBits - 1)) - 1;
  const exponent = Math.max(Number((u64Scratch[0]! >> 52n) & 0x7ffn) - 1023, 1 - bias);
  // In units of the last place: below 2^(fractionBits + 1), and exact, being a product with a power of two. Doing it in
  // two steps keeps the factor finite.
  const scaled = magnitude * 2 ** -exponent * 2 ** fractionBits;
  const below = Math.floor(scaled);
  const rest = scaled - below;
  const units = below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
  // A carry out of the fraction goes into the exponent, as it should. Subnormals have no leading one to drop.
  const bits = units + (exponent + bias - 1) * 2 ** fractionBits;
  return sign | (bits >= infinity ? infinity : bits);
}

/** The bits of the nearest IEEE binary16 number, ties to even; a NaN is the quiet one. */
export function numberToF16(value: number): number {
  return roundTo16(value, 10);
}

/** The value of the bits of a bfloat16 number. */
export function bf16ToNumber(bits: number): number {
  u32Scratch[0] = bits << 16;
  return f32Scratch[0]!;
}

/** The bits of the nearest bfloat16 number, ties to even; a NaN is the quiet one. */
export function numberToBF16(value: number): number {
  return roundTo16(value, 7);
}
