// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The pad: takes strokes from mouse, pen, finger and keyboard, and shows them.

/** @typedef {import('./strokes.js').Point} Point */
/** @typedef {import('./strokes.js').Strokes} Strokes */

/** Of the pen, in parts of the pad's side. */
const RADIUS = 0.032;
/** How far an arrow key moves the pen, alone and with Shift. */
const STEP = 0.04;
const SMALL_STEP = 0.01;

/** @type {Readonly<Record<string, Point>>} */
const DIRECTIONS = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

/** @param {number} value */
function inPad(value) {
  return Math.min(1, Math.max(0, value));
}

export class Pad {
  #canvas;
  #strokes;
  /** @type {Point} where the keyboard's pen is */
  #pen = { x: 0.5, y: 0.2 };
  #usesKeyboard = false;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Strokes} strokes
   */
  constructor(canvas, strokes) {
    this.#canvas = canvas;
    this.#strokes = strokes;
    canvas.addEventListener('pointerdown', (event) => this.#onDown(event));
    canvas.addEventListener('pointermove', (event) => this.#onMove(event));
    for (const end of /** @type {const} */ (['pointerup', 'pointercancel'])) {
      canvas.addEventListener(end, (event) => {
        if (event.isPrimary) strokes.end();
      });
    }
    canvas.addEventListener('keydown', (event) => this.#onKey(event));
    canvas.addEventListener('blur', () => {
      this.#usesKeyboard = false;
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  /** Shows the strokes as they are now. */
  draw() {
    const side = Math.round(this.#canvas.clientWidth * devicePixelRatio);
    const context = this.#canvas.getContext('2d');
    if (context === null || side === 0) return;
    // Setting the size also clears.
    this.#canvas.width = side;
    this.#canvas.height = side;
    context.strokeStyle = getComputedStyle(this.#canvas).color;
    context.lineCap = 'round';
    context.lineJoin = 'round';
    context.lineWidth = 2 * RADIUS * side;
    for (const line of this.#strokes.lines) {
      context.beginPath();
      context.moveTo(line[0].x * side, line[0].y * side);
      for (const point of line) context.lineTo(point.x * side, point.y * side);
      context.stroke();
    }
    if (this.#usesKeyboard) this.#drawPen(context, side);
  }

  /**
   * A ring where the keyboard's pen is, thick while it is down.
   * @param {CanvasRenderingContext2D} context
   * @param {number} side
   */
  #drawPen(context, side) {
    context.lineWidth = (this.#strokes.isDown ? 0.012 : 0.005) * side;
    context.beginPath();
    context.arc(this.#pen.x * side, this.#pen.y * side, 1.4 * RADIUS * side, 0, 2 * Math.PI);
    context.stroke();
  }

  /** @param {PointerEvent} event */
  #pointAt(event) {
    const box = this.#canvas.getBoundingClientRect();
    return {
      x: inPad((event.clientX - box.left) / box.width),
      y: inPad((event.clientY - box.top) / box.height),
    };
  }

  /** @param {PointerEvent} event */
  #onDown(event) {
    if (!event.isPrimary || event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#usesKeyboard = false;
    this.#strokes.begin(this.#pointAt(event));
  }

  /** @param {PointerEvent} event */
  #onMove(event) {
    if (!event.isPrimary || !this.#canvas.hasPointerCapture(event.pointerId)) return;
    const events = event.getCoalescedEvents();
    this.#strokes.extend((events.length > 0 ? events : [event]).map((part) => this.#pointAt(part)));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const direction = DIRECTIONS[event.key];
    if (direction) {
      const step = event.shiftKey ? SMALL_STEP : STEP;
      this.#pen = { x: inPad(this.#pen.x + step * direction.x), y: inPad(this.#pen.y + step * direction.y) };
      this.#strokes.extend([this.#pen]);
    } else if (event.key === ' ') {
      if (this.#strokes.isDown) this.#strokes.end();
      else this.#strokes.begin(this.#pen);
    } else if (event.key === 'Delete' || event.key === 'Backspace' || event.key === 'Escape') {
      this.#strokes.clear();
    } else {
      return;
    }
    event.preventDefault();
    this.#usesKeyboard = true;
    this.draw();
  }
}
