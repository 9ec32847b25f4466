// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that move elements without changing them.

import { backend_util, slice_util, util } from '@tensorflow/tfjs-core';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';

import { kernel, sizeOf } from '../kernel.js';
import { toTandem } from '../dtypes.js';

interface X {
  x: TensorInfo;
}

export const Reshape = /* @__PURE__ */ kernel<X, { shape: number[] }>('Reshape', (call) => {
  const { attrs, inputs: { x } } = call;
  const size = sizeOf(x.shape);
  const shape = util.inferFromImplicitShape(attrs.shape, size);
  const newSize = sizeOf(shape);
  util.assert(size === newSize, () => `The new shape (${shape}) has ${newSize} elements and the old shape (${x.shape}) ` +
    `has ${size} elements. The new shape and old shape must have the same number of elements.`);
  return call.reshaped(x, shape);
});

export const ExpandDims = /* @__PURE__ */ kernel<{ input: TensorInfo }, { dim: number }>('ExpandDims', (call) => {
  const { attrs: { dim }, inputs: { input } } = call;
  const rank = input.shape.length;
  util.assert(-(rank + 1) <= dim && dim <= rank, () => `Axis must be in the interval [${-(rank + 1)}, ${rank}]`);
  const shape = [...input.shape];
  shape.splice(dim < 0 ? rank + dim + 1 : dim, 0, 1);
  return call.reshaped(input, shape);
});

export const Transpose = /* @__PURE__ */ kernel<X, { perm: number[] }>('Transpose',
  (call) => td.transpose(call.tensor(call.inputs.x), [...call.attrs.perm]));

export const BroadcastTo = /* @__PURE__ */ kernel<X, { shape: number[] }>('BroadcastTo',
  (call) => td.broadcastTo(call.tensor(call.inputs.x), call.attrs.shape));

export const Concat = /* @__PURE__ */ kernel<TensorInfo[], { axis: number }>('Concat', (call) => {
  const list = Object.values(call.inputs);
  const [axis = 0] = util.parseAxisParam(call.attrs.axis, list[0]!.shape);
  const shapes = list.map(({ shape }) => shape);
  backend_util.assertParamsConsistent(shapes, axis);
  const shape = backend_util.computeOutShape(shapes, axis);
  const filled = list.filter((each) => sizeOf(each.shape) > 0);
  if (filled.length === 0) return call.runtime.zeros(shape, toTandem(list[0]!.dtype));
  if (filled.length === 1) return call.reshaped(filled[0]!, shape);
  return td.concat(filled.map((each) => call.tensor(each)), axis);
});

export const Pack = /* @__PURE__ */ kernel<TensorInfo[], { axis: number }>('Pack', (call) => {
  const list = Object.values(call.inputs);
  for (const { dtype, shape } of list) {
    util.assertShapesMatch(list[0]!.shape, shape, 'All tensors passed to stack must have matching shapes');
    util.assert(dtype === list[0]!.dtype, () => 'All tensors passed to stack must have matching dtypes');
  }
  return td.pack(list.map((each) => call.tensor(each)), { axis: call.attrs.axis });
});

export const Unpack = /* @__PURE__ */ kernel<{ value: TensorInfo }, { axis: number }>('Unpack', (call) => {
  const { value } = call.inputs;
  const [axis = 0] = util.parseAxisParam(call.attrs.axis, value.shape);
  return td.unpack(call.tensor(value), value.shape[axis]!, { axis });
});

export const SplitV = /* @__PURE__ */ kernel<X, { numOrSizeSplits: number | number[]; axis: number }>('SplitV', (call) => {
  const { attrs, inputs: { x } } = call;
  const [axis = 0] = util.parseAxisParam(attrs.axis, x.shape);
  const sizes = backend_util.prepareSplitSize(
    x as Parameters<typeof backend_util.prepareSplitSize>[0], attrs.numOrSizeSplits, axis);
  return td.splitV(call.tensor(x), Int32Array.from(sizes), axis, sizes.length);
});

export const Slice = /* @__PURE__ */ kernel<X, { begin: number | number[]; size: number | number[] }>('Slice', (call) => {
  const { attrs, inputs: { x } } = call;
  const [begin, size] = slice_util.parseSliceParams(x, attrs.begin, attrs.size) as [number[], number[]];
  slice_util.assertParamsValid(x, begin, size);
  if (size.every((each, i) => each === x.shape[i])) return call.reshaped(x, size);
  return call.known(td.slice(call.tensor(x), begin, size), size, x.dtype);
});

