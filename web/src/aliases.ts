// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops by the names that TensorFlow.js has for them, and what it computes by several ops.

import type { TensorInput } from './call.js';
import type { DType } from './dtypes.js';
import { attributed, errorIn } from './errors.js';
import {
  abs, max, mean, min, pack, realDiv, select, sqrt, square, squaredDifference, sum, unpack, where as indicesWhere,
} from './ops.js';
import type { Runtime } from './runtime.js';
import { allAxes } from './short_forms.js';
import { isTensor } from './tensor.js';
import type { Tensor } from './tensor.js';
import { describe } from './values.js';

/** {@link realDiv}: x / y, with broadcasting. */
export function div<D extends DType = DType>(x: TensorInput<D>, y: TensorInput<D>): Tensor<D> {
  return realDiv(x, y);
}

/** {@link pack}: tensors of the same shape as one, along a new axis. */
export function stack<D extends DType = DType>(values: readonly TensorInput<D>[], axis = 0): Tensor<D> {
  return pack(values, { axis });
}

/** {@link unpack}: a tensor as those along an axis. FailedPrecondition while its shape is pending. */
export function unstack(value: Tensor, axis = 0): Tensor[] {
  return attributed(unstack, () => {
    if (!isTensor(value)) throw errorIn('unstack', 'InvalidArgument', `expected a tensor, got ${describe(value)}`);
    return unpack(value, value.shape.at(axis) ?? 0, { axis });
  });
}

/** Elements of x where a condition is true, else of y ({@link select}); without these the indices of the true ones. */
export function where<D extends DType = DType>(
  condition: TensorInput, x: TensorInput<D>, y: TensorInput<D>): Tensor<D>;
export function where(condition: TensorInput): Tensor<'i64'>;
export function where(condition: TensorInput, x?: TensorInput, y?: TensorInput): Tensor {
  return x === undefined || y === undefined ? indicesWhere(condition) : select(condition, x, y);
}

/** What {@link norm} computes. */
export type NormOrder = 'euclidean' | 'fro' | 1 | 2 | number;

/** Norms of vectors along axes, by default of all elements: 1, 2 ('euclidean', 'fro'), Infinity or -Infinity. */
export function norm<D extends DType = DType>(
  x: TensorInput<D>, order: NormOrder = 'euclidean', axis: TensorInput = allAxes(x), options?: { keepDims?: boolean },
): Tensor<D> {
  switch (order) {
    case 'euclidean':
    case 'fro':
    case 2:
      return sqrt(sum(square(x), axis, options));
    case 1:
      return sum(abs(x), axis, options);
    case Infinity:
      return max(abs(x), axis, options);
    case -Infinity:
      return min(abs(x), axis, options);
    default:
      throw errorIn('norm', 'InvalidArgument',
        `expected the order 1, 2, 'euclidean', 'fro', Infinity or -Infinity, got ${String(order)}`);
  }
}

/** The identity matrix of so many rows, and columns if these are not as many. */
export function eye<D extends DType = 'f32'>(
  runtime: Runtime, rows: number, columns = rows, dtype: D = 'f32' as D,
): Tensor<D> {
  return attributed(eye, () => {
    if (typeof runtime?.tensor !== 'function') {
      throw errorIn('eye', 'InvalidArgument', `expected a runtime, got ${describe(runtime)}`);
    }
    const one = dtype === 'i64' || dtype === 'u64' ? 1n : 1;
    const row = (i: number): (number | bigint)[] => (
      Array.from({ length: columns }, (_, j) => (i === j ? one : typeof one === 'bigint' ? 0n : 0)));
    const values = Array.from({ length: rows }, (_, i) => row(i)).flat();
    return runtime.tensor(values, { shape: [rows, columns], dtype });
  });
}

/** Mean and variance along axes, by default of all elements; the variance is the mean of the squared differences. */
export function moments<D extends DType = DType>(
  x: TensorInput<D>, axis: TensorInput = allAxes(x), options?: { keepDims?: boolean },
): { mean: Tensor<D>; variance: Tensor<D> } {
  const centre = mean(x, axis, { keepDims: true });
  const variance = mean(squaredDifference(x, centre), axis, options);
  return { mean: options?.keepDims === true ? centre : mean(x, axis, options), variance };
}
