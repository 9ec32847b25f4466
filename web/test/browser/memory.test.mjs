// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory on a page: far more results than there is room for, none of them disposed, and a limit that is hit.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { launchChromium } from './chromium.mjs';
import { onPage } from './on_page.mjs';

const MEBIBYTE = 2 ** 20;

/** On the page: makes `count` results of 4 MiB in synchronous runs, disposes of none, and reads one of each run. */
async function makeResults({ add, createRuntime }, { count, run }) {
  const rt = await createRuntime();
  const x = rt.zeros([1024, 1024]);
  let wrong = 0;
  let mostInUse = 0;
  for (let made = 0; made < count;) {
    let last;
    for (let i = 0; i < run; ++i) last = add(x, ++made);
    const values = await last.data();
    if (values[0] !== made || values[values.length - 1] !== made) ++wrong;
    mostInUse = Math.max(mostInUse, rt.memory().bytesInUse);
  }
  const { peakBytesInUse, wasmBytes } = rt.memory();
  const { threads } = rt.capabilities;
  await rt.dispose();
  return { wrong, mostInUse, peakBytesInUse, wasmBytes, threads };
}

/** On the page: holds results until the limit is hit, then drops some and goes on. */
async function hitTheLimit({ add, createRuntime, TandemError }) {
  const rt = await createRuntime({ memoryLimit: 64 * 2 ** 20 });
  const x = rt.zeros([1024, 1024]);
  const held = [];
  let error;
  try {
    for (let i = 0; i < 32; ++i) {
      held.push(add(x, i));
      await held[i].data();
    }
  } catch (caught) {
    error = { ours: caught instanceof TandemError, code: caught.code, op: caught.op };
  }
  for (const tensor of held) tensor.dispose();
  const afterwards = (await add(x, 5).data())[0];
  await rt.dispose();
  return { error, held: held.length, afterwards };
}

describe('memory of tandem-rt on a page', () => {
  let browser;

  before(async () => {
    browser = await launchChromium();
  });

  after(() => browser.close());

  for (const isolated of [false, true]) {
    const where = isolated ? 'with threads' : 'without threads';

    it(`100,000 results of 4 MiB, none disposed, end normally in bounded memory ${where}`, async function () {
      const timeout = 900_000;
      this.timeout(timeout + 10_000);
      const parameter = { count: 100_000, run: 2_000 };
      const result = await onPage(browser, { isolated, timeout }, makeResults, parameter);
      expect(result.wrong).to.equal(0);
      // The module can reach 4 GiB; 400 GiB were made.
      expect(result.peakBytesInUse).to.be.below(3584 * MEBIBYTE);
      expect(result.wasmBytes).to.be.below(3840 * MEBIBYTE);
    });

    it(`results that are held beyond the limit are ResourceExhausted, and the runtime goes on ${where}`, async () => {
      const { error, held, afterwards } = await onPage(browser, { isolated }, hitTheLimit);
      expect(error).to.deep.equal({ ours: true, code: 'ResourceExhausted', op: 'tf.AddV2' });
      expect(held).to.be.within(12, 16); // of 4 MiB, in 64 MiB
      expect(afterwards).to.equal(5);
    });
  }
});
