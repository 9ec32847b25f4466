// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Progress on the terminal: a bar that draws over its own line, or a line for each tenth where nobody watches.

import { localeIsUtf8, terminalWidth } from './terminal.js';

/**
 * @typedef {object} Progress
 * @property {string} label  "epoch 3/10"
 * @property {number} done  at most total
 * @property {number} total  at least 1
 * @property {number} seconds  since the start
 * @property {string} text  "loss 0.231"
 */

/**
 * "950/s", "12.3k/s"
 * @param {Progress} progress
 */
function formatRate({ done, seconds }) {
  const rate = seconds > 0 ? done / seconds : 0;
  return rate >= 999.5 ? `${(rate / 1e3).toFixed(1)}k/s` : `${rate.toFixed(0)}/s`;
}

/**
 * "0:04", "1:02:03"
 * @param {number} seconds
 */
function formatDuration(seconds) {
  const whole = Math.ceil(seconds);
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/**
 * All that stands behind the bar.
 * @param {Progress} progress
 */
function formatNumbers(progress) {
  const fraction = progress.done / progress.total;
  const line = `${String(Math.floor(fraction * 100)).padStart(3)} %  ${formatRate(progress)}  ${progress.text}`;
  if (fraction >= 1) return `${line}  in ${formatDuration(progress.seconds)}`;
  return fraction <= 0 ? line : `${line}  eta ${formatDuration((progress.seconds * (1 - fraction)) / fraction)}`;
}

/**
 * @param {number} fraction
 * @param {number} columns
 * @param {boolean} unicode
 */
function drawBar(fraction, columns, unicode) {
  if (!unicode) return '#'.repeat(Math.floor(fraction * columns)).padEnd(columns, '.');
  const filled = Math.floor(fraction * columns * 8);
  return ('█'.repeat(Math.floor(filled / 8)) + ['', ...'▏▎▍▌▋▊▉'][filled % 8]).padEnd(columns);
}

/**
 * "epoch 3/10 [#####.....]  52 %  12.3k/s  loss 0.231  eta 0:04", in `width` columns or fewer. Where there is not
 * enough room the bar goes first, then the end of the line.
 * @param {Progress} progress
 * @param {number} width
 * @param {boolean} unicode
 */
function formatProgressBar(progress, width, unicode) {
  const MIN_BAR = 8;
  const MAX_BAR = 32;
  const FRAME = 5; // " [" and "]  "
  const numbers = formatNumbers(progress);
  const room = width - FRAME - progress.label.length - numbers.length;
  if (room < MIN_BAR) return `${progress.label}  ${numbers}`.slice(0, width);
  const bar = drawBar(progress.done / progress.total, Math.min(room, MAX_BAR), unicode);
  return unicode ? `${progress.label} ▕${bar}▏  ${numbers}` : `${progress.label} [${bar}]  ${numbers}`;
}

/** Draws about ten times a second on a terminal; elsewhere prints a line for each tenth done. */
export class ProgressBar {
  #label;
  #total;
  #start = performance.now();
  #lastDrawn = -Infinity;
  #tenthsPrinted = 0;
  #unicode = localeIsUtf8();

  /**
   * @param {string} label
   * @param {number} total  at least 1
   */
  constructor(label, total) {
    this.#label = label;
    this.#total = total;
  }

  /**
   * `done` of `total`; the last call, with all done, is always shown.
   * @param {number} done
   * @param {string} text
   */
  update(done, text) {
    const now = performance.now();
    const progress = { label: this.#label, done, total: this.#total, seconds: (now - this.#start) / 1e3, text };
    if (process.stdout.isTTY) {
      if (done < this.#total && now - this.#lastDrawn < 100) return;
      this.#lastDrawn = now;
      // One column is left free, since some terminals go to the next line when the last one is filled.
      const line = formatProgressBar(progress, terminalWidth() - 1, this.#unicode);
      // Back to the start; clear what is left of the line before.
      process.stdout.write(`\r${line}\x1b[K${done === this.#total ? '\n' : ''}`);
      return;
    }
    const tenths = Math.floor((done / this.#total) * 10);
    if (tenths <= this.#tenthsPrinted) return;
    this.#tenthsPrinted = tenths;
    process.stdout.write(`${progress.label}  ${formatNumbers(progress)}\n`);
  }
}
