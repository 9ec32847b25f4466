// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios with TensorFlow.js on its WebAssembly backend; the same interface as with_tandem.mjs.

import { getThreadsCount, setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';

import { calls } from './eager.mjs';
import { tfjsScenarios } from './tfjs_scenarios.mjs';

// The library takes half of the cores at most, since those of most machines are two threads of one: it is told of twice as
// many as it is to use.
async function withCores(count, fn) {
  const told = { configurable: true, value: count };
  if (globalThis.navigator) Object.defineProperty(globalThis.navigator, 'hardwareConcurrency', told);
  try {
    return await fn();
  } finally {
    // What was there is a property of the prototype.
    if (globalThis.navigator) delete globalThis.navigator.hardwareConcurrency;
  }
}

/** `env`: { tfjsPath, threads }: where the .wasm files lie, and for how many threads (in Node it has but one). */
export async function load({ tfjsPath, threads }) {
  setWasmPaths(tfjsPath);
  setThreadsCount(threads);
  await withCores(2 * threads, async () => {
    await tf.setBackend('wasm');
    await tf.ready();
  });
  const inPage = typeof window !== 'undefined';
  if (inPage && getThreadsCount() !== threads) {
    throw new Error(`expected TensorFlow.js with ${threads} threads, got ${getThreadsCount()}`);
  }
  // Kernels run within the call.
  return { name: 'tfjs-wasm', ...tfjsScenarios(calls) };
}
