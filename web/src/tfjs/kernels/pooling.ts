// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Pooling of images and volumes, and its gradients.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel, sizeOf } from '../kernel.js';
import type { Call } from '../kernel.js';
import { attributesOf, impliedOf, padded, remembered, spread, unpadded, windows2D, windows3D } from './windows.js';
import type { Pad, Pads, Rounding, Windows } from './windows.js';

interface X {
  x: TensorInfo;
}

interface Attrs {
  filterSize: number | number[];
  strides: number | number[];
  pad: Pad;
  dimRoundingMode?: Rounding;
  dataFormat?: string;
}

/** Attributes of an op of pooling, which pools windows that have something of the image: those at the edges may have none. */
interface Plan<Format extends string> extends ReturnType<typeof attributesOf<Format>> {
  readonly ksize: number[];
  /** How many windows of padding alone come before and after the others, for each dimension; none if there are none. */
  readonly edges: Pads;
  /** Whether the result is what is pooled, which TensorFlow.js takes it for whatever the padding. */
  readonly isNothing: boolean;
}

function planOf<Format extends string = never>(windows: Windows, inSizes: readonly number[], channelsFirst?: Format):
Plan<Format> {
  const { outSizes, pads, sizes, strides } = windows;
  const edges = pads.map(([before], i): [number, number] => {
    const stride = strides[i]!;
    const ahead = Math.max(0, Math.floor((before - sizes[i]!) / stride) + 1);
    // Windows that leave out the begin of the image after some of padding alone are none that the op knows.
    const first = ahead * stride <= before ? ahead : 0;
    return [first, Math.max(0, outSizes[i]! - Math.max(first, Math.ceil((inSizes[i]! + before) / stride)))];
  });
  const inner = pads.map(([before, after], i): [number, number] => (
    [before - edges[i]![0] * strides[i]!, Math.max(0, after - edges[i]![1] * strides[i]!)]));
  const isFirst = channelsFirst !== undefined;
  return {
    ksize: spread(isFirst, sizes, 1),
    ...attributesOf({ ...windows, pads: inner }, channelsFirst),
    edges: edges.some(([before, after]) => before > 0 || after > 0)
      ? spread<readonly [number, number]>(isFirst, edges, [0, 0]) : [],
    isNothing: sizes.every((size) => size === 1) && outSizes.every((size, i) => size === inSizes[i]),
  };
}

function windowsOn({ shape }: TensorInfo, { dimRoundingMode, filterSize, pad, strides }: Attrs): Windows {
  return windows2D(shape, filterSize, strides, 1, pad, dimRoundingMode);
}

// Pure, so that bundles without the kernels leave it out.
const planOn = /* @__PURE__ */ remembered((
  shape: readonly number[], filterSize: number | number[], strides: number | number[], pad: Pad, rounding: Rounding,
): Plan<never> => planOf(windows2D(shape, filterSize, strides, 1, pad, rounding), shape.slice(1, 3)));

const plan2D = ({ shape }: TensorInfo, { dimRoundingMode, filterSize, pad, strides }: Attrs): Plan<never> => (
  planOn(shape, filterSize, strides, pad, dimRoundingMode));

function plan3D({ shape }: TensorInfo, { dataFormat, dimRoundingMode, filterSize, pad, strides }: Attrs): Plan<'NCDHW'> {
  const first = dataFormat === 'NCDHW' ? 2 : 1;
  const windows = windows3D(shape, filterSize, strides, 1, pad as 'same', dimRoundingMode, first);
  return planOf(windows, shape.slice(first, first + 3), dataFormat === 'NCDHW' ? dataFormat : undefined);
}

type AnyCall = Call<unknown, unknown>;

/** The result with `value` for windows of padding alone. */
const withEdges = (call: AnyCall, result: Tensor, edges: Pads, value: number): Tensor => (
  edges.length === 0 ? result : td.padV2(call.passing(result), edges, value));

/** What there is for windows that are pooled, of something that there is for all windows. */
function withoutEdges(call: AnyCall, info: TensorInfo, edges: Pads): Tensor {
  const tensor = call.tensor(info);
  if (edges.length === 0) return tensor;
  const sizes = info.shape.map((size, i) => size - edges[i]![0] - edges[i]![1]);
  return call.passing(td.slice(tensor, edges.map(([before]) => before), sizes));
}

const lowestOf = ({ dtype }: TensorInfo): number => (dtype === 'float32' ? -Infinity : -(2 ** 31));

export const AvgPool = /* @__PURE__ */ kernel<X, Attrs>('AvgPool', (call) => {
  const { attrs, inputs: { x } } = call;
  const { edges, isNothing, ksize, options, padding, strides } = plan2D(x, attrs);
  if (isNothing) return call.reshaped(x, x.shape);
  return withEdges(call, td.avgPool(call.floats(x), ksize, strides, padding, options), edges, 0);
});

