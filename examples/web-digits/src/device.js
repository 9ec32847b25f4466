// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A device that the network runs on, and how long it takes there.

import { createRuntime } from 'tandem-rt';

import { Network } from 'digits-js/network.js';

import { SIZE } from './normalize.js';
import { Reader } from './reader.js';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('./reader.js').Reading} Reading */

/** Readings that the shown time is the median of. */
const TIMED_READINGS = 32;

/** A runtime on one device, with the network. */
export class Device {
  #reader;
  #ownNetwork;
  /** @type {number[]} the last ones, in milliseconds */
  #times = [];

  /**
   * @param {Runtime} runtime
   * @param {Network} network
   */
  constructor(runtime, network) {
    this.#reader = new Reader(runtime, network);
    this.#ownNetwork = network;
    this.runtime = runtime;
    this.network = network;
  }

  /**
   * Reads with another network from now on, which is the device's then; undefined: with that of the beginning again.
   * @param {Network | undefined} network
   */
  useNetwork(network) {
    this.cancel();
    if (this.network !== this.#ownNetwork) this.network.dispose();
    this.network = network ?? this.#ownNetwork;
    this.#reader = new Reader(this.runtime, this.network);
    this.#times = [];
  }

  /**
   * Throws what the runtime says where there is no such device.
   * @param {'cpu' | 'webgpu'} name
   * @param {URL} weights
   */
  static async open(name, weights) {
    const runtime = await createRuntime({ device: name });
    const network = await Network.load(runtime, weights);
    if (network.rows !== SIZE || network.cols !== SIZE) {
      throw new Error(`expected weights for pictures of ${SIZE}x${SIZE}, got ${network.rows}x${network.cols}`);
    }
    const device = new Device(runtime, network);
    // The first reading pays for what later ones have at hand.
    const empty = new Float32Array(SIZE * SIZE);
    await device.#reader.read(empty);
    await device.read(empty);
    return device;
  }

  /** How many ops a reading calls. */
  get numOps() {
    return this.#reader.numOps;
  }

  /** The median of the last readings' times, in milliseconds. */
  get time() {
    return [...this.#times].sort((a, b) => a - b)[this.#times.length >> 1];
  }

  /** Ends the reading that goes on, if any. */
  cancel() {
    this.#reader.cancel();
  }

  /**
   * Undefined if it was cancelled.
   * @param {Float32Array} picture  [rows, cols] in [0, 1]
   */
  async read(picture) {
    const reading = await this.#reader.read(picture);
    if (reading === undefined) return undefined;
    this.#times.push(reading.milliseconds);
    if (this.#times.length > TIMED_READINGS) this.#times.shift();
    return reading;
  }

  /**
   * Saves a trace of reading this picture as a file.
   * @param {Float32Array} picture
   */
  async saveTrace(picture) {
    const { trace } = this.runtime;
    trace.clear();
    trace.start();
    try {
      await this.#reader.read(picture);
    } finally {
      trace.stop();
    }
    trace.download(`digit-${this.runtime.device}.json`);
  }
}
