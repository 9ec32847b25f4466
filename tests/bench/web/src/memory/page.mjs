// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The memory scenario in a page of its own: window.runMemory(options) gives the outcome.

import * as tf from '@tensorflow/tfjs-core';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';

import { tandemResults, tfjsResults, tfjsWorks } from './results.mjs';

window.runMemory = async (options) => {
  const here = new URL('.', location.href).href;
  if (options.library === 'tandem') return tandemResults({ ...options, tandemUrl: `${here}tandem/index.js` });
  setWasmPaths(`${here}tfjs/`);
  await tf.setBackend('wasm');
  const outcome = await tfjsResults(tf, options);
  return { ...outcome, works: await tfjsWorks(tf) };
};
