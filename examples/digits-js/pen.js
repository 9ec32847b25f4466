// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Draws straight pieces of stroke as anti-aliased ink.

/** @typedef {{ x: number, y: number }} Point  in pixels, x to the right and y down */

/**
 * @param {Point} p
 * @param {Point} a
 * @param {Point} b
 */
function distanceToSegment(p, a, b) {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length2 = dx * dx + dy * dy;
  const t = length2 > 0 ? Math.min(1, Math.max(0, ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2)) : 0;
  return Math.sqrt((a.x + t * dx - p.x) ** 2 + (a.y + t * dy - p.y) ** 2);
}

/**
 * Inks every pixel whose centre is within `radius` of the piece from `a` to `b`, fading over `softness` pixels at the
 * edge.
 * @param {Point} a
 * @param {Point} b
 * @param {number} radius
 * @param {number} softness
 * @param {Float32Array} ink  [size, size], in [0, 1]
 * @param {number} size
 */
export function inkSegment(a, b, radius, softness, ink, size) {
  const reach = radius + softness;
  const first = (/** @type {number} */ v) => Math.min(size, Math.max(0, Math.floor(v - reach)));
  const last = (/** @type {number} */ v) => Math.min(size, Math.max(0, Math.ceil(v + reach)));
  const centre = { x: 0, y: 0 };
  for (let y = first(Math.min(a.y, b.y)); y < last(Math.max(a.y, b.y)); ++y) {
    for (let x = first(Math.min(a.x, b.x)); x < last(Math.max(a.x, b.x)); ++x) {
      centre.x = x + 0.5;
      centre.y = y + 0.5;
      const covered = (radius - distanceToSegment(centre, a, b)) / softness + 0.5;
      ink[y * size + x] = Math.max(ink[y * size + x], Math.min(1, covered));
    }
  }
}
