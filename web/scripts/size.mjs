// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a page has to fetch: sizes of the built package, plain, by gzip and by Brotli, against budgets; exits with 1 if
// one is exceeded. The page is minimal: its HTML, a minified bundle, and the module.
// usage: node scripts/size.mjs [--json FILE]

import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const dist = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');
const { values: options } = parseArgs({ options: { json: { type: 'string' } } });

// In bytes by gzip -9. The first is the promise of the package: a page that calls one op fetches a module that has all
// of them. The others keep its parts from growing unseen. What has WebGPU has the kernels' texts, too. What a page that
// uses programs, ops of its own, or kernels that few need, fetches besides are the files with that in their name.
const budgets = {
  'minimal page': 300_000,
  'minimal page, threaded': 478_000,
  'minimal page, WebGPU': 442_000,
  'script with one op': 28_100,
  'script with safetensors': 33_800,
  'script with everything': 46_900,
  'tandem-programs.js': 10_500,
  'tandem-kernels.wasm': 196_000,
  'tandem-fusion.wasm': 21_000,
  'tandem-webgpu-fusion.wasm': 33_500,
  'tandem-threads-fusion.wasm': 33_500,
  'tandem-programs.wasm': 155_000,
  'tandem-webgpu-programs.wasm': 160_000,
  'tandem-threads-programs.wasm': 160_000,
};

const html = '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>' +
  '<script type="module" src="app.js"></script>';

/** The minified bundle of a program that imports from the package. */
async function bundle(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: dist },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    external: ['./tandem-threads-web.js', './tandem-webgpu.js', './tandem-programs.js'],
  });
  return Buffer.from(outputFiles[0].contents);
}

const inDist = (name) => readFile(join(dist, name));
const files = [
  ...['tandem', 'tandem-webgpu', 'tandem-threads'].flatMap(
    (name) => ['', '-kernels', '-fusion', '-programs'].map((part) => `${name}${part}.wasm`)),
  'tandem-threads-web.js',
];
const scripts = ['tandem-webgpu.js', 'tandem-programs.js'];
const parts = {
  html: [Buffer.from(html)],
  'script with one op': [await bundle(`import { add, createRuntime } from './index.js';
    createRuntime().then((rt) => add(rt.scalar(1), 2).data()).then(console.log);`)],
  'script with safetensors': [await bundle(`import * as tandem from './index.js';
    tandem.createRuntime().then((rt) => tandem.loadSafetensors(rt, '/w')).then(tandem.saveSafetensors);`)],
  // Spread, so that nothing can be left out.
  'script with everything': [
    await bundle('import * as tandem from \'./index.js\'; globalThis.tandem = { ...tandem };'),
  ],
};
for (const name of scripts) parts[name] = [await bundle((await inDist(name)).toString())];
for (const name of files) parts[name] = [await inDist(name)];
const page = [...parts.html, ...parts['script with one op']];
parts['minimal page'] = [...page, ...parts['tandem.wasm']];
parts['minimal page, WebGPU'] = [...page, ...parts['tandem-webgpu.js'], ...parts['tandem-webgpu.wasm']];
parts['minimal page, threaded'] = [...page, ...parts['tandem-threads-web.js'], ...parts['tandem-threads.wasm']];

const measured = new Map();

function measure(file) {
  if (!measured.has(file)) {
    const gzip = gzipSync(file, { level: 9 }).length;
    measured.set(file, { raw: file.length, gzip, brotli: brotliCompressSync(file).length });
  }
  return measured.get(file);
}

const rows = Object.entries(parts).map(([name, files]) => {
  const sum = (kind) => files.reduce((bytes, file) => bytes + measure(file)[kind], 0);
  return { name, raw: sum('raw'), gzip: sum('gzip'), brotli: sum('brotli'), budget: budgets[name] };
});

const column = (value, width = 11) => (value === undefined ? '' : value.toLocaleString('en')).padStart(width);
console.log(`${'bytes'.padEnd(36)}${['raw', 'gzip', 'brotli', 'budget'].map((title) => title.padStart(11)).join('')}`);
for (const { name, raw, gzip, brotli, budget } of rows) {
  const mark = budget !== undefined && gzip > budget ? '  EXCEEDED' : '';
  console.log(`${name.padEnd(36)}${column(raw)}${column(gzip)}${column(brotli)}${column(budget)}${mark}`);
}
if (options.json) await writeFile(options.json, JSON.stringify(rows, null, 2));
process.exitCode = rows.some(({ gzip, budget }) => budget !== undefined && gzip > budget) ? 1 : 0;
