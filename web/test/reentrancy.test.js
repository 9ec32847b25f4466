// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Code of the program's that runs in the middle of a call, and changes what the call is about: it disposes of arguments
// or of the runtime, calls ops, makes memory grow.

import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';

import { add, concat, leakyRelu, reshape, TandemError } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, errorOf, expectError, rejectionOf } from './errors.js';

/** An object whose `name` is `value`, once `act` has been done; after the first `skip` times. */
function acting(name, value, act) {
  return { get [name]() { act(); return value; } };
}

/** A list of the values; reading the last one does `act`. */
function actingList(values, act) {
  const list = [...values];
  Object.defineProperty(list, list.length - 1, { enumerable: true, get: () => { act(); return values.at(-1); } });
  return list;
}

describe('code that runs in the middle of a call', () => {
  let rt;
  beforeEach(async () => {
    rt = await createRuntime();
  });
  afterEach(() => rt.dispose());

  it('may dispose of an argument', async () => {
    for (const isKnown of [false, true]) {
      const make = () => rt.tensor(new Float32Array(64).fill(1), [8, 8]);
      // Options and lists that are known from calls before take another way.
      if (isKnown) {
        leakyRelu(make(), { alpha: 0.5 });
        reshape(make(), [64]);
      }
      const ways = [
        (x) => leakyRelu(x, acting('alpha', 0.5, () => x.dispose())),
        (x) => reshape(x, actingList([64], () => x.dispose())),
        (x) => add(x, actingList([1, 2, 3, 4, 5, 6, 7, 8], () => x.dispose())),
        (x) => concat(actingList([x, make()], () => x.dispose()), 0),
        (x) => rt.execute('tf.AddV2', [x, actingList([1], () => x.dispose())]),
        (x) => rt.execute('tf.LeakyRelu', [x], acting('alpha', 0.5, () => x.dispose())),
      ];
      for (const way of ways) expectError(() => way(make()), 'FailedPrecondition', /not disposed of/);
    }
    expect(await add(rt.tensor([1]), 1).array()).to.deep.equal([2]);
  });

  it('may dispose of the runtime', async () => {
    const ways = [
      (r, x) => leakyRelu(x, acting('alpha', 0.5, () => r.dispose())),
      (r, x) => reshape(x, actingList([2], () => r.dispose())),
      (r) => r.tensor(actingList([1, 2], () => r.dispose())).shape,
      (r, x) => add(x, actingList([1, 2], () => r.dispose())),
      (r) => r.zeros(actingList([1, 2], () => r.dispose())).shape,
      (r) => r.execute('tf.Const', [], { dtype: 'f32', value: { values: actingList([1], () => r.dispose()) } }),
      (r) => r.alloc(actingList([1, 2], () => r.dispose())).view(),
      (r, x) => concat(actingList([x, x], () => r.dispose()), 0),
    ];
    for (const way of ways) {
      const own = await createRuntime();
      expectError(() => way(own, own.tensor([1, 2])), 'FailedPrecondition', /has been disposed of/);
    }
    const own = await createRuntime();
    const x = own.tensor([1]);
    checkError(await rejectionOf(x.data(acting('signal', undefined, () => own.dispose()))), 'FailedPrecondition',
      /disposed of/);
  });

  it('may call ops, and make memory grow', async () => {
    const grow = () => rt.zeros([1 << 22]);
    // What was to be filled may have moved: then that is an error, not another value.
    let value;
    try {
      value = await rt.tensor(actingList([1, 2, 3], grow)).array();
    } catch (error) {
      expect(error).to.be.instanceOf(TandemError);
    }
    if (value !== undefined) expect(value).to.deep.equal([1, 2, 3]);
    const x = rt.tensor([1, -2]);
    const inner = () => leakyRelu(x, { alpha: 0.25 });
    expect(await leakyRelu(x, acting('alpha', 0.5, inner)).array()).to.deep.equal([1, -1]);
    expect(await leakyRelu(x, acting('alpha', 0.5, grow)).array()).to.deep.equal([1, -1]);
    expect(await reshape(x, actingList([2, 1], () => reshape(x, [1, 2]))).array()).to.deep.equal([[1], [-2]]);
  });

  it('may give something else each time, which is not kept for the next call', async () => {
    const x = rt.tensor([1, -2]);
    let alpha = 0.25;
    const changing = { get alpha() { return (alpha *= 2); } };
    // Whatever it has read, the call with 0.5 is that with 0.5, and so on.
    leakyRelu(x, changing);
    for (const slope of [0.5, 1, 2, 4]) {
      expect(await leakyRelu(x, { alpha: slope }).array()).to.deep.equal([1, -2 * slope]);
    }
    let size = 0;
    const list = new Proxy([0], { get: (target, name) => (name === '0' ? (size++ === 0 ? 2 : -1) : target[name]) });
    reshape(x, list);
    expect(reshape(x, [-1]).shape).to.deep.equal([2]);
    expectError(() => reshape(x, [3]), 'InvalidArgument', /Reshape/);
  });
});

