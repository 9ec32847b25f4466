// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The test on MNIST's digits, from files that the user chooses or from an address.

import { imageOf } from 'digits-js/digit-set.js';
import { readDigits } from 'digits-js/idx.js';
import { InputError } from 'digits-js/input-error.js';
import { formatPredictions, predict } from 'digits-js/predictions.js';

import { element, showInk } from 'web-common/page.js';

/** @typedef {import('digits-js/digit-set.js').DigitSet} DigitSet */
/** @typedef {import('digits-js/idx.js').NamedBytes} NamedBytes */
/** @typedef {import('digits-js/predictions.js').Predictions} Predictions */
/** @typedef {import('./devices.js').Devices} Devices */

const IMAGES = 't10k-images-idx3-ubyte';
const LABELS = 't10k-labels-idx1-ubyte';
/** Pictures at a time: few, so that the page stays quick meanwhile. */
const PART = 20;
const SHOWN_MISREADS = 12;

/**
 * @param {string} folder
 * @param {string} name
 * @returns {Promise<NamedBytes>}
 */
async function fetchFile(folder, name) {
  const base = new URL(folder.endsWith('/') ? folder : `${folder}/`, location.href);
  for (const candidate of [name, `${name}.gz`]) {
    const url = new URL(candidate, base);
    const response = await fetch(url);
    // Some servers answer with a page of their own where there is no such file.
    if (!response.ok || response.headers.get('content-type')?.startsWith('text/html')) continue;
    return { name: url.href, bytes: new Uint8Array(await response.arrayBuffer()) };
  }
  throw new InputError(`${base}: expected a file ${name} or ${name}.gz, got neither`);
}

/**
 * @param {readonly File[]} files
 * @param {string} part  of the name
 * @returns {Promise<NamedBytes>}
 */
async function chosenFile(files, part) {
  const file = files.find(({ name }) => name.includes(part));
  if (file === undefined) {
    const names = files.map(({ name }) => name).join(', ');
    throw new InputError(`expected a file with '${part}' in its name, got ${names || 'none'}`);
  }
  return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
}

/** @param {DigitSet} set @param {Predictions} predictions */
function showMisreads(set, { digits }) {
  const wrong = Array.from(digits.keys()).filter((i) => digits[i] !== set.labels[i]);
  const items = wrong.slice(0, SHOWN_MISREADS).map((i) => {
    const item = document.createElement('li');
    const canvas = document.createElement('canvas');
    canvas.width = set.cols;
    canvas.height = set.rows;
    item.append(canvas, `${set.labels[i]} read as ${digits[i]}`);
    return { item, canvas, i };
  });
  element('misread', HTMLElement).replaceChildren(...items.map(({ item }) => item));
  for (const { canvas, i } of items) showInk(canvas, imageOf(set, i), 255);
  return wrong.length;
}

/** Runs the test, on the device that is chosen then, when there are files. */
export class MnistTest {
  #devices;
  #input = element('files', HTMLInputElement);
  #progress = element('progress', HTMLProgressElement);
  #result = element('result', HTMLElement);
  #link = element('predictions', HTMLAnchorElement);

  /** @param {Devices} devices */
  constructor(devices) {
    this.#devices = devices;
    this.#input.addEventListener('change', () => {
      const files = [...(this.#input.files ?? [])];
      if (files.length === 0) return;
      this.#run(async () => [await chosenFile(files, 'images'), await chosenFile(files, 'labels')]);
    });
    const folder = new URLSearchParams(location.search).get('data');
    if (folder !== null) {
      element('mnist', HTMLDetailsElement).open = true;
      this.#run(async () => [await fetchFile(folder, IMAGES), await fetchFile(folder, LABELS)]);
    }
  }

  /** @param {() => Promise<[NamedBytes, NamedBytes]>} findFiles */
  async #run(findFiles) {
    this.#input.disabled = true;
    this.#link.hidden = true;
    this.#result.textContent = '';
    this.#progress.value = 0;
    this.#progress.hidden = false;
    try {
      const set = await readDigits(...(await findFiles()));
      await this.#test(set);
    } catch (error) {
      this.#result.textContent = error instanceof Error ? error.message : String(error);
    }
    this.#progress.hidden = true;
    this.#input.disabled = false;
  }

  /** @param {DigitSet} set */
  async #test(set) {
    const { runtime, network } = this.#devices.current;
    const { rows, cols } = network;
    if (set.rows !== rows || set.cols !== cols) {
      throw new InputError(`expected pictures of ${rows}x${cols}, got ${set.rows}x${set.cols}`);
    }
    const start = performance.now();
    const predictions = await predict(runtime, network, set, {
      part: PART,
      onProgress: (done) => {
        this.#progress.value = done / set.count;
      },
    });
    const seconds = (performance.now() - start) / 1e3;
    const correct = set.count - showMisreads(set, predictions);
    this.#result.textContent =
      `${((100 * correct) / set.count).toFixed(2)} % read rightly (${correct} of ${set.count}), ` +
      `${(set.count / seconds).toFixed(0)} digits/s on ${runtime.device}`;
    URL.revokeObjectURL(this.#link.href);
    this.#link.href = URL.createObjectURL(new Blob([formatPredictions(set, predictions)], { type: 'text/csv' }));
    this.#link.hidden = false;
  }
}
