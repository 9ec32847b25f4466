// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Scopes free what was made in them and not returned.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, concat, matMul, mul, sum } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf, rejectionOf } from './errors.js';

describe('scopes', () => {
  let rt;
  let x;
  before(async () => {
    rt = await createRuntime();
    x = rt.tensor([1, 2, 3]);
  });
  after(() => rt.dispose());

  it('free what is not returned', async () => {
    let inner;
    const y = rt.scope(() => {
      inner = add(x, 1);
      return mul(inner, 2);
    });
    expect(inner.disposed).to.equal(true);
    expect(await y.array()).to.deep.equal([4, 6, 8]);
  });

  it('look into arrays and objects that are returned', () => {
    const [a, { b, c }] = rt.scope(() => [add(x, 1), { b: add(x, 2), c: new Map([['k', add(x, 3)]]) }]);
    for (const tensor of [a, b, c.get('k')]) expect(tensor.disposed).to.equal(false);
  });

  it('leave tensors of outside, and those kept', () => {
    const y = rt.scope(() => {
      const kept = rt.keep(add(x, 1));
      expect(x.disposed).to.equal(false);
      return { text: 'no tensor', kept: undefined, again: () => kept };
    });
    expect(y.again().disposed).to.equal(false);
    expect(x.disposed).to.equal(false);
  });

  it('hand what they return to the scope around them', () => {
    let inner;
    rt.scope(() => {
      inner = rt.scope(() => add(x, 1));
      expect(inner.disposed).to.equal(false);
    });
    expect(inner.disposed).to.equal(true);
  });

  it('free all of many, whatever was disposed of, kept or handed on before', () => {
    const made = [];
    const handed = [];
    const [first, kept] = rt.scope(() => {
      for (let i = 0; i < 2000; ++i) {
        made.push(add(x, i));
        if (i % 3 === 0) made.at(-1).dispose();
        if (i % 100 === 50) handed.push(rt.scope(() => [mul(x, i), add(x, x)][0]));
      }
      expect(made.filter((tensor) => !tensor.disposed).length).to.equal(1333);
      return [made[1], rt.keep(made[1999])];
    });
    for (const tensor of [...made.slice(2, -1), ...handed]) expect(tensor.disposed).to.equal(true);
    expect(first.disposed).to.equal(false);
    expect(kept.disposed).to.equal(false);
  });

  it('free what calls with options and lists of tensors make', () => {
    const seen = rt.scope(() => {
      const tensors = [];
      for (let i = 0; i < 3; ++i) tensors.push(concat([x, x], 0), sum(x, [0], { keepDims: true }), add(x, 1));
      return { tensors: () => tensors };
    });
    for (const tensor of seen.tensors()) expect(tensor.disposed).to.equal(true);
  });

  it('free what is made of their tensors after an await', async () => {
    let late;
    await rt.scope(async () => {
      const y = add(x, 1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      late = [add(y, y), add(x, y), concat([x, y], 0)];
      expect(late.some(({ disposed }) => disposed)).to.equal(false);
    });
    for (const tensor of late) expect(tensor.disposed).to.equal(true);
  });

  it('free when the function throws', () => {
    let inner;
    const reason = new Error('mine');
    expect(errorOf(() => rt.scope(() => {
      inner = add(x, 1);
      throw reason;
    }))).to.equal(reason);
    expect(inner.disposed).to.equal(true);
  });

  it('last until a returned promise is settled, also across await', async () => {
    const made = [];
    const big = rt.fill([400, 400], 1);
    const y = await rt.scope(async () => {
      const first = matMul(big, big);
      made.push(first);
      await first.data();
      expect(first.disposed).to.equal(false);
      const second = add(x, 1);
      made.push(second);
      await second.data();
      made.push(add(second, 1));
      return mul(made[2], 1);
    });
    expect(made.map((tensor) => tensor.disposed)).to.deep.equal([true, true, true]);
    expect(await y.array()).to.deep.equal([3, 4, 5]);
    const reason = new Error('mine');
    let inner;
    expect(await rejectionOf(rt.scope(async () => {
      inner = add(x, 1);
      await inner.ready();
      throw reason;
    }))).to.equal(reason);
    expect(inner.disposed).to.equal(true);
  });

  it('do not touch what others make meanwhile', async () => {
    let release;
    const gate = new Promise((resolve) => {
      release = resolve;
    });
    const scope = rt.scope(() => gate);
    const outside = add(x, 1);
    release();
    await scope;
    expect(outside.disposed).to.equal(false);
  });
});
