// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that make one element of many, or of those before each.

import { util } from '@tensorflow/tfjs-core';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel } from '../kernel.js';
import type { Call, Kernel } from '../kernel.js';

interface X {
  x: TensorInfo;
}

interface Axes {
  axis?: number | number[];
  keepDims?: boolean;
}

type Reduce = (x: Tensor, axes: number[], options: { keepDims: boolean }) => Tensor;

function reduction(kernelName: string, of: (call: Call<X, Axes>) => Tensor, reduce: Reduce): Kernel {
  return kernel<X, Axes & { reductionIndices?: number | number[] }>(kernelName, (call) => {
    const { axis, keepDims = false, reductionIndices } = call.attrs;
    const axes = util.parseAxisParam((axis ?? reductionIndices)!, call.inputs.x.shape);
    return reduce(of(call), axes, { keepDims });
  });
}

const numbers = (call: Call<X, Axes>): Tensor => call.numbers(call.inputs.x);
const booleans = (call: Call<X, Axes>): Tensor => call.as(call.inputs.x, 'bool');

export const All = /* @__PURE__ */ reduction('All', booleans, td.all);
export const Any = /* @__PURE__ */ reduction('Any', booleans, td.any);
export const Max = /* @__PURE__ */ reduction('Max', numbers, td.max);
export const Mean = /* @__PURE__ */ reduction('Mean', (call) => call.floats(call.inputs.x), td.mean);
export const Min = /* @__PURE__ */ reduction('Min', numbers, td.min);
export const Prod = /* @__PURE__ */ reduction('Prod', numbers, td.prod);
export const Sum = /* @__PURE__ */ reduction('Sum', numbers, td.sum);

type Find = (x: Tensor, axis: number, options: { outputType: 'i32' }) => Tensor;

function search(kernelName: string, find: Find, worst: number): Kernel {
  return kernel<X, { axis: number }>(kernelName, (call) => {
    const { x } = call.inputs;
    const [axis = 0] = util.parseAxisParam(call.attrs.axis, x.shape);
    const given = call.numbers(x);
    if (given.dtype !== 'f32') return find(given, axis, { outputType: 'i32' });
    // NaN is never found.
    const isNumber = call.passing(td.equal(given, given));
    return find(call.passing(td.select(isNumber, given, worst)), axis, { outputType: 'i32' });
  });
}

export const ArgMax = /* @__PURE__ */ search('ArgMax', td.argMax, -Infinity);
export const ArgMin = /* @__PURE__ */ search('ArgMin', td.argMin, Infinity);

type Scan = (x: Tensor, axis: number, options: { exclusive: boolean; reverse: boolean }) => Tensor;

function scan(kernelName: string, run: Scan): Kernel {
  return kernel<X, { axis: number; exclusive: boolean; reverse: boolean }>(kernelName, (call) => {
    const { attrs: { axis, exclusive = false, reverse = false }, inputs: { x } } = call;
    // Of a single element there is nothing before it.
    if (x.shape.length === 0) return call.reshaped(x, []);
    return run(call.numbers(x), axis, { exclusive, reverse });
  });
}

export const Cumprod = /* @__PURE__ */ scan('Cumprod', td.cumprod);
export const Cumsum = /* @__PURE__ */ scan('Cumsum', td.cumsum);

interface Logits {
  logits: TensorInfo;
}

export const Softmax = /* @__PURE__ */ kernel<Logits>('Softmax',
  (call) => call.like(td.softmax(call.floats(call.inputs.logits)), call.inputs.logits, 'float32'));
export const LogSoftmax = /* @__PURE__ */ kernel<Logits>('LogSoftmax',
  (call) => call.like(td.logSoftmax(call.floats(call.inputs.logits)), call.inputs.logits, 'float32'));

export const UnsortedSegmentSum = /* @__PURE__ */ kernel<{ x: TensorInfo; segmentIds: TensorInfo }, { numSegments: number }>(
  'UnsortedSegmentSum', (call) => {
    const { attrs: { numSegments }, inputs: { segmentIds, x } } = call;
    return td.unsortedSegmentSum(call.numbers(x), call.as(segmentIds, 'i32'), numSegments);
  });

export const Bincount = /* @__PURE__ */ kernel<{ x: TensorInfo; weights: TensorInfo }, { size: number }>(
  'Bincount', (call) => {
    const { attrs: { size }, inputs: { weights, x } } = call;
    return td.bincount(call.as(x, 'i32'), size, call.numbers(weights));
  });

export const DenseBincount =
  /* @__PURE__ */ kernel<{ x: TensorInfo; weights: TensorInfo }, { size: number; binaryOutput?: boolean }>(
    'DenseBincount', (call) => {
      const { attrs: { binaryOutput = false, size }, inputs: { weights, x } } = call;
      return td.denseBincount(call.as(x, 'i32'), size, call.numbers(weights), { binaryOutput });
    });
