// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios with TensorFlow.js on its WebGPU backend; the same interface as with_tandem.mjs.

import '@tensorflow/tfjs-backend-webgpu';
import * as tf from '@tensorflow/tfjs-core';

import { readLast } from './eager.mjs';
import { tfjsScenarios } from './tfjs_scenarios.mjs';

export async function load() {
  // By default small tensors that have not been on the device yet are computed with in JavaScript, not on the device.
  tf.env().set('WEBGPU_CPU_FORWARD', false);
  if (!(await tf.setBackend('webgpu'))) throw new Error('TensorFlow.js has no WebGPU here');
  await tf.ready();
  return { name: 'tfjs-webgpu', ...tfjsScenarios(readLast) };
}
