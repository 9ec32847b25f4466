// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes of a call, from an options object to the engine: checked, so that what is wrong is said in JavaScript's
// terms.

import { checkDType, shapeOf } from './create.js';
import { dtypeLike, dtypeOfArray, isDType } from './dtypes.js';
import type { DType, TypedArray } from './dtypes.js';
import type { AttrWriter, Engine, Handle } from './engine.js';
import { errorIn, TandemError } from './errors.js';
import { numElements, toElements } from './nested.js';
import type { TensorLike } from './nested.js';
import { camelCase } from './op.js';
import type { AttrKind, AttrSpec, Op } from './op.js';
import { copyOf, describe } from './values.js';

/** A constant tensor as the value of an attribute. */
export interface TensorAttr {
  readonly values: TensorLike;
  /** By default that of the values. */
  readonly dtype?: DType;
  /** By default that of the values. It must have as many elements. */
  readonly shape?: readonly number[];
}

/** What an attribute can be set to: a list for lists and shapes, a DType for types, undefined for the default. */
export type AttrValue =
  | boolean | number | bigint | string | TensorAttr | undefined
  | readonly (boolean | number | bigint | string | readonly number[])[] | TypedArray;

function failAttr(op: Op, name: string, expected: string, value: unknown): never {
  const got = Array.isArray(value) ? `[${value.map((element) => describe(element)).join(', ')}]`
    : typeof value === 'string' ? `'${value}'` : describe(value);
  throw new TandemError('InvalidArgument', `[${op.name}] attribute ${op.keepsNames ? name : camelCase(name)} must be ${expected}, got ${got}`,
    { op: op.name });
}

// How many letters to change, to leave out and to put in to make one text the other.
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The name that a wrong one was most likely meant to be; undefined if none is like it. */
export function nearest(wrong: string, names: Iterable<string>): string | undefined {
  const normal = (name: string): string => name.toLowerCase().replaceAll('_', '');
  let best: string | undefined;
  let least = Math.max(2, Math.floor(wrong.length / 3)) + 1;
  for (const name of names) {
    const steps = distance(normal(wrong), normal(name));
    if (steps < least) [best, least] = [name, steps];
  }
  return best;
}

function unknownAttr(op: Op, name: string): never {
  const names = [...op.attrs.keys()];
  const like = nearest(name, names);
  const advice = like !== undefined ? `; did you mean ${like}?`
    : names.length > 0 ? `, which has ${names.join(', ')}` : ', which has none';
  throw new TandemError('InvalidArgument', `[${op.name}] expected attributes of the op, got ${name}${advice}`,
    { op: op.name });
}

function toInteger(op: Op, name: string, value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (!Number.isSafeInteger(number)) failAttr(op, name, 'an integer of at most 2^53 - 1 in size', value);
  return number as number;
}

function toInt64(op: Op, name: string, value: unknown): number | bigint {
  if (typeof value !== 'bigint') return toInteger(op, name, value);
  if (BigInt.asIntN(64, value) !== value) failAttr(op, name, 'an integer of 64 bits', value);
  return value;
}

function toFloat(op: Op, name: string, value: unknown): number {
  if (typeof value !== 'number') failAttr(op, name, 'a number', value);
  if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) {
    failAttr(op, name, 'a number that f32 can hold', value);
  }
  return value;
}

function toBool(op: Op, name: string, value: unknown): boolean {
  return typeof value === 'boolean' ? value : failAttr(op, name, 'a boolean', value);
}

function toText(op: Op, name: string, value: unknown): string {
  return typeof value === 'string' ? value : failAttr(op, name, 'a string', value);
}

function toDType(op: Op, name: string, value: unknown): DType {
  return isDType(value) ? value : failAttr(op, name, `a dtype such as '${dtypeLike(value)}'`, value);
}

function toDims(op: Op, name: string, value: unknown): (number | bigint)[] {
  if (!Array.isArray(value)) failAttr(op, name, 'a list of dimensions', value);
  return copyOf(value, op.name).map((dim) => toInt64(op, name, dim));
}

function listOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return dtypeOfArray(value) === undefined ? undefined : Array.from(value as ArrayLike<unknown>);
}

function toList(op: Op, name: string, value: unknown): readonly unknown[] {
  return listOf(value) ?? failAttr(op, name, 'a list', value);
}

const FITS: Readonly<Record<AttrKind, (value: unknown) => boolean>> = {
  bool: (value) => typeof value === 'boolean',
  int: (value) => typeof value === 'bigint' || Number.isInteger(value),
  float: (value) => typeof value === 'number',
  string: (value) => typeof value === 'string',
  func: (value) => typeof value === 'string',
  dtype: isDType,
  shape: (value) => Array.isArray(value) && value.every(FITS.int),
  tensor: (value) => typeof value === 'object' && value !== null && 'values' in value,
  any: () => false,
};

