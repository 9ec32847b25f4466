// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's project works with each bundler, and with none: built, loaded in Chromium, isolated and not, on the page
// and in a module worker; and in Node by import and by require.

import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { launchChromium, runPage, webgpuArguments } from '../browser/chromium.mjs';
import { expectComputed, expectNothingTwice, scriptPage } from './expectations.mjs';
import { inChromium, pageTimeout, reportOf } from './in_chromium.mjs';
import { run } from './stranger.mjs';

describe('tandem-rt in a stranger\'s project', function () {
  this.timeout(300_000);
  let folder;
  let load;
  let browser;
  inChromium((found) => ({ folder, load, browser } = found));

  /** Tests that load what `build` built: it gives the options of `serve`. */
  function loadsInChromium(build) {
    let served;
    before(async () => {
      served = await build();
    });
    for (const isolated of [false, true]) {
      it(`loads on a page that is ${isolated ? '' : 'not '}isolated, and in its worker`, async () => {
        const { page, requests, worker } = await reportOf(browser, { ...served, isolated });
        expectComputed(page, { threaded: isolated });
        expectComputed(worker, { threaded: isolated });
        const modules = new Set(requests.filter((path) => path.endsWith('.wasm')));
        expect(modules, 'the threaded module or the single-threaded one, never both, and its parts')
          .to.have.property('size', 4);
      });
    }
  }

  for (const vite of ['vite6', 'vite7', 'vite']) {
    describe(`built by ${vite} without configuration`, () => {
      const outDir = `out-${vite}`;
      loadsInChromium(async () => {
        const { build } = await load(vite);
        await build({ root: folder, configFile: false, logLevel: 'warn', build: { outDir } });
        return { folders: { '/': join(folder, outDir) } };
      });

      it('has nothing twice', () => expectNothingTwice(join(folder, outDir)));
    });

    describe(`served by the development server of ${vite}`, () => {
      for (const isolated of [false, true]) {
        it(`loads on a page that is ${isolated ? '' : 'not '}isolated, and in its worker`, async () => {
          const { createServer } = await load(vite);
          const headers = isolated
            ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' } : {};
          const server = await createServer({
            root: folder, configFile: false, logLevel: 'warn', cacheDir: `node_modules/.${vite}`,
            server: { host: '127.0.0.1', headers, hmr: false },
          });
          try {
            await server.listen();
            const result = await runPage(browser, server.resolvedUrls.local[0], { timeout: pageTimeout });
            expectComputed(result.page, { threaded: isolated });
            expectComputed(result.worker, { threaded: isolated });
          } finally {
            await server.close();
          }
        });
      }
    });
  }

  describe('built by webpack without configuration', () => {
    loadsInChromium(async () => {
      const { default: webpack } = await load('webpack');
      const output = { path: join(folder, 'out-webpack') };
      const compiler = webpack({ mode: 'production', context: folder, entry: './src/page.js', output });
      const stats = await new Promise((resolve, reject) => {
        compiler.run((error, result) => (error ? reject(error) : resolve(result)));
      });
      await new Promise((resolve) => compiler.close(resolve));
      const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
      const real = warnings.filter(({ message }) => !/size limit|performance/i.test(message));
      expect([...errors, ...real].map(({ message }) => message)).to.deep.equal([]);
      return { folders: { '/': output.path }, files: scriptPage('<script defer src="main.js"></script>') };
    });

    it('has nothing twice', () => expectNothingTwice(join(folder, 'out-webpack')));
  });

  describe('built by esbuild as README.md says', () => {
    loadsInChromium(async () => {
      const { build } = await load('esbuild');
      const outdir = join(folder, 'out-esbuild');
      await build({
        absWorkingDir: folder, entryPoints: ['src/page.js', 'src/worker.js'], outdir,
        bundle: true, format: 'esm', minify: true, target: 'es2022', logLevel: 'warning',
      });
      const dist = join(folder, 'node_modules', 'tandem-rt', 'dist');
      const names = (await readdir(dist)).filter((name) => name.startsWith('tandem'));
      await Promise.all(names.map((name) => copyFile(join(dist, name), join(outdir, name))));
      return { folders: { '/': outdir }, files: scriptPage('<script type="module" src="page.js"></script>') };
    });
  });

  describe('built by esbuild with its loader for files', () => {
    it('loads on a page that is not isolated', async () => {
      const { build } = await load('esbuild');
      const outdir = join(folder, 'out-esbuild-loader');
      await build({
        absWorkingDir: folder, entryPoints: ['src/loader.js'], outdir, loader: { '.wasm': 'file' },
        bundle: true, format: 'esm', target: 'es2022', logLevel: 'warning',
      });
      const script = 'tandem-programs.js';
      await copyFile(join(folder, 'node_modules', 'tandem-rt', 'dist', script), join(outdir, script));
      const { page } = await reportOf(browser, {
        folders: { '/': outdir }, files: scriptPage('<script type="module" src="loader.js"></script>'),
      });
      expectComputed(page, { threaded: false });
    });
  });

  it('DL3: runs a shader of its own on WebGPU', async () => {
    const { build } = await load('esbuild');
    const outdir = join(folder, 'out-esbuild-webgpu');
    await build({
      absWorkingDir: folder, entryPoints: ['src/gpu.js'], outdir, bundle: true, format: 'esm', target: 'es2022',
      logLevel: 'warning',
    });
    const dist = join(folder, 'node_modules', 'tandem-rt', 'dist');
    const names = (await readdir(dist)).filter((name) => name.startsWith('tandem'));
    await Promise.all(names.map((name) => copyFile(join(dist, name), join(outdir, name))));
    const withGpu = await launchChromium(webgpuArguments);
    try {
      const { page } = await reportOf(withGpu, {
        folders: { '/': outdir }, files: scriptPage('<script type="module" src="gpu.js"></script>'),
      });
      expect(page.device).to.equal('webgpu');
      expectComputed(page, { threaded: false });
    } finally {
      await withGpu.close();
    }
  });

  describe('without a bundler', () => {
    it('runs in Node by import', async () => {
      const printed = await run(process.execPath, ['src/node.mjs'], folder);
      expectComputed(JSON.parse(printed), { threaded: false, fetched: [0, 0, 0] });
    });

    it('runs in Node with threads', async () => {
      const printed = await run(process.execPath, ['src/node.mjs', '2'], folder);
      expectComputed(JSON.parse(printed), { threaded: true, fetched: [0, 0, 0] });
    });

    it('runs in Node by require', async () => {
      const printed = await run(process.execPath, ['src/node.cjs'], folder);
      expect(JSON.parse(printed)).to.deep.equal([7, 10, 15, 22]);
    });
  });

  describe('as packed', () => {
    it('holds what it needs and nothing else', async () => {
      const files = await readdir(join(folder, 'node_modules', 'tandem-rt'), { recursive: true });
      expect(files).to.include.members(['README.md', 'LICENSE', 'package.json', 'dist/index.js', 'dist/index.node.js',
        'dist/tandem.wasm', 'dist/tandem-threads.wasm', 'dist/tandem-threads-web.js', 'dist/tandem-threads-node.js',
        'dist/tandem-programs.wasm', 'dist/tandem-webgpu-programs.wasm', 'dist/tandem-threads-programs.wasm',
        'dist/tandem-kernels.wasm', 'dist/tandem-webgpu-kernels.wasm', 'dist/tandem-threads-kernels.wasm',
        'dist/tandem-fusion.wasm', 'dist/tandem-webgpu-fusion.wasm', 'dist/tandem-threads-fusion.wasm',
        'bin/tandem-rt.mjs', 'dist/tandem-whole.wasm', 'dist/tandem-trim.json']);
      const known = /^((bin|cpu|dist|docs|methods|static)(\/|$)|README\.md$|LICENSE$|package\.json$)/;
      expect(files.filter((name) => !known.test(name))).to.deep.equal([]);
    });

    it('depends on nothing', async () => {
      const listed = await run('npm', ['ls', '--json', '--all', 'tandem-rt'], folder);
      expect(JSON.parse(listed).dependencies['tandem-rt'].dependencies).to.equal(undefined);
    });
  });

  describe('bundled by esbuild', () => {
    async function bundleSize(name, source) {
      const { build } = await load('esbuild');
      const entry = join(folder, 'out-shaken', `${name}.js`);
      const outfile = join(folder, 'out-shaken', `${name}.min.js`);
      await mkdir(join(folder, 'out-shaken'), { recursive: true });
      await writeFile(entry, source);
      await build({ absWorkingDir: folder, entryPoints: [entry], outfile, bundle: true, minify: true, format: 'esm' });
      return (await stat(outfile)).size;
    }

    it('leaves out the ops that are not used', async () => {
      const all = await bundleSize('all', 'import * as tandem from "tandem-rt"; globalThis.tandem = { ...tandem };');
      const one = await bundleSize('one', 'import { add, createRuntime } from "tandem-rt"; ' +
        'createRuntime().then((rt) => add(rt.scalar(1), 2).data()).then(console.log);');
      const none = await bundleSize('none', 'import { createRuntime } from "tandem-rt"; ' +
        'createRuntime().then(console.log);');
      // Of more than 150 functions, each some hundred bytes.
      expect(all - one, 'the bytes of the other ops').to.be.above(15_000);
      expect(one - none, 'the bytes of add alone').to.be.below(1000);
      const unused = await bundleSize('unused', 'import "tandem-rt";');
      expect(unused).to.be.below(200);
    });
  });
});
