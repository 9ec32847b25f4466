// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The module's second part: kernels that a page fetches when it first calls one.

import { expect } from 'chai';
import { describe, it } from 'mocha';

import { add, cast, createRuntime, matrixDiag, relu, unique } from 'tandem-rt';
import { checkError, errorOf, rejectionOf } from './errors.js';

const dist = (name) => new URL(`../dist/${name}`, import.meta.url);
const isBrowser = typeof globalThis.location === 'object';
// A runtime without the second part, also in Node, which loads it at once: nothing is found there.
const without = (options) => createRuntime({ device: 'cpu', kernelsUrl: dist('none.wasm'), ...options });

describe('kernels of the second part', () => {
  for (const threads of [1, 3]) {
    it(`are fetched by the first call, with ${threads} threads if there can be`, async () => {
      const rt = await createRuntime({ device: 'cpu', threads });
      const x = rt.tensor([1, 2, 3], { dtype: 'f64' });
      const y = add(x, x);
      expect(y.shape).to.deep.equal([3]);
      const z = add(y, 1);
      const diagonal = matrixDiag(cast(z, 'f32'));
      expect(await z.array()).to.deep.equal([3, 5, 7]);
      expect(await relu(diagonal).array()).to.deep.equal([[3, 0, 0], [0, 5, 0], [0, 0, 7]]);
      const many = rt.ones([1 << 16], 'f64');
      for (let i = 0; i < 8; ++i) expect((await add(many, many).data())[i]).to.equal(2);
      await rt.dispose();
    });
  }

  it('are waited for by settled, and by calls whose shape they decide', async () => {
    const rt = await createRuntime({ device: 'cpu' });
    const { y } = unique(rt.tensor([3, 1, 3], { dtype: 'i32' }));
    await rt.settled();
    expect(await y.array()).to.deep.equal([3, 1]);
    await rt.dispose();
  });

  it('are not needed for what networks are made of', async () => {
    const rt = await without();
    expect(await relu(add(rt.tensor([-1, 2]), 1)).array()).to.deep.equal([0, 3]);
    await rt.dispose();
  });

  it('that cannot be had are an error of the call, which says where they were sought', async () => {
    const rt = await without();
    const x = rt.tensor([1, 2], { dtype: 'f64' });
    const y = add(x, x);
    const error = checkError(await rejectionOf(y.data()), 'NotFound',
      /expected the file tandem-kernels\.wasm at .*none\.wasm.*kernelsUrl/);
    expect(error.op).to.equal('tf.AddV2');
    // The next call tries again, and so does who asks for them.
    checkError(await rejectionOf(add(x, x).data()), 'NotFound', /tandem-kernels\.wasm/);
    checkError(await rejectionOf(rt.loadKernels()), 'NotFound', /tandem-kernels\.wasm/);
    await rt.dispose();
  });

  it('of another module are FailedPrecondition', async () => {
    const rt = await createRuntime({ device: 'cpu', threads: 1, kernelsUrl: dist('tandem-programs.wasm') });
    checkError(await rejectionOf(rt.loadKernels()), 'FailedPrecondition',
      /expected the tandem-kernels\.wasm that goes with .* got one of build none/);
    await rt.dispose();
  });

  it('are there with the runtime if they are preloaded', async () => {
    for (const threads of [1, 3]) {
      const rt = await createRuntime({ device: 'cpu', threads, preload: ['programs', 'kernels'] });
      const x = rt.tensor([1, 2], { dtype: 'f64' });
      expect([...add(x, x).dataSync()]).to.deep.equal([2, 4]);
      const { program, result } = await rt.record((v) => add(v, v), { inputs: [x] });
      expect(await result.array()).to.deep.equal([2, 4]);
      program.dispose();
      await rt.dispose();
    }
    checkError(await rejectionOf(without({ preload: ['kernels'] })), 'NotFound', /tandem-kernels\.wasm at .*none\.wasm/);
    for (const preload of ['kernels', ['kernel'], [1], null]) {
      checkError(await rejectionOf(createRuntime({ preload })), 'InvalidArgument',
        /expected preload to be a list of 'kernels', 'programs' and 'fusion'/);
    }
  });

  it('make no difference to calls that are wrong', async () => {
    const rt = await without();
    const x = rt.tensor([1, 2], { dtype: 'f64' });
    checkError(errorOf(() => add(x, rt.tensor([1, 2, 3], { dtype: 'f64' }))), 'InvalidArgument', /broadcast|shapes/);
    await rt.dispose();
  });

  if (isBrowser) {
    it('are pending until they are there, and not after loadKernels', async () => {
      const rt = await createRuntime({ device: 'cpu', threads: 1, kernelsUrl: dist(`tandem-kernels.wasm?${Math.random()}`) });
      const x = rt.tensor([1, 2], { dtype: 'f64' });
      const y = add(x, x);
      expect(y.state).to.equal('pending');
      await rt.loadKernels();
      expect(await y.array()).to.deep.equal([2, 4]);
      expect(add(x, x).state).to.equal('available');
      await rt.dispose();
    });
  }
});
