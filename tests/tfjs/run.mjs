// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorFlow.js's own specs over tandem-rt/tfjs, as they are in @tensorflow/tfjs-core, in Node or headless Chromium.
// expected_failures.json says which ones fail, and why; one that fails and is not there is a failure, and so is one that
// is there and passes. Exits with 1 then.
// usage: node run.mjs [--backend tandem|tandem-webgpu] [--browser] [--tfjs 3|4] [--models] [--grep TEXT] [--report FILE] [--list]
//   [--update]
//   --tfjs: which version of TensorFlow.js, by default 4
//   --models: in place of those, specs of our own of models that are damaged
//   --list prints what fails, expected or not
//   --update makes what fails what is expected to; reasons that are new are what the specs said, to be put better

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { launchChromium, runPage, webgpuArguments } from '../../web/test/browser/chromium.mjs';
import { serve } from '../../web/test/browser/server.mjs';
import { findGpu } from '../../web/test/webgpu/device.js';
import { bundle, dist } from './bundle.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '../../build/web/tfjs');
const TIMEOUT_MS = 900_000;

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'tandem' }, browser: { type: 'boolean', default: false },
    tfjs: { type: 'string', default: '4' }, models: { type: 'boolean', default: false }, grep: { type: 'string' }, report: { type: 'string' }, list: { type: 'boolean', default: false }, update: { type: 'boolean', default: false },
  },
});
const { backend, browser } = options;
const core = { 3: 'tfjs-core-3', 4: '@tensorflow/tfjs-core' }[options.tfjs];
if (core === undefined) throw new Error(`--tfjs wants 3 or 4, got ${options.tfjs}`);
if (!['tandem', 'tandem-webgpu'].includes(backend)) throw new Error(`--backend wants tandem or tandem-webgpu, got ${backend}`);
const name = options.models ? 'model_specs' : 'specs';
const entry = join(here, `${name}.js`);
const onWebGpu = backend === 'tandem-webgpu';

async function runInNode() {
  const file = join(out, `${name}.node.mjs`);
  await bundle(entry, file, false, core);
  const { runSpecs } = await import(pathToFileURL(file).href);
  const runtime = {};
  if (onWebGpu) runtime.gpu = await findGpu();
  // What specs reject on purpose is theirs to look at.
  process.on('unhandledRejection', () => {});
  return runSpecs({ backend, expected: Object.keys(expected), grep: options.grep, runtime });
}

async function runInChromium() {
  await bundle(entry, join(out, `${name}.js`), true, core);
  const page = `import * as tandem from '/dist/index.js';
    globalThis.tandem = tandem;
    const script = document.createElement('script');
    script.src = '/specs/${name}.js';
    await new Promise((resolve) => { script.onload = resolve; document.head.append(script); });
    const { runSpecs } = globalThis.bundled;
    const onProgress = (done) => report({ done });
    runSpecs({ ...${JSON.stringify({ backend, expected: Object.keys(expected), grep: options.grep })}, onProgress }).then(
      (result) => report({ end: result }), (error) => report({ end: { error: String(error.stack ?? error) } }));`;
  const server = await serve({
    folders: { '/dist/': dist, '/specs/': out },
    files: {
      '/': { type: 'text/html', body: '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>' },
      '/page.js': { type: 'text/javascript', body: page },
    },
    // Specs load images and models from data URLs and blobs.
    policy: "default-src 'self' data: blob:; script-src 'self' 'unsafe-eval' blob:; connect-src * data: blob:",
  });
  const chromium = await launchChromium(onWebGpu ? webgpuArguments : []);
  try {
    const end = await runPage(chromium, `${server.url}/`, { timeout: TIMEOUT_MS, onPageError: () => {} });
    if (end.error) throw new Error(end.error);
    return end;
  } finally {
    await chromium.close();
    await server.close();
  }
}

const target = `${browser ? 'chromium' : 'node'}-${onWebGpu ? 'webgpu' : 'cpu'}`;
const listFile = join(here, 'expected_failures.json');
const list = JSON.parse(await readFile(listFile, 'utf8'));
// Of whatever version.
const expected = options.models ? {} : list[target] ?? {};

await mkdir(out, { recursive: true });
const begin = performance.now();
const { failures, passed, passes, skipped } = await (browser ? runInChromium() : runInNode());
const seconds = ((performance.now() - begin) / 1000).toFixed(1);

if (options.update) {
  const said = Object.fromEntries(Object.entries(failures).map(([name, text]) => [name, text.split('\n')[0]]));
  list[target] = { ...said, ...expected };
  for (const each of passes) delete list[target][each];
  await writeFile(listFile, `${JSON.stringify(list, null, 2)}\n`);
}
const names = Object.keys(failures);
const unexpected = names.filter((name) => !(name in expected));
console.log(`${target}, TensorFlow.js ${options.tfjs}${options.models ? ', models' : ''}: ${passed} of ${passed + skipped + names.length} specs passed, ` +
  `${skipped} skipped, ${names.length} failed, ${unexpected.length} of these not expected, in ${seconds} s`);
for (const name of options.list ? names : unexpected) console.log(`FAILED ${name}\n    ${failures[name].split('\n')[0]}`);
for (const name of passes) console.log(`FAILED to fail, so that it is to be left out of expected_failures.json: ${name}`);
if (options.report) {
  await writeFile(options.report, JSON.stringify({
    passed, failed: unexpected.length + passes.length, skipped: skipped + names.length - unexpected.length,
    failures: unexpected.map((test) => ({ test, error: failures[test] })),
  }, null, 2));
}
process.exit(unexpected.length + passes.length > 0 ? 1 : 0);
