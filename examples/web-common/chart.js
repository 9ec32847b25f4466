// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lines over time, such as losses, in an SVG of the class "chart".

const WIDTH = 640;
const HEIGHT = 240;
const LEFT = 44;
const BOTTOM = 30;
const TOP = 10;

/**
 * @param {string} name
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {string} [text]
 */
function make(name, attributes, text = '') {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

export class Chart {
  #svg;
  /** @type {Map<string, { color: string, points: { x: number, y: number }[] }>} */
  #lines = new Map();
  #isScheduled = false;

  /** @param {Element} svg */
  constructor(svg) {
    this.#svg = svg;
    this.#draw();
  }

  clear() {
    this.#lines.clear();
    this.#schedule();
  }

  /**
   * @param {string} name
   * @param {string} color
   * @param {{ x: number, y: number }} point
   */
  add(name, color, point) {
    const line = this.#lines.get(name) ?? { color, points: [] };
    line.points.push(point);
    this.#lines.set(name, line);
    this.#schedule();
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      this.#draw();
    });
  }

  #draw() {
    const points = [...this.#lines.values()].flatMap((line) => line.points);
    const mostX = points.reduce((most, { x }) => Math.max(most, x), 1e-3);
    const mostY = points.reduce((most, { y }) => Math.max(most, y), 1e-3) * 1.05;
    const toX = (/** @type {number} */ x) => LEFT + ((WIDTH - LEFT - 8) * x) / mostX;
    const toY = (/** @type {number} */ y) => TOP + (HEIGHT - BOTTOM - TOP) * (1 - y / mostY);
    const base = toY(0);
    const children = [
      make('line', { class: 'axis', x1: LEFT, y1: base, x2: WIDTH, y2: base }),
      make('line', { class: 'axis', x1: LEFT, y1: TOP, x2: LEFT, y2: base }),
    ];
    if (points.length > 0) {
      children.push(
        make('text', { x: LEFT - 6, y: base, 'text-anchor': 'end' }, '0'),
        make('text', { x: LEFT - 6, y: TOP + 10, 'text-anchor': 'end' }, mostY.toFixed(1)),
        make('text', { x: WIDTH - 8, y: HEIGHT - 8, 'text-anchor': 'end' }, `${mostX.toFixed(mostX < 10 ? 1 : 0)} s`),
      );
    }
    for (const { color, points: line } of this.#lines.values()) {
      const text = line.map(({ x, y }) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(' ');
      children.push(make('polyline', { points: text, style: `stroke: ${color}` }));
    }
    this.#svg.replaceChildren(...children);
  }
}
