// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The page stays alive: with threads nothing of the runtime holds up its main thread.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { launchChromium } from './chromium.mjs';
import { onPage } from './on_page.mjs';

/** On the page: multiplies matrices of 1024 x 1024, and lists what the browser saw as long tasks meanwhile. */
async function multiplyAndWatch({ createRuntime, matMul }) {
  const rt = await createRuntime();
  const n = 1024;
  const a = rt.tensor(new Float32Array(n * n).fill(0.5), [n, n]);
  // A frame without work between: what went before is no part of what is watched.
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const tasks = [];
  const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
  observer.observe({ type: 'longtask' });
  // What a page does besides: little, so that it is not the page itself that keeps the processors busy.
  let turns = 0;
  const turn = setInterval(() => ++turns, 4);
  let y = a;
  for (let i = 0; i < 8; ++i) y = matMul(y, a);
  const { length } = await y.data();
  const turnsMeanwhile = turns;
  clearInterval(turn);
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  tasks.push(...observer.takeRecords().map(({ duration }) => duration));
  const { threads } = rt.capabilities;
  await rt.dispose();
  return { threads, length, tasks, turnsMeanwhile };
}

describe('a page that multiplies large matrices with tandem-rt', () => {
  let browser;

  before(async () => {
    browser = await launchChromium();
  });

  after(() => browser.close());

  it('has no task above 50 ms with threads, as a long task observer sees it', async function () {
    // The observer measures wall time: on a machine that is busy with something else, that too is seen.
    this.retries(3);
    const { threads, length, tasks, turnsMeanwhile } = await onPage(browser, { isolated: true }, multiplyAndWatch);
    expect(threads).to.be.above(1);
    expect(length).to.equal(2 ** 20);
    expect(tasks).to.deep.equal([]);
    expect(turnsMeanwhile).to.be.above(8);
  });

  it('takes turns with the page between the ops without threads', async () => {
    const { threads, turnsMeanwhile } = await onPage(browser, { isolated: false }, multiplyAndWatch);
    expect(threads).to.equal(1);
    expect(turnsMeanwhile).to.be.above(1);
  });
});
