// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios with TensorFlow.js on its WebAssembly backend; the same interface as with_tandem.mjs.

import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';

import { calls } from './eager.mjs';
import { tfjsScenarios } from './tfjs_scenarios.mjs';

/** `env`: { tfjsPath, threads }: where the .wasm files lie, and for how many threads. */
export async function load({ tfjsPath, threads }) {
  setWasmPaths(tfjsPath);
  setThreadsCount(threads);
  await tf.setBackend('wasm');
  await tf.ready();
  // Kernels run within the call.
  return { name: 'tfjs-wasm', ...tfjsScenarios(calls) };
}
