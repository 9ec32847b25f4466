// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Pixels of images, canvases and videos as elements of a tensor [height, width, channels].

import type { Dom } from './dom.js';
import type { DType } from './dtypes.js';
import { TandemError } from './errors.js';

/** What pixels can be taken of. Images, canvases and videos need an environment with canvases. */
export type ImageSource =
  | Dom<'ImageData'> | Dom<'ImageBitmap'> | Dom<'HTMLCanvasElement'> | Dom<'OffscreenCanvas'>
  | Dom<'HTMLVideoElement'> | Dom<'HTMLImageElement'>;

/** How pixels become elements. */
export interface ImageOptions {
  /** 1: luma (0.299 R + 0.587 G + 0.114 B), 3: R, G, B (the default), 4: with alpha. Alpha does not scale colors. */
  channels?: 1 | 3 | 4;
  /** 'u8' or 'f32'; by default 'f32' where `normalize` is set, else 'u8'. */
  dtype?: DType;
  /** Whether 0 to 255 becomes 0 to 1. Only for f32. Default: false. */
  normalize?: boolean;
}

/** Elements of a tensor [height, width, channels]. */
export interface ImageElements {
  readonly dtype: 'u8' | 'f32';
  readonly shape: readonly [number, number, number];
  readonly data: Uint8Array | Float32Array;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** R, G, B and alpha of each pixel, 0 to 255, rows from the top. */
interface Pixels extends Size {
  readonly data: Uint8ClampedArray | Uint8Array;
}

const OP = 'fromImage';

function fail(code: 'InvalidArgument' | 'FailedPrecondition' | 'Unimplemented', text: string, cause?: unknown): never {
  throw new TandemError(code, `[${OP}] ${text}`, cause === undefined ? { op: OP } : { op: OP, cause });
}

// By tag rather than class: elements of other frames have classes of their own, and Node has none of them.
function tagOf(source: unknown): string {
  if (typeof source !== 'object' || source === null) return source === null ? 'null' : typeof source;
  const tag = (source as { readonly [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  return typeof tag === 'string' ? tag : Object.prototype.toString.call(source).slice(8, -1);
}

function isPixels(source: unknown): source is Pixels {
  const { width, height, data } = source as Partial<Pixels>;
  return typeof width === 'number' && typeof height === 'number' && ArrayBuffer.isView(data);
}

function sizeOf(source: object, tag: string): Size {
  if (tag === 'HTMLVideoElement') {
    const video = source as { readyState: number; videoWidth: number; videoHeight: number };
    if (video.readyState < 2) {
      fail('FailedPrecondition', `expected a video with a frame, got readyState ${video.readyState}: wait for its ` +
        'loadeddata event');
    }
    return { width: video.videoWidth, height: video.videoHeight };
  }
  if (tag === 'HTMLImageElement') {
    const image = source as { complete: boolean; naturalWidth: number; naturalHeight: number };
    if (!image.complete) {
      fail('FailedPrecondition', 'expected a loaded image, got one still loading: await its decode()');
    }
    if (image.naturalWidth === 0) fail('FailedPrecondition', 'expected a loaded image, got one that failed to load');
    return { width: image.naturalWidth, height: image.naturalHeight };
  }
  return source as Size;
}

function checkSize({ width, height }: Size, tag: string): void {
  const isWhole = Number.isInteger(width) && Number.isInteger(height);
  if (!isWhole || width < 1 || height < 1) {
    fail('InvalidArgument', `expected at least one pixel, got ${tag} of ${width} x ${height}`);
  }
}

interface Context2D {
  globalCompositeOperation: string;
  drawImage(source: unknown, x: number, y: number, width: number, height: number): void;
  getImageData(x: number, y: number, width: number, height: number): Pixels;
}
interface Canvas extends Size {
  width: number;
  height: number;
  getContext(kind: '2d', options: { willReadFrequently: boolean }): Context2D | null;
}
interface CanvasWorld {
  OffscreenCanvas?: new (width: number, height: number) => Canvas;
  document?: { createElement(name: 'canvas'): Canvas };
}

function newContext({ width, height }: Size, tag: string): Context2D {
  const world = globalThis as unknown as CanvasWorld;
  let canvas: Canvas | undefined;
  if (world.OffscreenCanvas) {
    canvas = new world.OffscreenCanvas(width, height);
  } else if (world.document) {
    canvas = world.document.createElement('canvas');
    canvas.width = width;
    canvas.height = height;
  }
  if (!canvas) fail('Unimplemented', `expected an environment with canvases for ${tag}, got none: pass an ImageData`);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) fail('FailedPrecondition', `expected a canvas of ${width} x ${height} to draw on, got none`);
  return context;
}

// Every source is drawn on a canvas of our own: asking the user's for a context would decide what kind it has.
function draw(source: object, tag: string): Pixels {
  const size = sizeOf(source, tag);
  checkSize(size, tag);
  const { width, height } = size;
  const context = newContext(size, tag);
  context.globalCompositeOperation = 'copy';
  try {
    context.drawImage(source, 0, 0, width, height);
  } catch (error) {
    fail('FailedPrecondition', `expected ${tag} that can be drawn, got ${String(error)}`, error);
  }
  try {
    return context.getImageData(0, 0, width, height);
  } catch (error) {
    if ((error as { name?: unknown }).name !== 'SecurityError') {
      fail('FailedPrecondition', `expected readable pixels, got ${String(error)}`, error);
    }
    return fail('FailedPrecondition', `expected pixels of the page's own origin, got ${tag} with some of another: ` +
      'have it sent with CORS headers and set crossOrigin', error);
  }
}

const DRAWN: ReadonlySet<string> = new Set([
  'ImageBitmap', 'HTMLCanvasElement', 'OffscreenCanvas', 'HTMLVideoElement', 'HTMLImageElement',
]);

function pixelsOf(source: unknown): Pixels {
  const tag = tagOf(source);
  if (DRAWN.has(tag)) return draw(source as object, tag);
  if (typeof source !== 'object' || source === null || !isPixels(source)) {
    return fail('InvalidArgument', `expected ImageData, ImageBitmap, a canvas, video or image, got ${tag}`);
  }
  checkSize(source, tag);
  const format = tagOf(source.data);
  if (format !== 'Uint8ClampedArray' && format !== 'Uint8Array') {
    fail('InvalidArgument', `expected 8 bits a channel, got ${tag} with a ${format}`);
  }
  if (source.data.length !== source.width * source.height * 4) {
    fail('InvalidArgument', `expected 4 bytes for each of ${source.width} x ${source.height} pixels, got ` +
      `${source.data.length} bytes`);
  }
  return source;
}

// The luma of ITU-R BT.601.
function writeLuma(from: Pixels['data'], to: Uint8Array | Float32Array, scale: number): void {
  const isRounded = to instanceof Uint8Array;
  for (let i = 0, at = 0; i < to.length; ++i, at += 4) {
    const luma = 0.299 * from[at]! + 0.587 * from[at + 1]! + 0.114 * from[at + 2]!;
    to[i] = isRounded ? Math.round(luma) : luma * scale;
  }
}

function writeColors(from: Pixels['data'], to: Uint8Array | Float32Array, channels: 3 | 4, scale: number): void {
  if (channels === 4 && scale === 1) {
    to.set(from);
    return;
  }
  for (let i = 0, at = 0; i < to.length; i += channels, at += 4) {
    for (let channel = 0; channel < channels; ++channel) to[i + channel] = from[at + channel]! * scale;
  }
}

/**
 * The pixels of an image, canvas or video's current frame, at its own size (not that of its layout).
 *
 * @throws TandemError InvalidArgument for other sources, sizes of zero and options that do not go together;
 * FailedPrecondition for what is not loaded, has no frame yet, or has pixels of another origin; Unimplemented where
 * there are no canvases and the source is not ImageData.
 */
export function readImage(source: ImageSource, options: ImageOptions = {}): ImageElements {
  const { channels = 3, normalize = false } = options;
  const dtype = options.dtype ?? (normalize ? 'f32' : 'u8');
  if (channels !== 1 && channels !== 3 && channels !== 4) {
    fail('InvalidArgument', `expected 1, 3 or 4 channels, got ${String(channels)}`);
  }
  if (dtype !== 'u8' && dtype !== 'f32') fail('InvalidArgument', `expected u8 or f32, got ${String(dtype)}`);
  if (normalize && dtype === 'u8') fail('InvalidArgument', 'expected f32 for normalized pixels, got u8');
  const { width, height, data: from } = pixelsOf(source);
  const length = width * height * channels;
  const data = dtype === 'u8' ? new Uint8Array(length) : new Float32Array(length);
  const scale = normalize ? 1 / 255 : 1;
  if (channels === 1) writeLuma(from, data, scale);
  else writeColors(from, data, channels, scale);
  return { dtype, shape: [height, width, channels], data };
}
