// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elements of a tensor [height, width] or [height, width, channels] as pixels, and on a canvas.

import type { Dom } from './dom.js';
import type { TypedArray } from './dtypes.js';
import { bf16ToNumber, f16ToNumber } from './dtypes.js';
import { followed } from './context.js';
import { errorFor, errorIn, locationOf } from './errors.js';
import type { Entry } from './errors.js';
import { canDraw, drawOnGpu } from './pixels_gpu.js';
import { isTensor } from './tensor.js';
import type { Tensor } from './tensor.js';
import { describe } from './values.js';
import type { WaitOptions } from './waiting.js';

/** Pixels as ImageData has them: R, G, B and alpha of each, 0 to 255, rows from the top. */
export interface PixelData {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** How elements become pixels. */
export interface PixelOptions extends WaitOptions {
  /** The element of full intensity, of which 0 is none: by default 1 for floats and bool, 255 for integers. */
  max?: number;
}

/** What pixels can be drawn on. */
export type PixelTarget = Dom<'HTMLCanvasElement'> | Dom<'OffscreenCanvas'>;

/** What pixels of a tensor are made of. */
export interface Layout {
  readonly height: number;
  readonly width: number;
  readonly channels: 1 | 3 | 4;
  /** What an element is multiplied by, for 1 as full intensity. */
  readonly scale: number;
}

function layoutOf(tensor: Tensor, max: number | undefined, op: string): Layout {
  const { dtype, shape } = tensor;
  const [height = 0, width = 0, channels = 1] = shape;
  const given = `${dtype}[${shape.join(',')}]`;
  if (dtype === 'string' || dtype === 'c64') {
    throw errorIn(op, 'InvalidArgument', `expected a tensor of real numbers, got ${given}`);
  }
  const isImage = (shape.length === 2 || shape.length === 3) && height > 0 && width > 0;
  if (!isImage || (channels !== 1 && channels !== 3 && channels !== 4)) {
    throw errorIn(op, 'InvalidArgument',
      `expected a tensor [height, width] or [height, width, 1, 3 or 4] with at least one pixel, got ${given}`);
  }
  if (max !== undefined && !(typeof max === 'number' && max > 0 && Number.isFinite(max))) {
    const other = typeof max === 'number' ? String(max) : describe(max);
    throw errorIn(op, 'InvalidArgument', `expected max to be a finite number above 0, got ${other}`);
  }
  const isInteger = /^[iu]/.test(dtype);
  return { height, width, channels, scale: 1 / (max ?? (isInteger ? 255 : 1)) };
}

// A function that gives an element as a number.
function readerOf(dtype: string, elements: TypedArray): (i: number) => number {
  if (dtype === 'f16') return (i) => f16ToNumber(elements[i] as number);
  if (dtype === 'bf16') return (i) => bf16ToNumber(elements[i] as number);
  if (typeof elements[0] === 'bigint') return (i) => Number(elements[i]);
  return (i) => elements[i] as number;
}

// Rounded, and 0 to 255 whatever the element: a clamped array sees to both, and takes NaN for 0.
function pixelsOf(dtype: string, elements: TypedArray, layout: Layout): PixelData {
  const { width, height, channels } = layout;
  const read = readerOf(dtype, elements);
  const scale = 255 * layout.scale;
  const data = new Uint8ClampedArray(4 * width * height);
  for (let at = 0, i = 0; at < data.length; at += 4, i += channels) {
    data[at] = read(i) * scale;
    data[at + 1] = channels === 1 ? data[at]! : read(i + 1) * scale;
    data[at + 2] = channels === 1 ? data[at]! : read(i + 2) * scale;
    data[at + 3] = channels === 4 ? read(i + 3) * scale : 255;
  }
  return { data, width, height };
}

interface ImageDataWorld {
  ImageData?: new (data: Uint8ClampedArray, width: number, height: number) => PixelData;
}

const waitOf = (signal: AbortSignal | undefined): WaitOptions | undefined => (
  signal === undefined ? undefined : { signal });

// What pixels the tensor has, once it is there.
async function layoutFor(tensor: Tensor, { max, signal }: PixelOptions, op: string): Promise<Layout> {
  if (!isTensor(tensor)) throw errorIn(op, 'InvalidArgument', `expected a tensor, got ${describe(tensor)}`);
  await tensor.ready(waitOf(signal));
  return layoutOf(tensor, max, op);
}

async function readPixels(tensor: Tensor, layout: Layout, signal: AbortSignal | undefined): Promise<PixelData> {
  return pixelsOf(tensor.dtype, await tensor.data<TypedArray>(waitOf(signal)), layout);
}

// What `work` throws is an error of the caller of `entry`.
function promised<T>(entry: Entry, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const location = locationOf(entry);
  const failing = work().catch((thrown: unknown) => {
    if (signal?.aborted === true && thrown === signal.reason) throw thrown;
    const error = errorFor(entry.name, thrown);
    if (error.location === undefined && location !== '') (error as { location?: string }).location = location;
    throw error;
  });
  return followed(failing);
}

/**
 * The pixels of a tensor [height, width], or [height, width, channels] with one channel (grey), three (R, G, B) or four
 * (with alpha, which does not scale colors): an ImageData where there are such, in Node an object like one, which
 * `runtime.fromImage` takes. Elements beyond 0 and `max` become the nearer of them, NaN becomes 0.
 *
 * @throws TandemError InvalidArgument for other shapes and options, and for strings and complex numbers; the error that
 * the tensor has become; the reason of `signal`.
 */
export function toImageData(tensor: Tensor, options: PixelOptions = {}): Promise<Dom<'ImageData', PixelData>> {
  return promised(toImageData, options.signal, async () => {
    const layout = await layoutFor(tensor, options, 'toImageData');
    const pixels = await readPixels(tensor, layout, options.signal);
    const { ImageData } = globalThis as unknown as ImageDataWorld;
    const image = ImageData === undefined ? pixels : new ImageData(pixels.data, pixels.width, pixels.height);
    return image as Dom<'ImageData', PixelData>;
  });
}

/** As `toImageData`, but the bytes alone. */
export function toPixels(tensor: Tensor, canvas?: undefined, options?: PixelOptions): Promise<Uint8ClampedArray>;
/**
 * Draws a tensor, as `toImageData` reads it, on a canvas, which gets its size. The elements of f32, i32, u32 and bool on
 * webgpu are drawn by the device and never leave it, unless the canvas has a context of another kind.
 *
 * @throws TandemError as `toImageData`; FailedPrecondition for a canvas that has a context of a kind which cannot be
 * drawn on so.
 */
export function toPixels(tensor: Tensor, canvas: PixelTarget, options?: PixelOptions): Promise<void>;
export function toPixels(
  tensor: Tensor, canvas?: PixelTarget, options: PixelOptions = {},
): Promise<Uint8ClampedArray | void> {
  return promised<Uint8ClampedArray | void>(toPixels, options.signal, async () => {
    if (canvas !== undefined) checkCanvas(canvas);
    const layout = await layoutFor(tensor, options, 'toPixels');
    if (canvas === undefined) return (await readPixels(tensor, layout, options.signal)).data;
    await draw(tensor, layout, canvas as unknown as Canvas, options.signal);
  });
}

/** What is used of a canvas. */
export interface Canvas {
  width: number;
  height: number;
  getContext(kind: string, options?: object): unknown;
}
interface Context2D {
  putImageData(image: PixelData, x: number, y: number): void;
}

function checkCanvas(canvas: unknown): void {
  if (typeof (canvas as Partial<Canvas> | null)?.getContext !== 'function') {
    throw errorIn('toPixels', 'InvalidArgument', `expected a canvas, got ${describe(canvas)}`);
  }
}

async function draw(tensor: Tensor, layout: Layout, canvas: Canvas, signal: AbortSignal | undefined): Promise<void> {
  if (tensor.device === 'webgpu' && canDraw(tensor.dtype) && await drawOnGpu(tensor, layout, canvas)) return;
  const pixels = await readPixels(tensor, layout, signal);
  const context = canvas.getContext('2d') as Context2D | null;
  const { ImageData } = globalThis as unknown as ImageDataWorld;
  if (context === null || ImageData === undefined) {
    throw errorIn('toPixels', 'FailedPrecondition',
      'expected a canvas with a context 2d, got one that has another; draw on a canvas of its own');
  }
  Object.assign(canvas, { width: pixels.width, height: pixels.height });
  context.putImageData(new ImageData(pixels.data, pixels.width, pixels.height), 0, 0);
}
