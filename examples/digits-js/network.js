// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A network of layers, trained with Adam on the cross entropy, every step an op call.

import {
  loadSafetensors, mean, realDiv, reshape, saveSafetensors, sparseSoftmaxCrossEntropyWithLogits,
} from 'tandem-rt';

import { Adam } from './adam.js';
import { InputError } from './input-error.js';
import { makeLayers } from './layers.js';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('tandem-rt').Tensor} Tensor */
/** @typedef {import('./layers.js').Layer} Layer */
/** @typedef {import('./layers.js').Parameter} Parameter */

/** Rows or columns of a picture in a file at most. */
const MAX_SIDE = 4096;

/**
 * @param {ReadonlyMap<string, string>} metadata
 * @param {string} path
 * @param {string} name
 */
function findText(metadata, path, name) {
  const text = metadata.get(name);
  if (text === undefined) throw new InputError(`${path} must have '${name}' in its metadata, got none`);
  return text;
}

/**
 * @param {ReadonlyMap<string, string>} metadata
 * @param {string} path
 * @param {string} name
 */
function findSide(metadata, path, name) {
  const text = findText(metadata, path, name);
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_SIDE) return Number(text);
  throw new InputError(`${name} of ${path} must be in [1, ${MAX_SIDE}], got '${text}'`);
}

/** Owns its parameters until `dispose`. */
export class Network {
  #runtime;
  #layers;
  #adam;

  /**
   * @param {Runtime} runtime
   * @param {string} text
   * @param {number} rows
   * @param {number} cols
   * @param {Layer[]} layers
   */
  constructor(runtime, text, rows, cols, layers) {
    this.#runtime = runtime;
    this.#layers = layers;
    this.#adam = new Adam(runtime);
    /** As makeLayers reads them. */
    this.layers = text;
    this.rows = rows;
    this.cols = cols;
  }

  /**
   * For pictures of `rows` x `cols` in one channel.
   * @param {Runtime} runtime
   * @param {string} layers  as makeLayers reads them
   * @param {number} rows
   * @param {number} cols
   * @param {number} seed  an integer in [0, 2^32)
   */
  static create(runtime, layers, rows, cols, seed) {
    return new Network(runtime, layers, rows, cols, makeLayers(runtime, layers, { rows, cols, channels: 1 }, seed));
  }

  /**
   * From a file that `store` or the native example wrote, which fixes layers and size of the pictures. InputError for
   * any other, TandemError for what is no safetensors file.
   * @param {Runtime} runtime
   * @param {import('tandem-rt').SafetensorsSource} source
   */
  static async load(runtime, source) {
    const file = await loadSafetensors(runtime, source);
    try {
      return Network.#of(runtime, file);
    } finally {
      file.dispose();
    }
  }

  /**
   * @param {Runtime} runtime
   * @param {import('tandem-rt').Safetensors} file
   */
  static #of(runtime, { name: path, tensors, metadata }) {
    const layers = findText(metadata, path, 'layers');
    const rows = findSide(metadata, path, 'rows');
    const cols = findSide(metadata, path, 'cols');
    const network = Network.create(runtime, layers, rows, cols, 0);
    try {
      for (const [name, parameter] of network.#namedParameters()) {
        const stored = tensors.get(name);
        if (stored === undefined) throw new InputError(`${path} must have a tensor ${name}, got none`);
        const { shape } = parameter.value;
        if (stored.dtype !== 'f32' || String(stored.shape) !== String(shape)) {
          throw new InputError(
            `tensor ${name} of ${path} must be f32[${shape}], got ${stored.dtype}[${stored.shape}]`,
          );
        }
        parameter.value.dispose();
        parameter.value = stored.clone();
      }
    } catch (error) {
      network.dispose();
      throw error;
    }
    return network;
  }

  /**
   * Logits f32 [n, classes] of pictures f32 [n, rows * cols]. Temporary results belong to the scope around the call.
   * @param {Tensor} pictures
   */
  forward(pictures) {
    let value = reshape(pictures, [-1, this.rows, this.cols, 1]);
    for (const layer of this.#layers) value = layer.forward(value);
    return value;
  }

  /** How many ops `forward` calls. */
  get forwardOps() {
    return this.#layers.reduce((sum, layer) => sum + layer.forwardOps, 1);
  }

  /**
   * One step of Adam on a batch with labels i32 [n]; gives the mean loss, f32 [], which may still be pending.
   * @param {Tensor} pictures
   * @param {Tensor} labels
   * @param {number} learningRate
   */
  train(pictures, labels, learningRate) {
    return this.#runtime.scope(() => {
      const { loss, backprop } = sparseSoftmaxCrossEntropyWithLogits(this.forward(pictures), labels);
      // Of the mean loss rather than of each one.
      /** @type {Tensor | undefined} */
      let gradient = realDiv(backprop, labels.size);
      for (let i = this.#layers.length - 1; i >= 0 && gradient !== undefined; --i) {
        gradient = this.#layers[i].backward(gradient, i > 0);
      }
      this.#adam.step([...this.#namedParameters().values()], learningRate);
      return mean(loss, [0]);
    });
  }

  /**
   * Writes a safetensors file: layerI.weight and layerI.bias, I counting all layers from 0; layers and size of the
   * pictures are in the metadata ("layers", "rows", "cols").
   * @param {string} path
   */
  async store(path) {
    const tensors = new Map([...this.#namedParameters()].map(([name, { value }]) => [name, value]));
    const metadata = { layers: this.layers, rows: `${this.rows}`, cols: `${this.cols}` };
    await saveSafetensors(tensors, { metadata, path });
  }

  get numParameters() {
    return [...this.#namedParameters().values()].reduce((sum, { value }) => sum + value.size, 0);
  }

  /** Of the last layer. */
  get numClasses() {
    return this.#layers[this.#layers.length - 1].parameters[1].value.size;
  }

  dispose() {
    for (const { value } of this.#namedParameters().values()) value.dispose();
    this.#adam.dispose();
  }

  /** @returns {Map<string, Parameter>} */
  #namedParameters() {
    return new Map(
      this.#layers.flatMap(({ parameters }, i) =>
        parameters.map((parameter) => /** @type {const} */ ([`layer${i}.${parameter.name}`, parameter])),
      ),
    );
  }
}
