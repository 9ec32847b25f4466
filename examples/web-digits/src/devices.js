// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The switch between the devices, which shows how long a reading takes on each.

import { Device } from './device.js';
import { element } from 'web-common/page.js';

const NAMES = /** @type {const} */ (['cpu', 'webgpu']);

/** @typedef {typeof NAMES[number]} Name */

/** 'change': another device was chosen. */
export class Devices extends EventTarget {
  /** @type {Partial<Record<Name, Device>>} */
  #devices = {};
  /** @type {Name} */
  #chosen = 'cpu';

  /**
   * With the CPU, and soon WebGPU if there is one; `?device=webgpu` in the page's address chooses it.
   * @param {URL} weights
   */
  static async open(weights) {
    const devices = new Devices();
    devices.#add('cpu', await Device.open('cpu', weights));
    const opening = devices.#openGpu(weights);
    if (new URLSearchParams(location.search).get('device') === 'webgpu') {
      await opening;
      devices.#choose('webgpu');
    }
    return devices;
  }

  /** The chosen one. */
  get current() {
    const device = this.#devices[this.#chosen];
    if (device === undefined) throw new Error(`expected a device ${this.#chosen}`);
    return device;
  }

  showTimes() {
    for (const name of NAMES) {
      const time = this.#devices[name]?.time;
      if (time !== undefined) element(`time-${name}`, HTMLElement).textContent = `${time.toFixed(2)} ms`;
    }
  }

  /** @param {URL} weights */
  async #openGpu(weights) {
    try {
      this.#add('webgpu', await Device.open('webgpu', weights));
    } catch (error) {
      element('time-webgpu', HTMLElement).textContent = 'not here';
      const reason = element('no-webgpu', HTMLElement);
      reason.textContent = `No WebGPU: ${error instanceof Error ? error.message : error}`;
      reason.hidden = false;
    }
  }

  /**
   * @param {Name} name
   * @param {Device} device
   */
  #add(name, device) {
    this.#devices[name] = device;
    const input = element(`on-${name}`, HTMLInputElement);
    input.disabled = false;
    input.addEventListener('change', () => this.#choose(name));
    this.showTimes();
  }

  /** @param {Name} name */
  #choose(name) {
    if (this.#devices[name] === undefined || name === this.#chosen) return;
    this.current.cancel();
    this.#chosen = name;
    element(`on-${name}`, HTMLInputElement).checked = true;
    this.dispatchEvent(new Event('change'));
  }
}
