// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory: garbage is collected before it runs short, and running out is an error of one op.

import { expect } from 'chai';
import { describe, it } from 'mocha';

import { add, TandemError } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf, rejectionOf } from './errors.js';

const MB = 2 ** 20;
/** Elements of 4 MB. */
const COUNT = MB;

describe('memory', () => {
  it('of results that are not disposed of is bounded, made in one go', async () => {
    const rt = await createRuntime();
    const x = rt.fill([COUNT], 1);
    let last;
    for (let i = 0; i < 600; ++i) last = add(x, x);
    expect((await last.data())[COUNT - 1]).to.equal(2);
    await rt.settled();
    expect(rt.memory().peakBytesInUse).to.be.below(1024 * MB);
    await rt.dispose();
  });

  it('of results that are not disposed of is bounded, with awaits between', async () => {
    const rt = await createRuntime();
    const x = rt.fill([COUNT], 1);
    for (let i = 0; i < 600; ++i) {
      const y = add(x, i);
      if (i % 50 === 49) expect((await y.data())[7]).to.equal(1 + i);
    }
    expect(rt.memory().peakBytesInUse).to.be.below(1024 * MB);
    await rt.dispose();
  });

  it('of tensors that are not disposed of is bounded, with awaits between', async () => {
    const rt = await createRuntime();
    for (let i = 0; i < 300; ++i) {
      const x = rt.fill([COUNT], i);
      if (i % 20 === 19) expect((await x.data())[7]).to.equal(i);
    }
    expect(rt.memory().peakBytesInUse).to.be.below(1024 * MB);
    await rt.dispose();
  });

  it('beyond the limit is an error, and the runtime goes on', async () => {
    const rt = await createRuntime({ memoryLimit: 64 * MB });
    expect(rt.memory().limit).to.equal(64 * MB);
    const x = rt.fill([COUNT], 1);
    const alive = [];
    let error;
    for (let i = 0; i < 20 && error === undefined; ++i) {
      const y = add(x, i);
      alive.push(y);
      error = await y.ready().catch((reason) => reason);
    }
    expect(error).to.be.instanceOf(TandemError);
    expect(error.code).to.equal('ResourceExhausted');
    expect(alive.length).to.be.above(10);
    const thrown = errorOf(() => {
      for (let i = 0; i < 20; ++i) alive.push(rt.fill([COUNT], 1));
    });
    expect(thrown.code).to.equal('ResourceExhausted');
    expect((await alive[3].data())[0]).to.equal(4);
    for (const y of alive) y.dispose();
    expect((await add(x, 1).data())[0]).to.equal(2);
    await rt.dispose();
  });

  it('is not looked for beyond the limit of pending calls', async () => {
    const rt = await createRuntime({ pendingLimit: 10 });
    const x = rt.fill([COUNT], 1);
    const results = [];
    const error = errorOf(() => {
      for (let i = 0; i < 50; ++i) results.push(add(x, x));
    });
    expect(error.code).to.equal('ResourceExhausted');
    expect((await results[0].data())[0]).to.equal(2);
    await rt.settled();
    expect((await add(x, x).data())[0]).to.equal(2);
    await rt.dispose();
  });

  it('is given back with the runtime', async () => {
    for (let i = 0; i < 12; ++i) {
      const rt = await createRuntime();
      rt.alloc([250, MB]);
      await rt.dispose();
      expect((await rejectionOf(rt.settled())).code).to.equal('FailedPrecondition');
    }
  });
});
