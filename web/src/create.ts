// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// New tensors in the module, from values as JavaScript has them.

import { arrayType, dtypeCode, isDType, partsOf } from './dtypes.js';
import type { DType, TypedArray } from './dtypes.js';
import { ARGUMENTS } from './engine.js';
import type { Engine } from './engine.js';
import { errorIn, TandemError } from './errors.js';
import { encodeText } from './heap.js';
import { inferLayout, numElements, readElements } from './nested.js';
import type { Layout, TensorLike, ValuesContext } from './nested.js';
import { copyOf, describe, fitsFloat } from './values.js';

const MAX_RANK = 8;
// What 32-bit addresses have room for.
const MAX_STRINGS = 2 ** 27;

/** A tensor whose elements are yet to be written, and where. */
export interface NewTensor {
  readonly pointer: number;
  readonly address: number;
}

/** A copy of a shape. InvalidArgument unless it is a list of up to 8 sizes, of which the module checks the product. */
export function shapeOf(shape: unknown, op: string): readonly number[] {
  if (!Array.isArray(shape)) {
    throw errorIn(op, 'InvalidArgument', `expected a shape, which is a list of sizes, got ${describe(shape)}`);
  }
  const sizes = copyOf(shape, op) as number[];
  if (sizes.length > MAX_RANK) {
    throw errorIn(op, 'InvalidArgument', `expected at most ${MAX_RANK} dimensions, got ${sizes.length}`);
  }
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    const got = sizes.map((size) => (typeof size === 'number' ? size : describe(size))).join(', ');
    throw errorIn(op, 'InvalidArgument', `expected sizes that are integers from 0 on, got [${got}]`);
  }
  return sizes;
}

/** Throws InvalidArgument unless it is the name of an element type, or undefined. */
export function checkDType(dtype: unknown, op: string): asserts dtype is DType | undefined {
  if (dtype !== undefined && !isDType(dtype)) {
    const got = typeof dtype === 'string' ? `'${dtype}'` : describe(dtype);
    throw errorIn(op, 'InvalidArgument', `expected a dtype such as 'f32', got ${got}`);
  }
}

/** A tensor of numbers for the caller to fill. */
export function allocate(engine: Engine, dtype: DType, shape: readonly number[]): NewTensor {
  const status = engine.guard((exports, scratch) => {
    engine.heap.writeInt64s(scratch + ARGUMENTS, shape);
    return exports.tandem_js_tensor_new(
      engine.js, dtypeCode(dtype), scratch + ARGUMENTS, shape.length, scratch, scratch + 4);
  });
  engine.check(status);
  const address = engine.result(0);
  engine.heap.renew();
  return { address, pointer: engine.result(1) };
}

/** The module's memory as elements, until it grows. */
export function elementsAt(engine: Engine, dtype: DType, address: number, count: number): TypedArray {
  engine.heap.renew();
  return new (arrayType(dtype))(engine.heap.u8.buffer, address, count * partsOf(dtype));
}

function createStrings(engine: Engine, strings: readonly string[], shape: readonly number[]): number {
  const texts = strings.map(encodeText);
  const count = texts.length;
  const bytes = texts.reduce((sum, text) => sum + text.length, 0);
  const { heap } = engine;
  const room = heap.malloc(8 * count + bytes);
  try {
    let at = room + 8 * count;
    texts.forEach((text, i) => {
      heap.u32[(room >>> 2) + i] = at;
      heap.u32[(room >>> 2) + count + i] = text.length;
      heap.u8.set(text, at);
      at += text.length;
    });
    engine.check(engine.guard((exports, scratch) => {
      heap.writeInt64s(scratch + ARGUMENTS, shape);
      return exports.tandem_tensor_create_strings(
        engine.runtime, scratch + ARGUMENTS, shape.length, room, room + 4 * count, count, scratch);
    }));
    return engine.result();
  } finally {
    if (engine.closed === undefined) heap.free(room);
  }
}

// Releases the tensor if its elements cannot be written.
function filled(engine: Engine, created: NewTensor, fill: () => void): number {
  try {
    fill();
  } catch (error) {
    if (engine.closed === undefined) engine.exports.tandem_tensor_release(created.pointer);
    throw error;
  }
  return created.pointer;
}

/** The tandem_tensor* of a new tensor with these values; `shape`, if given, has as many elements. */
export function createTensor(
  engine: Engine, values: TensorLike, dtype: DType | undefined, shape: readonly number[] | undefined,
  context: ValuesContext,
): number {
  if (engine.closed !== undefined) throw engine.whyClosed();
  const layout: Layout = inferLayout(values, dtype, context);
  const size = numElements(layout.shape);
  if (shape !== undefined && numElements(shape) !== size) {
    throw errorIn(context.op ?? 'tensor', 'InvalidArgument',
      `expected ${numElements(shape)} elements for shape [${shape.join(',')}], got ${size}`);
  }
  if (layout.dtype === 'string') {
    const strings = new Array<string>(size);
    readElements(values, layout, strings, context);
    return createStrings(engine, strings, shape ?? layout.shape);
  }
  const created = allocate(engine, layout.dtype, shape ?? layout.shape);
  return filled(engine, created, () => {
    readElements(values, layout, elementsAt(engine, layout.dtype, created.address, size), context);
  });
}

/** Whether a number needs no conversion but what `tandem_js_scalar` does, and cannot be wrong for the dtype. */
export function isPlainNumber(value: number, dtype: DType): boolean {
  return dtype === 'f64' || (dtype === 'f32' && fitsFloat(value, Math.fround(value))) ||
    (dtype === 'i32' && (value | 0) === value);
}

/** The tandem_tensor* of a number; those that a dtype does not take are an error. */
export function createScalar(engine: Engine, value: number, dtype: DType, context: ValuesContext): number {
  if (!isPlainNumber(value, dtype)) return createTensor(engine, value, dtype, undefined, context);
  const pointer = engine.guard((exports) => exports.tandem_js_scalar(engine.js, dtypeCode(dtype), value)) >>> 0;
  if (pointer === 0) throw new TandemError('ResourceExhausted', 'expected memory for a number, got none');
  return pointer;
}

/** The tandem_tensor* of a tensor of which all elements are the same. */
export function createFilled(
  engine: Engine, shape: readonly number[], value: TensorLike, dtype: DType | undefined, context: ValuesContext,
): number {
  if (engine.closed !== undefined) throw engine.whyClosed();
  const layout = inferLayout(value, dtype, context);
  if (layout.shape.length > 0) {
    throw errorIn(context.op ?? 'fill', 'InvalidArgument', 'expected one value, got an array');
  }
  const count = numElements(shape);
  if (layout.dtype === 'string') {
    if (count > MAX_STRINGS) {
      throw errorIn('fill', 'ResourceExhausted', `expected memory for ${count} strings, got none`);
    }
    return createStrings(engine, new Array<string>(count).fill(String(value)), shape);
  }
  const one = new (arrayType(layout.dtype))(partsOf(layout.dtype));
  readElements(value, layout, one, context);
  const created = allocate(engine, layout.dtype, shape);
  const elements = elementsAt(engine, layout.dtype, created.address, count);
  if (one.length === 1) (elements as Float32Array).fill(one[0] as number);
  else for (let i = 0; i < elements.length; ++i) elements[i] = one[i % 2]!;
  return created.pointer;
}