interface StridedSliceAttrs {
  begin: number[];
  end: number[];
  strides: number[];
  beginMask: number;
  endMask: number;
  ellipsisMask: number;
  newAxisMask: number;
  shrinkAxisMask: number;
}

export const StridedSlice = /* @__PURE__ */ kernel<X, StridedSliceAttrs>('StridedSlice', (call) => {
  const { attrs, inputs: { x } } = call;
  const info = slice_util.sliceInfo(x.shape, attrs.begin, attrs.end, attrs.strides, attrs.beginMask, attrs.endMask,
    attrs.ellipsisMask, attrs.newAxisMask, attrs.shrinkAxisMask);
  if (info.isIdentity) return call.reshaped(x, info.finalShape);
  if (info.finalShape.includes(0)) return call.runtime.zeros(info.finalShape, toTandem(x.dtype));
  return td.stridedSlice(call.tensor(x), attrs.begin, attrs.end, attrs.strides, {
    beginMask: attrs.beginMask, endMask: attrs.endMask, ellipsisMask: attrs.ellipsisMask, newAxisMask: attrs.newAxisMask,
    shrinkAxisMask: attrs.shrinkAxisMask,
  });
});

/** Where a padding is negative, elements are left out. */
export const PadV2 = /* @__PURE__ */ kernel<X, { paddings: [number, number][]; constantValue: number }>('PadV2', (call) => {
  const { attrs: { constantValue = 0, paddings }, inputs: { x } } = call;
  if (paddings.length === 0) return call.reshaped(x, []);
  const tensor = call.tensor(x);
  const { dtype } = tensor;
  const value = call.passing(call.runtime.scalar(dtype === 'bool' ? constantValue !== 0 : constantValue, dtype));
  const added = paddings.map((pair) => pair.map((size) => Math.max(size, 0)));
  const padded = td.padV2(tensor, added, value);
  if (!paddings.some((pair) => pair.some((size) => size < 0))) return padded;
  const begin = paddings.map(([before]) => Math.max(-before, 0));
  const size = paddings.map(([before, after], i) => Math.max(x.shape[i]! + before + after, 0));
  return td.slice(call.passing(padded), begin, size);
});

export const MirrorPad = /* @__PURE__ */ kernel<X, { paddings: [number, number][]; mode: 'reflect' | 'symmetric' }>(
  'MirrorPad', (call) => {
    const { attrs: { mode, paddings }, inputs: { x } } = call;
    return td.mirrorPad(call.tensor(x), paddings, mode === 'reflect' ? 'REFLECT' : 'SYMMETRIC');
  });

export const Tile = /* @__PURE__ */ kernel<X, { reps: number[] }>('Tile', (call) => {
  const { attrs: { reps }, inputs: { x } } = call;
  return reps.length === 0 ? call.reshaped(x, []) : td.tile(call.tensor(x), reps);
});

export const Reverse = /* @__PURE__ */ kernel<X, { dims: number | number[] }>('Reverse', (call) => {
  const { attrs: { dims }, inputs: { x } } = call;
  const axes = util.parseAxisParam(dims, x.shape);
  return axes.length === 0 || x.shape.length === 0 ? call.reshaped(x, x.shape) : td.reverse(call.tensor(x), axes);
});

export const DepthToSpace = /* @__PURE__ */ kernel<X, { blockSize: number; dataFormat: 'NHWC' | 'NCHW' }>(
  'DepthToSpace', (call) => {
    const { attrs: { blockSize, dataFormat }, inputs: { x } } = call;
    return td.depthToSpace(call.tensor(x), blockSize, { dataFormat });
  });

export const SpaceToBatchND = /* @__PURE__ */ kernel<X, { blockShape: number[]; paddings: number[][] }>(
  'SpaceToBatchND', (call) => {
    const { attrs: { blockShape, paddings }, inputs: { x } } = call;
    return td.spaceToBatchND(call.tensor(x), blockShape, paddings);
  });

export const BatchToSpaceND = /* @__PURE__ */ kernel<X, { blockShape: number[]; crops: number[][] }>(
  'BatchToSpaceND', (call) => {
    const { attrs: { blockShape, crops }, inputs: { x } } = call;
    return td.batchToSpaceND(call.tensor(x), blockShape, crops);
  });

export const BroadcastArgs = /* @__PURE__ */ kernel<{ s0: TensorInfo; s1: TensorInfo }>('BroadcastArgs', (call) => {
  const { s0, s1 } = call.inputs;
  return td.broadcastArgs(call.as(s0, 'i32'), call.as(s1, 'i32'));
}, { onHost: true });
