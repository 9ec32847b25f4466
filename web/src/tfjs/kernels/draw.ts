// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Draw: the pixels of an image on a canvas.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import { TandemError } from 'tandem-rt';

import { kernel } from '../kernel.js';

interface DrawAttrs {
  canvas: HTMLCanvasElement | OffscreenCanvas;
  options?: { imageOptions?: { alpha?: number }; contextOptions?: { contextType?: string } };
}

/** Floats are 0 to 1, integers 0 to 255; one channel is grey, and what has no alpha gets that of the options. */
function pixelsOf(values: ArrayLike<number>, channels: number, isFloat: boolean, alpha: number): Uint8ClampedArray {
  const count = values.length / channels;
  const pixels = new Uint8ClampedArray(4 * count);
  const factor = isFloat ? 255 : 1;
  for (let i = 0; i < count; ++i) {
    for (let c = 0; c < 4; ++c) {
      const value = c === 3 && channels !== 4 ? 255 * alpha : values[i * channels + (channels === 1 ? 0 : c)]! * factor;
      pixels[4 * i + c] = value;
    }
  }
  return pixels;
}

export const Draw = /* @__PURE__ */ kernel<{ image: TensorInfo }, DrawAttrs>('Draw', (call) => {
  const { attrs: { canvas, options }, inputs: { image } } = call;
  // The names of backends stand for what they draw with.
  const type = options?.contextOptions?.contextType ?? '2d';
  if (!['2d', 'tandem', 'tandem-webgpu'].includes(type)) {
    throw new TandemError('Unimplemented', `Unsupported context type ${type} by the Tandem backend.`);
  }
  const [height = 0, width = 0] = image.shape;
  const channels = image.shape[2] ?? 1;
  const context = canvas.getContext('2d') as CanvasRenderingContext2D | null;
  if (context === null) throw new TandemError('FailedPrecondition', 'Could not get the context with 2d type.');
  const alpha = options?.imageOptions?.alpha ?? 1;
  const paint = (values: ArrayLike<number>): void => {
    const pixels = pixelsOf(values, channels, image.dtype === 'float32', alpha) as Uint8ClampedArray<ArrayBuffer>;
    canvas.width = width;
    canvas.height = height;
    context.putImageData(new ImageData(pixels, width, height), 0, 0);
  };
  // A GPU answers later; the canvas shows the image then.
  if (call.backend.knows(image)) paint(call.values(image));
  else void call.backend.read(image.dataId).then((values) => paint(values as Float32Array));
  // The tensor itself, so that there is no other one to dispose of.
  return image;
});
