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
import { launchChromium } from './chromium.mjs';
import { onPage } from './on_page.mjs';

describe('trimmed packages on a page', function () {
  this.timeout(300_000);
  let browser;
  let packages;
  before(async () => {
    browser = await launchChromium();
    packages = await TrimmedPackages.create();
  });
  after(async () => {
    await browser?.close();
    await packages?.remove();
  });

  /** What `fn` gives on a page whose package has the ops of a list. */
  async function onTrimmedPage(name, list, fn, files = {}, parameter = null) {
    const output = await packages.trim(name, list);
    return onPage(browser, { folders: { '/dist/': join(output, 'dist') }, files }, fn, parameter);
  }

  it('add alone', async () => {
    expect(await onTrimmedPage('add', 'tf.AddV2 f32\n', runAdd)).to.deep.equal([2, 4]);
  });

  it('ten ops', async () => {
    expect(await onTrimmedPage('ten', LIST_OF_TEN, runTen)).to.deep.equal(await runTen(whole));
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
});
