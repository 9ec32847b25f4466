// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt/methods: ops as methods of tensors, `x.add(y).relu()`, for programs that import it; others have none of it.
// Browsers' consoles then show tensors with their elements, if custom formatters are enabled there.

import {
  batchNorm, booleanMask, conv1d, conv2dTranspose, div, dot, eye, logSigmoid, logSumExp, moments, norm, outerProduct,
  randomNormal, randomUniform, separableConv2d, step, tensor1d, tensor2d, tensor3d, tensor4d, tensor5d, tensor6d, unstack,
} from './aliases.js';
import type { TensorInput } from './call.js';
import type { DType } from './dtypes.js';
import {
  abs, acos, acosh, add, all, any, argMax, argMin, asin, asinh, atan, atan2, atanh, avgPool, batchMatMul, broadcastTo,
  cast, ceil, clipByValue, concat, conv2d, cos, cosh, cumprod, cumsum, depthToSpace, depthwiseConv2dNative, divNoNan, elu,
  equal, erf, exp, expandDims, expm1, fFT, floor, floorDiv, floorMod, gather, gelu, greater, greaterEqual, iFFT, isFinite,
  isInf, isNan, leakyRelu, less, lessEqual, linSpace, log, log1p, logSoftmax, logicalAnd, logicalNot, logicalOr,
  logicalXor, lRN, matMul, max, maxPool, maximum, mean, min, minimum, mirrorPad, mod, mul, neg, notEqual, oneHot, onesLike,
  pack, pad, pow, prelu, prod, range, reciprocal, relu, relu6, reshape, resizeBilinear, resizeNearestNeighbor, reverse,
  round, rsqrt, select, selu, sigmoid, sign, sin, sinh, slice, softmax, softplus, split, sqrt, square, squaredDifference,
  squeeze, sub, sum, tan, tanh, tile, topK, transpose, zerosLike,
} from './ops.js';
import { Runtime } from './runtime.js';
import { isTensor, Tensor } from './tensor.js';

const METHODS = {
  abs, acos, acosh, add, all, any, argMax, argMin, asin, asinh, atan, atan2, atanh, avgPool, batchMatMul, broadcastTo,
  cast, ceil, clipByValue, conv2d, cos, cosh, cumprod, cumsum, depthToSpace, depthwiseConv2dNative, divNoNan, elu, equal,
  erf, exp, expandDims, expm1, floor, floorDiv, floorMod, gather, gelu, greater, greaterEqual, isFinite, isInf, leakyRelu,
  less, lessEqual, log, log1p, logSoftmax, logicalAnd, logicalNot, logicalOr, logicalXor, matMul, max, maxPool, maximum,
  mean, min, minimum, mirrorPad, mod, mul, neg, notEqual, oneHot, onesLike, pad, pow, prelu, prod, reciprocal, relu, relu6,
  reshape, resizeBilinear, resizeNearestNeighbor, reverse, round, rsqrt, selu, sigmoid, sign, sin, sinh, slice, softmax,
  softplus, sqrt, square, squaredDifference, squeeze, sub, sum, tan, tanh, tile, topK, transpose, zerosLike,
  batchNorm, booleanMask, conv1d, conv2dTranspose, div, dot, logSigmoid, logSumExp, moments, norm, outerProduct,
  separableConv2d, step, unstack,
  depthwiseConv2d: depthwiseConv2dNative, fft: fFT, ifft: iFFT, isNaN: isNan, localResponseNormalization: lRN, topk: topK,
};

// Of a runtime, which is the first argument.
const MAKERS = {
  eye, linspace: linSpace, randomNormal, randomUniform, range, tensor1d, tensor2d, tensor3d, tensor4d, tensor5d, tensor6d,
};

// What is no function of an op with the tensor as the first argument.
const OTHERS = {
  concat(this: Tensor, others: Tensor | readonly TensorInput[], axis = 0): Tensor {
    return concat([this, ...listOf(others)], axis);
  },
  stack(this: Tensor, others: Tensor | readonly TensorInput[], axis = 0): Tensor {
    return pack([this, ...listOf(others)], { axis });
  },
  split(this: Tensor, count: number, axis = 0): Tensor[] {
    return split(axis, this, count);
  },
  where(this: Tensor, condition: TensorInput, other: TensorInput): Tensor {
    return select(condition, this, other);
  },
  flatten(this: Tensor): Tensor {
    return reshape(this, [-1]);
  },
  reshapeAs(this: Tensor, other: Tensor): Tensor {
    return reshape(this, Int32Array.from(other.shape));
  },
  asType<To extends DType>(this: Tensor, dtype: To): Tensor<To> {
    return cast(this, dtype);
  },
  toBool(this: Tensor): Tensor<'bool'> {
    return cast(this, 'bool');
  },
  toFloat(this: Tensor): Tensor<'f32'> {
    return cast(this, 'f32');
  },
  toInt(this: Tensor): Tensor<'i32'> {
    return cast(this, 'i32');
  },
  /** Waits for the elements, and prints them on the console. */
  async print(this: Tensor): Promise<void> {
    console.log(`${String(this)}\n${JSON.stringify(await this.array())}`);
  },
};

function listOf(others: Tensor | readonly TensorInput[]): readonly TensorInput[] {
  return isTensor(others) ? [others] : others;
}

// Without the first argument, which is the tensor or the runtime.
type Method<F> = F extends (first: never, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;
type MethodsOf<Functions> = { readonly [Name in keyof Functions]: Method<Functions[Name]> };
type Methods = MethodsOf<typeof METHODS> & Readonly<typeof OTHERS>;
type Makers = MethodsOf<typeof MAKERS>;

declare module './tensor.js' {
  /** Each op's function as a method: its first argument is the tensor. */
  interface Tensor<D extends DType = DType> extends Methods {}
}

declare module './runtime.js' {
  /** What makes tensors as methods: the first argument is the runtime. */
  interface Runtime extends Makers {}
}

// The console asks these how to show an object: https://firefox-source-docs.mozilla.org/devtools-user/custom_formatters
interface Formatter {
  header(value: unknown): readonly unknown[] | null;
  hasBody(): boolean;
}

const formatter: Formatter = {
  header: (value) => (isTensor(value) ? ['span', {}, `${String(value)} ${JSON.stringify(value)}`] : null),
  hasBody: () => false,
};

function define(prototype: object, name: string, value: (...args: never[]) => unknown): void {
  Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
}

type AnyFunction = (...args: unknown[]) => unknown;
for (const [{ prototype }, functions] of [[Tensor, METHODS], [Runtime, MAKERS]] as const) {
  for (const [name, call] of Object.entries(functions) as [string, AnyFunction][]) {
    define(prototype, name, function method(this: Tensor | Runtime, ...args: unknown[]) {
      return call(this, ...args);
    });
  }
}
for (const [name, method] of Object.entries(OTHERS)) define(Tensor.prototype, name, method);
if (typeof globalThis.document === 'object') {
  ((globalThis as { devtoolsFormatters?: Formatter[] }).devtoolsFormatters ??= []).push(formatter);
}
