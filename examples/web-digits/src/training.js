// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Trains a network of its own in the page, from nothing, on digits that are drawn for it, and has the page read with it
// while it learns.

import { cast, gather } from 'tandem-rt';

import { DRAWN_SIZE, drawDigits } from 'digits-js/drawn-digits.js';
import { Network } from 'digits-js/network.js';
import { picturesOf, predict } from 'digits-js/predictions.js';
import { Chart } from 'web-common/chart.js';
import { element } from 'web-common/page.js';

/** @typedef {import('./device.js').Device} Device */
/** @typedef {import('./devices.js').Devices} Devices */
/** @typedef {import('digits-js/digit-set.js').DigitSet} DigitSet */
/** @typedef {import('tandem-rt').Tensor} Tensor */

const LAYERS = 'conv3:8 pool conv3:16 pool dense:32 dense:10';
const DIGITS = 1600;
const OTHERS = 200;
const BATCH = 32;
const STEPS = 300;
/** Steps between two looks at digits that it does not learn from. */
const LOOK = 25;
const LEARNING_RATE = 4e-3;
/** Milliseconds after which the page gets its turn. */
const TURN = 30;

/** Of so many, in an order of their own for each step. @param {number} step */
function rowsOf(step) {
  // 7 has no common factor with the number of digits, so that all have been seen before one is seen again.
  return Int32Array.from({ length: BATCH }, (_, i) => ((step * BATCH + i) * 7) % DIGITS);
}

/** The buttons, the curve and the words of training. */
export class Training {
  #devices;
  #chart = new Chart(element('curve', SVGSVGElement));
  #start = element('train', HTMLButtonElement);
  #back = element('back', HTMLButtonElement);
  #words = element('learned', HTMLElement);
  #isRunning = false;
  #isStopped = false;
  /** @type {Device | undefined} that has another network than it came with */
  #changed;

  /** @param {Devices} devices */
  constructor(devices) {
    this.#devices = devices;
    this.#start.disabled = false;
    this.#start.addEventListener('click', () => {
      if (this.#isRunning) this.#isStopped = true;
      else this.#run();
    });
    this.#back.addEventListener('click', () => this.#restore());
  }

  /** Gives the page its first network back. */
  #restore() {
    this.#isStopped = true;
    this.#changed?.useNetwork(undefined);
    this.#changed = undefined;
    this.#back.hidden = true;
    this.#devices.dispatchEvent(new Event('change'));
  }

  async #run() {
    this.#restore();
    this.#isRunning = true;
    this.#isStopped = false;
    this.#start.textContent = 'Stop';
    this.#chart.clear();
    this.#words.textContent = 'Drawing digits…';
    try {
      await new Promise((resolve) => setTimeout(resolve));
      await this.#train(this.#devices.current);
    } catch (error) {
      // The network may have been given up meanwhile.
      if (!this.#isStopped) this.#words.textContent = error instanceof Error ? error.message : String(error);
    }
    this.#isRunning = false;
    this.#start.textContent = 'Train again';
  }

  /** @param {Device} device */
  async #train(device) {
    const { runtime } = device;
    const set = drawDigits(DIGITS, 1);
    const others = drawDigits(OTHERS, 2);
    const network = Network.create(runtime, LAYERS, DRAWN_SIZE, DRAWN_SIZE, 1);
    device.useNetwork(network);
    this.#changed = device;
    this.#back.hidden = false;
    this.#devices.dispatchEvent(new Event('change'));
    const pictures = picturesOf(runtime, set);
    const labels = runtime.scope(() => cast(runtime.tensor(set.labels, [set.count]), 'i32'));
    try {
      await this.#learn(device, network, pictures, labels, others);
    } finally {
      pictures.dispose();
      labels.dispose();
    }
  }

  /**
   * @param {Device} device
   * @param {Network} network
   * @param {Tensor} pictures
   * @param {Tensor} labels
   * @param {DigitSet} others  that it does not learn from
   */
  async #learn({ runtime }, network, pictures, labels, others) {
    const begin = performance.now();
    let turned = begin;
    for (let step = 0; step < STEPS && !this.#isStopped; ++step) {
      const rate = LEARNING_RATE * (1 - step / STEPS);
      const loss = runtime.scope(() => {
        const rows = runtime.tensor(rowsOf(step));
        return network.train(gather(pictures, rows, 0), gather(labels, rows, 0), rate);
      });
      const value = Number(await loss.item());
      loss.dispose();
      this.#chart.add('loss', 'var(--accent)', { x: (performance.now() - begin) / 1000, y: value });
      const isLook = (step + 1) % LOOK === 0;
      if (isLook && !this.#isStopped) {
        const { digits } = await predict(runtime, network, others, { part: 50 });
        const correct = others.labels.reduce((sum, label, i) => sum + Number(label === digits[i]), 0);
        this.#words.textContent = `Step ${step + 1} of ${STEPS} on ${runtime.device}: loss ${value.toFixed(3)}, ` +
          `${Math.round((100 * correct) / OTHERS)} % of ${OTHERS} others read rightly.`;
        // What is drawn is read anew, by what has been learned.
        this.#devices.dispatchEvent(new Event('change'));
      }
      if (performance.now() - turned > TURN) {
        await new Promise((resolve) => setTimeout(resolve));
        turned = performance.now();
      }
    }
  }
}
