#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The bench of Tandem for JavaScript against TensorFlow.js, ONNX Runtime Web and jax-js; see README.md.

import { build } from 'esbuild';
import { fork } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

import { buildFirstPages, measureFirstResult } from './src/first_result.mjs';
import { memoryInChromium, memoryInNode } from './src/memory/run.mjs';
import { bytesTable, chainsTable, memoryTable, ratiosTables, timesTable } from './src/report.mjs';
import { serve } from './src/serve.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const SOURCES = join(HERE, 'src');
const require = createRequire(import.meta.url);

const { values: args } = parseArgs({
  options: {
    sections: { type: 'string', default: 'node,node-threads,chromium,chromium-threads,webgpu,first,memory' },
    libraries: { type: 'string', default: 'tandem,tandem-program,tfjs-wasm,ort-web,tfjs-webgpu,ort-webgpu,jax-js' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '15' },
    'round-ms': { type: 'string', default: '40' },
    threads: { type: 'string', default: `${Math.min(4, availableParallelism())}` },
    'memory-results': { type: 'string', default: '100000' },
    tandem: { type: 'string', default: join(HERE, '../../../web/dist') },
    adapter: { type: 'string', default: 'swiftshader' },
    chromium: { type: 'string', default: process.env.CHROMIUM ?? '/usr/bin/chromium' },
    json: { type: 'string' },
  },
});
const list = (text) => text.split(',').filter(Boolean);
// Those of WebAssembly take part in all sections but the one on WebGPU, which has its own.
const ON_WEBGPU = ['tandem', 'tandem-program', 'tfjs-webgpu', 'ort-webgpu', 'jax-js'];
const ON_CPU = ['tandem', 'tandem-program', 'tfjs-wasm', 'ort-web', 'hand-written'];
// Those that have ops of their own, which the sections on pages and memory measure.
const isLibrary = (name) => name !== 'tandem-program' && name !== 'hand-written';
const chosen = list(args.libraries);
const libraries = ON_CPU.filter((name) => chosen.includes(name));
const gpuLibraries = ON_WEBGPU.filter((name) => chosen.includes(name));
const threads = Number(args.threads);
const options = {
  libraries,
  only: list(args.only),
  rounds: Number(args.rounds),
  roundMs: Number(args['round-ms']),
  tandemDist: resolve(args.tandem),
};
const tfjsDist = dirname(require.resolve('@tensorflow/tfjs-backend-wasm'));
const ortDist = dirname(require.resolve('onnxruntime-web/wasm'));

const FLAGS = ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-sync'];
const launchWith = (...flags) => chromium.launch({ executablePath: args.chromium, args: [...FLAGS, ...flags] });
const launch = () => launchWith('--disable-gpu');
// Chromium for Linux has WebGPU only if it is told so. The software adapter is there on every machine.
const launchWithGpu = () =>
  launchWith('--enable-unsafe-webgpu', ...(args.adapter === 'default' ? [] : [`--use-webgpu-adapter=${args.adapter}`]));

