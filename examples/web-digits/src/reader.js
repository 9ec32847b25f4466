// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The reader: what the network makes of a picture, the latest one only.

import { softmax } from 'tandem-rt';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('digits-js/network.js').Network} Network */

/**
 * @typedef {object} Reading
 * @property {Float32Array} probabilities  of the digits 0 to 9
 * @property {number} milliseconds  from the picture to the probabilities
 */

/** Reads one picture at a time: a new one cancels what is left of the one before. */
export class Reader {
  #runtime;
  #network;
  /** @type {AbortController | undefined} of the reading that goes on */
  #current;

  /**
   * @param {Runtime} runtime
   * @param {Network} network
   */
  constructor(runtime, network) {
    this.#runtime = runtime;
    this.#network = network;
  }

  /** How many ops a reading calls. */
  get numOps() {
    return this.#network.forwardOps + 1;
  }

  /** Ends the reading that goes on, if any. */
  cancel() {
    this.#current?.abort();
    this.#current = undefined;
  }

  /**
   * Undefined if it was cancelled.
   * @param {Float32Array} picture  [rows, cols] in [0, 1]
   * @returns {Promise<Reading | undefined>}
   */
  async read(picture) {
    this.cancel();
    const controller = new AbortController();
    this.#current = controller;
    const start = performance.now();
    try {
      const probabilities = await this.#runtime.request({ signal: controller.signal }, async () => {
        const result = this.#runtime.scope(() =>
          softmax(this.#network.forward(this.#runtime.tensor(picture, [1, picture.length]))),
        );
        try {
          return /** @type {Float32Array} */ (await result.data());
        } finally {
          result.dispose();
        }
      });
      return controller.signal.aborted ? undefined : { probabilities, milliseconds: performance.now() - start };
    } catch (error) {
      if (controller.signal.aborted) return undefined;
      throw error;
    }
  }
}
