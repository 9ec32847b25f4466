// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The memory scenario in a Node process of its own: options as JSON in the first argument, outcome to the parent.

import * as tf from '@tensorflow/tfjs-core';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';

import { tandemResults, tfjsResults, tfjsWorks } from './results.mjs';

const options = JSON.parse(process.argv[2]);
const peak = () => process.resourceUsage().maxRSS * 1024;
const told = (made) => process.send({ made, peak: peak() });

let outcome;
if (options.library === 'tandem') {
  const tandemUrl = pathToFileURL(`${options.tandemDist}/index.node.js`).href;
  outcome = await tandemResults({ ...options, tandemUrl }, told);
} else {
  setWasmPaths(`${dirname(createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm'))}/`);
  await tf.setBackend('wasm');
  outcome = await tfjsResults(tf, options, told);
  outcome.works = await tfjsWorks(tf);
}
process.send({ ...outcome, peak: peak(), ended: true }, () => process.exit(0));