describe('requests and scopes', () => {
  let rt;
  beforeEach(async () => {
    rt = await createRuntime();
  });
  afterEach(() => rt.dispose());

  it('take functions and tensors only', async () => {
    for (const wrong of [undefined, null, 5, {}, 'f', [], Symbol('s')]) {
      expectError(() => rt.scope(wrong), 'InvalidArgument', /^\[scope\] expected a function/);
      expectError(() => rt.keep(wrong), 'InvalidArgument', /^\[keep\] expected a tensor/);
      checkError(await rejectionOf(rt.request({}, wrong)), 'InvalidArgument', /function/);
    }
    for (const options of [undefined, null]) {
      expect(await rejectionOf(rt.request(options, () => 1))).to.be.instanceOf(TandemError);
    }
    for (const signal of [null, 5, {}, { aborted: false }, 'abort']) {
      checkError(await rejectionOf(rt.request({ signal }, () => 1)), 'InvalidArgument', /AbortSignal/);
      checkError(await rejectionOf(rt.tensor([1]).data({ signal })), 'InvalidArgument', /AbortSignal/);
    }
    for (const deadline of [NaN, -1, '5', 5n, null, Symbol('s')]) {
      checkError(await rejectionOf(rt.request({ deadline }, () => 1)), 'InvalidArgument', /milliseconds/);
    }
  });

  it('are over for any reason, also one without a text', async () => {
    const mute = { toString: () => { throw new Error('no'); } };
    for (const reason of [Object.create(null), Symbol('why'), null, 5n, mute]) {
      const controller = new AbortController();
      const request = rt.request({ signal: controller.signal }, () => new Promise(() => undefined));
      controller.abort(reason);
      expect(await request.then(() => 'resolved', (error) => error)).to.equal(reason);
      // A call of it throws the reason as it is.
      let inside;
      const again = new AbortController();
      await rt.request({ signal: again.signal }, () => {
        again.abort(reason);
        const x = rt.tensor([1]);
        inside = errorOf(() => add(x, 1));
      }).catch(() => undefined);
      expect(inside).to.equal(reason);
    }
    rt.cancel(Object.create(null));
    rt.restart();
    expect(await add(rt.tensor([1]), 1).array()).to.deep.equal([2]);
  });

  it('free what they made, whatever they return', async () => {
    let inner;
    const keep = (value) => rt.scope(() => {
      inner = rt.tensor([1]);
      return value(inner);
    });
    let deep = inner;
    keep((tensor) => {
      deep = tensor;
      for (let i = 0; i < 200_000; ++i) deep = [deep];
      return deep;
    });
    expect(inner.disposed).to.equal(false);
    const cyclic = {};
    cyclic.self = cyclic;
    keep(() => cyclic);
    expect(inner.disposed).to.equal(true);
    expect(errorOf(() => keep(() => ({ get bad() { throw new Error('no'); } })))).to.be.instanceOf(TandemError);
    expect(inner.disposed).to.equal(true);
    expect(() => keep(() => ({ get then() { throw new Error('mine'); } }))).to.throw('mine');
    expect(inner.disposed).to.equal(true);
    // The way of a call is the short one again.
    expect(await add(rt.tensor([1]), rt.tensor([2])).array()).to.deep.equal([3]);
  });
});
