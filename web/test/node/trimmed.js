// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Packages that tandem-rt trim makes, for tests in Node and on pages: what is left in each, what each weighs at most,
// and an example that runs with it.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const run = promisify(execFile);
const web = fileURLToPath(new URL('../..', import.meta.url));
const command = join(web, 'bin/tandem-rt.mjs');
const examples = join(web, '../examples');

/** Runs the command. Rejects with what it printed if it fails. */
export const runCommand = (...args) => run(process.execPath, [command, ...args]);

const TEN = ['AddV2', 'MatMul', 'Mul', 'RealDiv', 'Relu', 'Reshape', 'Softmax', 'Sub', 'Sum', 'Transpose'];
export const LIST_OF_TEN = `dtypes f32\n${TEN.map((op) => `tf.${op}\n`).join('')}`;

/** An example of `add` alone: its sum. */
export async function runAdd({ add, createRuntime }, device) {
  const rt = await createRuntime({ device: device ?? 'cpu' });
  const x = rt.tensor([1, 2]);
  const sum = await add(x, x).array();
  await rt.dispose();
  return sum;
}

/**
 * An example of the ten ops, values that depend on all: on the CPU exact ones, which are the same bits in each engine.
 */
export async function runTen({ createRuntime, ...ops }, device) {
  const rt = await createRuntime({ device: device ?? 'cpu', exact: !device });
  const x = rt.tensor(Float32Array.from({ length: 64 * 48 }, (_, i) => Math.sin(i)), { shape: [64, 48] });
  const y = ops.softmax(ops.relu(ops.matMul(x, ops.transpose(x, [1, 0]))));
  const z = ops.reshape(ops.sub(ops.mul(y, 3), ops.realDiv(ops.sum(y, [0]), 7)), [32, 128]);
  const values = Array.from(await ops.add(z, 1).data());
  await rt.dispose();
  return values;
}

/** The digits example, of what bundleDigits gives: reads pictures, learns from them, and reads again; exact, too. */
export async function runDigits({ createRuntime, softmax }, digits, weights) {
  const rt = await createRuntime({ device: 'cpu', exact: true });
  const network = await digits.Network.load(rt, Uint8Array.from(weights));
  const { rows, cols } = network;
  const pictures = rt.tensor(
    Float32Array.from({ length: 16 * rows * cols }, (_, i) => Math.sin(i) ** 2), { shape: [16, rows * cols] });
  const labels = rt.tensor(Int32Array.from({ length: 16 }, (_, i) => i % network.numClasses));
  const read = async () => Array.from(await softmax(network.forward(pictures)).data());
  const before = await read();
  const loss = await network.train(pictures, labels, 0.01).data();
  const result = { before, loss: Array.from(loss), after: await read(), ops: rt.usedOps() };
  await rt.dispose();
  return result;
}

/** The network of the digits example as one script, whose tandem-rt is at a URL. */
export async function bundleDigits(url) {
  const { outputFiles } = await build({
    entryPoints: [join(examples, 'digits-js/network.js')],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    plugins: [{
      name: 'package',
      setup: ({ onResolve }) => onResolve({ filter: /^tandem-rt$/ }, () => ({ path: url, external: true })),
    }],
  });
  return outputFiles[0].text;
}

/** Its trained weights. */
export const digitsWeights = async () => Array.from(await readFile(join(examples, 'web-digits/digits.safetensors')));

/** A folder of trimmed packages. */
export class TrimmedPackages {
  static async create() {
    const packages = new TrimmedPackages();
    packages.folder = await mkdtemp(join(tmpdir(), 'tandem-trim-'));
    packages.made = new Map();
    return packages;
  }

  /** The folder of the package with the ops of a list, which is made once for each name. */
  trim(name, list, ...options) {
    if (!this.made.has(name)) this.made.set(name, this.#make(name, list, options));
    return this.made.get(name);
  }

  async #make(name, list, options) {
    const file = join(this.folder, `${name}.txt`);
    await writeFile(file, list);
    const output = join(this.folder, name);
    await runCommand('trim', file, '-o', output, ...options);
    return output;
  }

  /** A bundle of the digits example as a module. */
  async importDigits(name, packageUrl) {
    const file = join(this.folder, `${name}.mjs`);
    await writeFile(file, await bundleDigits(packageUrl));
    return import(pathToFileURL(file).href);
  }

  remove() {
    return rm(this.folder, { recursive: true, force: true });
  }
}

/** Where a package's main entry for Node is. */
export const entryOf = (output) => pathToFileURL(join(output, 'dist/index.node.js')).href;

/** What a page that calls these functions of a trimmed package loads, in bytes by gzip. */
export async function downloadOf(output, names) {
  const { outputFiles } = await build({
    stdin: { contents: `export { ${names.join(', ')} } from './index.js';`, resolveDir: join(output, 'dist') },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'error',
    external: ['./tandem-threads-web.js', './tandem-webgpu.js', './tandem-programs.js'],
  });
  const files = [Buffer.from(outputFiles[0].contents), await readFile(join(output, 'dist/tandem.wasm'))];
  return files.reduce((bytes, file) => bytes + gzipSync(file, { level: 9 }).length, 0);
}
