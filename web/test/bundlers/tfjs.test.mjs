// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's program of TensorFlow.js with tandem-rt/tfjs, built by bundlers without configuration and loaded in
// Chromium.

import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { expectNothingTwice, scriptPage } from './expectations.mjs';
import { inChromium, reportOf } from './in_chromium.mjs';
import { run } from './stranger.mjs';

// x x^T, the gradient 2 x of the sum of squares, and sums over windows of 9 ones.
const COMPUTED = {
  backend: 'tandem', values: [5, 11, 11, 25], gradient: [2, 4, 6, 8], convolved: [9, 9, 9, 9],
};

describe('tandem-rt/tfjs in a stranger\'s project', function () {
  this.timeout(300_000);
  let folder;
  let load;
  let browser;
  inChromium((found) => ({ folder, load, browser } = found));

  async function expectOnPage(options) {
    expect((await reportOf(browser, options)).page).to.deep.equal(COMPUTED);
  }

  for (const vite of ['vite6', 'vite7', 'vite']) {
    it(`computes on a page built by ${vite} without configuration`, async () => {
      const { build } = await load(vite);
      await writeFile(join(folder, 'tfjs.html'),
        '<!doctype html><title>app</title><script type="module" src="/src/tfjs.js"></script>');
      const outDir = `out-tfjs-${vite}`;
      await build({
        root: folder, configFile: false, logLevel: 'error',
        build: { outDir, rollupOptions: { input: join(folder, 'tfjs.html') } },
      });
      const out = join(folder, outDir);
      const body = await readFile(join(out, 'tfjs.html'), 'utf8');
      await expectOnPage({ folders: { '/': out }, files: { '/': { type: 'text/html', body } } });
      await expectNothingTwice(out);
    });
  }

  it('computes on a page built by esbuild as README.md says', async () => {
    const { build } = await load('esbuild');
    const out = join(folder, 'out-tfjs-esbuild');
    await build({ absWorkingDir: folder, entryPoints: ['src/tfjs.js'], outdir: out, bundle: true, format: 'esm', logLevel: 'error' });
    const dist = join(folder, 'node_modules', 'tandem-rt', 'dist');
    const names = (await readdir(dist)).filter((name) => name.startsWith('tandem'));
    await Promise.all(names.map((name) => copyFile(join(dist, name), join(out, name))));
    await expectOnPage({ folders: { '/': out }, files: scriptPage('<script type="module" src="tfjs.js"></script>') });
  });

  it('computes in Node', async () => {
    expect(JSON.parse(await run(process.execPath, ['src/tfjs_node.mjs'], folder))).to.deep.equal(COMPUTED.values);
  });

  it('computes on a page built by webpack without configuration', async () => {
    const { default: webpack } = await load('webpack');
    const output = { path: join(folder, 'out-tfjs-webpack') };
    const compiler = webpack({ mode: 'production', context: folder, entry: './src/tfjs.js', output });
    const stats = await new Promise((resolve, reject) => {
      compiler.run((error, result) => (error ? reject(error) : resolve(result)));
    });
    await new Promise((resolve) => compiler.close(resolve));
    expect(stats.toJson({ all: false, errors: true }).errors.map(({ message }) => message)).to.deep.equal([]);
    await expectOnPage({ folders: { '/': output.path }, files: scriptPage('<script defer src="main.js"></script>') });
    await expectNothingTwice(output.path);
  });
});
