// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops by the names that TensorFlow.js has for them, and what it computes by several ops.

import type { TensorInput } from './call.js';
import type { DType, DTypeOf, TypedArray } from './dtypes.js';
import { attributed, errorIn } from './errors.js';
import type { TensorLike } from './nested.js';
import {
  abs, add, conv2d, conv2dBackpropInput, depthwiseConv2dNative, exp, expandDims, gather, greater, isFinite, log, matMul,
  max, mean, min, mul, neg, notEqual, onesLike, pack, realDiv, reshape, rsqrt, select, softplus, sqrt, square,
  squaredDifference, squeeze, statelessRandomNormal, statelessRandomUniform, statelessRandomUniformInt, sub, sum, unpack,
  where as indicesWhere, zerosLike,
} from './ops.js';
import type { Conv2dBackpropInputOptions, DepthwiseConv2dNativeOptions } from './ops.js';
import type { Runtime } from './runtime.js';
import { allAxes } from './short_forms.js';
import type { Padding, WindowSizes } from './short_forms.js';
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

function checkRuntime(runtime: Runtime, name: string): void {
  if (typeof runtime?.tensor === 'function') return;
  throw errorIn(name, 'InvalidArgument', `expected a runtime, got ${describe(runtime)}`);
}

/** The identity matrix of so many rows, and columns if these are not as many. */
export function eye<D extends DType = 'f32'>(
  runtime: Runtime, rows: number, columns = rows, dtype: D = 'f32' as D,
): Tensor<D> {
  return attributed(eye, () => {
    checkRuntime(runtime, 'eye');
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

// Tensors by their number of dimensions.

/** Makes a tensor of values in lists as deep as it has dimensions, or flat ones and a shape. InvalidArgument for others. */
export interface TensorOfRank {
  <D extends DType>(
    runtime: Runtime, values: TensorLike | TypedArray, shape: readonly number[] | undefined, dtype: D): Tensor<D>;
  <V extends TensorLike | TypedArray>(runtime: Runtime, values: V, shape?: readonly number[]): Tensor<DTypeOf<V>>;
  (runtime: Runtime, values: TensorLike | TypedArray, shape?: readonly number[], dtype?: DType): Tensor;
}

function ofRank(rank: number): TensorOfRank {
  const name = `tensor${rank}d`;
  const entry = (runtime: Runtime, values: TensorLike | TypedArray, shape?: readonly number[], dtype?: DType): Tensor => (
    attributed(entry, () => {
      checkRuntime(runtime, name);
      const got = Array.isArray(shape) ? shape.length : shape === undefined ? depthOf(values) : 'no list';
      if (got !== rank) {
        throw errorIn(name, 'InvalidArgument', `expected ${shape === undefined
          ? `values in lists ${rank} deep, or flat ones and a shape of ${rank} sizes, got ${got} deep`
          : `a shape of ${rank} sizes, got ${Array.isArray(shape) ? `one of ${got}` : describe(shape)}`}`);
      }
      return runtime.tensor(values, { ...(shape && { shape }), ...(dtype !== undefined && { dtype }) });
    }));
  return entry as TensorOfRank;
}

// By the first elements: whether the others are alike is for `tensor` to say.
function depthOf(values: unknown): number {
  let depth = 0;
  for (let at = values; depth < 9 && (Array.isArray(at) || ArrayBuffer.isView(at)); at = (at as unknown[])[0]) ++depth;
  return depth;
}

const vector = /* @__PURE__ */ ofRank(1);
/** A tensor of one dimension. */
export function tensor1d<D extends DType>(runtime: Runtime, values: TensorLike | TypedArray, dtype: D): Tensor<D>;
export function tensor1d<V extends TensorLike | TypedArray>(runtime: Runtime, values: V): Tensor<DTypeOf<V>>;
export function tensor1d(runtime: Runtime, values: TensorLike | TypedArray, dtype?: DType): Tensor;
export function tensor1d(runtime: Runtime, values: TensorLike | TypedArray, dtype?: DType): Tensor {
  return attributed(tensor1d, () => vector(runtime, values, undefined, dtype as DType));
}

/** A tensor of two dimensions: `tensor2d(rt, [[1, 2], [3, 4]])`, `tensor2d(rt, [1, 2, 3, 4], [2, 2])`. */
export const tensor2d = /* @__PURE__ */ ofRank(2);
/** A tensor of three dimensions. */
export const tensor3d = /* @__PURE__ */ ofRank(3);
/** A tensor of four dimensions. */
export const tensor4d = /* @__PURE__ */ ofRank(4);
/** A tensor of five dimensions. */
export const tensor5d = /* @__PURE__ */ ofRank(5);
/** A tensor of six dimensions. */
export const tensor6d = /* @__PURE__ */ ofRank(6);

// Random numbers.

/** What random numbers are made as. */
export interface RandomOptions<D extends DType = DType> {
  /** Default: 'f32'. */
  dtype?: D;
  /** An integer, which gives the same numbers each time. By default others each time. */
  seed?: number;
}

// Two numbers that are a seed, of one or of none.
function seedOf(name: string, seed: number | undefined): readonly number[] {
  if (seed === undefined) return [0, 0].map(() => Math.floor(Math.random() * 2 ** 31));
  if (Number.isSafeInteger(seed)) return [seed % 2 ** 31, Math.trunc(seed / 2 ** 31)];
  throw errorIn(name, 'InvalidArgument', `expected seed to be an integer, got ${describe(seed)}`);
}

/** Random numbers from `min` on and below `max`, each as likely as the others; integers for i32 and i64. */
export function randomUniform<D extends DType = 'f32'>(
  runtime: Runtime, shape: readonly number[], min = 0, max = 1, { dtype = 'f32' as D, seed }: RandomOptions<D> = {},
): Tensor<D> {
  return attributed(randomUniform, () => {
    checkRuntime(runtime, 'randomUniform');
    const seeds = seedOf('randomUniform', seed);
    if (dtype === 'i32' || dtype === 'i64') {
      return statelessRandomUniformInt(runtime, shape, seeds, runtime.scalar(min, dtype), runtime.scalar(max, dtype));
    }
    const unit = statelessRandomUniform(runtime, shape, seeds, { dtype }) as Tensor<D>;
    return min === 0 && max === 1 ? unit : add(mul(unit, max - min), min);
  }) as Tensor<D>;
}

/** Random numbers that are normally distributed. */
export function randomNormal<D extends DType = 'f32'>(
  runtime: Runtime, shape: readonly number[], mean = 0, stdDev = 1, { dtype = 'f32' as D, seed }: RandomOptions<D> = {},
): Tensor<D> {
  return attributed(randomNormal, () => {
    checkRuntime(runtime, 'randomNormal');
    const standard = statelessRandomNormal(runtime, shape, seedOf('randomNormal', seed), { dtype }) as Tensor<D>;
    return mean === 0 && stdDev === 1 ? standard : add(mul(standard, stdDev), mean);
  });
}

// Vectors and matrices.

function row<D extends DType>(vector: TensorInput<D>): TensorInput<D> {
  return isTensor(vector) ? expandDims(vector, 0) as Tensor<D> : [Array.from(vector as number[])];
}

function column<D extends DType>(vector: TensorInput<D>): TensorInput<D> {
  return isTensor(vector) ? expandDims(vector, 1) as Tensor<D> : Array.from(vector as number[], (value) => [value]);
}

/** The product of vectors or matrices: a number for two vectors, a vector for a matrix and a vector. */
export function dot<D extends DType = DType>(x: TensorInput<D>, y: TensorInput<D>): Tensor<D> {
  return attributed(dot, () => {
    const ranks = [allAxes(x).length, allAxes(y).length];
    if (!ranks.every((rank) => rank === 1 || rank === 2)) {
      throw errorIn('dot', 'InvalidArgument', `expected vectors and matrices, got ranks ${ranks.join(' and ')}`);
    }
    const product = matMul(ranks[0] === 1 ? row(x) : x, ranks[1] === 1 ? column(y) : y);
    const gone = [0, 1].filter((i) => ranks[i] === 1);
    return gone.length === 0 ? product : squeeze(product, gone);
  });
}

/** The products of each element of a vector with each of another one: a matrix. */
export function outerProduct<D extends DType = DType>(x: TensorInput<D>, y: TensorInput<D>): Tensor<D> {
  return attributed(outerProduct, () => {
    const ranks = [allAxes(x).length, allAxes(y).length];
    if (ranks.every((rank) => rank === 1)) return mul(column(x), row(y));
    throw errorIn('outerProduct', 'InvalidArgument', `expected vectors, got ranks ${ranks.join(' and ')}`);
  });
}

/** log(sum(exp(x))) along axes, by default of all elements, without overflow. */
export function logSumExp<D extends DType = DType>(
  x: TensorInput<D>, axis: TensorInput = allAxes(x), options?: { keepDims?: boolean },
): Tensor<D> {
  const largest = max(x, axis, { keepDims: true });
  // What all are relative to, also where the largest is infinite.
  const base = select(isFinite(largest), largest, zerosLike(largest)) as Tensor<D>;
  const rest = log(sum(exp(sub(x, base)), axis, options));
  // Of one element, this only removes dimensions.
  return add(rest, sum(base, axis, options));
}

// Parts of networks.

/** 1 for numbers above 0, `alpha` for others, NaN for NaN. */
export function step<D extends DType = DType>(x: TensorInput<D>, alpha = 0): Tensor<D> {
  const one = onesLike(x);
  return select(notEqual(x, x), x, select(greater(x, zerosLike(x)), one, mul(one, alpha)));
}

/** log(sigmoid(x)). */
export function logSigmoid<D extends DType = DType>(x: TensorInput<D>): Tensor<D> {
  return neg(softplus(neg(x)));
}

/** (x - mean) / sqrt(variance + epsilon) * scale + offset, with broadcasting. */
export function batchNorm<D extends DType = DType>(
  x: TensorInput<D>, mean: TensorInput<D>, variance: Tensor<D>, offset?: TensorInput<D>, scale?: TensorInput<D>,
  epsilon = 1e-3,
): Tensor<D> {
  const inverse = rsqrt(add(variance, epsilon));
  const normal = mul(sub(x, mean), scale === undefined ? inverse : mul(inverse, scale));
  return offset === undefined ? normal : add(normal, offset);
}

/** A convolution [batch, width, channels] by a filter [width, channels, outputs]. */
export function conv1d<D extends DType = DType>(
  x: TensorInput<D>, filter: TensorInput<D>, stride: number, padding: 'SAME' | 'VALID' | 'same' | 'valid' | number,
  options?: { dilation?: number },
): Tensor<D> {
  const sides: Padding = typeof padding === 'number' ? [[0, 0], [padding, padding]] : padding;
  const result = conv2d(expandDims(x, 1) as Tensor<D>, expandDims(filter, 0) as Tensor<D>, [1, stride], sides,
    { dilations: [1, options?.dilation ?? 1] });
  return squeeze(result, [1]);
}

/** {@link conv2dBackpropInput}: what spreads each element by a filter [height, width, outputs, channels]. */
export function conv2dTranspose<D extends DType = DType>(
  x: TensorInput<D>, filter: TensorInput<D>, outputShape: readonly number[], strides: WindowSizes, padding: Padding,
  options?: Conv2dBackpropInputOptions,
): Tensor<D> {
  return conv2dBackpropInput(outputShape, filter, x, strides, padding, options);
}

/** A depthwise convolution, then one of 1x1. */
export function separableConv2d<D extends DType = DType>(
  x: TensorInput<D>, depthwiseFilter: TensorInput<D>, pointwiseFilter: TensorInput<D>, strides: WindowSizes,
  padding: Padding, options?: DepthwiseConv2dNativeOptions,
): Tensor<D> {
  const { dataFormat = 'NHWC' } = options ?? {};
  return conv2d(depthwiseConv2dNative(x, depthwiseFilter, strides, padding, options), pointwiseFilter, 1, 'valid',
    { dataFormat });
}

/** The slices along an axis, and those after it, for which a mask of their shape is true. Its shape depends on data. */
export function booleanMask<D extends DType = DType>(x: Tensor<D>, mask: TensorInput, axis = 0): Tensor<D> {
  return attributed(booleanMask, () => {
    const { length } = allAxes(mask);
    if (!isTensor(x) || length === 0 || axis < 0 || axis + length > x.rank) {
      throw errorIn('booleanMask', 'InvalidArgument', `expected a tensor and a mask of its dimensions from ${axis} on, got ${
        describe(x)} and a mask of rank ${length}`);
    }
    const { shape } = x;
    const flat = reshape(x, [...shape.slice(0, axis), -1, ...shape.slice(axis + length)]);
    const own = isTensor(mask) ? mask : x.runtime.tensor(mask, { dtype: 'bool' });
    return gather(flat, reshape(indicesWhere(reshape(own, [-1])), [-1]), axis);
  });
}
