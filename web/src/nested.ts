// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Between values as JavaScript writes them (numbers, nested arrays, typed arrays) and the elements of tensors.

import { MAX_RANK } from './codes.js';
import { arrayType, bf16ToNumber, dtypeOfArray, f16ToNumber, partsOf } from './dtypes.js';
import type { DType, TypedArray } from './dtypes.js';
import { describe, failAt, isBytes, isList, isScalar, lengthOf, readValues } from './values.js';
import type { ElementsOut, ValuesContext } from './values.js';

export type { ValuesContext } from './values.js';

/** One element, as JavaScript writes it. */
export type ScalarLike = number | bigint | boolean | string;

/** Elements in nested arrays, all of one kind; the arrays of one level are equally long. */
export type NestedLike = readonly (ScalarLike | TypedArray | Uint8ClampedArray | NestedLike)[];

/**
 * What a tensor can be made of: an element, nested arrays, or a typed array, which also may be within arrays. For the
 * dtype string a Uint8Array is an element, the bytes of a string.
 */
export type TensorLike = ScalarLike | NestedLike | TypedArray | Uint8ClampedArray;

/** An element as `item()` gives it: bigint for i64 and u64, boolean for bool, [re, im] for c64. */
export type Scalar = number | bigint | boolean | string | [number, number];

/** Elements as `array()` gives them: one element if the rank is 0, else nested arrays. */
export type Nested = Scalar | Nested[];

/** What values become: element type and shape of the tensor, and how long the arrays are at each depth. */
export interface Layout {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The shape, but for c64: there also the length of the pairs, or of the typed arrays that hold them. */
  readonly lengths: readonly number[];
}

/** Elements that are ready to be those of a tensor. */
export interface Elements {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: TypedArray | string[];
}

function ownDType(element: unknown): DType {
  switch (typeof element) {
    case 'bigint':
      return 'i64';
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    default:
      return 'f32';
  }
}

function layoutOfComplex(lengths: readonly number[], isTyped: boolean, context: ValuesContext): Layout {
  const shape = lengths.slice();
  const last = shape.pop();
  const path = shape.map(() => 0);
  if (last === 0) shape.push(0);
  if (last !== undefined && last !== 0 && !isTyped && last !== 2) {
    failAt(context, path, 'InvalidArgument', `expected pairs [re, im] for c64, got an array of ${last} elements`);
  }
  if (last !== undefined && isTyped) {
    if (last % 2 === 1) {
      failAt(context, path, 'InvalidArgument', `expected re and im of each c64 by turns, got ${last} elements`);
    }
    if (last !== 0) shape.push(last / 2);
  }
  return { dtype: 'c64', shape, lengths };
}

/**
 * What the values become. By themselves: f32 for numbers and where there are no elements, i64 for bigints, bool for
 * booleans, a typed array its own type. With `dtype` that, so that c64 takes [re, im] pairs, or typed arrays of re and
 * im by turns. Only the first value of each level is looked at; `readElements` compares the others with it.
 *
 * @throws TandemError InvalidArgument for what is no element, for more than 8 dimensions, for c64 without pairs.
 */
export function inferLayout(values: TensorLike, dtype?: DType, context: ValuesContext = {}): Layout {
  const lengths: number[] = [];
  let own: DType | undefined;
  let value: unknown = values;
  while (isList(value) && !isBytes(value, dtype)) {
    const length = lengthOf(value);
    lengths.push(length);
    // Also what ends the walk into an array that contains itself; one more for the pairs of c64.
    if (lengths.length > MAX_RANK + 1) break;
    own = dtypeOfArray(value);
    if (own !== undefined || length === 0) break;
    value = value[0];
  }
  if (!isList(value) && !isScalar(value) && !isBytes(value, dtype)) {
    const expected = 'numbers, booleans, bigints, strings or arrays of them';
    failAt(context, lengths.map(() => 0), 'InvalidArgument', `expected ${expected}, got ${describe(value)}`);
  }
  const isTyped = own !== undefined;
  const result = dtype ?? own ?? ownDType(value);
  const layout: Layout = result === 'c64'
    ? layoutOfComplex(lengths, isTyped, context) : { dtype: result, shape: lengths, lengths };
  if (layout.shape.length > MAX_RANK) {
    failAt(context, [], 'InvalidArgument', `expected at most ${MAX_RANK} dimensions, got more`);
  }
  return layout;
}

/** How many elements a tensor of the shape has. */
export function numElements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/**
 * Writes the values, as the layout says, into `out`, which has room for all elements (of c64 for both parts) and is of
 * the layout's dtype; an f16 or bf16 is its bits. Floats are rounded, and may become infinite; f16 and bf16 are rounded
 * once, ties to even. Typed arrays that have the elements' own form are copied as they are: also u16 for f16 and bf16,
 * and f32 for c64.
 *
 * @throws TandemError InvalidArgument for arrays that are not equally long, elements that are not of one kind or not
 * those of the dtype, fractions and NaN for integers; OutOfRange for integers that the dtype does not have.
 */
export function readElements(
  values: TensorLike, layout: Layout, out: ElementsOut, context: ValuesContext = {},
): void {
  readValues(values, layout.dtype, layout.lengths, out, context);
}

/** The elements of the values; see `inferLayout` and `readElements`. */
export function toElements(values: TensorLike, dtype?: DType, context: ValuesContext = {}): Elements {
  const layout = inferLayout(values, dtype, context);
  const size = numElements(layout.shape);
  const data = layout.dtype === 'string'
    ? new Array<string>(size) : new (arrayType(layout.dtype))(size * partsOf(layout.dtype));
  readElements(values, layout, data, context);
  return { dtype: layout.dtype, shape: layout.shape, data };
}

/** The element at a row-major index, from what `data()` gives. */
export function toScalar(data: TypedArray | readonly string[], dtype: DType, index: number): Scalar {
  switch (dtype) {
    case 'bool':
      return data[index] !== 0;
    case 'f16':
      return f16ToNumber(data[index] as number);
    case 'bf16':
      return bf16ToNumber(data[index] as number);
    case 'c64':
      return [data[2 * index] as number, data[2 * index + 1] as number];
    default:
      return data[index] as Scalar;
  }
}

/** Nested arrays of the elements, from what `data()` gives; the element itself if the rank is 0. */
export function toNested(data: TypedArray | readonly string[], shape: readonly number[], dtype: DType): Nested {
  let at = 0;
  const level = (depth: number): Nested => {
    if (depth === shape.length) return toScalar(data, dtype, at++);
    const size = shape[depth]!;
    const list: Nested[] = new Array<Nested>(size);
    for (let i = 0; i < size; ++i) list[i] = level(depth + 1);
    return list;
  };
  return level(0);
}
