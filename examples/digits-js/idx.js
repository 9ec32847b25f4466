// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads digits in MNIST's IDX format, plain or packed with gzip, in Node and in browsers.

import { NUM_CLASSES } from './digit-set.js';
import { InputError } from './input-error.js';

/** @typedef {import('./digit-set.js').DigitSet} DigitSet */
/** @typedef {{ name: string, bytes: Uint8Array<ArrayBuffer> }} NamedBytes  a file's content and what errors call it */

const TYPE_U8 = 0x08;

/**
 * Unpacked bytes one after another. Whether a file is packed is decided by its first bytes, which no IDX file shares.
 */
class ByteSource {
  #name;
  #isGzip;
  #reader;
  /** @type {Uint8Array} what came and was not read yet */
  #rest = new Uint8Array();
  #offset = 0;

  /** @param {NamedBytes} file */
  constructor({ name, bytes }) {
    this.#name = name;
    this.#isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const stream = new Blob([bytes]).stream();
    this.#reader = (this.#isGzip ? stream.pipeThrough(new DecompressionStream('gzip')) : stream).getReader();
  }

  /**
   * The next `size` bytes, fewer at the end of the data.
   * @param {number} size
   */
  async read(size) {
    /** @type {Uint8Array[]} */
    const parts = [];
    let missing = size;
    while (missing > 0) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#refill();
        if (done) break;
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    // Sized by what came, not by what a damaged header promises.
    const all = new Uint8Array(size - missing);
    let end = 0;
    for (const part of parts) {
      all.set(part, end);
      end += part.length;
    }
    this.#offset += end;
    return all;
  }

  async #refill() {
    try {
      return await this.#reader.read();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new InputError(`${this.#name}: expected gzip data that can be unpacked, got: ${reason}`);
    }
  }

  /** Ends an unpacking that nobody wants to see the rest of. */
  async close() {
    await this.#reader.cancel().catch(() => {});
  }

  /**
   * @param {number} offset
   * @param {string} text
   */
  errorAt(offset, text) {
    return new InputError(`${this.#name}: byte ${offset}${this.#isGzip ? ' of the unpacked data' : ''}: ${text}`);
  }

  /** How many bytes were read. */
  get offset() {
    return this.#offset;
  }
}

/**
 * @param {ByteSource} source
 * @param {number} rank
 */
async function readDimensions(source, rank) {
  const size = 4 + 4 * rank;
  const header = await source.read(size);
  if (header.length < size) {
    const got = header.length;
    throw source.errorAt(got, `expected ${size} bytes of header, got ${got} and the end of the file`);
  }
  for (const i of [0, 1]) {
    if (header[i] !== 0) throw source.errorAt(i, `expected 0, as every IDX file starts, got ${header[i]}`);
  }
  if (header[2] !== TYPE_U8) throw source.errorAt(2, `expected element type ${TYPE_U8} (u8), got ${header[2]}`);
  if (header[3] !== rank) throw source.errorAt(3, `expected ${rank} dimensions, got ${header[3]}`);
  const view = new DataView(header.buffer);
  return Array.from({ length: rank }, (_, i) => {
    const dim = view.getUint32(4 + 4 * i);
    if (dim === 0) throw source.errorAt(4 + 4 * i, `expected dimension ${i} of at least 1, got 0`);
    return dim;
  });
}

/**
 * Reads a whole u8 IDX file of `rank` dimensions, none of them 0. Takes no more memory than the file unpacks to, and
 * unpacks no more than its dimensions say.
 * @param {NamedBytes} file
 * @param {number} rank
 */
async function readIdx(file, rank) {
  const source = new ByteSource(file);
  try {
    const dims = await readDimensions(source, rank);
    const size = dims.reduce((product, dim) => product * dim, 1);
    const start = source.offset;
    const data = await source.read(size);
    if (data.length !== size) {
      throw source.errorAt(source.offset, `expected ${size} elements, got ${data.length} and the end of the data`);
    }
    // Reading on also makes gzip compare its checksum.
    if ((await source.read(1)).length > 0) {
      throw source.errorAt(start + size, `expected the end of the data after ${size} elements, got more`);
    }
    return { dims, data };
  } finally {
    await source.close();
  }
}

/**
 * Digits from images u8 [n, rows, cols] with no dimension 0, and labels u8 [n] in [0, 9]. Trusts nothing in the files:
 * an InputError names the file, the byte, what was expected and what was given.
 * @param {NamedBytes} imagesFile
 * @param {NamedBytes} labelsFile
 * @returns {Promise<DigitSet>}
 */
export async function readDigits(imagesFile, labelsFile) {
  const images = await readIdx(imagesFile, 3);
  const labels = await readIdx(labelsFile, 1);
  const [count, rows, cols] = images.dims;
  if (labels.dims[0] !== count) {
    throw new InputError(
      `${labelsFile.name}: byte 4: expected ${count} labels, one for each image of ${imagesFile.name}, ` +
        `got ${labels.dims[0]}`,
    );
  }
  const wrong = labels.data.findIndex((label) => label >= NUM_CLASSES);
  if (wrong >= 0) {
    throw new InputError(
      `${labelsFile.name}: byte ${8 + wrong}: expected a label from 0 to 9, got ${labels.data[wrong]}`,
    );
  }
  return { count, rows, cols, images: images.data, labels: labels.data };
}
