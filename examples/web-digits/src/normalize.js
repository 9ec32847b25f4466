// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Strokes as MNIST has its digits: of one size, and in the middle.

import { inkSegment } from 'digits-js/pen.js';

/** @typedef {import('./strokes.js').Point} Point */

/** Rows and columns of the picture. */
export const SIZE = 28;
/** The larger side of the digit in it, as in MNIST. */
const INK_SIZE = 20;
/** Of the pen, in pixels, whatever pen it was drawn with. */
const RADIUS = 1.5;
const SOFTNESS = 1.2;
/** A drawing smaller than this part of the pad stays small: a dot is not a blot. */
const SMALLEST = 0.12;

/** @param {readonly number[]} values */
function rangeOf(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return { middle: (low + high) / 2, size: high - low };
}

/** @param {readonly (readonly Point[])[]} lines  in pixels */
function render(lines) {
  const ink = new Float32Array(SIZE * SIZE);
  for (const line of lines) {
    inkSegment(line[0], line[0], RADIUS, SOFTNESS, ink, SIZE);
    for (let i = 0; i + 1 < line.length; ++i) inkSegment(line[i], line[i + 1], RADIUS, SOFTNESS, ink, SIZE);
  }
  return ink;
}

/**
 * How far the centre of mass is from the middle, in pixels.
 * @param {Float32Array} ink
 */
function offCentre(ink) {
  let sum = 0;
  let x = 0;
  let y = 0;
  ink.forEach((value, i) => {
    sum += value;
    x += value * ((i % SIZE) + 0.5);
    y += value * (Math.floor(i / SIZE) + 0.5);
  });
  return { x: x / sum - SIZE / 2, y: y / sum - SIZE / 2 };
}

/**
 * Ink f32 [SIZE, SIZE] in [0, 1]: the drawing scaled so that its larger side has INK_SIZE pixels, its proportions kept,
 * and shifted so that its centre of mass is in the middle (Y. LeCun et al., "Gradient-Based Learning Applied to
 * Document Recognition", 1998, III.A). The lines are scaled and drawn anew, so that a small digit is not a fat one.
 * @param {readonly (readonly Point[])[]} lines  in parts of the pad's side; at least one, none of them empty
 */
export function normalize(lines) {
  const points = lines.flat();
  const x = rangeOf(points.map((point) => point.x));
  const y = rangeOf(points.map((point) => point.y));
  const scale = (INK_SIZE - 2 * RADIUS) / Math.max(x.size, y.size, SMALLEST);
  const moved = (/** @type {Point} */ shift) =>
    lines.map((line) =>
      line.map((point) => ({
        x: (point.x - x.middle) * scale + SIZE / 2 - shift.x,
        y: (point.y - y.middle) * scale + SIZE / 2 - shift.y,
      })),
    );
  return render(moved(offCentre(render(moved({ x: 0, y: 0 })))));
}
