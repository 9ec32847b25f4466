// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of TensorFlow.js on tandem-rt/tfjs and on TensorFlow.js's own backends, in one process, in turn.
// usage: node bench.mjs [--backends LIST] [--rounds N] [--only TEXT] [--threads N]
//   LIST: of tandem, wasm, cpu; by default tandem,wasm

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle, folderOf } from './bundle.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '../../build/web/tfjs');
const { values: options } = parseArgs({
  options: {
    backends: { type: 'string', default: 'tandem,wasm' }, rounds: { type: 'string', default: '20' },
    only: { type: 'string' }, threads: { type: 'string', default: '1' },
  },
});

await mkdir(out, { recursive: true });
const file = join(out, 'bench.node.mjs');
await bundle(join(here, 'bench.js'), file, false);
const { measure, setRuntimeOptions, setWasmPaths } = await import(pathToFileURL(file).href);
setWasmPaths(`${join(folderOf('@tensorflow/tfjs-backend-wasm'), 'wasm-out')}/`);
setRuntimeOptions({ threads: Number(options.threads) });
const results = await measure({
  backends: options.backends.split(','), rounds: Number(options.rounds), only: options.only, say: console.log,
});
for (const [name, times] of Object.entries(results)) {
  const { tandem, ...others } = times;
  const best = Math.min(...Object.values(others).map((each) => each.best));
  const first = Math.min(...Object.values(others).map((each) => each.first));
  if (tandem === undefined || best === Infinity) continue;
  console.log(`${name}: tandem takes ${(tandem.best / best).toFixed(2)} of the better other, at first ` +
    (tandem.first / first).toFixed(2));
}
process.exit(0);
