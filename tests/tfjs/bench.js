// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What bench.mjs measures: programs of TensorFlow.js, each on every backend in turn, in Node or on a page.

import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import '@tensorflow/tfjs-backend-webgpu';
import * as layers from '@tensorflow/tfjs-layers';
import 'tandem-rt/tfjs';
import { setRuntimeOptions } from 'tandem-rt/tfjs';

export { setRuntimeOptions, setThreadsCount, setWasmPaths, tf };

const { conv2d, depthwiseConv2d, batchNormalization, globalAveragePooling2d, dense, add, reLU, zeroPadding2d } = layers.layers;

/** MobileNetV2 1.0 with random weights. */
function mobileNetV2(size) {
  let seed = 1;
  const init = () => layers.initializers.heNormal({ seed: seed++ });
  const input = layers.input({ shape: [size, size, 3] });
  const normal = (x) => batchNormalization({ epsilon: 1e-3, momentum: 0.999 }).apply(x);
  const relu6 = (x) => reLU({ maxValue: 6 }).apply(x);
  const pointwise = (x, filters, strides = 1, kernelSize = 1) => normal(conv2d({
    filters, kernelSize, strides, padding: 'same', useBias: false, kernelInitializer: init() }).apply(x));
  let x = relu6(pointwise(input, 32, 2, 3));
  let channels = 32;
  const blocks = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]];
  for (const [expansion, filters, repeats, stride] of blocks) {
    for (let i = 0; i < repeats; ++i) {
      const strides = i === 0 ? stride : 1;
      let y = expansion === 1 ? x : relu6(pointwise(x, channels * expansion));
      y = relu6(normal(depthwiseConv2d({
        kernelSize: 3, strides, padding: 'same', useBias: false, depthwiseInitializer: init() }).apply(y)));
      y = pointwise(y, filters);
      x = strides === 1 && channels === filters ? add().apply([x, y]) : y;
      channels = filters;
    }
  }
  x = globalAveragePooling2d({}).apply(relu6(pointwise(x, 1280)));
  const output = dense({ units: 1000, activation: 'softmax', kernelInitializer: init() }).apply(x);
  return layers.model({ inputs: input, outputs: output });
}

/** A small network that reads digits, as tutorials have it. */
function digits() {
  return layers.sequential({ layers: [
    conv2d({ inputShape: [28, 28, 1], filters: 16, kernelSize: 3, activation: 'relu' }),
    layers.layers.maxPooling2d({ poolSize: 2 }),
    conv2d({ filters: 32, kernelSize: 3, activation: 'relu' }),
    layers.layers.maxPooling2d({ poolSize: 2 }),
    layers.layers.flatten(),
    dense({ units: 64, activation: 'relu' }),
    dense({ units: 10, activation: 'softmax' }),
  ] });
}

/** The network that TensorFlow.js's own tutorial trains to read digits. */
function convnet() {
  const kernelInitializer = 'varianceScaling';
  return layers.sequential({ layers: [
    conv2d({ inputShape: [28, 28, 1], filters: 8, kernelSize: 5, activation: 'relu', kernelInitializer }),
    layers.layers.maxPooling2d({ poolSize: 2, strides: 2 }),
    conv2d({ filters: 16, kernelSize: 5, activation: 'relu', kernelInitializer }),
    layers.layers.maxPooling2d({ poolSize: 2, strides: 2 }),
    layers.layers.flatten(),
    dense({ units: 10, activation: 'softmax', kernelInitializer }),
  ] });
}

function perceptron() {
  return layers.sequential({ layers: [
    dense({ inputShape: [784], units: 256, activation: 'relu' }),
    dense({ units: 128, activation: 'relu' }),
    dense({ units: 10, activation: 'softmax' }),
  ] });
}

const labels = (count) => tf.oneHot(tf.tensor1d(Int32Array.from({ length: count }, (_, i) => i % 10), 'int32'), 10).toFloat();

async function inference(make, shape) {
  const model = make();
  const x = tf.fill(shape, 0.5);
  return async () => {
    const y = model.predict(x);
    await y.data();
    y.dispose();
  };
}

async function training(make, shape, { optimizer = 'adam' } = {}) {
  const model = make();
  model.compile({ optimizer, loss: 'categoricalCrossentropy' });
  const x = tf.fill(shape, 0.5);
  const y = model.outputs[0].shape[1] === 10 ? labels(shape[0]) : tf.zeros([shape[0], model.outputs[0].shape[1]]);
  return () => model.trainOnBatch(x, y);
}

/** Each makes what is called once for each measurement. */
export const scenarios = {
  'MobileNetV2 224, inference': () => inference(() => mobileNetV2(224), [1, 224, 224, 3]),
  'digits, inference of 32': () => inference(digits, [32, 28, 28, 1]),
  'convnet, inference of 64': () => inference(convnet, [64, 28, 28, 1]),
  'perceptron, inference of 64': () => inference(perceptron, [64, 784]),
  'digits, training step of 32': () => training(digits, [32, 28, 28, 1]),
  'convnet, training step of 64': () => training(convnet, [64, 28, 28, 1]),
  'perceptron, training step of 64': () => training(perceptron, [64, 784]),
  'MobileNetV2 96, training step of 4': () => training(() => mobileNetV2(96), [4, 96, 96, 3]),
};

// A small network takes part for so long at least, so that JavaScript is as compiled as in a program that goes on.
const LEAST_MS = 1500;

async function timeOf(run) {
  const begin = performance.now();
  await run();
  return performance.now() - begin;
}

/** The backends that can, each with what it runs and the time of its first run. */
async function begun(name, make, backends, say) {
  const begun = [];
  for (const backend of backends) {
    await tf.setBackend(backend);
    try {
      const run = await make();
      begun.push({ backend, run, first: await timeOf(run), times: [] });
    } catch (error) {
      say(`${name}: ${backend} cannot: ${error.message.split('\n')[0].slice(0, 120)}`);
    }
  }
  return begun;
}

/**
 * The first, the best and the median time of each backend, in ms, of those that can.
 * @param {{ backends: string[], rounds: number, only?: string, say: (line: string) => void }} options
 */
export async function measure({ backends, rounds, only, say }) {
  const results = {};
  for (const [name, make] of Object.entries(scenarios)) {
    if (only !== undefined && !name.includes(only)) continue;
    const each = await begun(name, make, backends, say);
    const begin = performance.now();
    for (let round = 0; round < rounds || performance.now() - begin < LEAST_MS * each.length; ++round) {
      for (const { backend, run, times } of each) {
        await tf.setBackend(backend);
        times.push(await timeOf(run));
      }
    }
    results[name] = Object.fromEntries(each.map(({ backend, first, times }) => {
      times.sort((a, b) => a - b);
      return [backend, { first, best: times[0], median: times[times.length >> 1] }];
    }));
    const ms = (value) => value.toFixed(value < 10 ? 2 : 1);
    say(`${name}: ${Object.entries(results[name]).map(([backend, { best, first, median }]) =>
      `${backend} ${ms(best)}, median ${ms(median)} (first ${ms(first)})`).join('; ')}`);
  }
  return results;
}

/**
 * What a program waits for that has just begun: how long the backend, and how long the first call takes, in ms.
 * @param {{ backend: string, name: string }} options of a scenario
 */
export async function measureFirst({ backend, name }) {
  const begin = performance.now();
  await tf.setBackend(backend);
  const ready = performance.now();
  const run = await scenarios[name]();
  const made = performance.now();
  await run();
  return { backend: ready - begin, call: performance.now() - made };
}
