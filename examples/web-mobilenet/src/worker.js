// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

/// <reference types="vite/client" />

// What is measured: one program of TensorFlow.js, on each backend in turn, in a worker so that the page stays usable.

import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import plainWasm from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url';
import simdWasm from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url';
import threadedWasm from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm?url';
import '@tensorflow/tfjs-backend-webgpu';
import { setRuntimeOptions } from 'tandem-rt/tfjs';

import { drawDigits } from 'digits-js/drawn-digits.js';

import { denseDigitReader, digitReader, mobileNetV2, randomValues, setRandomWeights } from './models.js';

/** @typedef {import('./messages.js').Times} Times */
/** @typedef {import('./messages.js').ToPage} ToPage */
/** @typedef {import('./messages.js').ToWorker} ToWorker */

const BATCH = 32;
const BATCHES = 20;

// One thread each, so that it is the backends that are compared.
setRuntimeOptions({ threads: 1 });
tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
// It wants to know of all three.
setWasmPaths({
  'tfjs-backend-wasm.wasm': plainWasm,
  'tfjs-backend-wasm-simd.wasm': simdWasm,
  'tfjs-backend-wasm-threaded-simd.wasm': threadedWasm,
});

/** @param {ToPage} message */
function send(message) {
  postMessage(message);
}

/** @param {readonly number[]} values */
function medianOf(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

/**
 * Classifies a picture again and again.
 * @param {ToWorker} options
 * @param {(part: number) => void} onProgress
 */
async function infer({ size, rounds }, onProgress) {
  const model = mobileNetV2(size);
  setRandomWeights(tf, model);
  const picture = tf.tensor(randomValues(size * size * 3, 77), [1, size, size, 3]);
  /** @type {number[]} */
  const times = [];
  /** @type {Float32Array} */
  let probabilities = new Float32Array();
  for (let round = 0; round <= rounds; ++round) {
    const start = performance.now();
    const result = /** @type {tf.Tensor} */ (model.predict(picture));
    probabilities = /** @type {Float32Array} */ (await result.data());
    times.push(performance.now() - start);
    result.dispose();
    onProgress((round + 1) / (rounds + 1));
  }
  picture.dispose();
  model.dispose();
  return { first: times[0], median: medianOf(times.slice(1)), probabilities };
}

/** Pictures and labels of drawn digits, in batches. */
function digitBatches() {
  const { images, labels } = drawDigits(BATCH * BATCHES, 7);
  const pixels = 28 * 28 * BATCH;
  return Array.from({ length: BATCHES }, (_, i) => tf.tidy(() => ({
    x: tf.tensor4d(Float32Array.from(images.subarray(i * pixels, (i + 1) * pixels), (ink) => ink / 255), [BATCH, 28, 28, 1]),
    y: tf.cast(tf.oneHot(tf.tensor1d(Int32Array.from(labels.subarray(i * BATCH, (i + 1) * BATCH)), 'int32'), 10), 'float32'),
  })));
}

/**
 * Trains a network, a batch a step; gives the median of the steps' times.
 * @param {import('@tensorflow/tfjs-layers').LayersModel} model
 * @param {number} steps
 * @param {(part: number) => void} onProgress
 * @param {(seconds: number, loss: number) => void} [onLoss]
 */
async function train(model, steps, onProgress, onLoss) {
  const batches = digitBatches();
  /** @type {number[]} */
  const times = [];
  let seconds = 0;
  for (let step = 0; step < steps; ++step) {
    const { x, y } = batches[step % BATCHES];
    const start = performance.now();
    const loss = /** @type {number} */ (await model.trainOnBatch(x, y));
    const time = performance.now() - start;
    times.push(time);
    seconds += time / 1000;
    onLoss?.(seconds, loss);
    onProgress((step + 1) / steps);
  }
  for (const { x, y } of batches) tf.dispose([x, y]);
  model.dispose();
  return medianOf(times.slice(Math.min(3, steps - 1)));
}

/** @param {ToWorker} options */
async function measure(options) {
  const { backends, steps } = options;
  /** @type {Float32Array | undefined} */
  let expected;
  for (const [i, backend] of backends.entries()) {
    const progress = (/** @type {number} */ begin, /** @type {string} */ what) => (/** @type {number} */ part) => {
      send({ kind: 'progress', text: `${backend}: ${what}…`, done: (i + begin + part / 3) / backends.length });
    };
    /** @type {Times} */
    const times = { backend };
    try {
      progress(0, 'starting')(0);
      if (!(await tf.setBackend(backend))) throw new Error('it could not be initialized here');
      const { first, median, probabilities } = await infer(options, progress(0, 'MobileNetV2'));
      expected ??= probabilities;
      const apart = probabilities.reduce((most, p, at) => Math.max(most, Math.abs(p - (expected?.[at] ?? NaN))), 0);
      Object.assign(times, { first, median, apart });
      send({ kind: 'times', times });
      times.dense = await train(denseDigitReader(), steps, progress(1 / 3, 'training of dense layers'));
      send({ kind: 'times', times });
      times.conv = await train(digitReader(), steps, progress(2 / 3, 'training of convolutions'),
        (seconds, loss) => send({ kind: 'loss', backend, seconds, loss }));
    } catch (error) {
      // The first sentence is enough.
      [times.reason] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    }
    send({ kind: 'times', times });
  }
  send({ kind: 'done' });
}

addEventListener('message', ({ data }) => {
  measure(/** @type {ToWorker} */ (data)).catch((error) => send({ kind: 'error', message: String(error) }));
});
