// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How often the device is handed commands, and WebAssembly calls JavaScript.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, mul } from 'tandem-rt';
import { createRuntime, needGpu } from './device.js';

describe('batches', () => {
  let rt;
  let x;
  before(needGpu);
  before(async () => {
    rt = await createRuntime();
    x = rt.tensor([[1, 2], [3, 4]]);
    // What shaders there are is compiled by then. Tensors are held, since an op may compute in the memory of one that
    // nobody holds, by another shader.
    const sum = add(x, x);
    for (const y of [mul(sum, x), mul(x, x), add(sum, x)]) await y.data();
    await rt.settled();
    sum.dispose();
  });
  after(() => rt?.dispose());

  // What `fn` adds to the counts.
  async function countsOf(fn) {
    const { submits, dispatches, crossings } = rt.memory().gpu;
    await fn();
    const now = rt.memory().gpu;
    return {
      submits: now.submits - submits, dispatches: now.dispatches - dispatches, crossings: now.crossings - crossings,
    };
  }

  it('have all ops between two reads', async () => {
    const counts = await countsOf(async () => {
      const sum = add(x, x);
      const y = mul(sum, x);
      expect([sum.state, y.state]).to.deep.equal(['available', 'available']);
      expect(await y.array()).to.deep.equal([[2, 8], [18, 32]]);
    });
    expect(counts).to.deep.equal({ submits: 1, dispatches: 2, crossings: 1 });
  });

  it('are two at most for a thousand ops', async () => {
    const counts = await countsOf(async () => {
      const sums = [x];
      for (let i = 0; i < 1000; ++i) sums.push(add(sums[i], x));
      expect(await sums[1000].array()).to.deep.equal([[1001, 2002], [3003, 4004]]);
      sums.slice(1).forEach((sum) => sum.dispose());
    });
    expect(counts.dispatches).to.equal(1000);
    expect(counts.submits).to.be.at.most(2);
    expect(counts.crossings).to.equal(counts.submits);
  });

  it('are handed over at the end of the task', async () => {
    const counts = await countsOf(async () => {
      const y = add(x, x);
      expect(y.state).to.equal('available');
      for (let turns = 0; turns < 3; ++turns) await nextTask();
      y.dispose();
    });
    expect(counts).to.deep.equal({ submits: 1, dispatches: 1, crossings: 1 });
  });

  it('have reads of several tensors', async () => {
    const counts = await countsOf(async () => {
      const results = [add(x, x), mul(x, x)];
      const values = await Promise.all(results.map((y) => y.data()));
      expect(values.map((value) => [...value])).to.deep.equal([[2, 4, 6, 8], [1, 4, 9, 16]]);
      results.forEach((y) => y.dispose());
    });
    expect(counts.dispatches).to.equal(2);
    expect(counts.submits).to.be.at.most(2);
  });

  it('keep the order of writes into memory that is used again', async () => {
    const sums = [];
    for (let i = 0; i < 50; ++i) {
      // Its memory is the next one's.
      const y = rt.tensor([i, 2 * i]);
      const sum = add(y, y);
      y.dispose();
      sums.push(sum);
    }
    const values = await Promise.all(sums.map((sum) => sum.array()));
    expect(values).to.deep.equal(sums.map((_, i) => [2 * i, 4 * i]));
    sums.forEach((sum) => sum.dispose());
  });

  it('write more than fits into parameters', async () => {
    const length = 30_000;
    const sums = [];
    for (let i = 0; i < 5; ++i) {
      const y = rt.tensor(new Float32Array(length).fill(i));
      sums.push(add(y, y));
      y.dispose();
    }
    const values = await Promise.all(sums.map((sum) => sum.data()));
    values.forEach((value, i) => expect(value.every((element) => element === 2 * i)).to.equal(true));
  });
});

function nextTask() {
  return new Promise((resolve) => {
    if (typeof globalThis.setImmediate === 'function') globalThis.setImmediate(resolve);
    else {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(0);
    }
  });
}
