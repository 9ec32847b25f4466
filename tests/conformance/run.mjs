#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs conformance cases through the npm package, in Node or in headless Chromium, and says which fail.

import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { Report } from './js/report.mjs';
import { openSession, runFile } from './js/run_file.mjs';

const USAGE = `usage: run.mjs [OPTIONS] FILE...
  --device cpu|webgpu   where the ops run; default: cpu
  --browser             in headless Chromium rather than in Node; with --worker in a worker of the page
  --threads N           the threaded build with N workers; default: 1, the build without threads
  --exact               exact mode: results are the same bits on every machine, natively, too
  --filter RE           only cases whose name or op has a match
  --report FILE.json    write counts, worst errors and failures
  --bits FILE           write a hash of the results of each case, for compare_bits.py
  --targets DIR         folder with one folder a target, of the lists of what it lacks
  --target NAME,...     which of these; default: wasm, and for webgpu also shader and webgpu
  --package DIR         the built package; default: web/dist`;

const here = dirname(fileURLToPath(import.meta.url));

function parse() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      device: { type: 'string', default: 'cpu' },
      browser: { type: 'boolean', default: false },
      worker: { type: 'boolean', default: false },
      threads: { type: 'string', default: '1' },
      exact: { type: 'boolean', default: false },
      filter: { type: 'string', default: '' },
      report: { type: 'string', default: '' },
      bits: { type: 'string', default: '' },
      targets: { type: 'string', default: join(here, 'targets') },
      target: { type: 'string', default: '' },
      package: { type: 'string', default: join(here, '../../web/dist') },
    },
  });
  const threads = Number(values.threads);
  if (!['cpu', 'webgpu'].includes(values.device)) throw new Error(`unknown device "${values.device}"`);
  if (!Number.isInteger(threads) || threads < 1) throw new Error(`--threads must be 1 or more, got ${values.threads}`);
  if (values.worker && !values.browser) throw new Error('--worker goes with --browser');
  if (positionals.length === 0) throw new Error('a case file is expected');
  // The devices that run shaders share lists; all share what JavaScript lacks.
  const usual = values.device === 'cpu' ? ['wasm'] : ['wasm', 'shader', values.device];
  const targetNames = values.target === '' ? usual : values.target.split(',');
  return { ...values, threads, targetNames, files: positionals };
}

async function readList(options, name) {
  const lists = await Promise.all(options.targetNames.map((target) => readOne(join(options.targets, target, name))));
  return Object.assign({}, ...lists);
}

async function readOne(file) {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw new Error(`${file}: ${error.message}`);
  }
}

// Debian's Chromium brings a software adapter.
const SOFTWARE = '/usr/lib/chromium/vk_swiftshader_icd.json';

// The GPU object of the npm package webgpu, which the package's tests use, too.
async function findGpu(options) {
  if (options.device !== 'webgpu') return undefined;
  if (process.env.VK_ICD_FILENAMES === undefined && existsSync(SOFTWARE)) process.env.VK_ICD_FILENAMES = SOFTWARE;
  const entry = createRequire(join(here, '../../web/package.json')).resolve('webgpu');
  return (await import(pathToFileURL(entry))).create([]);
}

async function openNode(options) {
  const { createRuntime } = await import(pathToFileURL(resolve(options.package, 'index.node.js')));
  const { runtime, session } = await openSession(createRuntime, { ...options, gpu: await findGpu(options) });
  return { run: (file, settings) => runFile(session, file, settings), close: () => runtime.dispose() };
}

async function openChromium(options) {
  // Only here: it needs the packages that tests in a browser need.
  const { openBrowser } = await import('./js/browser.mjs');
  return openBrowser({ ...options, conformance: here, package: resolve(options.package) });
}

async function write(file, text) {
  await mkdir(dirname(resolve(file)), { recursive: true });
  await writeFile(file, text);
}

async function run(options) {
  const settings = {
    filter: options.filter,
    unsupported: await readList(options, 'unsupported.json'),
    expectedFailures: await readList(options, 'expected_failures.json'),
    tolerances: await readList(options, 'tolerances.json'),
  };
  const report = new Report(options.device);
  const bits = [];
  const client = await (options.browser ? openChromium(options) : openNode(options));
  try {
    for (const name of options.files) {
      for (const outcome of await client.run({ name, text: await readFile(name, 'utf8') }, settings)) {
        report.add(outcome);
        if ('bits' in outcome) bits.push(`${basename(name, '.jsonl')} ${outcome.name} ${outcome.op} ${outcome.bits}\n`);
        const what = outcome.name === '' ? '' : `${outcome.name}: `;
        if (outcome.outcome === 'failed') console.log(`${outcome.place}: ${what}${outcome.reason}`);
      }
    }
  } finally {
    await client.close();
  }
  if (options.report !== '') await write(options.report, report.json());
  if (options.bits !== '') await write(options.bits, bits.join(''));
  console.log([...report.worstUlpLines(), report.totalLine()].join('\n'));
  return report.total.failed === 0 ? 0 : 1;
}

let options;
try {
  options = parse();
} catch (error) {
  console.error(`run.mjs: ${error.message}\n${USAGE}`);
  process.exit(2);
}
try {
  process.exitCode = await run(options);
} catch (error) {
  console.error(`run.mjs: ${error.stack}`);
  process.exitCode = 2;
}
