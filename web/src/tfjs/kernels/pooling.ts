// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Pooling of images and volumes, and its gradients.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { AttrValue, Tensor } from 'tandem-rt';

import { kernel } from '../kernel.js';
import type { Call } from '../kernel.js';
import { spread, windows2D, windows3D } from './windows.js';
import type { Pad, Rounding, Windows } from './windows.js';

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

/** Attributes of an op of pooling, which takes images as they are or, where `pads` is not empty, with that around. */
interface Plan {
  readonly ksize: number[];
  readonly strides: number[];
  readonly padding: 'SAME' | 'VALID';
  readonly pads: (readonly [number, number])[];
  readonly isChannelsFirst: boolean;
  /** Whether the result is the image, which TensorFlow.js takes it for whatever the padding. */
  readonly isNothing: boolean;
}

function planOf({ outSizes, padding, pads, sizes, strides }: Windows, inSizes: readonly number[], isChannelsFirst: boolean): Plan {
  return {
    ksize: spread(isChannelsFirst, sizes, 1),
    strides: spread(isChannelsFirst, strides, 1),
    padding: padding === 'SAME' ? 'SAME' : 'VALID',
    pads: padding === 'EXPLICIT' ? spread<readonly [number, number]>(isChannelsFirst, pads, [0, 0]) : [],
    isChannelsFirst,
    isNothing: sizes.every((size) => size === 1) && outSizes.every((size, i) => size === inSizes[i]),
  };
}

function plan2D({ shape }: TensorInfo, { dimRoundingMode, filterSize, pad, strides }: Attrs): Plan {
  return planOf(windows2D(shape, filterSize, strides, 1, pad, dimRoundingMode), shape.slice(1, 3), false);
}

function plan3D({ shape }: TensorInfo, { dataFormat, dimRoundingMode, filterSize, pad, strides }: Attrs): Plan {
  const isChannelsFirst = dataFormat === 'NCDHW';
  const windows = windows3D(shape, filterSize, strides, 1, pad as 'same', dimRoundingMode, isChannelsFirst ? 2 : 1);
  return planOf(windows, isChannelsFirst ? shape.slice(2) : shape.slice(1, 4), isChannelsFirst);
}

const attrsOf3D = ({ isChannelsFirst, ksize, padding, strides }: Plan): Record<string, AttrValue> => (
  { ksize, strides, padding, data_format: isChannelsFirst ? 'NCDHW' : 'NDHWC' });

// The gradient of what was padded, where nothing was.
function inner(call: Call<never, never>, gradient: Tensor, { pads }: Plan, shape: readonly number[]): Tensor {
  if (pads.length === 0) return gradient;
  return td.slice(call.passing(gradient), pads.map(([before]) => before), shape);
}

const padded = (call: Call<never, never>, x: Tensor, { pads }: Plan, value: number): Tensor =>
  (pads.length === 0 ? x : call.passing(td.padV2(x, pads, value)));

const shapeWith = (shape: readonly number[], { pads }: Plan): number[] =>
  shape.map((size, i) => size + (pads[i]?.[0] ?? 0) + (pads[i]?.[1] ?? 0));

// Padding does not count: how much of each window is image.
function shareOf(
  call: Call<never, never>, shape: readonly number[], plan: Plan, average: (x: Tensor) => Tensor,
): Tensor {
  const channels = plan.isChannelsFirst ? 1 : shape.length - 1;
  const dims = shape.map((size, i) => (i === 0 || i === channels ? 1 : size));
  const ones = call.passing(call.runtime.ones(dims));
  return call.passing(average(padded(call, ones, plan, 0)));
}

type AnyCall = Call<never, never>;

export const AvgPool = /* @__PURE__ */ kernel<X, Attrs>('AvgPool', (call) => {
  const { attrs, inputs: { x } } = call;
  const plan = plan2D(x, attrs);
  if (plan.isNothing) return call.reshaped(x, x.shape);
  const average = (of: Tensor): Tensor => td.avgPool(of, plan.ksize, plan.strides, plan.padding);
  const image = call.floats(x);
  if (plan.pads.length === 0) return average(image);
  const sum = call.passing(average(padded(call as unknown as AnyCall, image, plan, 0)));
  return td.realDiv(sum, shareOf(call as unknown as AnyCall, x.shape, plan, average));
});

