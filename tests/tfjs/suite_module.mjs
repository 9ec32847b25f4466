// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Makes one module of tandem-rt/tfjs with its WebAssembly in it, for other runners of TensorFlow.js's specs, which bundle
// it with their own copy of tfjs-core and import no file beside it.
// usage: node suite_module.mjs FILE

import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { dist } from './bundle.mjs';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node suite_module.mjs FILE');
await build({
  entryPoints: [join(dist, 'tfjs/index.js')],
  outfile: resolve(file),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  external: ['@tensorflow/tfjs-core'],
  alias: { 'tandem-rt': join(dist, 'static.js') },
  logLevel: 'error',
});
