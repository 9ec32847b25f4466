// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The tests of tfjs-layers and tfjs-converter, which are in TensorFlow.js's repository alone, over a backend, in Node.
// usage: node source_specs.mjs CHECKOUT [--package layers|converter] [--backend tandem|cpu|wasm] [--list]
//   CHECKOUT: a folder with tfjs-layers/src, tfjs-converter/src and tfjs-converter/python of the version that is installed
//   --list prints what fails

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle, folderOf } from './bundle.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '../../build/web/tfjs');
const { positionals: [checkout], values: options } = parseArgs({
  allowPositionals: true,
  options: {
    package: { type: 'string', default: 'layers' }, backend: { type: 'string', default: 'tandem' },
    list: { type: 'boolean', default: false },
  },
});
if (checkout === undefined) throw new Error('usage: node source_specs.mjs CHECKOUT [--package layers|converter] [--backend NAME]');
const sources = resolve(checkout, `tfjs-${options.package}/src`);
// What two tests look at is made by a build of the repository.
const files = (await readdir(sources, { recursive: true })).sort().filter((name) => (
  name.endsWith('_test.ts') && name !== 'metadata_test.ts' && name !== 'version_test.ts'));
if (files.length === 0) throw new Error(`expected tests, files *_test.ts, in ${sources}`);

// Modules that a build of the repository makes of JSON.
const opLists = {
  name: 'op lists',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /\/op_list\/\w+$/ }, ({ path }) => (
      { path: join(sources, `../python/tensorflowjs/op_list/${path.split('/').at(-1)}.json`), namespace: 'op-list' }));
    onLoad({ filter: /.*/, namespace: 'op-list' }, async ({ path }) => (
      { contents: `export const json = ${await readFile(path, 'utf8')};` }));
  },
};

await mkdir(out, { recursive: true });
const entry = join(out, `${options.package}_specs.mjs`);
const file = join(out, `${options.package}_specs.node.mjs`);
// A test is defined once backends are known.
await writeFile(entry, `
  export * from ${JSON.stringify(join(here, 'specs.js'))};
  export { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
  import '@tensorflow/tfjs-backend-cpu';
  import { setBackend } from '@tensorflow/tfjs-core';
  export const load = async () => {
    // Some specs have none of their own.
    beforeEach(() => setBackend(${JSON.stringify(options.backend)}));
    await setBackend(${JSON.stringify(options.backend)});
${files.map((name) => `    await import(${JSON.stringify(join(sources, name))});`).join('\n')}
  };\n`);
await bundle(entry, file, false, undefined, [opLists]);

const { load, runSpecs, setWasmPaths } = await import(pathToFileURL(file).href);
setWasmPaths(`${join(folderOf('@tensorflow/tfjs-backend-wasm'), 'wasm-out')}/`);
// What specs leave to nobody, with a backend that fails them; the module of tfjs-backend-wasm would end the process.
const { on } = process;
const isError = (event) => event === 'unhandledRejection' || event === 'uncaughtException';
process.on = (event, listener) => on.call(process, event, isError(event) ? () => {} : listener);
process.on('unhandledRejection');
process.on('uncaughtException');
const { failures, passed, skipped } = await runSpecs({ backend: options.backend, load });
const names = Object.keys(failures);
console.log(`tfjs-${options.package} on ${options.backend}: ${passed} of ${passed + skipped + names.length} specs passed, ` +
  `${skipped} skipped, ${names.length} failed`);
if (options.list) for (const name of names) console.log(`FAILED ${name}\n    ${failures[name].split('\n')[0]}`);
process.exit(0);
