// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// New tensors of an engine, from values as JavaScript has them.

import { MAX_RANK } from './codes.js';
import { arrayType, dtypeLike, isDType, partsOf } from './dtypes.js';
import type { DType } from './dtypes.js';
import type { Engine, Handle, NewTensor } from './engine.js';
import { errorIn, TandemError } from './errors.js';
import { inferLayout, numElements, readElements } from './nested.js';
import type { Layout, TensorLike, ValuesContext } from './nested.js';
import { copyOf, describe, fitsFloat } from './values.js';

// What 32-bit addresses have room for.
const MAX_STRINGS = 2 ** 27;

/** A copy of a shape. InvalidArgument unless it is a list of up to 8 sizes, of which the engine checks the product. */
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
    throw errorIn(op, 'InvalidArgument', `expected a dtype such as '${dtypeLike(dtype)}', got ${got}`);
  }
}

// Releases the tensor if its elements cannot be written.
function filled(engine: Engine, created: NewTensor, fill: () => void): Handle {
  try {
    fill();
  } catch (error) {
    engine.releaseTensor(created.pointer);
    throw error;
  }
  return created.pointer;
}

/** A new tensor with these values; `shape`, if given, has as many elements. */
export function createTensor(
  engine: Engine, values: TensorLike, dtype: DType | undefined, shape: readonly number[] | undefined,
  context: ValuesContext,
): Handle {
  if (engine.closed !== undefined) throw engine.whyClosed();
  const layout: Layout = inferLayout(values, dtype, context);
  const size = numElements(layout.shape);
  if (shape !== undefined && numElements(shape) !== size) {
    throw errorIn(context.op ?? 'tensor', 'InvalidArgument',
      `expected ${numElements(shape)} elements for shape [${shape.join(',')}], got ${size}`);
  }
  if (layout.dtype === 'string') {
    const strings = new Array<string | Uint8Array>(size);
    readElements(values, layout, strings, context);
    return engine.createStrings(strings, shape ?? layout.shape);
  }
  const created = engine.allocate(layout.dtype, shape ?? layout.shape);
  return filled(engine, created, () => {
    readElements(values, layout, engine.elements(layout.dtype, created.place, size), context);
  });
}

/** Whether a number needs no conversion but what `Engine.createScalar` does, and cannot be wrong for the dtype. */
export function isPlainNumber(value: number, dtype: DType): boolean {
  return dtype === 'f64' || (dtype === 'f32' && fitsFloat(value, Math.fround(value))) ||
    (dtype === 'i32' && (value | 0) === value);
}

/** A tensor of a number; those that a dtype does not take are an error. */
export function createScalar(engine: Engine, value: number, dtype: DType, context: ValuesContext): Handle {
  if (!isPlainNumber(value, dtype)) return createTensor(engine, value, dtype, undefined, context);
  const pointer = engine.createScalar(dtype, value);
  if (pointer === 0) throw new TandemError('ResourceExhausted', 'expected memory for a number, got none');
  return pointer;
}

/** A tensor of which all elements are the same. */
export function createFilled(
  engine: Engine, shape: readonly number[], value: TensorLike, dtype: DType | undefined, context: ValuesContext,
): Handle {
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
    return engine.createStrings(new Array<string>(count).fill(String(value)), shape);
  }
  const one = new (arrayType(layout.dtype))(partsOf(layout.dtype));
  readElements(value, layout, one, context);
  const created = engine.allocate(layout.dtype, shape);
  const elements = engine.elements(layout.dtype, created.place, count);
  if (one.length === 1) (elements as Float32Array).fill(one[0] as number);
  else for (let i = 0; i < elements.length; ++i) elements[i] = one[i % 2]!;
  return created.pointer;
}
