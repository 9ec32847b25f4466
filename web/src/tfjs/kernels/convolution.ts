// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Convolutions of images and volumes, their gradients, and those with a bias and an activation.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel } from '../kernel.js';
import type { Call } from '../kernel.js';
import { activated, fusedOf } from './activation.js';
import type { Activation } from './activation.js';
import { attributesOf, impliedOf, padded, remembered, unpadded, windows2D, windows3D } from './windows.js';
import type { Pad, Rounding } from './windows.js';

interface Inputs {
  x: TensorInfo;
  filter: TensorInfo;
}

interface Attrs {
  strides: number | number[];
  pad: Pad;
  dataFormat?: 'NHWC' | 'NCHW';
  dilations?: number | number[];
  dimRoundingMode?: Rounding;
}

// Pure, so that bundles without the kernels leave it out.
const planOf = /* @__PURE__ */ remembered((
  shape: readonly number[], filter: readonly number[], strides: number | number[], dilations: number | number[], pad: Pad,
  rounding: Rounding, dataFormat: 'NHWC' | 'NCHW' | undefined,
) => {
  const channelsFirst = dataFormat === 'NCHW' ? dataFormat : undefined;
  const windows = windows2D(
    shape, filter.slice(0, 2), strides, dilations, pad, rounding, channelsFirst ? 2 : 1);
  return attributesOf(windows, channelsFirst);
});

function plan(shape: readonly number[], filter: readonly number[], attrs: Attrs): ReturnType<typeof planOf> {
  return planOf(shape, filter, attrs.strides, attrs.dilations ?? 1, attrs.pad, attrs.dimRoundingMode, attrs.dataFormat);
}

export const Conv2D = /* @__PURE__ */ kernel<Inputs, Attrs>('Conv2D', (call) => {
  const { attrs, inputs: { filter, x } } = call;
  const { options, padding, strides } = plan(x.shape, filter.shape, attrs);
  return td.conv2d(call.tensor(x), call.tensor(filter), strides, padding, options);
});

export const Conv2DBackpropInput =
  /* @__PURE__ */ kernel<{ dy: TensorInfo; filter: TensorInfo }, Attrs & { inputShape: number[] }>(
    'Conv2DBackpropInput', (call) => {
      const { attrs, inputs: { dy, filter } } = call;
      const { options, padding, strides } = plan(attrs.inputShape, filter.shape, attrs);
      return td.conv2dBackpropInput(attrs.inputShape, call.tensor(filter), call.tensor(dy), strides, padding, options);
    });

export const Conv2DBackpropFilter =
  /* @__PURE__ */ kernel<{ x: TensorInfo; dy: TensorInfo }, Attrs & { filterShape: number[] }>(
    'Conv2DBackpropFilter', (call) => {
      const { attrs, inputs: { dy, x } } = call;
      const { options, padding, strides } = plan(x.shape, attrs.filterShape, attrs);
      return td.conv2dBackpropFilter(call.tensor(x), attrs.filterShape, call.tensor(dy), strides, padding, options);
    });

export const DepthwiseConv2dNative = /* @__PURE__ */ kernel<Inputs, Attrs>('DepthwiseConv2dNative', (call) => {
  const { attrs, inputs: { filter, x } } = call;
  const { options, padding, strides } = plan(x.shape, filter.shape, attrs);
  return td.depthwiseConv2dNative(call.tensor(x), call.tensor(filter), strides, padding, options);
});

export const DepthwiseConv2dNativeBackpropInput =
  /* @__PURE__ */ kernel<{ dy: TensorInfo; filter: TensorInfo }, Attrs & { inputShape: number[] }>(
    'DepthwiseConv2dNativeBackpropInput', (call) => {
      const { attrs, inputs: { dy, filter } } = call;
      const { options, padding, strides } = plan(attrs.inputShape, filter.shape, attrs);
      return td.depthwiseConv2dNativeBackpropInput(
        attrs.inputShape, call.tensor(filter), call.tensor(dy), strides, padding, options);
    });

export const DepthwiseConv2dNativeBackpropFilter =
  /* @__PURE__ */ kernel<{ x: TensorInfo; dy: TensorInfo }, Attrs & { filterShape: number[] }>(
    'DepthwiseConv2dNativeBackpropFilter', (call) => {
      const { attrs, inputs: { dy, x } } = call;
      const { options, padding, strides } = plan(x.shape, attrs.filterShape, attrs);
      return td.depthwiseConv2dNativeBackpropFilter(
        call.tensor(x), attrs.filterShape, call.tensor(dy), strides, padding, options);
    });

// With bias and activation.

interface FusedInputs extends Inputs {
  bias?: TensorInfo;
  preluActivationWeights?: TensorInfo;
}

interface FusedAttrs extends Attrs {
  activation: Activation;
  leakyreluAlpha?: number;
}

/** One element for each channel, of a shape that broadcasts to images; what has more dimensions is as it is. */
function ofChannels(call: Call<FusedInputs, FusedAttrs>, info: TensorInfo): Tensor {
  if (call.attrs.dataFormat !== 'NCHW' || info.shape.length !== 1 || info.shape[0] === 1) return call.tensor(info);
  return call.tensor(info, [info.shape[0]!, 1, 1]);
}

type Fused = typeof td.fusedConv2d;
type Plain = (x: Tensor, filter: Tensor, ...rest: Parameters<typeof td.conv2d> extends [unknown, unknown, ...infer R] ? R : never) => Tensor;

