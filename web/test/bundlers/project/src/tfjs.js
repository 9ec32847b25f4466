// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A program of TensorFlow.js on tandem-rt/tfjs, which reports what it computed.

import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import 'tandem-rt/tfjs';

async function compute() {
  await tf.setBackend('tandem');
  const x = tf.tensor2d([[1, 2], [3, 4]]);
  const product = tf.matMul(x, x, false, true);
  const gradient = tf.grad((at) => tf.sum(tf.square(at)))(x);
  const convolved = await tf.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([3, 3, 1, 1]), 1, 'valid').data();
  return {
    backend: tf.getBackend(),
    values: Array.from(product.dataSync()),
    gradient: Array.from(await gradient.data()),
    convolved: Array.from(convolved),
  };
}

compute().catch((error) => String(error.stack ?? error)).then((page) => globalThis.report({ end: { page } }));
