// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes of a call, from an options object to the module: checked, so that what is wrong is said in JavaScript's
// terms.

import { checkDType, shapeOf } from './create.js';
import { dtypeCode, dtypeOfArray, isDType } from './dtypes.js';
import type { DType, TypedArray } from './dtypes.js';
import type { Engine } from './engine.js';
import { errorIn, TandemError } from './errors.js';
import { encodeText } from './heap.js';
import { numElements, toElements } from './nested.js';
import type { TensorLike } from './nested.js';
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
  throw new TandemError('InvalidArgument', `[${op.name}] attribute ${name} must be ${expected}, got ${got}`,
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

function toBool(op: Op, name: string, value: unknown): number {
  if (typeof value !== 'boolean') failAttr(op, name, 'a boolean', value);
  return value ? 1 : 0;
}

function toText(op: Op, name: string, value: unknown): Uint8Array {
  if (typeof value !== 'string') failAttr(op, name, 'a string', value);
  return encodeText(value);
}

function toDTypeCode(op: Op, name: string, value: unknown): number {
  if (!isDType(value)) failAttr(op, name, 'a dtype such as \'f32\'', value);
  return dtypeCode(value);
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

// What a value looks like by itself, for the module to judge; undefined if like nothing.
function looksLike(name: string, value: unknown): AttrSpec | undefined {
  const dtype = dtypeOfArray(value);
  const list = listOf(value);
  const isFloat = dtype === 'f32' || dtype === 'f64';
  const kinds: readonly AttrKind[] = isFloat ? ['float'] : ['bool', 'int', 'float', 'string', 'tensor'];
  const kind = kinds.find((candidate) => (list ?? [value]).every(FITS[candidate]));
  return kind && { name, kind, isList: list !== undefined };
}

// How an attribute is to be set. The attributes of a call by name may be any: what is wrong with them says the module.
function specOf(op: Op, name: string, value: unknown): AttrSpec {
  const spec = op.attrs.get(name);
  if (spec !== undefined && (!op.keepsNames || fits(spec, value))) return spec;
  return (op.keepsNames ? looksLike(name, value) : undefined) ?? spec ?? unknownAttr(op, name);
}

// Memory of the module for the time of one setter.
class Room {
  private readonly addresses: number[] = [];

  constructor(private readonly engine: Engine) {}

  take(size: number): number {
    const address = this.engine.heap.malloc(size);
    this.addresses.push(address);
    return address;
  }

  bytes(values: ArrayLike<number>): number {
    const address = this.take(values.length);
    this.engine.heap.u8.set(values, address);
    return address;
  }

  words(values: readonly number[]): number {
    const address = this.take(4 * values.length);
    this.engine.heap.u32.set(values, address >>> 2);
    return address;
  }

  int64s(values: readonly (number | bigint)[]): number {
    const address = this.take(8 * values.length);
    this.engine.heap.writeInt64s(address, values);
    return address;
  }

  free(): void {
    if (this.engine.closed !== undefined) return;
    for (const address of this.addresses) this.engine.heap.free(address);
  }
}

/** Sets one attribute; tandem_attrs_status tells of errors of the module. */
class Setter {
  private readonly name: number;

  constructor(
    private readonly engine: Engine, private readonly op: Op, private readonly spec: AttrSpec,
    private readonly attrs: number, private readonly room: Room,
  ) {
    this.name = engine.name(spec.name);
  }

  set(value: unknown): void {
    if (this.spec.isList) this.setList(toList(this.op, this.spec.name, value));
    else this.setOne(value);
  }

  private setOne(value: unknown): void {
    const { attrs, name, op, room, engine: { exports } } = this;
    const label = this.spec.name;
    switch (this.spec.kind) {
      case 'bool':
        exports.tandem_attrs_set_bool(attrs, name, toBool(op, label, value));
        break;
      case 'int':
        exports.tandem_js_attrs_set_int(attrs, name, toInteger(op, label, value));
        break;
      case 'float':
        exports.tandem_attrs_set_float(attrs, name, toFloat(op, label, value));
        break;
      case 'string': {
        const text = toText(op, label, value);
        exports.tandem_attrs_set_string(attrs, name, room.bytes(text), text.length);
        break;
      }
      case 'dtype':
        exports.tandem_attrs_set_dtype(attrs, name, toDTypeCode(op, label, value));
        break;
      case 'shape': {
        const dims = toDims(op, label, value);
        exports.tandem_attrs_set_shape(attrs, name, room.int64s(dims), dims.length);
        break;
      }
      case 'tensor':
        this.setTensor(value);
        break;
      case 'func':
        exports.tandem_attrs_set_function(attrs, name, room.bytes([...toText(op, label, value), 0]));
        break;
      case 'any':
        failAttr(op, label, 'a boolean, number or string, or a list of these', value);
    }
  }

  private setTensor(value: unknown): void {
    const { op, spec, room } = this;
    if (typeof value !== 'object' || value === null || !('values' in value)) {
      failAttr(op, spec.name, 'an object with values, and a dtype', value);
    }
    const { values, dtype, shape } = value as TensorAttr;
    checkDType(dtype, op.name);
    const elements = toElements(values, dtype, { op: op.name, name: spec.name });
    if (elements.dtype === 'string') failAttr(op, spec.name, 'a tensor of numbers', 'strings');
    const dims = shape === undefined ? elements.shape : shapeOf(shape, op.name);
    if (numElements(dims) !== numElements(elements.shape)) {
      failAttr(op, spec.name, `a tensor with the elements of shape [${dims.join(', ')}]`, values);
    }
    const { buffer, byteOffset, byteLength } = elements.data as Uint8Array;
    const address = room.bytes(new Uint8Array(buffer, byteOffset, byteLength));
    this.engine.exports.tandem_attrs_set_tensor(
      this.attrs, this.name, dtypeCode(elements.dtype), room.int64s(dims), dims.length, address, byteLength);
  }

  private setList(values: readonly unknown[]): void {
    const { attrs, name, op, room, engine: { exports, heap } } = this;
    const label = this.spec.name;
    const count = values.length;
    switch (this.spec.kind) {
      case 'bool':
        exports.tandem_attrs_set_bools(attrs, name, room.bytes(values.map((v) => toBool(op, label, v))), count);
        break;
      case 'int':
        exports.tandem_attrs_set_ints(attrs, name, room.int64s(values.map((v) => toInt64(op, label, v))), count);
        break;
      case 'float': {
        const floats = Float32Array.from(values, (value) => toFloat(op, label, value));
        exports.tandem_attrs_set_floats(attrs, name, room.bytes(new Uint8Array(floats.buffer)), count);
        break;
      }
      case 'string': {
        const texts = values.map((value) => toText(op, label, value));
        const addresses = room.words(texts.map((text) => room.bytes(text)));
        exports.tandem_attrs_set_strings(attrs, name, addresses, room.words(texts.map((t) => t.length)), count);
        break;
      }
      case 'dtype':
        exports.tandem_attrs_set_dtypes(attrs, name, room.words(values.map((v) => toDTypeCode(op, label, v))), count);
        break;
      case 'shape': {
        const shapes = values.map((value) => toDims(op, label, value));
        const ranks = room.words(shapes.map((shape) => shape.length));
        exports.tandem_attrs_set_shapes(attrs, name, room.int64s(shapes.flat()), ranks, count);
        break;
      }
      default:
        failAttr(op, label, `no list of ${this.spec.kind}s`, values);
    }
    heap.renew();
  }
}

/** A copy of a call's options and of the lists in them, which is what is checked, used and kept. */
export function copyOptions(options: object | undefined, op: string): object | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== 'object' || options === null) {
    throw errorIn(op, 'InvalidArgument', `expected an object of attributes, got ${describe(options)}`);
  }
  return Object.fromEntries(Object.entries(options).map(([name, value]: [string, unknown]) =>
    [name, Array.isArray(value) ? copyOf(value, op) : value]));
}

/**
 * The tandem_attrs* of a copy of a call's options, for the caller to release; 0 if all are the defaults.
 *
 * @throws TandemError InvalidArgument for attributes the op does not have and values that they do not take.
 */
export function makeAttrs(engine: Engine, op: Op, options: object | undefined): number {
  if (options === undefined) return 0;
  let attrs = 0;
  const room = new Room(engine);
  try {
    for (const [key, value] of Object.entries(options)) {
      if (value === undefined) continue;
      const spec = specOf(op, key, value);
      if (attrs === 0) {
        engine.check(engine.guard((exports, scratch) => exports.tandem_attrs_create(scratch)));
        attrs = engine.result();
      }
      engine.guard(() => new Setter(engine, op, spec, attrs, room).set(value));
    }
    return attrs;
  } catch (error) {
    if (attrs !== 0 && engine.closed === undefined) engine.exports.tandem_attrs_release(attrs);
    throw error;
  } finally {
    room.free();
  }
}
