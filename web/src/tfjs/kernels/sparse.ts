// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels on sparse and on ragged tensors. Ops count in i64, TensorFlow.js in int32.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { explained, kernel } from '../kernel.js';
import type { Call, Kernel } from '../kernel.js';
import { ofEmptyRows, ofRaggedRanges, ofRaggedRows, ofSegments, ofSparseShapes } from './complaints.js';

const ON_HOST = { onHost: true };

/** The tensors that `compute` gives, now; an error of it is the call's, in the words of `explain` if it has some. */
function done(compute: () => object, explain: () => void): Tensor[] {
  return explained(() => {
    const tensors = Object.values(compute()) as Tensor[];
    tensors.forEach((tensor) => tensor.readySync());
    return tensors;
  }, explain);
}

function ints(call: Call<unknown, unknown>, tensor: Tensor): Tensor {
  return tensor.dtype === 'i64' ? td.cast(call.passing(tensor), 'i32') : tensor;
}

interface FillInputs {
  indices: TensorInfo;
  values: TensorInfo;
  denseShape: TensorInfo;
  defaultValue: TensorInfo;
}

export const SparseFillEmptyRows = /* @__PURE__ */ kernel<FillInputs>('SparseFillEmptyRows', (call) => {
  const { defaultValue, denseShape, indices, values } = call.inputs;
  const results = done(
    () => td.sparseFillEmptyRows(
      call.as(indices, 'i64'), call.tensor(values), call.as(denseShape, 'i64'), call.tensor(defaultValue)),
    () => ofEmptyRows(call.values(indices), indices.shape[1] ?? 1, call.values(denseShape)));
  return results.map((each) => ints(call, each));
}, ON_HOST);

export const SparseReshape = /* @__PURE__ */ kernel<{ inputIndices: TensorInfo; inputShape: TensorInfo; newShape: TensorInfo }>(
  'SparseReshape', (call) => {
    const { inputIndices, inputShape, newShape } = call.inputs;
    const results = done(
      () => td.sparseReshape(call.as(inputIndices, 'i64'), call.as(inputShape, 'i64'), call.as(newShape, 'i64')),
      () => ofSparseShapes(call.values(inputShape), call.values(newShape)));
    return results.map((each) => ints(call, each));
  }, ON_HOST);

function segments(kernelName: string, reduce: typeof td.sparseSegmentSum): Kernel {
  return kernel<{ data: TensorInfo; indices: TensorInfo; segmentIds: TensorInfo }>(kernelName, (call) => {
    const { data, indices, segmentIds } = call.inputs;
    const isMean = reduce === td.sparseSegmentMean;
    const rows = isMean ? call.floats(data) : call.numbers(data);
    const [reduced] = done(
      () => [reduce(rows, call.as(indices, 'i32'), call.as(segmentIds, 'i32'))],
      () => ofSegments(call.values(indices), call.values(segmentIds), data.shape[0]!));
    // Means of integers are cut to integers.
    return isMean && data.dtype === 'int32' ? td.cast(call.passing(reduced!), 'i32') : reduced!;
  }, ON_HOST);
}

export const SparseSegmentMean = /* @__PURE__ */ segments('SparseSegmentMean', td.sparseSegmentMean);
export const SparseSegmentSum = /* @__PURE__ */ segments('SparseSegmentSum', td.sparseSegmentSum);

export const RaggedRange = /* @__PURE__ */ kernel<{ starts: TensorInfo; limits: TensorInfo; deltas: TensorInfo }>(
  'RaggedRange', (call) => {
    const { deltas, limits, starts } = call.inputs;
    return done(
      () => td.raggedRange(call.tensor(starts), call.tensor(limits), call.tensor(deltas), { tsplits: 'i32' }),
      () => ofRaggedRanges({ starts: starts.shape, limits: limits.shape, deltas: deltas.shape },
        call.values(starts), call.values(limits), call.values(deltas)));
  }, ON_HOST);

interface RaggedGatherInputs {
  paramsNestedSplits: TensorInfo[];
  paramsDenseValues: TensorInfo;
  indices: TensorInfo;
}

export const RaggedGather = /* @__PURE__ */ kernel<RaggedGatherInputs, { outputRaggedRank: number }>(
  'RaggedGather', (call) => {
    const { attrs: { outputRaggedRank }, inputs: { indices, paramsDenseValues, paramsNestedSplits } } = call;
    const splits = Object.values(paramsNestedSplits).map((each) => call.as(each, 'i32'));
    return done(
      () => {
        const { outputDenseValues, outputNestedSplits } = td.raggedGather(
          splits, call.tensor(paramsDenseValues), call.as(indices, 'i32'), outputRaggedRank);
        return [...outputNestedSplits, outputDenseValues];
      },
      () => ofRaggedRows(Object.values(paramsNestedSplits).map((each) => call.values(each)), paramsDenseValues.shape,
        call.values(indices)));
  }, ON_HOST);

interface RaggedToTensorInputs {
  shape: TensorInfo;
  values: TensorInfo;
  defaultValue: TensorInfo;
  rowPartitionTensors: TensorInfo[];
}

export const RaggedTensorToTensor = /* @__PURE__ */ kernel<RaggedToTensorInputs, { rowPartitionTypes: string[] }>(
  'RaggedTensorToTensor', (call) => {
    const { attrs: { rowPartitionTypes }, inputs: { defaultValue, rowPartitionTensors, shape, values } } = call;
    const rows = Object.values(rowPartitionTensors).map((each) => call.as(each, 'i32'));
    return done(
      () => [td.raggedTensorToTensor(
        call.as(shape, 'i32'), call.tensor(values), call.tensor(defaultValue), rows, rowPartitionTypes)],
      () => {
        const wanted = Array.from(call.values(shape));
        throw new td.TandemError('InvalidArgument',
          `shape [${wanted.join(',')}] and values of shape [${values.shape.join(',')}] in rows of ` +
            `${rowPartitionTypes.join(', ')} are incompatible`);
      })[0]!;
  }, ON_HOST);
