// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of TensorFlow.js on tandem-rt/tfjs and on TensorFlow.js's own backends, in one process or page, in turn.
// usage: node bench.mjs [--browser] [--backends LIST] [--rounds N] [--only TEXT] [--threads N] [--first] [--isolated]
//   LIST: the backend to look at, then those to compare it with; by default tandem,wasm. There is tandem-webgpu, too, and
//   in Chromium, on a software adapter, webgpu
//   --first: the first call alone, each in a process or page of its own; the best of N
//   --isolated: a page with threads

import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { launchChromium, runPage, webgpuArguments } from '../../web/test/browser/chromium.mjs';
import { serve } from '../../web/test/browser/server.mjs';
import { findGpu } from '../../web/test/webgpu/device.js';
import { bundle, dist, folderOf } from './bundle.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '../../build/web/tfjs');
const wasmFolder = join(folderOf('@tensorflow/tfjs-backend-wasm'), 'wasm-out');
const { values: options } = parseArgs({
  options: {
    browser: { type: 'boolean', default: false }, backends: { type: 'string', default: 'tandem,wasm' },
    rounds: { type: 'string', default: '20' }, only: { type: 'string' }, threads: { type: 'string', default: '1' },
    first: { type: 'boolean', default: false }, isolated: { type: 'boolean', default: false },
    // What a process is for that this one starts.
    process: { type: 'string' },
  },
});
const backends = options.backends.split(',');
const onWebGpu = backends.some((name) => name.endsWith('webgpu'));
const rounds = Number(options.rounds);
const runtime = { threads: Number(options.threads) };
const nodeFile = join(out, 'bench.node.mjs');

async function loadInNode() {
  const bench = await import(pathToFileURL(nodeFile).href);
  bench.setWasmPaths(`${wasmFolder}/`);
  bench.setRuntimeOptions({ ...runtime, ...(onWebGpu && { gpu: await findGpu() }) });
  return bench;
}

// What a page does whose hash names a function of bench.js and its options.
const page = `import * as tandem from '/dist/index.js';
  globalThis.tandem = tandem;
  const script = document.createElement('script');
  script.src = '/bench/bench.js';
  await new Promise((resolve) => { script.onload = resolve; document.head.append(script); });
  const { setRuntimeOptions, setWasmPaths, ...bench } = globalThis.bundled;
  setWasmPaths('/wasm/');
  setRuntimeOptions(${JSON.stringify(runtime)});
  const { call, options } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  bench[call]({ ...options, say: (line) => report({ line }) }).then((end) => report({ end }));`;

// Calls `run` with what calls a function of bench.js on a new page.
async function inChromium(run) {
  await bundle(join(here, 'bench.js'), join(out, 'bench.js'), true);
  const server = await serve({
    folders: { '/dist/': dist, '/bench/': out, '/wasm/': wasmFolder },
    files: {
      '/': { type: 'text/html', body: '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>' },
      '/page.js': { type: 'text/javascript', body: page },
    },
    policy: "default-src 'self' data: blob:; script-src 'self' 'unsafe-eval' blob:",
    isolated: options.isolated,
  });
  const chromium = await launchChromium(onWebGpu ? webgpuArguments : []);
  try {
    return await run((call, given) => runPage(chromium,
      `${server.url}/#${encodeURIComponent(JSON.stringify({ call, options: given }))}`,
      { timeout: 900_000, onReport: ({ line }) => console.log(line) }));
  } finally {
    await chromium.close();
    await server.close();
  }
}

async function inNode(run) {
  await bundle(join(here, 'bench.js'), nodeFile, false);
  return run(async (call, given) => {
    if (call !== 'measureFirst') return (await loadInNode())[call]({ ...given, say: console.log });
    const text = execFileSync(process.execPath, [
      fileURLToPath(import.meta.url), '--threads', options.threads, '--backends', options.backends,
      '--process', JSON.stringify(given),
    ], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return JSON.parse(text.trim().split('\n').at(-1));
  });
}

// The best of each backend, in turn.
async function measureFirstCalls(names, call) {
  const results = {};
  for (const name of names) {
    const times = results[name] = {};
    for (let round = 0; round < rounds; ++round) {
      for (const backend of backends) {
        const { backend: ready, call: first } = await call('measureFirst', { name, backend });
        const best = times[backend] ??= { backend: Infinity, first: Infinity };
        Object.assign(best, { backend: Math.min(best.backend, ready), first: Math.min(best.first, first) });
      }
    }
    console.log(`${name}: ${Object.entries(times).map(([backend, { backend: ready, first }]) => (
      `${backend} first ${first.toFixed(1)} after ${ready.toFixed(1)} for the backend`)).join(', ')}`);
  }
  return results;
}

function printRatios(results) {
  for (const [name, { [backends[0]]: own, ...others }] of Object.entries(results)) {
    const parts = ['best', 'median', 'first'].flatMap((which) => {
      const least = Math.min(...Object.values(others).map((each) => each[which]));
      return own?.[which] > 0 && Number.isFinite(least) ? [`${which} ${(own[which] / least).toFixed(2)}`] : [];
    });
    if (parts.length > 0) console.log(`${name}: ${backends[0]} takes of the better other: ${parts.join(', ')}`);
  }
}

if (options.process !== undefined) {
  console.log(JSON.stringify(await (await loadInNode()).measureFirst(JSON.parse(options.process))));
  process.exit(0);
}
await mkdir(out, { recursive: true });
const names = ['MobileNetV2 224, inference', 'digits, inference of 32', 'convnet, inference of 64',
  'perceptron, inference of 64', 'perceptron, training step of 64'].filter((name) => name.includes(options.only ?? ''));
printRatios(await (options.browser ? inChromium : inNode)((call) => (
  options.first ? measureFirstCalls(names, call) : call('measure', { backends, rounds, only: options.only }))));
process.exit(0);