/** Where images are padded by a number, padding counts in the gradient, as TensorFlow.js has it. */
export const AvgPoolGrad = /* @__PURE__ */ kernel<{ dy: TensorInfo; input: TensorInfo }, Attrs>('AvgPoolGrad', (call) => {
  const { attrs, inputs: { dy, input } } = call;
  const plan = plan2D(input, attrs);
  const { ksize, padding, strides } = plan;
  const any = call as unknown as AnyCall;
  const whole = td.avgPoolGrad(shapeWith(input.shape, plan), call.tensor(dy), ksize, strides, padding);
  return inner(any, whole, plan, input.shape);
});

export const MaxPool = /* @__PURE__ */ kernel<X, Attrs>('MaxPool', (call) => {
  const { attrs, inputs: { x } } = call;
  const plan = plan2D(x, attrs);
  if (plan.isNothing) return call.reshaped(x, x.shape);
  return td.maxPool(padded(call as unknown as AnyCall, call.tensor(x), plan, lowestOf(x)), plan.ksize, plan.strides,
    plan.padding);
});

const lowestOf = ({ dtype }: TensorInfo): number => (dtype === 'float32' ? -Infinity : -(2 ** 31));

interface MaxGrad {
  dy: TensorInfo;
  input: TensorInfo;
  output: TensorInfo;
}

export const MaxPoolGrad = /* @__PURE__ */ kernel<MaxGrad, Attrs>('MaxPoolGrad', (call) => {
  const { attrs, inputs: { dy, input, output } } = call;
  const plan = plan2D(input, attrs);
  const any = call as unknown as AnyCall;
  const whole = td.maxPoolGrad(padded(any, call.tensor(input), plan, lowestOf(input)), call.tensor(output),
    call.tensor(dy), plan.ksize, plan.strides, plan.padding);
  return inner(any, whole, plan, input.shape);
});

export const MaxPoolWithArgmax = /* @__PURE__ */ kernel<X, Attrs & { includeBatchInIndex: boolean }>(
  'MaxPoolWithArgmax', (call) => {
    const { attrs, inputs: { x } } = call;
    const { ksize, padding, strides } = plan2D(x, attrs);
    return call.op('tf.MaxPoolWithArgmax', [call.floats(x)],
      { ksize, strides, padding, include_batch_in_index: attrs.includeBatchInIndex, Targmax: 'i32' });
  });

// Volumes.

export const AvgPool3D = /* @__PURE__ */ kernel<X, Attrs>('AvgPool3D', (call) => {
  const { attrs, inputs: { x } } = call;
  const plan = plan3D(x, attrs);
  const any = call as unknown as AnyCall;
  const average = (of: Tensor): Tensor => call.op('tf.AvgPool3D', [of], attrsOf3D(plan))[0]!;
  const volume = call.floats(x);
  if (plan.pads.length === 0) return average(volume);
  const sum = call.passing(average(padded(any, volume, plan, 0)));
  return td.realDiv(sum, shareOf(any, x.shape, plan, average));
});

export const AvgPool3DGrad = /* @__PURE__ */ kernel<{ dy: TensorInfo; input: TensorInfo }, Attrs>(
  'AvgPool3DGrad', (call) => {
    const { attrs, inputs: { dy, input } } = call;
    const plan = plan3D(input, attrs);
    const any = call as unknown as AnyCall;
    const [whole] = call.op('tf.AvgPool3DGrad', [shapeWith(input.shape, plan), call.tensor(dy)], attrsOf3D(plan));
    return inner(any, whole!, plan, input.shape);
  });

export const MaxPool3D = /* @__PURE__ */ kernel<X, Attrs>('MaxPool3D', (call) => {
  const { attrs, inputs: { x } } = call;
  const plan = plan3D(x, attrs);
  const volume = padded(call as unknown as AnyCall, call.floats(x), plan, -Infinity);
  return call.op('tf.MaxPool3D', [volume], attrsOf3D(plan))[0]!;
});

export const MaxPool3DGrad = /* @__PURE__ */ kernel<MaxGrad, Attrs>('MaxPool3DGrad', (call) => {
  const { attrs, inputs: { dy, input, output } } = call;
  const plan = plan3D(input, attrs);
  const any = call as unknown as AnyCall;
  const volume = padded(any, call.tensor(input), plan, -Infinity);
  // TensorFlow.js hands over the input in place of the output where it has forgotten it.
  const result = output.shape.every((size, i) => size === dy.shape[i]) ? call.tensor(output)
    : call.passing(call.op('tf.MaxPool3D', [volume], attrsOf3D(plan))[0]!);
  const [whole] = call.op('tf.MaxPool3DGrad', [volume, result, call.tensor(dy)], attrsOf3D(plan));
  return inner(any, whole!, plan, input.shape);
});
