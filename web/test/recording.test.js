// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Recordings: calls that become programs, and what is wrong with them.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import * as ops from 'tandem-rt';
import { add, loadSafetensors, matMul, mul, relu, saveSafetensors, sub, TandemError, topK } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, expectError, rejectionOf } from './errors.js';

describe('recordings', () => {
  let rt;
  before(async () => {
    rt = await createRuntime({ onPrint: () => undefined });
  });
  after(() => rt.dispose());

  it('PR-4: do for other inputs what was done', async () => {
    const w = rt.tensor([[1, 2], [3, 4]]);
    const { program, result, weights } = await rt.record((x) => relu(add(matMul(x, w), 1)), { inputs: [[[1, -2]]] });
    expect(program.functions).to.deep.equal([{ name: 'main', inputs: 1, results: 1 }]);
    expect(weights.size).to.equal(0);
    const eager = async (x) => relu(add(matMul(rt.tensor(x), w), 1)).array();
    expect(await result.array()).to.deep.equal(await eager([[1, -2]]));
    for (const x of [[[1, -2]], [[5, 7], [0.5, -0.25]]]) {
      expect(await program.run('main', [x])[0].array()).to.deep.equal(await eager(x));
    }
  });

  it('have the results that were returned: one, several, none', async () => {
    const inputs = [[3, 1, 2]];
    const asList = await rt.record((x) => [x, add(x, x)], { inputs });
    expect(await asList.program.run('main', [[1]])[1].array()).to.deep.equal([2]);
    const asObject = await rt.record((x) => topK(x, 1), { inputs, name: 'top' });
    const [values, indices] = asObject.program.run('top', [[5, 9, 7]]);
    expect([await values.array(), await indices.array()]).to.deep.equal([[9], [1]]);
    expect(await asObject.result.values.array()).to.deep.equal([3]);
    const none = await rt.record(() => undefined);
    expect(none.program.run('main')).to.deep.equal([]);
    expect(none.result).to.equal(undefined);
  });

  it('PR-4: follow await, and what the host decides', async () => {
    const { program } = await rt.record(async (x) => {
      let y = x;
      while (await ops.sum(y, [0]).item() < 100) y = mul(y, 2);
      await new Promise((resolve) => void setTimeout(resolve));
      return add(y, 1);
    }, { inputs: [[10, 15]] });
    expect(program.toText().match(/tf\.Mul/g)).to.have.length(2);
    expect(await program.run('main', [[1, 2]])[0].array()).to.deep.equal([5, 9]);
  });

  it('have effects, too', async () => {
    const printed = [];
    const printing = await createRuntime({ device: 'cpu', onPrint: (text) => printed.push(text) });
    const { program } = await printing.record((text) => {
      ops.printStrings(printing, text);
      ops.printStrings(printing, text);
    }, { inputs: ['first'] });
    await printing.settled();
    program.run('main', ['second']);
    program.run('main', ['third']);
    await printing.settled();
    expect(printed.join('').match(/first|second|third/g).join(' ')).to.equal('first first second second third third');
    await printing.dispose();
  });

  it('keep large constants apart as weights, which go to a file', async () => {
    const w = rt.tensor(Float32Array.from({ length: 600 }, (_, i) => i), [2, 300]);
    const recording = await rt.record((x) => add(matMul(x, w), 0.5), { inputs: [[[1, 2]]], maxInlineBytes: 1000 });
    expect([...recording.weights.keys()]).to.deep.equal(['weight0']);
    const bytes = await saveSafetensors(recording.weights);
    const text = recording.program.toText();
    const expected = await recording.program.run('main', [[[3, 4]]])[0].data();
    recording.dispose();
    expect(recording.program.disposed).to.equal(true);
    const other = await createRuntime({ device: 'cpu' });
    const program = await other.loadProgram(text, { weights: loadSafetensors(other, bytes) });
    expect(await program.run('main', [[[3, 4]]])[0].data()).to.deep.equal(expected);
    expect((await recording.result.data())[1]).to.equal(1 + 2 * 301 + 0.5);
    await other.dispose();
  });

  it('record training steps, which replay to the same bits in exact mode', async () => {
    const exact = await createRuntime({ device: 'cpu', exact: true });
    let seed = 1;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5;
    const values = (...shape) => exact.tensor(
      Float32Array.from({ length: shape.reduce((a, b) => a * b) }, random), shape);
    // Softmax regression with a hidden layer and momentum; the gradients by hand.
    const step = (x, labels, w1, w2, v1, v2) => {
      const hidden = relu(matMul(x, w1));
      const gradient = sub(ops.softmax(matMul(hidden, w2)), labels);
      const g2 = matMul(hidden, gradient, { transposeA: true });
      const g1 = matMul(x, ops.reluGrad(matMul(gradient, w2, { transposeB: true }), hidden), { transposeA: true });
      const n1 = add(mul(v1, 0.9), g1);
      const n2 = add(mul(v2, 0.9), g2);
      return [sub(w1, mul(n1, 0.01)), sub(w2, mul(n2, 0.01)), n1, n2];
    };
    const x = values(16, 9);
    const labels = exact.tensor(Array.from({ length: 16 }, (_, i) => [0, 1, 2].map((j) => Number(i % 3 === j))));
    const begin = [values(9, 12), values(12, 3), exact.zeros([9, 12]), exact.zeros([12, 3])];
    const { program } = await exact.record(step, { inputs: [x, labels, ...begin], name: 'step' });
    let [eager, replayed] = [begin, begin];
    for (let i = 0; i < 100; ++i) {
      eager = step(x, labels, ...eager);
      replayed = program.run('step', [x, labels, ...replayed]);
    }
    for (let i = 0; i < 4; ++i) {
      const bits = new Uint32Array((await replayed[i].data()).buffer);
      expect(bits).to.deep.equal(new Uint32Array((await eager[i].data()).buffer));
      expect(bits).to.not.deep.equal(new Uint32Array((await begin[i].data()).buffer));
    }
    await exact.dispose();
  });

  it('end with what the function throws', async () => {
    const reason = { not: 'an error' };
    const thrown = rt.record(() => {
      throw reason;
    });
    expect(await rejectionOf(thrown)).to.equal(reason);
    const error = new Error('later');
    expect(await rejectionOf(rt.record(() => Promise.reject(error)))).to.equal(error);
    const wrong = await rejectionOf(rt.record((x) => matMul(x, x), { inputs: [[[1, 2]]] }));
    checkError(wrong, 'InvalidArgument', /tf\.MatMul/);
    // Nothing is left of them.
    const { program } = await rt.record((x) => add(x, x), { inputs: [1] });
    expect(await program.run('main', [4])[0].item()).to.equal(8);
    expect(await add(rt.scalar(1), 2).item()).to.equal(3);
  });

  it('are one at a time', async () => {
    let inner;
    const { program } = await rt.record(async (x) => {
      inner = [await rejectionOf(rt.record(() => x)), await rejectionOf(rt.setLayers(['profile']))];
      return add(x, 1);
    }, { inputs: [1] });
    for (const error of inner) checkError(error, 'FailedPrecondition', /expected no recording/);
    expect(await program.run('main', [4])[0].item()).to.equal(5);
  });

  it('record what other code calls, as far as it is needed', async () => {
    let other;
    const recording = rt.record(async (x) => {
      await new Promise((resolve) => void setTimeout(resolve, 1));
      while (other === undefined) await new Promise((resolve) => void setTimeout(resolve, 1));
      return add(x, other);
    }, { inputs: [1] });
    await new Promise((resolve) => void setTimeout(resolve, 30));
    other = mul(rt.scalar(6), 7);
    sub(rt.scalar(1), 1);
    const { program } = await recording;
    expect(program.toText()).to.match(/tf\.Mul/).and.not.match(/tf\.Sub/);
    expect(await program.run('main', [4])[0].item()).to.equal(46);
  });

  it('refuse what is wrong', async () => {
    const one = rt.scalar(1);
    const gone = rt.scalar(1);
    gone.dispose();
    const other = await createRuntime({ device: 'cpu' });
    const theirs = other.scalar(1);
    const identity = (x) => x;
    const wrong = [
      [5, {}, /expected a function, got number 5/],
      [identity, 5, /options to be an object/],
      [identity, { what: 1 }, /inputs, name, maxInlineBytes, signal, got what/],
      [identity, { inputs: one }, /inputs to be an array/],
      [identity, { inputs: [{}] }, /inputs\[0\]/],
      [identity, { inputs: [one, one] }, /no input yet, got input 0/],
      [identity, { inputs: [theirs] }, /inputs\[0\] is of another runtime/],
      [identity, { name: '' }, /expected name to be a text/],
      [identity, { maxInlineBytes: -1 }, /maxInlineBytes/],
      [identity, { maxInlineBytes: NaN }, /maxInlineBytes/],
      [identity, { signal: 1 }, /AbortSignal/],
      [() => 5, {}, /expected the function to return a tensor.*got number 5/],
      [() => [one, 5], {}, /result 1 to be a tensor, got number 5/],
      [() => ({ y: null }), {}, /result y to be a tensor, got null/],
      [() => [theirs], {}, /result 0 is of another runtime/],
    ];
    for (const [fn, options, message] of wrong) {
      const error = checkError(await rejectionOf(rt.record(fn, options)), 'InvalidArgument', message);
      expect(error.location).to.match(/\.js:\d+:\d+$/);
    }
    checkError(await rejectionOf(rt.record(() => gone)), 'FailedPrecondition', /result 0, which is/);
    checkError(await rejectionOf(rt.record(identity, { inputs: [gone] })), 'FailedPrecondition', /inputs\[0\], which is/);
    await other.dispose();
    checkError(await rejectionOf(other.record(identity)), 'FailedPrecondition', /disposed of/);
    expect(await (await rt.record(() => one)).result.item()).to.equal(1);
  });

  it('fail with the error that a result has become', async () => {
    const large = rt.ones([1200, 1200]);
    const error = await rejectionOf(rt.record((x) => {
      const product = matMul(add(large, x), large);
      rt.cancel('enough');
      rt.restart();
      return product;
    }, { inputs: [1] }));
    checkError(error, 'Cancelled', /output 0 to be a tensor, got an error/);
    expect(error.cause).to.be.instanceOf(TandemError);
    checkError(error.cause, 'Cancelled', /enough|cancelled while it ran/);
  });

  it('stop when the signal says so, or the runtime is disposed of', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const recording = rt.record(() => {
      controller.abort(reason);
      return new Promise(() => undefined);
    }, { signal: controller.signal });
    expect(await rejectionOf(recording)).to.equal(reason);
    const other = await createRuntime({ device: 'cpu' });
    const error = await rejectionOf(other.record(async (x) => {
      await other.dispose();
      return x;
    }, { inputs: [1] }));
    checkError(error, 'FailedPrecondition', /disposed of/);
    expectError(() => other.scalar(1), 'FailedPrecondition', /disposed of/);
  });

  it('leave no memory behind', async () => {
    const other = await createRuntime({ device: 'cpu' });
    const w = other.ones([64, 64]);
    let before;
    for (let i = 0; i < 30; ++i) {
      const recording = await other.record((x) => other.scope(() => relu(matMul(x, w))),
        { inputs: [new Array(64).fill(new Array(64).fill(i))], maxInlineBytes: 64 });
      const [y] = recording.program.run('main', [w]);
      expect((await y.data())[0]).to.equal(64);
      y.dispose();
      recording.result.dispose();
      recording.dispose();
      await rejectionOf(other.record(() => { throw new Error('no'); }));
      await rejectionOf(other.record(() => 5));
      if (i === 5) before = other.memory();
    }
    expect(other.memory().bytesInUse).to.equal(before.bytesInUse);
    expect(other.memory().wasmBytes).to.equal(before.wasmBytes);
    await other.dispose();
  });
});
