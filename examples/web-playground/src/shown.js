// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How a value is shown: a tensor by its elements and, if it may be one, as a picture.

import { TandemError, Tensor, cast, max, min, realDiv, sub, toImageData } from 'tandem-rt';

/** @typedef {import('./messages.js').Picture} Picture */
/** @typedef {import('./messages.js').Shown} Shown */

/** Along each dimension, at most. */
const SHOWN_ELEMENTS = 8;
/** Pixels of a side, at least, of what is taken for a picture. */
const PICTURE_SIDE = 12;
const PICTURE_SIDE_MOST = 2048;

/** @param {unknown} value */
function numberText(value) {
  if (typeof value !== 'number') return typeof value === 'string' ? JSON.stringify(value) : String(value);
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : String(Number(value.toPrecision(5)));
}

/**
 * Rows of nested arrays, aligned, with what is in the middle left out.
 * @param {unknown} value
 * @param {string} indent
 * @returns {string}
 */
function nestedText(value, indent = '') {
  if (!Array.isArray(value)) return numberText(value);
  const isLong = value.length > SHOWN_ELEMENTS + 1;
  const half = SHOWN_ELEMENTS / 2;
  const items = isLong ? [...value.slice(0, half), ...value.slice(-half)] : value;
  const texts = items.map((item) => nestedText(item, `${indent} `));
  if (isLong) texts.splice(half, 0, '…');
  return `[${texts.join(Array.isArray(value[0]) ? `,\n${indent} ` : ', ')}]`;
}

/** @param {Tensor} tensor */
function maybePicture({ dtype, shape }) {
  const [height = 0, width = 0, channels = 1] = shape;
  return dtype !== 'string' && dtype !== 'c64' && (shape.length === 2 || shape.length === 3) &&
    [1, 3, 4].includes(channels) && Math.min(height, width) >= PICTURE_SIDE &&
    Math.max(height, width) <= PICTURE_SIDE_MOST;
}

/**
 * As pixels: bytes as they are, all else from the smallest element to the largest.
 * @param {Tensor} tensor
 * @returns {Promise<Picture>}
 */
async function pictureOf(tensor) {
  const isBytes = tensor.dtype === 'u8' || tensor.dtype === 'bool';
  const scaled = isBytes ? tensor.clone() : tensor.runtime.scope(() => {
    const numbers = cast(tensor, 'f32');
    const least = min(numbers);
    return realDiv(sub(numbers, least), sub(max(numbers), least));
  });
  try {
    const { data, width, height } = await toImageData(scaled);
    return { data, width, height };
  } finally {
    scaled.dispose();
  }
}

/**
 * @param {unknown} value
 * @param {string} label
 * @returns {Promise<Shown>}
 */
export async function shown(value, label) {
  if (!(value instanceof Tensor)) {
    if (value instanceof Error) return { label, type: '', text: `${value.name}: ${value.message}` };
    return { label, type: '', text: typeof value === 'string' ? value : textOf(value) };
  }
  await value.ready();
  const type = `${value.dtype}[${value.shape.join(', ')}] on ${value.device === 'webgpu' ? 'WebGPU' : 'the CPU'}`;
  const text = nestedText(await value.array());
  return maybePicture(value) ? { label, type, text, picture: await pictureOf(value) } : { label, type, text };
}

/** @param {unknown} value */
function textOf(value) {
  try {
    return JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? String(item) : item)) ?? String(value);
  } catch (error) {
    return error instanceof TandemError ? error.message : String(value);
  }
}
