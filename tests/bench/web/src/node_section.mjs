// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One section of the bench in Node: reads its options as JSON from the first argument, sends the rows to the parent.

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';

import * as ort from 'onnxruntime-web';

import { measure } from './measure.mjs';
import { load as loadHandWritten } from './with_hand_written.mjs';
import { load as loadOrt } from './with_ort.mjs';
import { load as loadTandem, loadPrograms } from './with_tandem.mjs';
import { load as loadTfjs } from './with_tfjs.mjs';

const options = JSON.parse(process.argv[2]);
const require = createRequire(import.meta.url);
const { threads } = options;
const libraries = [];
const tandemUrl = pathToFileURL(`${options.tandemDist}/index.node.js`).href;
if (options.libraries.includes('tandem')) libraries.push(await loadTandem({ tandemUrl, threads }));
if (options.libraries.includes('tandem-program')) libraries.push(await loadPrograms({ tandemUrl, threads }));
if (options.libraries.includes('tfjs-wasm')) {
  const tfjsPath = `${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`;
  libraries.push(await loadTfjs({ tfjsPath, threads }));
}
if (options.libraries.includes('ort-web')) libraries.push(await loadOrt({ ort, threads }));

if (options.libraries.includes('hand-written')) libraries.push(await loadHandWritten());

const rows = await measure(libraries, { ...options, progress: (title) => process.stderr.write(`  ${title}\n`) });
process.send(rows, () => process.exit(0));