/** Where images are padded by a number, padding counts in the gradient, as TensorFlow.js has it. */
export const AvgPoolGrad = /* @__PURE__ */ kernel<{ dy: TensorInfo; input: TensorInfo }, Attrs>('AvgPoolGrad', (call) => {
  const { attrs, inputs: { dy, input } } = call;
  const { around, ksize, padding, strides } = impliedOf(windowsOn(input, attrs));
  const shape = input.shape.map((size, i) => size + (around[i]?.[0] ?? 0) + (around[i]?.[1] ?? 0));
  return unpadded(call, td.avgPoolGrad(shape, call.tensor(dy), ksize, strides, padding), around, input.shape);
});

export const MaxPool = /* @__PURE__ */ kernel<X, Attrs>('MaxPool', (call) => {
  const { attrs, inputs: { x } } = call;
  const { edges, isNothing, ksize, options, padding, strides } = plan2D(x, attrs);
  if (isNothing) return call.reshaped(x, x.shape);
  return withEdges(call, td.maxPool(call.tensor(x), ksize, strides, padding, options), edges, lowestOf(x));
});

interface MaxGrad {
  dy: TensorInfo;
  input: TensorInfo;
  output: TensorInfo;
}

export const MaxPoolGrad = /* @__PURE__ */ kernel<MaxGrad, Attrs>('MaxPoolGrad', (call) => {
  const { attrs, inputs: { dy, input, output } } = call;
  const { edges, ksize, options, padding, strides } = plan2D(input, attrs);
  return td.maxPoolGrad(call.tensor(input), withoutEdges(call, output, edges), withoutEdges(call, dy, edges), ksize,
    strides, padding, options);
});

// What is at each place of images that were padded: the place that it had before.
function placesBefore(call: AnyCall, shape: readonly number[], pads: Pads): Tensor {
  const places = Int32Array.from({ length: sizeOf(shape) }, (_, i) => i);
  const all = call.passing(td.pad(call.passing(call.runtime.tensor(places, { shape })), pads));
  return call.passing(td.reshape(all, [-1]));
}

/** The op knows no explicit padding: the places that it finds are among those of the padded images. */
export const MaxPoolWithArgmax = /* @__PURE__ */ kernel<X, Attrs & { includeBatchInIndex: boolean }>(
  'MaxPoolWithArgmax', (call) => {
    const { attrs, inputs: { x } } = call;
    const { includeBatchInIndex } = attrs;
    const { around, ksize, padding, strides } = impliedOf(windowsOn(x, attrs));
    const { argmax, output } = td.maxPoolWithArgmax(
      padded(call, call.floats(x), around), ksize, strides, padding, { includeBatchInIndex, targmax: 'i32' });
    if (around.length === 0) return [output, argmax];
    const [batch = 1, ...image] = x.shape;
    const before = placesBefore(call, [includeBatchInIndex ? batch : 1, ...image], around);
    return [output, td.gather(before, call.passing(argmax), 0)];
  });

// Volumes.

export const AvgPool3D = /* @__PURE__ */ kernel<X, Attrs>('AvgPool3D', (call) => {
  const { attrs, inputs: { x } } = call;
  const { edges, ksize, options, padding, strides } = plan3D(x, attrs);
  return withEdges(call, td.avgPool3d(call.floats(x), ksize, strides, padding, options), edges, 0);
});

export const AvgPool3DGrad = /* @__PURE__ */ kernel<{ dy: TensorInfo; input: TensorInfo }, Attrs>(
  'AvgPool3DGrad', (call) => {
    const { attrs, inputs: { dy, input } } = call;
    const { edges, ksize, options, padding, strides } = plan3D(input, attrs);
    return td.avgPool3dGrad(input.shape, withoutEdges(call, dy, edges), ksize, strides, padding, options);
  });

export const MaxPool3D = /* @__PURE__ */ kernel<X, Attrs>('MaxPool3D', (call) => {
  const { attrs, inputs: { x } } = call;
  const { edges, ksize, options, padding, strides } = plan3D(x, attrs);
  return withEdges(call, td.maxPool3d(call.floats(x), ksize, strides, padding, options), edges, -Infinity);
});

export const MaxPool3DGrad = /* @__PURE__ */ kernel<MaxGrad, Attrs>('MaxPool3DGrad', (call) => {
  const { attrs, inputs: { dy, input, output } } = call;
  const { edges, ksize, options, padding, strides } = plan3D(input, attrs);
  const volume = call.tensor(input);
  // TensorFlow.js hands over the input in place of the output where it has forgotten it.
  const result = output.shape.every((size, i) => size === dy.shape[i]) ? withoutEdges(call, output, edges)
    : call.passing(td.maxPool3d(volume, ksize, strides, padding, options));
  return td.maxPool3dGrad(volume, result, withoutEdges(call, dy, edges), ksize, strides, padding, options);
});
