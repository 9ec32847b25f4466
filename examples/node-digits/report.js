// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Says how well a network reads digits: a confusion table, and pictures of what it got wrong.

import { NUM_CLASSES, imageOf } from 'digits-js/digit-set.js';

/** @typedef {import('digits-js/digit-set.js').DigitSet} DigitSet */

/** Rows and columns of a drawn picture at most. */
const MAX_ART_SIZE = 28;

/** Counts how often each digit was read as which. */
export class ConfusionTable {
  #counts = Array.from({ length: NUM_CLASSES }, () => new Array(NUM_CLASSES).fill(0));

  /**
   * Both in [0, 9].
   * @param {number} label
   * @param {number} predicted
   */
  add(label, predicted) {
    ++this.#counts[label][predicted];
  }

  get total() {
    return this.#counts.flat().reduce((sum, count) => sum + count, 0);
  }

  get correct() {
    return this.#counts.reduce((sum, row, label) => sum + row[label], 0);
  }

  /** Correct over total; 0 if nothing was added. */
  get accuracy() {
    return this.total === 0 ? 0 : this.correct / this.total;
  }

  /**
   * A row for each true digit, a column for each predicted one, and the accuracy at the end of the row ("-" for a digit
   * that did not occur); zeros are shown as dots.
   */
  toString() {
    const LABEL_COLUMNS = 7;
    const ACCURACY_COLUMNS = 11;
    const columns = Math.max(5, String(Math.max(...this.#counts.flat())).length + 2);
    const percent = (/** @type {number} */ part, /** @type {number} */ whole) =>
      (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`).padStart(ACCURACY_COLUMNS);
    const heads = this.#counts.map((_, digit) => String(digit).padStart(columns)).join('');
    const rows = this.#counts.map((row, label) => {
      const cells = row.map((count) => (count === 0 ? '.' : String(count)).padStart(columns)).join('');
      const sum = row.reduce((total, count) => total + count, 0);
      return `digit ${label}${cells}${percent(row[label], sum)}`;
    });
    return [
      `${' '.repeat(LABEL_COLUMNS + columns - 1)}read as`,
      `${' '.repeat(LABEL_COLUMNS)}${heads}${'accuracy'.padStart(ACCURACY_COLUMNS)}`,
      ...rows,
      `${'all'.padEnd(LABEL_COLUMNS + columns * NUM_CLASSES)}${percent(this.correct, this.total)}`,
      '',
    ].join('\n');
  }
}

/**
 * The darkness of a pixel of an image shrunk to at most 28x28, 0 outside: the darkest of those it stands for, so that
 * thin strokes survive.
 * @param {DigitSet} set
 * @param {number} index
 */
function shrunk(set, index) {
  const rows = Math.min(set.rows, MAX_ART_SIZE);
  const cols = Math.min(set.cols, MAX_ART_SIZE);
  const pixels = new Uint8Array(rows * cols);
  imageOf(set, index).forEach((ink, i) => {
    const y = Math.floor((Math.floor(i / set.cols) * rows) / set.rows);
    const x = Math.floor(((i % set.cols) * cols) / set.cols);
    pixels[y * cols + x] = Math.max(pixels[y * cols + x], ink);
  });
  return (/** @type {number} */ y, /** @type {number} */ x) => (y < rows && x < cols ? pixels[y * cols + x] : 0);
}

/**
 * The Braille character of the 2x4 dots at (y, x); its bits number the dots as Unicode's chart does.
 * @param {(y: number, x: number) => number} inkAt
 * @param {number} y
 * @param {number} x
 */
function brailleCell(inkAt, y, x) {
  const INK = 96;
  const DOTS = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80];
  const dots = DOTS.filter((_, i) => inkAt(y + (i >> 1), x + (i & 1)) >= INK);
  return String.fromCharCode(0x2800 + dots.reduce((sum, dot) => sum + dot, 0));
}

/**
 * A shade for the 1x2 pixels at (y, x).
 * @param {(y: number, x: number) => number} inkAt
 * @param {number} y
 * @param {number} x
 */
function shadeCell(inkAt, y, x) {
  const SHADES = ' .:-=+*#%@';
  return SHADES[Math.floor(((inkAt(y, x) + inkAt(y + 1, x)) * SHADES.length) / (2 * 255 + 1))];
}

/**
 * @param {string} text
 * @param {number} columns
 */
function centred(text, columns) {
  const before = Math.floor(Math.max(0, columns - text.length) / 2);
  return (' '.repeat(before) + text).padEnd(columns);
}

/**
 * Draws the misread digits of `set` side by side, wrapped into `width` columns, each over "5 read as 3": in Braille
 * dots if `unicode`, otherwise in ASCII shades. Images beyond 28x28 are shrunk to that.
 * @param {DigitSet} set
 * @param {readonly { index: number, predicted: number }[]} misreads
 * @param {number} width
 * @param {boolean} unicode
 */
export function drawMisreads(set, misreads, width, unicode) {
  const GAP = 2;
  const CAPTION_COLUMNS = 11;
  const cell = unicode ? { rows: 4, cols: 2, draw: brailleCell } : { rows: 2, cols: 1, draw: shadeCell };
  const rows = Math.min(set.rows, MAX_ART_SIZE);
  const cols = Math.min(set.cols, MAX_ART_SIZE);
  const artColumns = Math.ceil(cols / cell.cols);
  const columns = Math.max(artColumns, CAPTION_COLUMNS) + GAP;
  const perRow = Math.max(1, Math.floor((width + GAP) / columns));
  let out = '';
  for (let first = 0; first < misreads.length; first += perRow) {
    const shown = misreads.slice(first, first + perRow);
    const pictures = shown.map(({ index }) => shrunk(set, index));
    if (first > 0) out += '\n';
    for (let y = 0; y < rows; y += cell.rows) {
      const cells = pictures.map((inkAt) =>
        Array.from({ length: artColumns }, (_, i) => cell.draw(inkAt, y, i * cell.cols)).join('').padEnd(columns),
      );
      out += `${cells.join('').trimEnd()}\n`;
    }
    const captions = shown.map(({ index, predicted }) =>
      centred(`${set.labels[index]} read as ${predicted}`, artColumns).padEnd(columns),
    );
    out += `${captions.join('').trimEnd()}\n`;
  }
  return out;
}
