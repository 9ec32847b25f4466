// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of TensorFlow.js on tandem-rt/tfjs and on TensorFlow.js's own backends, in one process or page, in turn.
// usage: node bench.mjs [--browser] [--backends LIST] [--rounds N] [--only TEXT] [--threads N]
//   LIST: the backend to look at, then those to compare it with; by default tandem,wasm. In Chromium there are
//   tandem-webgpu and webgpu, too, on a software adapter

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { launchChromium, runPage, webgpuArguments } from '../../web/test/browser/chromium.mjs';
import { serve } from '../../web/test/browser/server.mjs';
import { bundle, dist, folderOf } from './bundle.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '../../build/web/tfjs');
const wasmFolder = join(folderOf('@tensorflow/tfjs-backend-wasm'), 'wasm-out');
const { values: options } = parseArgs({
  options: {
    browser: { type: 'boolean', default: false }, backends: { type: 'string', default: 'tandem,wasm' },
    rounds: { type: 'string', default: '20' }, only: { type: 'string' }, threads: { type: 'string', default: '1' },
  },
});
const backends = options.backends.split(',');
const what = { backends, rounds: Number(options.rounds), only: options.only };
const runtime = { threads: Number(options.threads) };

async function measureInNode() {
  const file = join(out, 'bench.node.mjs');
  await bundle(join(here, 'bench.js'), file, false);
  const { measure, setRuntimeOptions, setWasmPaths } = await import(pathToFileURL(file).href);
  setWasmPaths(`${wasmFolder}/`);
  setRuntimeOptions(runtime);
  return measure({ ...what, say: console.log });
}

async function measureInChromium() {
  await bundle(join(here, 'bench.js'), join(out, 'bench.js'), true);
  const page = `import * as tandem from '/dist/index.js';
    globalThis.tandem = tandem;
    const script = document.createElement('script');
    script.src = '/bench/bench.js';
    await new Promise((resolve) => { script.onload = resolve; document.head.append(script); });
    const { measure, setRuntimeOptions, setWasmPaths } = globalThis.bundled;
    setWasmPaths('/wasm/');
    setRuntimeOptions(${JSON.stringify(runtime)});
    measure({ ...${JSON.stringify(what)}, say: (line) => report({ line }) }).then((results) => report({ end: results }));`;
  const server = await serve({
    folders: { '/dist/': dist, '/bench/': out, '/wasm/': wasmFolder },
    files: {
      '/': { type: 'text/html', body: '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>' },
      '/page.js': { type: 'text/javascript', body: page },
    },
    policy: "default-src 'self' data: blob:; script-src 'self' 'unsafe-eval' blob:",
  });
  const chromium = await launchChromium(backends.some((name) => name.endsWith('webgpu')) ? webgpuArguments : []);
  try {
    return await runPage(chromium, `${server.url}/`, { timeout: 900_000, onReport: ({ line }) => console.log(line) });
  } finally {
    await chromium.close();
    await server.close();
  }
}

await mkdir(out, { recursive: true });
const results = await (options.browser ? measureInChromium() : measureInNode());
for (const [name, { [backends[0]]: own, ...others }] of Object.entries(results)) {
  const best = Math.min(...Object.values(others).map((each) => each.best));
  const first = Math.min(...Object.values(others).map((each) => each.first));
  if (own === undefined || best === Infinity) continue;
  console.log(`${name}: ${backends[0]} takes ${(own.best / best).toFixed(2)} of the better other, at first ` +
    (own.first / first).toFixed(2));
}
process.exit(0);
