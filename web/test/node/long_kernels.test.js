// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that would run for minutes end when nobody wants their results any more (CA-4).

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, conv2d, TandemError } from 'tandem-rt';
import { createRuntime } from '../create_runtime.js';
import { rejectionOf } from '../errors.js';

const threads = Number(process.env.TANDEM_TEST_THREADS) || 1;

describe('a long kernel', () => {
  let rt;
  let image;
  let filter;
  before(async () => {
    rt = await createRuntime();
    image = rt.fill([1, 1500, 1500, 1], 0.5);
    filter = rt.fill([1000, 1000, 1, 1], 0.5);
  });
  after(() => rt.dispose());

  const long = () => conv2d(image, filter, [1, 1, 1, 1], 'VALID');
  const resultBytes = 4 * 501 * 501;
  /** Returns once the kernel has its result's memory; without threads it would not return before the kernel. */
  const begun = async (inUse) => {
    while (threads > 1 && rt.memory().bytesInUse < inUse + resultBytes) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  };

  it('ends when its signal is aborted (CA-3)', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const inUse = rt.memory().bytesInUse;
    let y;
    const request = rt.request({ signal: controller.signal }, () => {
      y = long();
      return y.data();
    });
    await begun(inUse);
    controller.abort(reason);
    expect(await rejectionOf(request)).to.equal(reason);
    await rt.settled();
    expect(y.state).to.equal('error');
    expect(rt.memory().pendingOps).to.equal(0);
    expect(await add(rt.tensor([1]), 1).array()).to.deep.equal([2]);
  });

  it('ends at its deadline', async () => {
    const error = await rejectionOf(rt.request({ deadline: 20 }, () => long().data()));
    expect(error.code).to.equal('DeadlineExceeded');
    await rt.settled();
    expect(rt.memory().pendingOps).to.equal(0);
  });

  it('ends with the runtime', async () => {
    const other = await createRuntime();
    const x = other.fill([1, 1500, 1500, 1], 0.5);
    const y = conv2d(x, other.fill([1000, 1000, 1, 1], 0.5), [1, 1, 1, 1], 'VALID');
    const waiting = rejectionOf(y.data());
    await other.dispose();
    expect(await waiting).to.be.instanceOf(TandemError);
  });
});
