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
  const { attrs: { alignCorners, halfPixelCenters = false }, inputs: { dy, images } } = call;
  return call.op('tf.ResizeBilinearGrad', [call.tensor(dy), call.floats(images)],
    { align_corners: alignCorners, half_pixel_centers: halfPixelCenters })[0]!;
});

export const ResizeNearestNeighborGrad = /* @__PURE__ */ kernel<ResizeGrad, ResizeAttrs>(
  'ResizeNearestNeighborGrad', (call) => {
    const { attrs: { alignCorners, halfPixelCenters = false }, inputs: { dy, images } } = call;
    return call.op('tf.ResizeNearestNeighborGrad', [call.tensor(dy), images.shape.slice(1, 3)],
      { align_corners: alignCorners, half_pixel_centers: halfPixelCenters })[0]!;
  });

interface CropAttrs {
  cropSize: [number, number];
  method: string;
  extrapolationValue: number;
}

export const CropAndResize = /* @__PURE__ */ kernel<{ image: TensorInfo; boxes: TensorInfo; boxInd: TensorInfo }, CropAttrs>(
  'CropAndResize', (call) => {
    const { attrs: { cropSize, extrapolationValue, method }, inputs: { boxes, boxInd, image } } = call;
    return call.op('tf.CropAndResize', [call.tensor(image), call.floats(boxes), call.as(boxInd, 'i32'), cropSize],
      { method, extrapolation_value: extrapolationValue })[0]!;
  });

export const FlipLeftRight = /* @__PURE__ */ kernel<{ image: TensorInfo }>('FlipLeftRight',
  (call) => td.reverse(call.tensor(call.inputs.image), [2]));

interface TransformAttrs {
  interpolation: string;
  fillMode: string;
  fillValue: number;
  outputShape?: [number, number];
}

function transform(
  call: Call<never, never>, image: Tensor, transforms: Tensor, size: readonly number[], fillValue: number,
  attrs: { interpolation: string; fill_mode: string },
): Tensor {
  const fill = call.passing(call.runtime.scalar(fillValue, 'f32'));
  return call.op('tf.ImageProjectiveTransformV3', [image, transforms, size, fill], attrs)[0]!;
}

export const Transform = /* @__PURE__ */ kernel<{ image: TensorInfo; transforms: TensorInfo }, TransformAttrs>(
  'Transform', (call) => {
    const { attrs: { fillMode, fillValue, interpolation, outputShape }, inputs: { image, transforms } } = call;
    return transform(call as unknown as Call<never, never>, call.tensor(image), call.floats(transforms),
      outputShape ?? image.shape.slice(1, 3), fillValue,
      { interpolation: interpolation.toUpperCase(), fill_mode: fillMode.toUpperCase() });
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
  const any = call as unknown as Call<never, never>;
  const attrs = { interpolation: 'NEAREST', fill_mode: 'CONSTANT' };
  const fill = call.passing(call.runtime.tensor(colour));
  const ofAll = colour.every((value) => value === colour[0]);
  const rotated = ofAll ? transform(any, pixels, projection, [height, width], colour[0] ?? 0, attrs)
    : td.add(call.passing(transform(any, call.passing(td.sub(pixels, fill)), projection, [height, width], 0, attrs)), fill);
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

function nmsInputs(call: Call<Boxes, NmsAttrs>): td.TensorInput[] {
  const { attrs: { iouThreshold, maxOutputSize, scoreThreshold }, inputs: { boxes, scores } } = call;
  const scalar = (value: number): Tensor => call.passing(call.runtime.scalar(value, 'f32'));
  return [call.floats(boxes), call.floats(scores), maxOutputSize, scalar(iouThreshold), scalar(scoreThreshold)];
}

export const NonMaxSuppressionV3 = /* @__PURE__ */ kernel<Boxes, NmsAttrs>('NonMaxSuppressionV3',
  (call) => call.op('tf.NonMaxSuppressionV3', nmsInputs(call))[0]!, { onHost: true });

export const NonMaxSuppressionV4 = /* @__PURE__ */ kernel<Boxes, NmsAttrs & { padToMaxOutputSize: boolean }>(
  'NonMaxSuppressionV4', (call) => call.op('tf.NonMaxSuppressionV4', nmsInputs(call),
    { pad_to_max_output_size: call.attrs.padToMaxOutputSize }), { onHost: true });

export const NonMaxSuppressionV5 = /* @__PURE__ */ kernel<Boxes, NmsAttrs & { softNmsSigma: number }>(
  'NonMaxSuppressionV5', (call) => {
    const sigma = call.passing(call.runtime.scalar(call.attrs.softNmsSigma, 'f32'));
    const [indices, scores, count] = call.op('tf.NonMaxSuppressionV5', [...nmsInputs(call), sigma]);
    count!.dispose();
    return [indices!, scores!];
  }, { onHost: true });
