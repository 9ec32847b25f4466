// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The generated functions: one for each op, with arguments and results of every kind.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import * as tandem from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { rejectionOf } from './errors.js';

describe('op functions', () => {
  let rt;
  let x;
  let printed = '';
  before(async () => {
    rt = await createRuntime({ onPrint: (text) => (printed += text) });
    x = rt.tensor([[3, 1, 2], [6, 5, 4]]);
  });
  after(() => rt.dispose());

  it('are there for every op, but those of attributes that only programs have', () => {
    const camel = (name) => name[0].toLowerCase() + name.slice(1).replace(/(?<=\d)D/g, 'd');
    const versionless = (name) => name.replace(/V\d+$/, '');
    const names = rt.ops().map(({ name }) => name).filter((name) => !name.startsWith('test.') && name !== 'tf.Const');
    const renamed = { assert: 'assertTrue', print: 'printStrings' };
    for (const full of names) {
      const plain = names.filter((other) => versionless(other) === versionless(full)).length > 1 ? full : versionless(full);
      const name = camel(plain.split('.')[1].replace(/^_/, ''));
      expect(tandem[renamed[name] ?? name], full).to.be.a('function');
    }
  });

  it('take lists of tensors, and what says where or how many as numbers', async () => {
    expect(await tandem.concat([x, x], 1).array()).to.deep.equal([[3, 1, 2, 3, 1, 2], [6, 5, 4, 6, 5, 4]]);
    expect(await tandem.einsum([x, x], 'ij,kj->ik').array()).to.deep.equal([[14, 31], [31, 77]]);
    expect(await tandem.sum(x, [0, 1]).item()).to.equal(21);
    expect(await tandem.reshape(x, [3, -1]).array()).to.deep.equal([[3, 1], [2, 6], [5, 4]]);
  });

  it('give several results by their names, and lists of results', async () => {
    const { values, indices } = tandem.topK(x, 2);
    expect(await values.array()).to.deep.equal([[3, 2], [6, 5]]);
    expect(await indices.array()).to.deep.equal([[0, 2], [0, 1]]);
    const pieces = tandem.split(1, x, 3);
    expect(await Promise.all(pieces.map((piece) => piece.array()))).to.deep.equal([[[3], [6]], [[1], [5]], [[2], [4]]]);
  });

  it('give a list among other results, of as many as an attribute says', async () => {
    // [[[1, 2, 3], []], [[4, 5]]], of which rows 1, 0, and then those two times.
    const splits = [rt.tensor([0n, 2n, 3n]), rt.tensor([0n, 3n, 3n, 5n])];
    const values = rt.tensor([1, 2, 3, 4, 5]);
    const two = tandem.raggedGather(splits, values, [1, 0], 2);
    expect(await Promise.all(two.outputNestedSplits.map((each) => each.array()))).to.deep.equal(
      [[0n, 1n, 3n], [0n, 2n, 5n, 5n]]);
    expect(await two.outputDenseValues.array()).to.deep.equal([4, 5, 1, 2, 3]);
    const three = tandem.raggedGather(splits, values, [[1, 0], [1, 1]], 3);
    expect(await Promise.all(three.outputNestedSplits.map((each) => each.array()))).to.deep.equal(
      [[0n, 2n, 4n], [0n, 1n, 3n, 4n, 5n], [0n, 2n, 5n, 5n, 7n, 9n]]);
    const one = tandem.raggedGather([[0n, 1n, 5n]], values, [1], 1);
    expect(await Promise.all(one.outputNestedSplits.map((each) => each.array()))).to.deep.equal([[0n, 4n]]);
    for (const wrong of [-1, 0, 1]) {
      const call = async () => tandem.raggedGather(splits, values, [1], wrong).outputDenseValues.data();
      expect((await rejectionOf(call())).code, `${wrong}`).to.equal('InvalidArgument');
    }
  });

  it('take required attributes as arguments and the others as options', async () => {
    expect(await tandem.cast(rt.tensor([1.7, -1.7]), 'i32').array()).to.deep.equal([1, -1]);
    expect(await tandem.sum(x, 1, { keepDims: true }).array()).to.deep.equal([[6], [15]]);
    const image = rt.tensor(new Float32Array(16).fill(1), [1, 4, 4, 1]);
    const filter = rt.tensor(new Float32Array(9).fill(1), [3, 3, 1, 1]);
    expect(await tandem.conv2d(image, filter, [1, 1, 1, 1], 'VALID').array()).to.deep.equal([[[[9], [9]], [[9], [9]]]]);
    const explicitPaddings = [0, 0, 1, 0, 1, 0, 0, 0];
    const padded = tandem.conv2d(image, filter, [1, 2, 2, 1], 'EXPLICIT', { explicitPaddings });
    expect(await padded.array()).to.deep.equal([[[[4], [6]], [[6], [9]]]]);
  });

  it('give numbers the dtype that their argument needs', async () => {
    // Indices are integers whatever the dtype of the tensor.
    expect(await tandem.gather(x, [1, 0], 0).array()).to.deep.equal([[6, 5, 4], [3, 1, 2]]);
    expect(await tandem.add(rt.tensor([1n, 2n]), 1).array()).to.deep.equal([2n, 3n]);
    expect(await tandem.select([true, false, true], 1, x).array()).to.deep.equal([[1, 1, 1], [1, 5, 1]]);
    const hot = tandem.oneHot(rt.tensor([1, 0], { dtype: 'i32' }), 2, 5, rt.scalar(-1));
    expect(await hot.array()).to.deep.equal([[-1, 5], [5, -1]]);
  });

  it('take the runtime where numbers alone are given', async () => {
    expect(await tandem.fill(rt, [2, 2], 7).array()).to.deep.equal([[7, 7], [7, 7]]);
    expect(await tandem.range(rt, 2, 8, 3).array()).to.deep.equal([2, 5]);
    expect(await tandem.linSpace(rt, 0, 1, 3).array()).to.deep.equal([0, 0.5, 1]);
    const draws = await tandem.statelessRandomUniform(rt, [4], [1, 2]).data();
    const again = await tandem.statelessRandomUniform(rt, [4], [1, 2]).data();
    expect(draws).to.deep.equal(again);
    for (const draw of draws) expect(draw).to.be.within(0, 1);
  });

  it('with effects have them in order, and settled() tells of failures', async () => {
    tandem.printStrings(rt, 'one', { end: ',' });
    tandem.printStrings(rt, 'two', { end: '.' });
    tandem.assertTrue(rt, true, []);
    await rt.settled();
    expect(printed).to.equal('one,two.');
    const failing = rejectionOf((async () => {
      tandem.assertTrue(rt, false, ['x is', x]);
      await rt.settled();
    })());
    expect((await failing).message).to.match(/^\[tf\.Assert\] /);
  });
});
