// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Builds dist/: the bundles for browsers and Node, their declarations, and the wasm files beside them and in scripts.
// usage: node scripts/build.mjs
// TANDEM_WASM_DIR: where all wasm files are; by default the folders that the presets wasm and wasm-threads build.

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

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
  { from: single, name: 'tandem-fusion.wasm', required: true },
  { from: single, name: 'tandem-webgpu.wasm', required: true },
  { from: single, name: 'tandem-webgpu-programs.wasm', required: true },
  { from: single, name: 'tandem-webgpu-kernels.wasm', required: true },
  { from: single, name: 'tandem-webgpu-fusion.wasm', required: true },
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
  { from: threads, name: 'tandem-threads-fusion.wasm' },
];

// The entries of the package, by the names of their sources.
const ENTRIES = {
  index: 'index', cpu: 'cpu', docs: 'docs', methods: 'methods', static: 'static', 'static-cpu': 'static_cpu',
};
// Scripts that the browser's entries load when there is a device, and when there is to do with programs.
const SCRIPTS = { webgpu: 'src/wasm/webgpu/webgpu.ts', programs: 'src/wasm/programs/programs.ts' };

// platform.ts says what a platform is, and takes the browser's; for Node it is another file, and so are the others.
const forNode = {
  name: 'for-node',
  setup(build) {
    build.onResolve({ filter: /^\.\/(platform\.browser|files_all|files_cpu|op_docs)\.js$/ }, ({ path }) => (
      { path: join(root, 'src', `${path.slice(2).replace(/(\.browser)?\.js$/, '')}.node.ts`) }));
  },
};

// Modules that are in a script: a file of their own, of text, which scripts for browsers and for Node have in common.
const embedded = (folder) => ({
  name: 'embedded',
  setup(build) {
    build.onResolve({ filter: /^\.\/[\w-]+\.wasm$/ }, ({ path }) => (
      { path: `${folder}/embedded-${path.slice(2, -5)}.js`, external: true, sideEffects: false }));
  },
});

const common = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  sourcemap: true,
  sourcesContent: true,
  charset: 'utf8',
  tsconfig: join(root, 'tsconfig.json'),
  logLevel: 'warning',
};

// What the entries have in common is in files of its own, so that a tensor of one is a tensor of the others. These have
// no side effects, as package.json says: an entry that uses nothing of one need not fetch it, and bundlers need not warn.
async function bundleEntries(suffix, options) {
  const { outputFiles } = await esbuild.build({
    ...common,
    entryPoints: Object.fromEntries(Object.entries(ENTRIES).map(([name, source]) => (
      [`${name}${suffix}`, join(root, 'src', `${source}.ts`)]))),
    outdir: dist,
    splitting: true,
    chunkNames: `common${suffix}-[hash]`,
    write: false,
    ...options,
  });
  // A line remains, so that source maps stay right.
  await Promise.all(outputFiles.map(({ path, text }) => (
    writeFile(path, text.replaceAll(/^import "\.\/common[\w.-]+";$/gm, '')))));
}

// A script that bundlers take for a file: it is ready for use. The name is for one that takes its exports away.
async function bundleScript(name, source) {
  await esbuild.build({
    ...common,
    stdin: {
      contents: `import { open } from './${source}';
        const script = { open };
        globalThis[Symbol.for('tandem-rt/${name}')] = script;
        export default script;`,
      resolveDir: root,
    },
    outfile: join(dist, `tandem-${name}.js`),
    platform: 'neutral',
    minify: true,
  });
}

// For what has no ES modules: all entries in one file, for the same reason as above. Here modules are always files.
async function bundleCommonJs() {
  const folder = join(dist, 'cjs');
  const entries = { index: 'index', cpu: 'cpu', docs: 'docs', static: 'index', 'static-cpu': 'cpu' };
  await esbuild.build({
    ...common,
    stdin: {
      contents: `export * as index from './src/index.ts';
        export * as cpu from './src/cpu.ts';
        export * as docs from './src/docs.ts';
        export const methods = () => require('./src/methods.ts');`,
      resolveDir: root,
    },
    outfile: join(folder, 'all.js'),
    format: 'cjs',
    platform: 'node',
    plugins: [embedded('..'), forNode],
    define: { 'import.meta.url': 'packageUrl' },
    banner: {
      js: 'const packageUrl = require("node:url").pathToFileURL(require("node:path").resolve(__dirname, "../_")).href;',
    },
  });
  await writeFile(join(folder, 'methods.js'), '\'use strict\';\nrequire(\'./all.js\').methods();\n');
  await writeFile(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  await Promise.all(Object.entries(entries).map(([name, from]) => (
    writeFile(join(folder, `${name}.js`), `'use strict';\nmodule.exports = require('./all.js').${from};\n`))));
  await cp(join(dist, 'types'), join(folder, 'types'), { recursive: true });
}

async function embed(name) {
  const packed = gzipSync(await readFile(join(dist, `${name}.wasm`)), { level: 9 }).toString('base64');
  await writeFile(join(dist, `embedded-${name}.js`), `export default '${packed}';\n`);
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await bundleEntries('', { platform: 'neutral', plugins: [embedded('.')] });
await bundleEntries('.node', { platform: 'node', plugins: [embedded('.'), forNode] });
await Promise.all(Object.entries(SCRIPTS).map(([name, source]) => bundleScript(name, source)));
// The package itself and TensorFlow.js are the program's. One file has all kernels, of which bundlers take what is used;
// the other registers them.
const beside = {
  name: 'beside',
  setup(build) {
    build.onResolve({ filter: /^\.\/custom\.js$/ }, ({ path }) => ({ path, external: true }));
  },
};
const bundleForTfjs = (name, plugins) => esbuild.build({
  ...common,
  platform: 'neutral',
  entryPoints: [join(root, `src/tfjs/${name}.ts`)],
  outfile: join(dist, `tfjs/${name}.js`),
  packages: 'external',
  plugins,
});
await bundleForTfjs('custom', []);
await bundleForTfjs('index', [beside]);
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '--project', root, '--emitDeclarationOnly'], { stdio: 'inherit' });
for (const { from, name, required } of FILES) {
  const file = join(from, name);
  if (existsSync(file)) copyFileSync(file, join(dist, name));
  else if (required) throw new Error(`expected ${file}; build the preset wasm first, or set TANDEM_WASM_DIR`);
}
await Promise.all(['tandem', 'tandem-webgpu'].flatMap((name) => (
  [name, `${name}-kernels`, `${name}-programs`, `${name}-fusion`])).map(embed));
await bundleCommonJs();
