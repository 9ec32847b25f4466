// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading at once (AV-7): what is queued is computed, what only the event loop brings is an error.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, gather, matMul, mul, relu, sum, unique } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf } from './errors.js';

describe('reading at once', () => {
  let rt;
  before(async () => {
    rt = await createRuntime();
  });
  after(() => rt.dispose());

  it('gives what data and array give, of each dtype (AV-7)', async () => {
    const tensors = [
      rt.tensor([[1, 2], [3, 4]]), rt.tensor([1, -2], { dtype: 'i8' }), rt.tensor([1n, 2n]), rt.tensor([true, false]),
      rt.tensor([[1, 2]], { dtype: 'c64' }), rt.tensor([0x3c00], { dtype: 'f16' }), rt.tensor(['a', 'ü', '']),
      rt.tensor([[], []]), rt.scalar(5),
    ];
    for (const tensor of tensors) {
      expect(tensor.dataSync()).to.deep.equal(await tensor.data());
      expect(tensor.arraySync()).to.deep.equal(await tensor.array());
    }
  });

  it('computes what is queued, and copies (AV-7)', () => {
    // Long enough to be queued. With threads it may have failed already when the call is to return, which then throws.
    const ones = rt.fill([300_000], 1);
    const wrong = () => gather(ones, rt.fill([300_000], 400_000, 'i32'), 0);
    for (const read of ['dataSync', 'arraySync', 'readySync']) {
      expect(errorOf(() => wrong()[read]())).to.have.property('op', 'tf.GatherV2');
    }
  });

  it('fails once the tensor is disposed of', () => {
    const x = rt.tensor([1]);
    x.dispose();
    expect(errorOf(() => x.dataSync())).to.include({ code: 'FailedPrecondition' });
    expect(errorOf(() => x.bytesSync()).message).to.match(/^\[bytesSync\] expected a tensor that is not disposed of/);
  });

  it('goes on when memory is short, with which garbage is collected later', async () => {
    const own = await createRuntime({ memoryLimit: 1 << 30 });
    try {
      let y = own.fill([1024, 1024], 1);
      // More than the threshold of 256 MiB in garbage and what is alive.
      for (let i = 0; i < 100; ++i) y = add(y, 1);
      expect(y.dataSync()[0]).to.equal(101);
    } finally {
      await own.dispose();
    }
  });

  it('says what waits for a promise of the program (AV-7)', async () => {
    const own = await createRuntime();
    try {
      let answer;
      const call = await own.registerOp({
        name: 'test.Later', inputs: ['x: float'], outputs: ['y: float'], metadata: ['x'],
        kernel: ({ inputs: [x] }) => new Promise((resolve) => {
          answer = () => resolve(x.data.map((value) => 2 * value));
        }),
      });
      const y = call(own.tensor([1, 2]));
      const error = errorOf(() => y.dataSync());
      expect(error).to.include({ code: 'FailedPrecondition' });
      expect(error.message).to.match(/only the event loop brings, .*; await data\(\), or rt\.loadKernels\(\)/);
      answer();
      expect([...await y.data()]).to.deep.equal([2, 4]);
      expect([...y.dataSync()]).to.deep.equal([2, 4]);
    } finally {
      await own.dispose();
    }
  });
});

describe('asking for a promise', () => {
  let rt;
  let large;
  const turn = () => new Promise((resolve) => setTimeout(resolve));
  before(async () => {
    rt = await createRuntime();
    // Some 100 us for an op: enough to be queued.
    large = rt.fill([500_000], 1);
    await large.ready();
  });
  after(() => rt.dispose());

  it('computes at once what is short (AV-7)', async () => {
    let atOnce = false;
    // A machine that is busy may take longer than the 8 ms that it has, but not always.
    for (let tries = 0; tries < 50 && !atOnce; ++tries) {
      await turn();
      const y = relu(add(large, 1));
      const ready = y.ready();
      // With threads a worker may have it.
      atOnce = rt.capabilities.threads !== 1 || y.state === 'available';
      await ready;
      expect(y.state).to.equal('available');
      expect((await y.data())[499_999]).to.equal(2);
      y.dispose();
    }
    expect(atOnce).to.equal(true);
  });

  it('leaves what is long for later (AV-7)', async () => {
    const a = rt.fill([768, 768], 1);
    await a.ready();
    await turn();
    const y = matMul(a, a);
    const data = y.data();
    expect(y.state).to.equal('pending');
    expect((await data)[0]).to.equal(768);
  });

  it('tells of what fails meanwhile (AV-7)', async () => {
    await turn();
    // With threads the call itself may find it.
    let error;
    try {
      await gather(large, rt.fill([300_000], 600_000, 'i32'), 0).data();
    } catch (caught) {
      error = caught;
    }
    expect(error).to.include({ op: 'tf.GatherV2', code: 'InvalidArgument' });
  });

  it('lets the event loop take turns with what is short (AV-7)', async () => {
    let turns = 0;
    const timer = setInterval(() => ++turns, 1);
    const end = performance.now() + 300;
    while (performance.now() < end) {
      const y = add(large, 1);
      await y.ready();
      y.dispose();
    }
    clearInterval(timer);
    expect(turns).to.be.above(5);
  });
});

describe('bytes of strings', () => {
  let rt;
  before(async () => {
    rt = await createRuntime();
  });
  after(() => rt.dispose());

  it('are those of texts in UTF-8', async () => {
    const texts = rt.tensor(['aü', '', '\0']);
    const expected = [[0x61, 0xc3, 0xbc], [], [0]].map((list) => Uint8Array.from(list));
    expect(await texts.bytes()).to.deep.equal(expected);
    expect(texts.bytesSync()).to.deep.equal(expected);
  });

  it('make tensors, also where they are not UTF-8', async () => {
    const bytes = [[0xff, 0xfe], [0x61], []].map((list) => Uint8Array.from(list));
    const given = rt.tensor(bytes, { dtype: 'string' });
    expect(given.shape).to.deep.equal([3]);
    expect(given.bytesSync()).to.deep.equal(bytes);
    expect(given.dataSync()).to.deep.equal(['\ufffd\ufffd', 'a', '']);
    expect(rt.tensor([bytes, bytes], { dtype: 'string' }).shape).to.deep.equal([2, 3]);
    expect(rt.tensor(bytes[0], { dtype: 'string' }).shape).to.deep.equal([]);
    expect(rt.tensor(['a', bytes[1]], { dtype: 'string', shape: [2, 1] }).dataSync()).to.deep.equal(['a', 'a']);
  });

  it('are of strings alone', () => {
    expect(errorOf(() => rt.tensor([1]).bytesSync()).message).to.equal('[bytesSync] expected a tensor of strings, got f32[1]');
    expect(errorOf(() => rt.tensor([new Float32Array(1)], { dtype: 'string' })).code).to.equal('InvalidArgument');
  });
});
