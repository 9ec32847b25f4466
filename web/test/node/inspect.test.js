// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What console.log shows of tensors in Node.

import { inspect } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';

import { createRuntime } from '../create_runtime.js';

describe('what Node shows of a tensor', () => {
  it('is its elements', async () => {
    const rt = await createRuntime({ device: 'cpu', threads: 1 });
    expect(inspect(rt.tensor([[1, 2], [3, 4]]))).to.equal('Tensor f32[2,2] [ [ 1, 2 ], [ 3, 4 ] ]');
    expect(inspect({ y: rt.tensor([1n]) })).to.equal('{ y: Tensor i64[1] [ 1n ] }');
    expect(inspect(rt.scalar(0.5, 'f16'))).to.equal('Tensor f16[] 0.5');
    expect(inspect(rt.zeros([4000], 'f16'))).to.equal('Tensor f16[4000] [ 0, 0, 0, 0, 0, 0, ... 3994 more elements ]');
    const gone = rt.scalar(1);
    gone.dispose();
    expect(inspect(gone)).to.equal('Tensor (disposed)');
    await rt.dispose();
  });
});
