// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The answer: ten bars, the likeliest digit, and words for those who cannot see them.

import { NUM_CLASSES } from 'digits-js/digit-set.js';

import { element } from 'web-common/page.js';

/** @param {number} probability */
function percent(probability) {
  return `${Math.round(100 * probability)} %`;
}

/** The element of a row of the bars. */
function makeRow() {
  const row = document.createElement('li');
  const digit = document.createElement('span');
  const track = document.createElement('div');
  const bar = document.createElement('div');
  const text = document.createElement('span');
  track.className = 'track';
  bar.className = 'bar';
  text.className = 'percent';
  track.append(bar);
  row.append(digit, track, text);
  return { row, digit, bar, text };
}

export class Answer {
  #likeliest = element('answer', HTMLElement);
  #words = element('words', HTMLElement);
  #rows = Array.from({ length: NUM_CLASSES }, makeRow);

  constructor() {
    this.#rows.forEach(({ digit }, i) => {
      digit.textContent = String(i);
    });
    element('bars', HTMLElement).replaceChildren(...this.#rows.map(({ row }) => row));
    this.clear();
  }

  /** For an empty pad. */
  clear() {
    this.#likeliest.textContent = '?';
    this.#likeliest.className = 'empty';
    this.#words.textContent = '';
    this.#rows.forEach((_, i) => this.#showRow(i, 0, false));
  }

  /**
   * @param {Float32Array} probabilities
   * @param {boolean} isFinal  whether the pen is up: words that a screen reader speaks come only then
   */
  show(probabilities, isFinal) {
    const best = Math.max(...probabilities);
    const digit = probabilities.indexOf(best);
    this.#likeliest.textContent = String(digit);
    this.#likeliest.className = '';
    probabilities.forEach((probability, i) => this.#showRow(i, probability, i === digit));
    if (!isFinal) return;
    const certainty = best > 0.9 ? 'This is' : best > 0.5 ? 'This is probably' : 'This might be';
    this.#words.textContent = `${certainty} ${digit === 8 ? 'an' : 'a'} ${digit} (${percent(best)}).`;
  }

  /**
   * @param {number} i
   * @param {number} probability
   * @param {boolean} isLikeliest
   */
  #showRow(i, probability, isLikeliest) {
    const { row, bar, text } = this.#rows[i];
    row.classList.toggle('likeliest', isLikeliest);
    row.dataset.probability = String(probability);
    bar.style.setProperty('--probability', String(probability));
    text.textContent = percent(probability);
  }
}
