// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Windows on images and volumes: how TensorFlow.js says where they are, and how ops do.

import { backend_util } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import type { Call } from '../kernel.js';

/** How TensorFlow.js says how an image is padded. */
export type Pad = 'valid' | 'same' | number | [number, number][];

/** Before and after, for each dimension. */
export type Pads = readonly (readonly [number, number])[];

export type Rounding = 'floor' | 'round' | 'ceil' | undefined;

/** Where windows are, along the dimensions of images alone. */
export interface Windows {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly pads: Pads;
  readonly padding: 'SAME' | 'VALID' | 'EXPLICIT';
  /** Of the result. */
  readonly outSizes: readonly number[];
}

const tuple = (value: number | readonly number[], length: number): number[] => {
  if (typeof value === 'number') return new Array<number>(length).fill(value);
  return value.length === 1 ? new Array<number>(length).fill(value[0]!) : value.slice(0, length);
};

/** What rounding up or down makes of how the last window lies: after the image there may be more, or less. */
function padAfter(inSize: number, outSize: number, size: number, stride: number, before: number): number {
  return (outSize - 1) * stride + size - inSize - before;
}

function windowsOf(
  inSizes: readonly number[], sizes: readonly number[], strides: readonly number[], dilations: readonly number[],
  type: string, before: readonly number[], outSizes: readonly number[],
): Windows {
  const pads = inSizes.map((inSize, i): [number, number] => {
    const spread = (sizes[i]! - 1) * dilations[i]! + 1;
    return [before[i]!, padAfter(inSize, outSizes[i]!, spread, strides[i]!, before[i]!)];
  });
  // What is left of the image behind the last window may be negative; ops leave it out by themselves.
  const whole = pads.map(([first, last]): [number, number] => [first, Math.max(last, 0)]);
  const isPlain = whole.every(([first, last]) => first === 0 && last === 0);
  const padding = type === 'SAME' ? 'SAME' : isPlain ? 'VALID' : 'EXPLICIT';
  return { sizes, strides, dilations, pads: whole, padding, outSizes };
}

/** The windows of an op on images, whose height and width are the dimensions from `first` on. */
export function windows2D(
  shape: readonly number[], size: number | readonly number[], stride: number | readonly number[],
  dilation: number | readonly number[], pad: Pad, rounding: Rounding, first = 1,
): Windows {
  const sizes = tuple(size, 2);
  const strides = tuple(stride, 2);
  const dilations = tuple(dilation, 2);
  const inSizes = shape.slice(first, first + 2);
  const info = backend_util.computeConv2DInfo(
    [1, inSizes[0]!, inSizes[1]!, 1], [sizes[0]!, sizes[1]!, 1, 1], strides as [number, number],
    dilations as [number, number], (typeof pad === 'object' ? [[0, 0], pad[first]!, pad[first + 1]!, [0, 0]] : pad) as 'same',
    rounding);
  const { padInfo: { left, top, type }, outHeight, outWidth } = info;
  return windowsOf(inSizes, sizes, strides, dilations, type, [top, left], [outHeight, outWidth]);
}

/** The same on volumes. */
export function windows3D(
  shape: readonly number[], size: number | readonly number[], stride: number | readonly number[],
  dilation: number | readonly number[], pad: 'valid' | 'same' | number, rounding: Rounding, first = 1,
): Windows {
  const sizes = tuple(size, 3);
  const strides = tuple(stride, 3);
  const dilations = tuple(dilation, 3);
  const inSizes = shape.slice(first, first + 3);
  const info = backend_util.computePool3DInfo(
    [1, inSizes[0]!, inSizes[1]!, inSizes[2]!, 1], sizes as [number, number, number],
    strides as [number, number, number], dilations as [number, number, number], pad as 'same', rounding);
  const { padInfo: { front, left, top, type }, outDepth, outHeight, outWidth } = info;
  return windowsOf(inSizes, sizes, strides, dilations, type, [front, top, left], [outDepth, outHeight, outWidth]);
}

// Of a function that is remembered; a network has some tens.
const MOST_KEPT = 64;

function isSame(a: unknown, b: unknown): boolean {
  // Of what else may change, nothing is known.
  if (!Array.isArray(a) || !Array.isArray(b)) return typeof a !== 'object' && a === b;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; ++i) if (!isSame(a[i], b[i])) return false;
  return true;
}

const copyOf = (value: unknown): unknown => (Array.isArray(value) ? value.map(copyOf) : value);

/**
 * `make`, a function of numbers, texts and lists of them alone, which gives again what it gave for the same: a network
 * calls with the same again and again, in the same order, and finding out where windows are takes longer than a small op.
 * What it gives is not to be changed.
 */
export function remembered<Given extends unknown[], Made>(make: (...given: Given) => Made): (...given: Given) => Made {
  const kept: { readonly given: unknown; readonly made: Made }[] = [];
  let next = 0;
  return (...given) => {
    for (let i = 0; i < kept.length; ++i) {
      const at = (next + i) % kept.length;
      if (!isSame(kept[at]!.given, given)) continue;
      next = at + 1;
      return kept[at]!.made;
    }
    const made = make(...given);
    if (kept.length >= MOST_KEPT) kept.length = 0;
    next = kept.push({ given: copyOf(given), made });
    return made;
  };
}

/** Numbers for the dimensions of images, and what they are for batch and channels, in the order of the format. */
export function spread<T>(isChannelsFirst: boolean, values: readonly T[], other: T): T[] {
  return isChannelsFirst ? [other, other, ...values] : [other, ...values, other];
}

/** What ops on windows take: `channelsFirst` is the name of the format of the images or volumes, if they are such. */
export function attributesOf<Format extends string>(windows: Windows, channelsFirst?: Format): {
  strides: number[];
  padding: 'SAME' | 'VALID' | 'EXPLICIT';
  options: { explicitPaddings?: number[]; dataFormat?: Format; dilations?: number[] };
} {
  const { dilations, padding, pads, strides } = windows;
  const isFirst = channelsFirst !== undefined;
  return {
    strides: spread(isFirst, strides, 1),
    padding,
    options: {
      ...(padding === 'EXPLICIT' && { explicitPaddings: spread<readonly number[]>(isFirst, pads, [0, 0]).flat() }),
      ...(isFirst && { dataFormat: channelsFirst }),
      ...(dilations.some((each) => each !== 1) && { dilations: spread(isFirst, dilations, 1) }),
    },
  };
}

/** What ops take that know no explicit padding, and what images are to be padded with for them: nothing for the others. */
export function impliedOf({ dilations, padding, pads, sizes, strides }: Windows): {
  ksize: number[];
  strides: number[];
  dilations: number[];
  padding: 'SAME' | 'VALID';
  around: Pads;
} {
  const isExplicit = padding === 'EXPLICIT';
  return {
    ksize: spread(false, sizes, 1),
    strides: spread(false, strides, 1),
    dilations: spread(false, dilations, 1),
    padding: isExplicit ? 'VALID' : padding,
    around: isExplicit ? spread<readonly [number, number]>(false, pads, [0, 0]) : [],
  };
}

/** Images with what is to be around them, which is never the largest. */
export function padded(call: Call<unknown, unknown>, images: Tensor, around: Pads): Tensor {
  return around.length === 0 ? images : call.passing(td.padV2(images, around, -Infinity));
}

/** The part of a result for padded images that is for images of this shape. */
export function unpadded(call: Call<unknown, unknown>, result: Tensor, around: Pads, shape: readonly number[]): Tensor {
  return around.length === 0 ? result : td.slice(call.passing(result), around.map(([before]) => before), shape);
}