function nodeSection(sectionThreads) {
  // TensorFlow.js has no threads in Node: it takes part with one.
  const given = JSON.stringify({ ...options, threads: sectionThreads });
  return new Promise((done, failed) => {
    const child = fork(join(SOURCES, 'node_section.mjs'), [given], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    let rows;
    child.on('message', (message) => {
      rows = message;
    });
    child.on('close', (code) => (rows ? done(rows) : failed(new Error(`the Node section ended with status ${code}`))));
  });
}

async function pageSection(launched, url, given) {
  const browser = await launched;
  try {
    const page = await browser.newPage();
    page.on('console', (message) => process.stderr.write(`  ${message.text()}\n`));
    await page.goto(url);
    const device = await page.evaluate(() => window.describeDevice?.());
    if (device) process.stdout.write(`\nWebGPU: ${device}\n`);
    return await page.evaluate((settings) => window.runSection(settings), { ...options, ...given });
  } finally {
    await browser.close();
  }
}

async function buildPages(folder) {
  const entries = { section: 'page_section.mjs', webgpu: 'webgpu_section.mjs', memory: 'memory/page.mjs' };
  for (const [name, entry] of Object.entries(entries)) {
    await build({
      entryPoints: [join(SOURCES, entry)],
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      outfile: join(folder, `${name}.js`),
      logLevel: 'error',
    });
    const icon = '<link rel="icon" href="data:,">';
    const html = `<!doctype html><meta charset="utf-8">${icon}<script type="module" src="${name}.js"></script>\n`;
    await writeFile(join(folder, `${name}.html`), html);
  }
  if (sections.includes('first')) {
    const to = { folder: join(folder, 'first'), sources: SOURCES, tandemDist: options.tandemDist, tfjsDist, ortDist };
    await buildFirstPages(libraries.filter(isLibrary), to);
  }
}

async function memorySection(server) {
  const outcomes = [];
  for (const library of libraries.filter((name) => isLibrary(name) && name !== 'ort-web')) {
    const given = { library, tandemDist: options.tandemDist, threads: 1, results: Number(args['memory-results']) };
    process.stderr.write(`  memory, ${library}\n`);
    outcomes.push({ library, where: 'Node', ...(await memoryInNode(SOURCES, given)) });
    const inPage = await memoryInChromium(launch, `${server.url}/memory.html`, given);
    outcomes.push({ library, where: 'Chromium', ...inPage });
  }
  return outcomes;
}

const sections = list(args.sections);
const folder = await mkdtemp(join(tmpdir(), 'tandem-web-bench-'));
await buildPages(folder);
const server = await serve({ '/': folder, '/tandem/': options.tandemDist, '/tfjs/': tfjsDist, '/ort/': ortDist });
const timed = [];
const report = { threads, sections: timed };
const RUNS = {
  node: ['Node, 1 thread', () => nodeSection(1)],
  'node-threads': [`Node, ${threads} threads (tfjs 1)`, () => nodeSection(threads)],
  chromium: ['Chromium, 1 thread', () => pageSection(launch(), `${server.url}/section.html`, { threads: 1 })],
  'chromium-threads': [
    `Chromium isolated, ${threads} threads`,
    () => pageSection(launch(), `${server.url}/isolated/section.html`, { threads }),
  ],
  // Isolated pages have the finer clock.
  webgpu: [
    `Chromium, WebGPU (${args.adapter})`,
    () => pageSection(launchWithGpu(), `${server.url}/isolated/webgpu.html`, { libraries: gpuLibraries }),
  ],
};
try {
  for (const [name, [title, run]] of Object.entries(RUNS)) {
    if (!sections.includes(name)) continue;
    process.stderr.write(`${title}\n`);
    const shown = name === 'webgpu' ? gpuLibraries : libraries;
    timed.push({ name, title, unit: 'µs', libraries: shown, rows: await run() });
    process.stdout.write(`\n${timesTable(title, timed.at(-1).rows, shown, 'µs')}\n`);
  }
  if (sections.includes('first')) {
    process.stderr.write('First result\n');
    const browser = await launch();
    const rows = await measureFirstResult(browser, server, libraries.filter(isLibrary), { rounds: options.rounds });
    await browser.close();
    timed.push({ name: 'first', title: 'Chromium', unit: 'ms', libraries: libraries.filter(isLibrary), rows });
    process.stdout.write(`\n${timesTable('navigation to first result', rows, libraries.filter(isLibrary), 'ms')}\n`);
    process.stdout.write(`\n${bytesTable(rows[0], libraries.filter(isLibrary))}\n`);
  }
  if (sections.includes('memory')) {
    report.memory = await memorySection(server);
    process.stdout.write(`\n${memoryTable(report.memory, args['memory-results'])}\n`);
  }
  const ratios = ['tandem', 'tandem-program'].flatMap((ours) => ratiosTables(timed, ours));
  for (const table of [...ratios, ...chainsTable(timed)]) {
    process.stdout.write(`\n${table}\n`);
  }
  if (args.json) await writeFile(args.json, `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await server.close();
  await rm(folder, { recursive: true });
}
