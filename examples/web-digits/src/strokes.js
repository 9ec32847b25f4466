// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Strokes: what was drawn, as lines of points.

/** @typedef {{ x: number, y: number }} Point  in parts of the pad's side, x to the right and y down */

/** Dispatches `change` whenever a line was begun or went on, or all were cleared, and `lift` when a line ended. */
export class Strokes extends EventTarget {
  /** @type {Point[][]} */
  #lines = [];
  #isDown = false;

  /** @returns {readonly (readonly Point[])[]} */
  get lines() {
    return this.#lines;
  }

  get isEmpty() {
    return this.#lines.length === 0;
  }

  /** Whether the pen is on the paper. */
  get isDown() {
    return this.#isDown;
  }

  /** @param {Point} point */
  begin(point) {
    this.#isDown = true;
    this.#lines.push([point]);
    this.dispatchEvent(new Event('change'));
  }

  /**
   * Goes on to `points`; without effect while the pen is up.
   * @param {readonly Point[]} points
   */
  extend(points) {
    if (!this.#isDown) return;
    this.#lines.at(-1)?.push(...points);
    this.dispatchEvent(new Event('change'));
  }

  end() {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.dispatchEvent(new Event('lift'));
  }

  clear() {
    this.#lines = [];
    this.#isDown = false;
    this.dispatchEvent(new Event('change'));
  }
}
