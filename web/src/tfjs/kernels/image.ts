// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels on images: sizes, boxes, projections, canvases.

import { backend_util } from '@tensorflow/tfjs-core';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel } from '../kernel.js';
import type { Call } from '../kernel.js';

interface ResizeAttrs {
  alignCorners: boolean;
  halfPixelCenters?: boolean;
  size: [number, number];
}

const optionsOf = ({ alignCorners, halfPixelCenters = false }: ResizeAttrs) => ({ alignCorners, halfPixelCenters });

export const ResizeBilinear = /* @__PURE__ */ kernel<{ images: TensorInfo }, ResizeAttrs>('ResizeBilinear',
  (call) => td.resizeBilinear(call.tensor(call.inputs.images), call.attrs.size, optionsOf(call.attrs)));

export const ResizeNearestNeighbor = /* @__PURE__ */ kernel<{ images: TensorInfo }, ResizeAttrs>('ResizeNearestNeighbor',
  (call) => td.resizeNearestNeighbor(call.tensor(call.inputs.images), call.attrs.size, optionsOf(call.attrs)));

interface ResizeGrad {
  images: TensorInfo;
  dy: TensorInfo;
}

export const ResizeBilinearGrad = /* @__PURE__ */ kernel<ResizeGrad, ResizeAttrs>('ResizeBilinearGrad', (call) => {
  const { attrs, inputs: { dy, images } } = call;
  return td.resizeBilinearGrad(call.tensor(dy), call.floats(images), optionsOf(attrs));
});

export const ResizeNearestNeighborGrad = /* @__PURE__ */ kernel<ResizeGrad, ResizeAttrs>(
  'ResizeNearestNeighborGrad', (call) => {
    const { attrs, inputs: { dy, images } } = call;
    return td.resizeNearestNeighborGrad(call.tensor(dy), images.shape.slice(1, 3), optionsOf(attrs));
  });

interface CropAttrs {
  cropSize: [number, number];
  method: 'bilinear' | 'nearest';
  extrapolationValue: number;
}

export const CropAndResize = /* @__PURE__ */ kernel<{ image: TensorInfo; boxes: TensorInfo; boxInd: TensorInfo }, CropAttrs>(
  'CropAndResize', (call) => {
    const { attrs: { cropSize, extrapolationValue, method }, inputs: { boxes, boxInd, image } } = call;
    return td.cropAndResize(call.tensor(image), call.floats(boxes), call.as(boxInd, 'i32'), cropSize,
      { method, extrapolationValue });
  });

export const FlipLeftRight = /* @__PURE__ */ kernel<{ image: TensorInfo }>('FlipLeftRight',
  (call) => td.reverse(call.tensor(call.inputs.image), [2]));

const upper = <Text extends string>(text: Text): Uppercase<Text> => text.toUpperCase() as Uppercase<Text>;

interface TransformAttrs {
  interpolation: 'nearest' | 'bilinear';
  fillMode: 'constant' | 'reflect' | 'wrap' | 'nearest';
  fillValue: number;
  outputShape?: [number, number];
}

export const Transform = /* @__PURE__ */ kernel<{ image: TensorInfo; transforms: TensorInfo }, TransformAttrs>(
  'Transform', (call) => {
    const { attrs: { fillMode, fillValue, interpolation, outputShape }, inputs: { image, transforms } } = call;
    return td.imageProjectiveTransform(call.tensor(image), call.floats(transforms), outputShape ?? image.shape.slice(1, 3),
      fillValue, upper(interpolation), { fillMode: upper(fillMode) });
  });

interface RotateAttrs {
  radians: number;
  fillValue: number | [number, number, number];
  center: number | [number, number];
}

/** Turns images about a centre. Around them is a colour, which is opaque, or one number for all channels. */
export const RotateWithOffset = /* @__PURE__ */ kernel<{ image: TensorInfo }, RotateAttrs>('RotateWithOffset', (call) => {
  const { attrs: { center, fillValue, radians }, inputs: { image } } = call;
  const [, height = 0, width = 0, channels = 0] = image.shape;
  const [x, y] = backend_util.getImageCenter(center, height, width);
  const sin = Math.sin(radians);
  const cos = Math.cos(radians);
  // Where an element of the result comes from: the rotation about (x, y).
  const matrix = [cos, -sin, x - x * cos + y * sin, sin, cos, y - x * sin - y * cos, 0, 0];
  const projection = call.passing(call.runtime.tensor([matrix]));
  const colour = Array.from({ length: channels }, (_, i) => (
    typeof fillValue === 'number' ? fillValue : i === 3 ? 255 : fillValue[i]!));
  const pixels = call.floats(image);
  const rotate = (of: Tensor, around: number): Tensor => (
    td.imageProjectiveTransform(of, projection, [height, width], around, 'NEAREST', { fillMode: 'CONSTANT' }));
  const fill = call.passing(call.runtime.tensor(colour));
  const ofAll = colour.every((value) => value === colour[0]);
  const rotated = ofAll ? rotate(pixels, colour[0] ?? 0)
    : td.add(call.passing(rotate(call.passing(td.sub(pixels, fill)), 0)), fill);
  return image.dtype === 'float32' ? rotated : td.cast(call.passing(rotated), 'i32');
});

// Boxes.

interface Boxes {
  boxes: TensorInfo;
  scores: TensorInfo;
}

interface NmsAttrs {
  maxOutputSize: number;
  iouThreshold: number;
  scoreThreshold: number;
}

function nmsInputs(call: Call<Boxes, NmsAttrs>): Parameters<typeof td.nonMaxSuppressionV3> {
  const { attrs: { iouThreshold, maxOutputSize, scoreThreshold }, inputs: { boxes, scores } } = call;
  return [call.floats(boxes), call.floats(scores), maxOutputSize, iouThreshold, scoreThreshold];
}

export const NonMaxSuppressionV3 = /* @__PURE__ */ kernel<Boxes, NmsAttrs>('NonMaxSuppressionV3',
  (call) => td.nonMaxSuppressionV3(...nmsInputs(call)), { onHost: true });

export const NonMaxSuppressionV4 = /* @__PURE__ */ kernel<Boxes, NmsAttrs & { padToMaxOutputSize: boolean }>(
  'NonMaxSuppressionV4', (call) => {
    const { selectedIndices, validOutputs } = td.nonMaxSuppressionV4(
      ...nmsInputs(call), { padToMaxOutputSize: call.attrs.padToMaxOutputSize });
    return [selectedIndices, validOutputs];
  }, { onHost: true });

export const NonMaxSuppressionV5 = /* @__PURE__ */ kernel<Boxes, NmsAttrs & { softNmsSigma: number }>(
  'NonMaxSuppressionV5', (call) => {
    const { selectedIndices, selectedScores, validOutputs } = td.nonMaxSuppressionV5(
      ...nmsInputs(call), call.attrs.softNmsSigma);
    validOutputs.dispose();
    return [selectedIndices, selectedScores];
  }, { onHost: true });
