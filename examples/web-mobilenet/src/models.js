// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The networks, made of layers of TensorFlow.js.

import * as layers from '@tensorflow/tfjs-layers';

/** @typedef {import('@tensorflow/tfjs-layers').LayersModel} LayersModel */
/** @typedef {import('@tensorflow/tfjs-layers').SymbolicTensor} SymbolicTensor */

const {
  add, batchNormalization, conv2d, dense, depthwiseConv2d, flatten, globalAveragePooling2d, maxPooling2d, reLU,
} = layers.layers;

/** Expansion, filters, repeats and first stride of each group of blocks. */
const BLOCKS = [
  [1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1],
];

/**
 * MobileNetV2 of width 1.0 with its 1,000 classes, for pictures [size, size, 3]. Its weights are zeros, until
 * `setRandomWeights`.
 * @param {number} size  a multiple of 32
 * @returns {LayersModel}
 */
export function mobileNetV2(size) {
  /** @typedef {SymbolicTensor} T */
  const zeros = /** @type {const} */ ('zeros');
  const normal = (/** @type {T} */ x) => /** @type {T} */ (batchNormalization({ epsilon: 1e-3 }).apply(x));
  const relu6 = (/** @type {T} */ x) => /** @type {T} */ (reLU({ maxValue: 6 }).apply(x));
  const conv = (/** @type {T} */ x, /** @type {number} */ filters, kernelSize = 1, strides = 1) => normal(
    /** @type {T} */ (conv2d({ filters, kernelSize, strides, padding: 'same', useBias: false, kernelInitializer: zeros })
      .apply(x)));
  const depthwise = (/** @type {T} */ x, /** @type {number} */ strides) => normal(
    /** @type {T} */ (depthwiseConv2d({ kernelSize: 3, strides, padding: 'same', useBias: false,
      depthwiseInitializer: zeros }).apply(x)));

  const input = layers.input({ shape: [size, size, 3] });
  let x = relu6(conv(input, 32, 3, 2));
  let channels = 32;
  for (const [expansion, filters, repeats, stride] of BLOCKS) {
    for (let i = 0; i < repeats; ++i) {
      const strides = i === 0 ? stride : 1;
      const wide = expansion === 1 ? x : relu6(conv(x, channels * expansion));
      const y = conv(relu6(depthwise(wide, strides)), filters);
      x = strides === 1 && channels === filters ? /** @type {T} */ (add().apply([x, y])) : y;
      channels = filters;
    }
  }
  const pooled = /** @type {T} */ (globalAveragePooling2d({}).apply(relu6(conv(x, 1280))));
  const output = dense({ units: 1000, activation: 'softmax', kernelInitializer: zeros }).apply(pooled);
  return layers.model({ inputs: input, outputs: /** @type {T} */ (output) });
}

/**
 * A small network that reads digits [28, 28, 1].
 * @returns {LayersModel}
 */
export function digitReader() {
  let seed = 1;
  const kernelInitializer = () => layers.initializers.glorotUniform({ seed: seed++ });
  const model = layers.sequential({ layers: [
    conv2d({ inputShape: [28, 28, 1], filters: 16, kernelSize: 3, activation: 'relu', kernelInitializer: kernelInitializer() }),
    maxPooling2d({ poolSize: 2 }),
    conv2d({ filters: 32, kernelSize: 3, activation: 'relu', kernelInitializer: kernelInitializer() }),
    maxPooling2d({ poolSize: 2 }),
    flatten(),
    dense({ units: 64, activation: 'relu', kernelInitializer: kernelInitializer() }),
    dense({ units: 10, activation: 'softmax', kernelInitializer: kernelInitializer() }),
  ] });
  model.compile({ optimizer: 'adam', loss: 'categoricalCrossentropy' });
  return model;
}

/**
 * One of dense layers alone, which every backend can train.
 * @returns {LayersModel}
 */
export function denseDigitReader() {
  let seed = 1;
  const layer = (/** @type {number} */ units, /** @type {'relu' | 'softmax'} */ activation) => (
    dense({ units, activation, kernelInitializer: layers.initializers.glorotUniform({ seed: seed++ }) }));
  const model = layers.sequential({ layers: [
    flatten({ inputShape: [28, 28, 1] }), layer(256, 'relu'), layer(128, 'relu'), layer(10, 'softmax'),
  ] });
  model.compile({ optimizer: 'adam', loss: 'categoricalCrossentropy' });
  return model;
}

/**
 * Numbers in [-1, 1), the same ones each time.
 * @param {number} length
 * @param {number} seed  an integer above 0
 */
export function randomValues(length, seed) {
  const values = new Float32Array(length);
  // G. Marsaglia, "Xorshift RNGs", 2003.
  let state = (seed * 2654435761) | 1;
  for (let i = 0; i < length; ++i) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[i] = state / 2 ** 31;
  }
  return values;
}

/**
 * Gives a network that has zeros random weights, the same ones each time, of a size that keeps activations about as
 * large from layer to layer. What normalizes batches stays as it is.
 * @param {typeof import('@tensorflow/tfjs-core')} tf
 * @param {LayersModel} model
 */
export function setRandomWeights(tf, model) {
  const before = model.getWeights();
  const after = before.map((weight, i) => {
    const isKernel = weight.shape.length === 4 || weight.shape.length === 2;
    if (!isKernel) return weight;
    const [rows, columns, depth = 1] = weight.shape;
    // A depthwise one has a fourth dimension of 1, and sums over its window alone.
    const terms = weight.shape.length === 2 ? rows : weight.shape[3] === 1 ? rows * columns : rows * columns * depth;
    const scale = Math.sqrt(6 / terms);
    return tf.tensor(randomValues(weight.size, i + 1).map((value) => value * scale), weight.shape);
  });
  model.setWeights(after);
  after.forEach((weight, i) => {
    if (weight !== before[i]) weight.dispose();
  });
}
