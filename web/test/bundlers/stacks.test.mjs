// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's project where ES modules and files beside a script are not a matter of course: bundlers that know no
// files, other runtimes than Node, test runners, service workers, pages without any tool.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { launchChromium, webgpuArguments } from '../browser/chromium.mjs';
import { contentSecurityPolicy } from '../browser/server.mjs';
import { expectComputed, expectNothingTwice, modulesIn, scriptPage } from './expectations.mjs';
import { inChromium, reportOf } from './in_chromium.mjs';
import { run, sourcesFor } from './stranger.mjs';

// What is in a script is not fetched.
const embedded = { fetched: [0, 0, 0] };

describe('tandem-rt with other tools', function () {
  this.timeout(300_000);
  let folder;
  let load;
  let browser;
  inChromium((found) => ({ folder, load, browser } = found));

  const bin = (name, ...path) => join(folder, 'node_modules', name, ...path);

  // What a page of this script reports.
  function onPage(out, tag, where = browser) {
    return reportOf(where, { folders: { '/': join(folder, out) }, files: scriptPage(tag) });
  }

  const MODULE = '<script type="module" src="alone.js"></script>';
  const CLASSIC = '<script defer src="alone.js"></script>';

  for (const entry of ['tandem-rt/static', 'tandem-rt/static/cpu']) {
    describe(`with ${entry}`, () => {
      let sources;
      before(async () => {
        sources = await sourcesFor(entry);
      });

      for (const format of ['esm', 'iife']) {
        it(`is one file by esbuild, format ${format}`, async () => {
          const { build } = await load('esbuild');
          const outdir = `out-esbuild-${format}`;
          await build({
            absWorkingDir: folder, entryPoints: [`${sources}/alone.js`], outdir, bundle: true, format,
            logLevel: 'warning',
          });
          expectComputed((await onPage(outdir, format === 'esm' ? MODULE : CLASSIC)).page, embedded);
        });
      }

      for (const format of ['es', 'iife']) {
        it(`is one file by Rollup, format ${format}`, async () => {
          const { rollup } = await load('rollup');
          const { nodeResolve } = await load('@rollup/plugin-node-resolve');
          const warnings = [];
          const bundle = await rollup({
            input: join(folder, sources, 'alone.js'), plugins: [nodeResolve()],
            onwarn: ({ message }) => warnings.push(message),
          });
          const dir = `out-rollup-${format}`;
          const { output } = await bundle.write({ dir: join(folder, dir), format, name: 'app' });
          expect(output).to.have.length(1);
          expect(warnings).to.deep.equal([]);
          expectComputed((await onPage(dir, format === 'es' ? MODULE : CLASSIC)).page, embedded);
        });
      }
    });
  }

  describe('with tandem-rt/cpu', () => {
    const onlyCpu = ['tandem', 'tandem-fusion', 'tandem-kernels', 'tandem-programs'];
    let sources;
    before(async () => {
      sources = await sourcesFor('tandem-rt/cpu');
      await writeFile(join(folder, sources, 'index.html'),
        '<!doctype html><title>app</title><script type="module" src="./alone.js"></script>');
    });

    for (const vite of ['vite6', 'vite7', 'vite']) {
      it(`ships the module of the CPU only by ${vite}`, async () => {
        const { build } = await load(vite);
        const out = `out-cpu-${vite}`;
        await build({
          root: join(folder, sources), configFile: false, logLevel: 'warn',
          build: { outDir: join(folder, out), emptyOutDir: true },
        });
        expect(await modulesIn(join(folder, out))).to.deep.equal(onlyCpu);
        expectComputed((await reportOf(browser, { folders: { '/': join(folder, out) } })).page);
      });
    }

    it('ships the module of the CPU only by webpack', async () => {
      const { default: webpack } = await load('webpack');
      const output = { path: join(folder, 'out-cpu-webpack'), filename: 'alone.js', assetModuleFilename: '[name][ext]' };
      const compiler = webpack({ mode: 'production', context: folder, entry: `./${sources}/alone.js`, output });
      await new Promise((resolve, reject) => {
        compiler.run((error) => compiler.close(() => (error ? reject(error) : resolve())));
      });
      expect(await modulesIn(output.path)).to.deep.equal(onlyCpu);
      expectComputed((await onPage('out-cpu-webpack', CLASSIC)).page);
    });

    it('says what it has not', async () => {
      await writeFile(join(folder, sources, 'without.mjs'), `import { createRuntime } from 'tandem-rt/cpu';
        const error = await createRuntime({ device: 'webgpu' }).catch((it) => it);
        const rt = await createRuntime({ threads: 2 });
        console.log(JSON.stringify([error.code, error.message, rt.capabilities.reasons.threads]));`);
      const [code, text, threads] = JSON.parse(await run(process.execPath, [join(sources, 'without.mjs')], folder));
      expect(code).to.equal('Unavailable');
      expect(text).to.match(/tandem-rt\/cpu has no WebGPU; import from tandem-rt instead/);
      expect(threads).to.match(/tandem-rt\/cpu has no module with threads/);
    });
  });

  it('gives tensors that all entries take', async () => {
    await writeFile(join(folder, 'entries.mjs'), `import { add, createRuntime } from 'tandem-rt';
      import { createRuntime as ofCpu, Tensor } from 'tandem-rt/cpu';
      import { createRuntime as ofStatic } from 'tandem-rt/static';
      const sums = await Promise.all([createRuntime, ofCpu, ofStatic].map(async (create) => {
        const rt = await create({ device: 'cpu' });
        const y = add(rt.scalar(1), 2);
        return [await y.item(), y instanceof Tensor];
      }));
      console.log(JSON.stringify(sums));`);
    const printed = JSON.parse(await run(process.execPath, ['entries.mjs'], folder));
    expect(printed).to.deep.equal([[3, true], [3, true], [3, true]]);
  });

  describe('built by Parcel without configuration', () => {
    before(async () => {
      await run(process.execPath, [bin('parcel', 'lib', 'bin.js'), 'build', 'index.html', '--dist-dir', 'out-parcel',
        '--no-cache', '--no-source-maps'], folder);
    });

    for (const isolated of [false, true]) {
      it(`loads on a page that is ${isolated ? '' : 'not '}isolated, and in its worker`, async () => {
        // Parcel writes an import map into the page.
        const policy = contentSecurityPolicy.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'");
        const { page, worker } = await reportOf(
          browser, { folders: { '/': join(folder, 'out-parcel') }, policy, isolated });
        expectComputed(page, { threaded: isolated });
        expectComputed(worker, { threaded: isolated });
      });
    }

    it('has nothing twice', () => expectNothingTwice(join(folder, 'out-parcel')));
  });

  // The programs themselves, which npm installs beside a package that would fetch them.
  async function program(scope, ...path) {
    const names = existsSync(bin(scope)) ? await readdir(bin(scope)) : [];
    return names.map((name) => bin(scope, name, ...path)).find(existsSync);
  }

  describe('with Bun', () => {
    let bun;
    before(async function () {
      bun = await program('@oven', 'bin', 'bun');
      if (!bun) this.skip();
    });

    it('runs', async () => {
      expectComputed(JSON.parse(await run(bun, ['run', 'src/alone.js'], folder)), embedded);
    });

    it('is built for a page', async () => {
      const sources = await sourcesFor('tandem-rt/static/cpu');
      await run(bun, ['build', `${sources}/alone.js`, '--outdir', 'out-bun', '--target', 'browser'], folder);
      expectComputed((await onPage('out-bun', MODULE)).page, embedded);
    });

    for (const target of ['bun', 'node']) {
      it(`is built for ${target}`, async () => {
        const out = `out-bun-${target}`;
        await run(bun, ['build', 'src/alone.js', '--outdir', out, '--target', target], folder);
        const printed = await run(target === 'bun' ? bun : process.execPath, [`${out}/alone.js`], folder);
        expectComputed(JSON.parse(printed), embedded);
      });
    }
  });

  it('runs with Deno', async function () {
    const deno = await program('@deno', 'deno');
    if (!deno) this.skip();
    expectComputed(JSON.parse(await run(deno, ['run', '--allow-read', 'src/alone.js'], folder)), embedded);
  });

  it('is built for Node by esbuild, as one file of either format', async () => {
    const { build } = await load('esbuild');
    for (const [format, extension] of [['esm', 'mjs'], ['cjs', 'cjs']]) {
      const outfile = join(folder, 'out-esbuild-node', `alone.${extension}`);
      await build({
        absWorkingDir: folder, entryPoints: ['src/alone.js'], outfile, bundle: true, format, platform: 'node',
        logLevel: 'error',
      });
      expectComputed(JSON.parse(await run(process.execPath, [outfile], folder)), embedded);
    }
  });

  it('is tested by Jest as it comes', async () => {
    await run(process.execPath, [bin('jest', 'bin', 'jest.js'), '--rootDir', 'jest'], folder);
  });

  it('is tested by Vitest', async () => {
    await run(process.execPath, [bin('vitest', 'vitest.mjs'), 'run', '--root', 'vitest'], folder);
  });

  it('computes in a service worker, on the CPU and on WebGPU', async () => {
    const { build } = await load('esbuild');
    const sources = await sourcesFor('tandem-rt/static');
    const outdir = 'out-service';
    await build({
      absWorkingDir: folder, entryPoints: [`${sources}/service.js`, `${sources}/ask_service.js`], outdir, bundle: true,
      format: 'iife', logLevel: 'warning',
    });
    const withGpu = await launchChromium(webgpuArguments);
    try {
      const tag = '<script defer src="ask_service.js"></script>';
      const { cpu, webgpu } = await onPage(outdir, tag, withGpu);
      expectComputed(cpu, embedded);
      expectComputed(webgpu, embedded);
      expect([cpu.device, webgpu.device]).to.deep.equal(['cpu', 'webgpu']);
    } finally {
      await withGpu.close();
    }
  });

  it('is found by an import map, under a strict Content-Security-Policy', async () => {
    const map = JSON.stringify({ imports: { 'tandem-rt': '/tandem-rt/index.js' } });
    const hash = createHash('sha256').update(map).digest('base64');
    const policy = contentSecurityPolicy.replace("script-src 'self'", `script-src 'self' 'sha256-${hash}'`);
    const folders = { '/src/': join(folder, 'src'), '/tandem-rt/': bin('tandem-rt', 'dist') };
    const files = scriptPage(
      `<script type="importmap">${map}</script><script type="module" src="src/alone.js"></script>`);
    expectComputed((await reportOf(browser, { folders, policy, files })).page);
  });
});
