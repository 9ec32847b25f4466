// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that read and write elements where indices say, search, and sort.

import { backend_util, util } from '@tensorflow/tfjs-core';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { toTandem } from '../dtypes.js';
import { explained, kernel, sizeOf } from '../kernel.js';
import type { Call, DataType, Kernel } from '../kernel.js';

/** What was computed at once may have failed: indices are looked at by then. */
const checked = (compute: () => Tensor): Tensor => explained(compute, () => undefined);

// In TensorFlow.js's words.
function checkIndices(indices: ArrayLike<number>, size: number): void {
  const index = Array.from(indices).find((each) => each < 0 || each >= size);
  util.assert(index === undefined, () => `GatherV2: the index value ${index} is not in [0, ${size - 1}]`);
}

export const GatherV2 =
  /* @__PURE__ */ kernel<{ x: TensorInfo; indices: TensorInfo }, { axis: number; batchDims?: number }>(
    'GatherV2', (call) => {
      const { attrs: { axis: given, batchDims = 0 }, inputs: { indices, x } } = call;
      const [axis = 0] = util.parseAxisParam(given, x.shape);
      const info = backend_util.segment_util.collectGatherOpShapeInfo(
        x as Parameters<typeof backend_util.segment_util.collectGatherOpShapeInfo>[0],
        indices as Parameters<typeof backend_util.segment_util.collectGatherOpShapeInfo>[1], axis, batchDims);
      if (info.outputShape.includes(0)) return call.runtime.zeros(info.outputShape, toTandem(x.dtype));
      return explained(() => td.gather(call.tensor(x), call.as(indices, 'i32'), axis, { batchDims }),
        () => checkIndices(call.values(indices), x.shape[axis]!));
    });

export const GatherNd = /* @__PURE__ */ kernel<{ params: TensorInfo; indices: TensorInfo }>('GatherNd', (call) => {
  const { indices, params } = call.inputs;
  const [shape, count] = backend_util.prepareAndValidate(params, indices);
  if (count === 0) return call.runtime.zeros(shape, toTandem(params.dtype));
  return checked(() => td.gatherNd(call.tensor(params), call.as(indices, 'i32')));
});

// Indices of one dimension are one for each update.
function indexRows(call: Call<unknown, unknown>, indices: TensorInfo): Tensor {
  return call.as(indices, 'i32', indices.shape.length > 1 ? indices.shape : [sizeOf(indices.shape), 1]);
}

export const ScatterNd = /* @__PURE__ */ kernel<{ indices: TensorInfo; updates: TensorInfo }, { shape: number[] }>(
  'ScatterNd', (call) => {
    const { attrs: { shape }, inputs: { indices, updates } } = call;
    const { sliceSize } = backend_util.calculateShapes(updates, indices, shape);
    if (sizeOf(shape) === 0 || sliceSize === 0) return call.runtime.zeros(shape, toTandem(updates.dtype));
    return checked(() => td.scatterNd(indexRows(call, indices), call.tensor(updates), shape));
  });

export const TensorScatterUpdate =
  /* @__PURE__ */ kernel<{ tensor: TensorInfo; indices: TensorInfo; updates: TensorInfo }>(
    'TensorScatterUpdate', (call) => {
      const { indices, tensor, updates } = call.inputs;
      backend_util.calculateShapes(updates, indices, tensor.shape);
      return checked(() => td.tensorScatterUpdate(call.tensor(tensor), indexRows(call, indices), call.tensor(updates)));
    });

interface SparseToDenseInputs {
  sparseIndices: TensorInfo;
  sparseValues: TensorInfo;
  defaultValue: TensorInfo;
}

export const SparseToDense = /* @__PURE__ */ kernel<SparseToDenseInputs, { outputShape: number[] }>(
  'SparseToDense', (call) => {
    const { attrs: { outputShape }, inputs: { defaultValue, sparseIndices, sparseValues } } = call;
    const values = call.tensor(sparseValues);
    const { shape } = sparseIndices;
    const count = shape.length === 0 ? 1 : shape[0]!;
    const rank = shape.length === 2 ? shape[1]! : 1;
    const indices = call.as(sparseIndices, 'i32', [count, rank]);
    const updates = sparseValues.shape.length === 0 && shape.length > 0 ? call.passing(td.broadcastTo(values, [count]))
      : call.tensor(sparseValues, [count]);
    const filled = call.passing(td.broadcastTo(call.as(defaultValue, values.dtype), outputShape));
    return checked(() => td.tensorScatterUpdate(filled, indices, updates));
  });

interface OneHotAttrs {
  depth: number;
  onValue: number;
  offValue: number;
  dtype: DataType;
}

export const OneHot = /* @__PURE__ */ kernel<{ indices: TensorInfo }, OneHotAttrs>('OneHot', (call) => {
  const { attrs: { depth, dtype = 'int32', offValue, onValue }, inputs: { indices } } = call;
  const own = toTandem(dtype);
  const scalar = (value: number): Tensor => call.passing(call.runtime.scalar(own === 'bool' ? value !== 0 : value, own));
  return td.oneHot(call.as(indices, 'i32'), depth, scalar(onValue), scalar(offValue));
});

export const TopK = /* @__PURE__ */ kernel<{ x: TensorInfo }, { k: number; sorted: boolean }>('TopK', (call) => {
  const { attrs: { k, sorted = true }, inputs: { x } } = call;
  const { indices, values } = td.topK(call.numbers(x), k, { sorted });
  return [values, indices];
});

export const Unique = /* @__PURE__ */ kernel<{ x: TensorInfo }, { axis: number }>('Unique', (call) => {
  const { attrs, inputs: { x } } = call;
  const [axis = 0] = util.parseAxisParam(attrs.axis, x.shape);
  const { idx, y } = td.uniqueV2(call.tensor(x), [axis], { outIdx: 'i32' });
  return [y, idx];
}, { onHost: true });

interface Sorted {
  sortedSequence: TensorInfo;
  values: TensorInfo;
}

// Of which one is of integers and the other of floats, both are of floats.
function searched(call: Call<Sorted, unknown>, find: typeof td.lowerBound): Tensor {
  const { sortedSequence, values } = call.inputs;
  const own = (info: TensorInfo): Tensor => (
    sortedSequence.dtype === values.dtype ? call.numbers(info) : call.floats(info));
  return find(own(sortedSequence), own(values));
}

const bound = (kernelName: string, find: typeof td.lowerBound): Kernel => (
  kernel<Sorted>(kernelName, (call) => searched(call, find)));

export const LowerBound = /* @__PURE__ */ bound('LowerBound', td.lowerBound);
export const UpperBound = /* @__PURE__ */ bound('UpperBound', td.upperBound);
export const SearchSorted = /* @__PURE__ */ kernel<Sorted, { side: 'left' | 'right' }>('SearchSorted',
  (call) => searched(call, call.attrs.side === 'left' ? td.lowerBound : td.upperBound));