function fits({ isList, kind }: AttrSpec, value: unknown): boolean {
  return isList ? listOf(value)?.every(FITS[kind]) ?? false : FITS[kind](value);
}

// What a value looks like by itself, for the engine to judge; undefined if like nothing.
function looksLike(name: string, value: unknown): AttrSpec | undefined {
  const dtype = dtypeOfArray(value);
  const list = listOf(value);
  const isFloat = dtype === 'f32' || dtype === 'f64';
  const kinds: readonly AttrKind[] = isFloat ? ['float'] : ['bool', 'int', 'float', 'string', 'tensor'];
  const kind = kinds.find((candidate) => (list ?? [value]).every(FITS[candidate]));
  return kind && { name, kind, isList: list !== undefined };
}

// How an attribute is to be set. The attributes of a call by name may be any: what is wrong with them says the engine.
function specOf(op: Op, name: string, value: unknown): AttrSpec {
  const spec = op.attrs.get(name);
  if (spec !== undefined && (!op.keepsNames || fits(spec, value))) return spec;
  return (op.keepsNames ? looksLike(name, value) : undefined) ?? spec ?? unknownAttr(op, name);
}

function setTensor(to: AttrWriter, op: Op, name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || !('values' in value)) {
    failAttr(op, name, 'an object with values, and a dtype', value);
  }
  const { values, dtype, shape } = value as TensorAttr;
  checkDType(dtype, op.name);
  const elements = toElements(values, dtype, { op: op.name, name });
  if (elements.dtype === 'string') failAttr(op, name, 'a tensor of numbers', 'strings');
  const dims = shape === undefined ? elements.shape : shapeOf(shape, op.name);
  if (numElements(dims) !== numElements(elements.shape)) {
    failAttr(op, name, `a tensor with the elements of shape [${dims.join(', ')}]`, values);
  }
  to.tensor(name, elements.dtype, dims, elements.data as TypedArray);
}

function setOne(to: AttrWriter, op: Op, { kind, name }: AttrSpec, value: unknown): void {
  switch (kind) {
    case 'bool':
      return to.bool(name, toBool(op, name, value));
    case 'int':
      return to.int(name, toInteger(op, name, value));
    case 'float':
      return to.float(name, toFloat(op, name, value));
    case 'string':
      return to.string(name, toText(op, name, value));
    case 'dtype':
      return to.dtype(name, toDType(op, name, value));
    case 'shape':
      return to.shape(name, toDims(op, name, value));
    case 'tensor':
      return setTensor(to, op, name, value);
    case 'func':
      return to.func(name, toText(op, name, value));
    case 'any':
      failAttr(op, name, 'a boolean, number or string, or a list of these', value);
  }
}

function setList(to: AttrWriter, op: Op, { kind, name }: AttrSpec, values: readonly unknown[]): void {
  const each = <T>(convert: (op: Op, name: string, value: unknown) => T): T[] =>
    values.map((value) => convert(op, name, value));
  switch (kind) {
    case 'bool':
      return to.bools(name, each(toBool));
    case 'int':
      return to.ints(name, each(toInt64));
    case 'float':
      return to.floats(name, Float32Array.from(each(toFloat)));
    case 'string':
      return to.strings(name, each(toText));
    case 'dtype':
      return to.dtypes(name, each(toDType));
    case 'shape':
      return to.shapes(name, each(toDims));
    default:
      failAttr(op, name, `no list of ${kind}s`, values);
  }
}

/** A copy of a call's options and of the lists in them, which is what is checked, used and kept. */
export function copyOptions(options: object | undefined, { attrs, name: op }: Op): object | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== 'object' || options === null) {
    const isLike = ([, { isList, kind }]: [string, AttrSpec]): boolean => !isList && typeof options === `${kind}ean`;
    const [name] = [...attrs].find(isLike) ?? attrs.keys();
    const such = name === undefined ? '' : ` such as { ${String(name)}: … }`;
    throw errorIn(op, 'InvalidArgument', `expected an object of attributes${such}, got ${describe(options)}`);
  }
  return Object.fromEntries(Object.entries(options).map(([name, value]: [string, unknown]) =>
    [name, Array.isArray(value) ? copyOf(value, op) : value]));
}

/**
 * The attributes that a copy of a call's options are, for the caller to release; 0 if all are the defaults.
 *
 * @throws TandemError InvalidArgument for attributes the op does not have and values that they do not take.
 */
export function makeAttrs(engine: Engine, op: Op, options: object | undefined): Handle {
  if (options === undefined) return 0;
  const to = engine.newAttrs();
  try {
    for (const [key, value] of Object.entries(options)) {
      if (value === undefined) continue;
      const spec = specOf(op, key, value);
      if (spec.isList) setList(to, op, spec, toList(op, spec.name, value));
      else setOne(to, op, spec, value);
    }
    return to.pointer;
  } catch (error) {
    if (to.pointer !== 0) engine.releaseAttrs(to.pointer);
    throw error;
  }
}
