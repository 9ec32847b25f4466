// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels on sparse and on ragged tensors. Ops count in i64, TensorFlow.js in int32.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel } from '../kernel.js';
import type { Call, Kernel } from '../kernel.js';

const ON_HOST = { onHost: true };

// What was computed, now; an error of it is the call's.
function done(tensors: Tensor[]): Tensor[] {
  tensors.forEach((tensor) => tensor.readySync());
  return tensors;
}

function ints(call: Call<never, never>, tensor: Tensor): Tensor {
  return tensor.dtype === 'i64' ? td.cast(call.passing(tensor), 'i32') : tensor;
}

type AnyCall = Call<never, never>;

interface FillInputs {
  indices: TensorInfo;
  values: TensorInfo;
  denseShape: TensorInfo;
  defaultValue: TensorInfo;
}

export const SparseFillEmptyRows = /* @__PURE__ */ kernel<FillInputs>('SparseFillEmptyRows', (call) => {
  const { defaultValue, denseShape, indices, values } = call.inputs;
  const results = call.op('tf.SparseFillEmptyRows',
    [call.as(indices, 'i64'), call.tensor(values), call.as(denseShape, 'i64'), call.tensor(defaultValue)]);
  return done(results).map((each) => ints(call as unknown as AnyCall, each));
}, ON_HOST);

export const SparseReshape = /* @__PURE__ */ kernel<{ inputIndices: TensorInfo; inputShape: TensorInfo; newShape: TensorInfo }>(
  'SparseReshape', (call) => {
    const { inputIndices, inputShape, newShape } = call.inputs;
    const results = call.op('tf.SparseReshape',
      [call.as(inputIndices, 'i64'), call.as(inputShape, 'i64'), call.as(newShape, 'i64')]);
    return done(results).map((each) => ints(call as unknown as AnyCall, each));
  }, ON_HOST);

function segments(kernelName: string): Kernel {
  return kernel<{ data: TensorInfo; indices: TensorInfo; segmentIds: TensorInfo }>(kernelName, (call) => {
    const { data, indices, segmentIds } = call.inputs;
    return done(call.op(`tf.${kernelName}`, [call.numbers(data), call.as(indices, 'i32'), call.as(segmentIds, 'i32')]))[0]!;
  }, ON_HOST);
}

export const SparseSegmentMean = /* @__PURE__ */ segments('SparseSegmentMean');
export const SparseSegmentSum = /* @__PURE__ */ segments('SparseSegmentSum');

export const RaggedRange = /* @__PURE__ */ kernel<{ starts: TensorInfo; limits: TensorInfo; deltas: TensorInfo }>(
  'RaggedRange', (call) => {
    const { deltas, limits, starts } = call.inputs;
    return done(call.op('tf.RaggedRange', [call.tensor(starts), call.tensor(limits), call.tensor(deltas)],
      { Tsplits: 'i32' }));
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
    return done(call.op('tf.RaggedGather', [...splits, call.tensor(paramsDenseValues), call.as(indices, 'i32')],
      { OUTPUT_RAGGED_RANK: outputRaggedRank, PARAMS_RAGGED_RANK: splits.length }));
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
    return done(call.op('tf.RaggedTensorToTensor',
      [call.as(shape, 'i32'), call.tensor(values), call.tensor(defaultValue), ...rows],
      { row_partition_types: rowPartitionTypes }))[0]!;
  }, ON_HOST);
