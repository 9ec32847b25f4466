// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Packages that tandem-rt trim makes, on a page.

import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import * as whole from 'tandem-rt';
import {
  bundleDigits, digitsWeights, LIST_OF_TEN, runAdd, runDigits, runTen, TrimmedPackages,
} from '../node/trimmed.js';
import { launchChromium, webgpuArguments } from './chromium.mjs';
import { onPage } from './on_page.mjs';

describe('trimmed packages on a page', function () {
  this.timeout(300_000);
  let browser;
  let packages;
  before(async () => {
    browser = await launchChromium(webgpuArguments);
    packages = await TrimmedPackages.create();
  });
  after(async () => {
    await browser?.close();
    await packages?.remove();
  });

  const onPageOf = (output, fn, files = {}, parameter = null) =>
    onPage(browser, { folders: { '/dist/': join(output, 'dist') }, files }, fn, parameter);

  /** What `fn` gives on a page whose package has the ops of a list. */
  const onTrimmedPage = async (name, list, fn, files, parameter) =>
    onPageOf(await packages.trim(name, list), fn, files, parameter);

  it('add alone', async () => {
    expect(await onTrimmedPage('add', 'tf.AddV2 f32\n', runAdd)).to.deep.equal([2, 4]);
  });

  it('ten ops', async () => {
    expect(await onTrimmedPage('ten', LIST_OF_TEN, runTen)).to.deep.equal(await runTen(whole));
  });

  it('add alone, on WebGPU', async () => {
    expect(await onTrimmedPage('add', 'tf.AddV2 f32\n', runAdd, {}, 'webgpu')).to.deep.equal([2, 4]);
  });

  it('ten ops, on WebGPU', async () => {
    const expected = await runTen(whole);
    const values = await onTrimmedPage('ten', LIST_OF_TEN, runTen, {}, 'webgpu');
    expect(values.length).to.equal(expected.length);
    expect(Math.max(...values.map((value, i) => Math.abs(value - expected[i])))).to.be.below(1e-5);
  });

  it('what the digits example uses', async () => {
    const weights = await digitsWeights();
    const expected = await runDigits(
      whole, await packages.importDigits('whole', import.meta.resolve('tandem-rt')), weights);
    const script = `${await bundleDigits('/dist/index.js')}\nexport ${runDigits}`;
    const files = { '/digits.js': { type: 'text/javascript', body: script } };
    const run = async (tandem, bytes) => {
      const { runDigits: runHere, ...digits } = await import('/digits.js');
      return runHere(tandem, digits, bytes);
    };
    const list = ['dtypes f32 i32', ...expected.ops].join('\n');
    expect(await onTrimmedPage('digits', list, run, files, weights)).to.deep.equal(expected);
  });

  for (const device of ['cpu', 'webgpu']) {
    it(`what computes calls as one, with programs: ${device} (PR-6)`, async () => {
      const output = await packages.trim('fused', 'tf.AddV2 f32\ntf.Relu f32\n', '--programs');
      const { values, isFused } = await onPageOf(output, async ({ add, createRuntime, relu }, wanted) => {
        const rt = await createRuntime({ device: wanted });
        const x = rt.tensor(Float32Array.from({ length: 1 << 20 }, (_, i) => i - 3));
        const run = async () => {
          const before = rt.memory().gpu?.dispatches;
          rt.trace.clear();
          rt.trace.start();
          const y = await rt.scope(() => relu(add(add(x, 1), x))).data();
          rt.trace.stop();
          const isFused = wanted === 'cpu' ? rt.trace.json().includes('"tandem.Fused(')
            : rt.memory().gpu.dispatches - before === 1;
          return { values: Array.from(y.subarray(0, 4)), isFused };
        };
        let result = await run();
        for (let i = 0; i < 100 && !result.isFused; ++i) result = await run();
        await rt.dispose();
        return result;
      }, {}, device);
      expect(values).to.deep.equal([0, 0, 0, 1]);
      expect(isFused).to.equal(true);
    });
  }
});
