// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Draws handwritten-looking digits, so that the example has something to learn where MNIST is not at hand.

import { NUM_CLASSES } from './digit-set.js';
import { Pcg32 } from './pcg32.js';
import { inkSegment } from './pen.js';

/** @typedef {import('./digit-set.js').DigitSet} DigitSet */
/** @typedef {import('./pen.js').Point} Point */

/** Rows and columns of a drawn picture. */
export const DRAWN_SIZE = 28;

/**
 * Ways to write each digit. Each stroke is a run of knots "x,y" in percent of a box, x to the right and y down. The pen
 * passes through the knots on a smooth curve, but turns sharply at a knot marked '!'. Strokes are separated by ';'.
 */
const STYLES = [
  [
    '54,4 26,14 11,48 24,86 52,97 80,82 90,48 76,14 50,4',
    '62,6 36,18 22,54 34,90 56,94 75,62 77,26 62,7 44,12',
    '40,10 16,34 14,68 40,94 72,86 86,54 72,18 44,6 30,16',
  ],
  ['50,3! 50,97!', '30,24! 54,4! 53,97!', '56,3 50,50 46,97', '32,22! 52,4! 52,95!; 28,96! 76,96!'],
  [
    '14,26 28,8 54,3 78,15 80,36 58,62 14,95! 88,94!',
    '16,24 34,6 64,6 80,26 68,52 40,78 20,92 14,80 30,75 56,90 90,88',
    '18,18 42,4 74,12 72,40 46,68 16,94! 50,90 88,95',
  ],
  [
    '16,14 44,3 74,14 72,38 42,48! 78,58 84,82 52,97 14,86',
    '14,6! 80,5! 44,42! 78,54 86,78 54,97 12,88',
    '20,18 46,4 72,18 64,40 42,47 72,57 78,82 46,97 16,84',
  ],
  [
    '24,4! 14,56! 88,55!; 66,8! 63,97!',
    '62,97! 63,3! 10,66! 92,66!',
    '22,6 16,36 30,54 60,52 82,40; 78,5 70,50 66,97',
  ],
  [
    '82,5! 28,5! 21,45! 50,38 80,54 80,84 46,97 12,88',
    '28,6! 22,46! 56,40 82,60 70,90 36,97 12,86; 28,6! 86,4!',
    '80,8 46,5 26,20 30,42 60,50 80,70 60,94 16,92',
  ],
  [
    '70,4 36,26 14,60 24,90 54,97 80,80 72,57 44,53 18,72',
    '56,3 32,38 18,74 36,96 66,92 76,70 54,56 24,70',
    '78,12 52,4 26,26 12,62 30,94 62,95 82,74 62,54 32,60 16,78',
  ],
  ['12,6! 86,6! 40,97!', '12,8! 86,6! 42,97!; 30,50! 78,47!', '14,22! 16,7! 86,7! 56,48 46,97'],
  [
    '76,16 50,3 24,16 32,38 66,56 82,78 50,97 18,80 34,56 66,38 78,16',
    '50,47 24,28 48,3 76,26 50,47!; 50,47 15,72 50,97 86,72 50,47!',
    '70,10 40,6 28,28 54,48 74,72 52,96 28,80 44,52 70,28 66,8',
  ],
  [
    '78,22 50,4 20,22 28,48 60,46 78,22! 75,60 66,97',
    '80,26 54,4 22,20 28,50 62,46 80,10! 76,97!',
    '80,22 50,4 20,24 32,50 64,46 82,20! 84,58 64,92 28,94',
  ],
];

/** @typedef {{ x: number, y: number, isCorner: boolean }} Knot  in parts of the box */

/** @type {readonly (readonly (readonly Knot[])[])[][]} for each digit its styles, of strokes */
const PARSED_STYLES = STYLES.map((styles) => styles.map((text) => text.split('; ').map(parseStroke)));

/** @param {string} text */
function parseStroke(text) {
  return text.split(' ').map((knot) => {
    const [x, y] = knot.replace('!', '').split(',').map(Number);
    return { x: x / 100, y: y / 100, isCorner: knot.endsWith('!') };
  });
}

/**
 * The uniform Catmull-Rom curve (E. Catmull, R. Rom, 1974) from b to c, at t in [0, 1].
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 * @param {number} t
 */