function fused(kernelName: string, channelsOf: (filter: readonly number[]) => number, withBias: Fused, plain: Plain) {
  return kernel<FusedInputs, FusedAttrs>(kernelName, (call) => {
    const { attrs, inputs: { bias, filter, preluActivationWeights, x } } = call;
    const { options, padding, strides } = plan(x.shape, filter.shape, attrs);
    const input = call.tensor(x);
    const weights = call.tensor(filter);
    const slope = preluActivationWeights && ofChannels(call, preluActivationWeights);
    // Ops take a bias for each channel; others are added.
    if (bias !== undefined && bias.shape.length === 1 && bias.shape[0] === channelsOf(filter.shape)) {
      const { fusedOps, rest } = fusedOf(attrs.activation);
      const result = withBias(input, weights, [call.tensor(bias)], strides, padding, {
        ...options, fusedOps, ...(attrs.leakyreluAlpha !== undefined && { leakyreluAlpha: attrs.leakyreluAlpha }),
      });
      return activated(call, result, rest, slope, attrs.leakyreluAlpha);
    }
    let result = plain(input, weights, strides, padding, options);
    if (bias !== undefined) result = td.add(call.passing(result), ofChannels(call, bias));
    return activated(call, result, attrs.activation, slope, attrs.leakyreluAlpha);
  });
}

export const FusedConv2D =
  /* @__PURE__ */ fused('FusedConv2D', (filter) => filter[3]!, td.fusedConv2d, td.conv2d);
export const FusedDepthwiseConv2D =
  /* @__PURE__ */ fused('FusedDepthwiseConv2D', (filter) => filter[2]! * filter[3]!, td.fusedDepthwiseConv2dNative,
    td.depthwiseConv2dNative);

// Of volumes.

interface Attrs3D {
  strides: number | number[];
  pad: 'valid' | 'same';
  dilations?: number | number[];
  dataFormat?: 'NDHWC' | 'NCDHW';
}

function plan3D(shape: readonly number[], filter: readonly number[], attrs: Attrs3D) {
  const channelsFirst = attrs.dataFormat === 'NCDHW' ? attrs.dataFormat : undefined;
  const windows = windows3D(shape, filter.slice(0, 3), attrs.strides, attrs.dilations ?? 1, attrs.pad, undefined,
    channelsFirst ? 2 : 1);
  return attributesOf(windows, channelsFirst);
}

export const Conv3D = /* @__PURE__ */ kernel<Inputs, Attrs3D>('Conv3D', (call) => {
  const { attrs, inputs: { filter, x } } = call;
  const { options, padding, strides } = plan3D(x.shape, filter.shape, attrs);
  return td.conv3d(call.tensor(x), call.tensor(filter), strides, padding, options);
});

export const Conv3DBackpropInputV2 =
  /* @__PURE__ */ kernel<{ dy: TensorInfo; filter: TensorInfo }, Attrs3D & { inputShape: number[] }>(
    'Conv3DBackpropInputV2', (call) => {
      const { attrs, inputs: { dy, filter } } = call;
      const { options, padding, strides } = plan3D(attrs.inputShape, filter.shape, attrs);
      return td.conv3dBackpropInput(attrs.inputShape, call.tensor(filter), call.tensor(dy), strides, padding, options);
    });

export const Conv3DBackpropFilterV2 =
  /* @__PURE__ */ kernel<{ x: TensorInfo; dy: TensorInfo }, Attrs3D & { filterShape: number[] }>(
    'Conv3DBackpropFilterV2', (call) => {
      const { attrs, inputs: { dy, x } } = call;
      const { options, padding, strides } = plan3D(x.shape, attrs.filterShape, attrs);
      return td.conv3dBackpropFilter(call.tensor(x), attrs.filterShape, call.tensor(dy), strides, padding, options);
    });

// Dilation, which takes the largest sum of element and filter.

interface DilationAttrs {
  strides: number | number[];
  pad: 'valid' | 'same' | number;
  dilations: number | number[];
}

function planDilation({ attrs: { dilations, pad, strides }, inputs: { filter, x } }: Call<Inputs, DilationAttrs>) {
  return impliedOf(windows2D(x.shape, filter.shape.slice(0, 2), strides, dilations, pad, undefined));
}

export const Dilation2D = /* @__PURE__ */ kernel<Inputs, DilationAttrs>('Dilation2D', (call) => {
  const { around, dilations, padding, strides } = planDilation(call);
  const { filter, x } = call.inputs;
  return td.dilation2d(padded(call, call.tensor(x), around), call.tensor(filter), strides, dilations, padding);
});

export const Dilation2DBackpropInput = /* @__PURE__ */ kernel<Inputs & { dy: TensorInfo }, DilationAttrs>(
  'Dilation2DBackpropInput', (call) => {
    const { dy, filter, x } = call.inputs;
    const { around, dilations, padding, strides } = planDilation(call);
    const gradient = td.dilation2dBackpropInput(
      padded(call, call.tensor(x), around), call.tensor(filter), call.tensor(dy), strides, dilations, padding);
    return unpadded(call, gradient, around, x.shape);
  });

export const Dilation2DBackpropFilter = /* @__PURE__ */ kernel<Inputs & { dy: TensorInfo }, DilationAttrs>(
  'Dilation2DBackpropFilter', (call) => {
    const { dy, filter, x } = call.inputs;
    const { around, dilations, padding, strides } = planDilation(call);
    return td.dilation2dBackpropFilter(
      padded(call, call.tensor(x), around), call.tensor(filter), call.tensor(dy), strides, dilations, padding);
  });
