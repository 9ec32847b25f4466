// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Requests, signals, deadlines and cancelling.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, matMul, TandemError } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf, rejectionOf } from './errors.js';

describe('requests', () => {
  let rt;
  let x;
  /** A result that takes a while. */
  const long = () => {
    let y = x;
    for (let i = 0; i < 4; ++i) y = matMul(y, x);
    return y;
  };
  before(async () => {
    rt = await createRuntime();
    x = rt.fill([600, 600], 1 / 600);
  });
  after(() => rt.dispose());

  it('resolve with what the function returns', async () => {
    expect(await rt.request({}, async () => (await add(rt.tensor([1]), 1).array())[0])).to.equal(2);
    expect(await rt.request({ signal: new AbortController().signal, deadline: 1e6 }, () => 3)).to.equal(3);
    expect(await rt.request({ deadline: Infinity }, () => 4)).to.equal(4);
  });

  it('reject with what the function throws', async () => {
    const reason = new RangeError('mine');
    expect(await rejectionOf(rt.request({}, () => {
      throw reason;
    }))).to.equal(reason);
  });

  it('that are aborted before do not begin', async () => {
    const reason = new Error('before');
    let ran = false;
    const request = rt.request({ signal: AbortSignal.abort(reason) }, () => {
      ran = true;
    });
    expect(await rejectionOf(request)).to.equal(reason);
    expect(ran).to.equal(false);
    expect(await rejectionOf(x.data({ signal: AbortSignal.abort(reason) }))).to.equal(reason);
  });

  it('that are aborted meanwhile reject with the reason (CA-3)', async () => {
    const controller = new AbortController();
    const reason = new Error('meanwhile');
    let inner;
    const request = rt.request({ signal: controller.signal }, async () => {
      inner = long().data();
      return inner;
    });
    controller.abort(reason);
    expect(await rejectionOf(request)).to.equal(reason);
    expect(await rejectionOf(inner)).to.equal(reason);
    // Others are not touched.
    expect((await add(x, x).data())[0]).to.be.closeTo(2 / 600, 1e-6);
  });

  it('that are over take no more calls', async () => {
    const controller = new AbortController();
    const reason = new Error('over');
    let error;
    const request = rt.request({ signal: controller.signal }, (req) => {
      controller.abort(reason);
      expect(req.isOver).to.equal(true);
      error = errorOf(() => add(x, x));
      expect(errorOf(() => req.run(() => 1))).to.equal(reason);
    });
    expect(await rejectionOf(request)).to.equal(reason);
    expect(error).to.equal(reason);
  });

  it('that are aborted after have resolved', async () => {
    const controller = new AbortController();
    const y = await rt.request({ signal: controller.signal }, () => add(x, x));
    await y.ready();
    controller.abort();
    expect((await y.data())[0]).to.be.closeTo(2 / 600, 1e-6);
  });

  it('have deadlines', async () => {
    const error = await rejectionOf(rt.request({ deadline: 1 }, () => new Promise(() => undefined)));
    expect(error).to.be.instanceOf(TandemError);
    expect(error.code).to.equal('DeadlineExceeded');
    for (const deadline of [NaN, -1, '5']) {
      expect((await rejectionOf(rt.request({ deadline }, () => 1))).code).to.equal('InvalidArgument');
    }
    expect((await rejectionOf(rt.request({ signal: 'stop' }, () => 1))).code).to.equal('InvalidArgument');
  });

  it('follow awaits of tensors', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const request = rt.request({ signal: controller.signal }, async () => {
      await add(x, x).data();
      const pending = long();
      controller.abort(reason);
      return pending.data();
    });
    expect(await rejectionOf(request)).to.equal(reason);
  });

  it('leave what is outside of them alone', async () => {
    const controller = new AbortController();
    const request = rt.request({ signal: controller.signal }, () => new Promise(() => undefined));
    const y = long();
    controller.abort(new Error('stop'));
    await rejectionOf(request);
    expect((await y.data())[0]).to.be.closeTo(1 / 600, 1e-6);
  });

  it('a signal of a waiting call ends the waiting only', async () => {
    const controller = new AbortController();
    const reason = { my: 'reason' };
    const y = long();
    const waiting = y.data({ signal: controller.signal });
    controller.abort(reason);
    expect(await rejectionOf(waiting)).to.equal(reason);
    expect((await y.data())[0]).to.be.closeTo(1 / 600, 1e-6);
  });

  it('cancel makes all that is pending errors, until restart (CA-1, CA-2)', async () => {
    const y = long();
    const waiting = y.data();
    rt.cancel('enough');
    const error = await rejectionOf(waiting);
    expect(error.code).to.equal('Cancelled');
    expect(error.message).to.include('enough');
    expect(errorOf(() => add(x, x)).code).to.equal('Cancelled');
    rt.restart();
    expect((await rejectionOf(y.data())).code).to.equal('Cancelled');
    expect((await add(x, x).data())[0]).to.be.closeTo(2 / 600, 1e-6);
  });

  it('settled waits for all that was called', async () => {
    const y = long();
    expect(y.state).to.equal('pending');
    await rt.settled();
    expect(y.state).to.equal('available');
  });
});
