// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Builds dist/: the bundles for browsers and Node, their declarations, and the wasm files beside them.
// usage: node scripts/build.mjs
// TANDEM_WASM_DIR: where all wasm files are; by default the folders that the presets wasm and wasm-threads build.

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as esbuild from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const wasmDir = process.env.TANDEM_WASM_DIR;
const single = wasmDir ?? join(root, '../build/wasm/bindings/wasm');
const threads = wasmDir ?? join(root, '../build/wasm-threads/bindings/wasm');

const FILES = [
  { from: single, name: 'tandem.wasm', required: true },
  { from: single, name: 'tandem-programs.wasm', required: true },
  { from: single, name: 'tandem-kernels.wasm', required: true },
  { from: single, name: 'tandem-webgpu.wasm', required: true },
  { from: single, name: 'tandem-webgpu-programs.wasm', required: true },
  { from: single, name: 'tandem-webgpu-kernels.wasm', required: true },
  // What `tandem-rt trim` takes ops out of.
  { from: single, name: 'tandem-whole.wasm', required: true },
  { from: single, name: 'tandem-trim.json', required: true },
  { from: single, name: 'tandem-webgpu-whole.wasm', required: true },
  { from: single, name: 'tandem-webgpu-trim.json', required: true },
  { from: threads, name: 'tandem-threads-web.js' },
  { from: threads, name: 'tandem-threads-node.js' },
  { from: threads, name: 'tandem-threads.wasm' },
  { from: threads, name: 'tandem-threads-programs.wasm' },
  { from: threads, name: 'tandem-threads-kernels.wasm' },
];

// platform.ts says what a platform is, and takes the browser's; for Node it is another file.
const nodePlatform = {
  name: 'node-platform',
  setup(build) {
    build.onResolve({ filter: /^\.\/platform\.browser\.js$/ }, () => ({ path: join(root, 'src/platform.node.ts') }));
  },
};

// Files of their own, which the others load when there is a device, and when there is to do with programs.
const otherFiles = {
  name: 'other-files',
  setup(build) {
    build.onResolve({ filter: /^\.\/(webgpu\/webgpu|programs\/programs)\.js$/ }, ({ path }) => (
      { path: `./tandem-${path.split('/')[1]}.js`, external: true }));
  },
};

async function bundle(outfile, options) {
  await esbuild.build({
    entryPoints: [join(root, 'src/index.ts')],
    outfile: join(dist, outfile),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    sourcemap: true,
    sourcesContent: true,
    charset: 'utf8',
    external: ['./tandem-threads-*.js'],
    tsconfig: join(root, 'tsconfig.json'),
    logLevel: 'warning',
    ...options,
  });
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await bundle('index.js', { platform: 'neutral', plugins: [otherFiles] });
await bundle('index.node.js', { platform: 'node', plugins: [otherFiles, nodePlatform] });
await bundle('tandem-webgpu.js', { platform: 'neutral', entryPoints: [join(root, 'src/wasm/webgpu/webgpu.ts')] });
await bundle('tandem-programs.js', { platform: 'neutral', entryPoints: [join(root, 'src/wasm/programs/programs.ts')] });
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '--project', root, '--emitDeclarationOnly'], { stdio: 'inherit' });
for (const { from, name, required } of FILES) {
  const file = join(from, name);
  if (existsSync(file)) copyFileSync(file, join(dist, name));
  else if (required) throw new Error(`expected ${file}; build the preset wasm first, or set TANDEM_WASM_DIR`);
}
