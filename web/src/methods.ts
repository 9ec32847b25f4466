// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt/methods: ops as methods of tensors, `x.add(y).relu()`, for programs that import it; others have none of it.
// Browsers' consoles then show tensors with their elements, if custom formatters are enabled there.

import { div, moments, norm, unstack } from './aliases.js';
import type { DType } from './dtypes.js';
import {
  abs, acos, acosh, add, all, any, argMax, argMin, asin, asinh, atan, atan2, atanh, avgPool, batchMatMul, cast,
  ceil, clipByValue, conv2d, cos, cosh, cumprod, cumsum, depthwiseConv2dNative, elu, equal, erf, exp, expandDims,
  expm1, floor, floorDiv, gather, gelu, greater, greaterEqual, leakyRelu, less, lessEqual, log, log1p, logSoftmax,
  logicalAnd, logicalNot, logicalOr, matMul, max, maxPool, maximum, mean, min, minimum, mod, mul, neg, notEqual,
  oneHot, pad, pow, prelu, prod, reciprocal, relu, relu6, reshape, resizeBilinear, resizeNearestNeighbor, reverse,
  round, rsqrt, selu, sigmoid, sign, sin, sinh, slice, softmax, softplus, sqrt, square, squaredDifference, squeeze,
  sub, sum, tan, tanh, tile, topK, transpose,
} from './ops.js';
import { isTensor, Tensor } from './tensor.js';

const METHODS = {
  abs, acos, acosh, add, all, any, argMax, argMin, asin, asinh, atan, atan2, atanh, avgPool, batchMatMul, cast,
  ceil, clipByValue, conv2d, cos, cosh, cumprod, cumsum, depthwiseConv2dNative, elu, equal, erf, exp, expandDims,
  expm1, floor, floorDiv, gather, gelu, greater, greaterEqual, leakyRelu, less, lessEqual, log, log1p, logSoftmax,
  logicalAnd, logicalNot, logicalOr, matMul, max, maxPool, maximum, mean, min, minimum, mod, mul, neg, notEqual,
  oneHot, pad, pow, prelu, prod, reciprocal, relu, relu6, reshape, resizeBilinear, resizeNearestNeighbor, reverse,
  round, rsqrt, selu, sigmoid, sign, sin, sinh, slice, softmax, softplus, sqrt, square, squaredDifference, squeeze,
  sub, sum, tan, tanh, tile, topK, transpose,
  div, moments, norm, unstack,
};

type Functions = typeof METHODS;
// Without the first argument, which is the tensor.
type Method<F> = F extends (first: never, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;
type Methods = { readonly [Name in keyof Functions]: Method<Functions[Name]> };

declare module './tensor.js' {
  /** Each op's function as a method: its first argument is the tensor. */
  interface Tensor<D extends DType = DType> extends Methods {
    /** Waits for the elements, and prints them on the console. */
    print(): Promise<void>;
  }
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

for (const [name, call] of Object.entries(METHODS) as [string, (...args: unknown[]) => unknown][]) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return call(this, ...args);
    },
    configurable: true,
    writable: true,
  });
}
Object.defineProperty(Tensor.prototype, 'print', {
  async value(this: Tensor) {
    console.log(`${String(this)}\n${JSON.stringify(await this.array())}`);
  },
  configurable: true,
  writable: true,
});
if (typeof globalThis.document === 'object') {
  ((globalThis as { devtoolsFormatters?: Formatter[] }).devtoolsFormatters ??= []).push(formatter);
}