function catmullRom(a, b, c, d, t) {
  return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

/**
 * The stroke as short straight pieces.
 * @param {readonly Knot[]} knots
 */
function smoothed(knots) {
  const STEPS = 7;
  /** @type {Point[]} */
  const points = [{ x: knots[0].x, y: knots[0].y }];
  for (let i = 0; i + 1 < knots.length; ++i) {
    // A corner is an end of the curve on both its sides.
    const b = knots[i];
    const c = knots[i + 1];
    const a = i === 0 || b.isCorner ? b : knots[i - 1];
    const d = i + 2 === knots.length || c.isCorner ? c : knots[i + 2];
    for (let step = 1; step <= STEPS; ++step) {
      const t = step / STEPS;
      points.push({ x: catmullRom(a.x, b.x, c.x, d.x, t), y: catmullRom(a.y, b.y, c.y, d.y, t) });
    }
  }
  return points;
}

/**
 * Each knot moved a little, as a hand would.
 * @param {readonly (readonly Knot[])[]} strokes
 * @param {Pcg32} random
 */
function drawStrokes(strokes, random) {
  const wobble = random.uniform(0.01, 0.035);
  return strokes.map((knots) =>
    smoothed(
      knots.map(({ x, y, isCorner }) => ({ x: x + random.normal(wobble), y: y + random.normal(wobble), isCorner })),
    ),
  );
}

/**
 * A slow wave of displacement over the box.
 * @param {Pcg32} random
 */
function drawWave(random) {
  const fx = random.uniform(-0.9, 0.9);
  const fy = random.uniform(-0.9, 0.9);
  const phase = random.uniform(0, 1);
  const amplitude = random.uniform(0, 0.06);
  return (/** @type {Point} */ p) => amplitude * Math.sin(2 * Math.PI * (fx * p.x + fy * p.y + phase));
}

/**
 * Bends the drawing (elastic distortion), then turns, slants, scales and shifts it from the box into pixels.
 * @param {readonly Point[][]} strokes  changed in place
 * @param {Pcg32} random
 */
function distort(strokes, random) {
  const bendX = drawWave(random);
  const bendY = drawWave(random);
  const bendX2 = drawWave(random);
  const bendY2 = drawWave(random);
  const angle = random.normal(0.12);
  const slant = 0.12 + random.normal(0.18);
  const height = 20 * random.uniform(0.78, 1.06);
  const width = height * random.uniform(0.6, 0.95);
  const cosine = Math.cos(angle);
  const sine = Math.sin(angle);
  const points = strokes.flat();
  for (const p of points) {
    const y = (p.y + bendY(p) + bendY2(p) - 0.5) * height;
    const x = (p.x + bendX(p) + bendX2(p) - 0.5) * width - slant * y;
    p.x = x * cosine - y * sine;
    p.y = x * sine + y * cosine;
  }
  // As in MNIST the digit lies near the middle, wherever its style put it in the box.
  const middle = (/** @type {number[]} */ values) => (Math.min(...values) + Math.max(...values)) / 2;
  const shiftX = DRAWN_SIZE / 2 - middle(points.map((p) => p.x)) + random.normal(0.9);
  const shiftY = DRAWN_SIZE / 2 - middle(points.map((p) => p.y)) + random.normal(0.9);
  for (const p of points) {
    p.x += shiftX;
    p.y += shiftY;
  }
}

/**
 * @param {readonly Point[][]} strokes
 * @param {Pcg32} random
 * @param {Uint8Array} image  [DRAWN_SIZE, DRAWN_SIZE]
 */
function render(strokes, random, image) {
  const ink = new Float32Array(DRAWN_SIZE * DRAWN_SIZE);
  const radius = random.uniform(0.75, 1.75);
  const taper = random.uniform(-0.25, 0.25); // how much wider the pen ends than it starts
  const softness = random.uniform(0.9, 1.5);
  for (const stroke of strokes) {
    for (let i = 0; i + 1 < stroke.length; ++i) {
      const along = i / stroke.length - 0.5;
      inkSegment(stroke[i], stroke[i + 1], radius * (1 + taper * along), softness, ink, DRAWN_SIZE);
    }
  }
  const darkness = random.uniform(205, 255);
  for (let i = 0; i < ink.length; ++i) {
    const noise = random.normal(3 + 9 * ink[i]);
    image[i] = Math.min(255, Math.max(0, ink[i] * darkness + noise));
  }
}

/**
 * `count` images of 28x28: each digit as often as the others (to within one), in random order, in one of several ways
 * to write it, with strokes that are bent, slanted, turned, scaled, shifted, of varying width and slightly noisy. The
 * same seed gives the same set as the native example's, up to rounding; sets of different seeds share nothing but the
 * hand that writes.
 * @param {number} count
 * @param {number} seed  an integer in [0, 2^53)
 * @returns {DigitSet}
 */
export function drawDigits(count, seed) {
  const pixels = DRAWN_SIZE * DRAWN_SIZE;
  const labels = Uint8Array.from({ length: count }, (_, i) => i % NUM_CLASSES);
  const images = new Uint8Array(count * pixels);
  const order = new Pcg32(seed, 0);
  for (let i = count; i > 1; --i) {
    const j = order.below(i);
    [labels[i - 1], labels[j]] = [labels[j], labels[i - 1]];
  }
  for (let i = 0; i < count; ++i) {
    const random = new Pcg32(seed, i + 1);
    const styles = PARSED_STYLES[labels[i]];
    const strokes = drawStrokes(styles[random.below(styles.length)], random);
    distort(strokes, random);
    render(strokes, random, images.subarray(i * pixels, (i + 1) * pixels));
  }
  return { count, rows: DRAWN_SIZE, cols: DRAWN_SIZE, images, labels };
}
