// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a person expects without reading: short forms and defaults as TensorFlow.js has them, other names, what shows,
// copies and compares tensors, and errors that say what was meant.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import {
  argMax, avgPool, concat, conv2d, cumsum, div, expandDims, eye, gather, max, maxPool, mean, moments, norm, oneHot,
  range, reverse, slice, stack, sum, Tensor, topK, transpose, unstack, where,
} from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, rejectionOf } from './errors.js';

const thrownBy = (fn) => {
  try {
    fn();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('habits', () => {
  let rt;
  let x;
  before(async () => {
    rt = await createRuntime({ device: 'cpu', threads: 1 });
    x = rt.tensor([[1, 2, 3], [4, 5, 6]]);
  });
  after(() => rt.dispose());

  it('axes that are left out are all, or the first', async () => {
    expect(await sum(x).item()).to.equal(21);
    expect(await sum(x, undefined, { keepDims: true }).array()).to.deep.equal([[21]]);
    expect(await sum(x, 0).array()).to.deep.equal([5, 7, 9]);
    expect(await mean(x).item()).to.equal(3.5);
    expect(await max(x, -1).array()).to.deep.equal([3, 6]);
    expect(await sum(rt.scalar(7)).item()).to.equal(7);
    expect(Number((await argMax(x).data())[0])).to.equal(1);
    expect(await cumsum(x).array()).to.deep.equal([[1, 2, 3], [5, 7, 9]]);
    expect(expandDims(x).shape).to.deep.equal([1, 2, 3]);
    expect(await gather(x, [1]).array()).to.deep.equal([[4, 5, 6]]);
    expect(concat([x, x]).shape).to.deep.equal([4, 3]);
    expect(await reverse(x).array()).to.deep.equal([[6, 5, 4], [3, 2, 1]]);
    expect(await reverse(x, 1).array()).to.deep.equal([[3, 2, 1], [6, 5, 4]]);
    expect(await range(rt, 0, 3).array()).to.deep.equal([0, 1, 2]);
    expect(await transpose(x).array()).to.deep.equal([[1, 4], [2, 5], [3, 6]]);
    expect(await slice(x, [1, 1]).array()).to.deep.equal([[5, 6]]);
    expect(await topK(x).values.array()).to.deep.equal([[3], [6]]);
    expect(await oneHot(rt.tensor([1], { dtype: 'i32' }), 3).array()).to.deep.equal([[0, 1, 0]]);
  });

  it('windows are numbers or pairs, and padding is in small letters, a number or a list', async () => {
    const image = rt.ones([1, 4, 4, 1]);
    const filter = rt.ones([3, 3, 1, 1]);
    const long = await conv2d(image, filter, [1, 2, 2, 1], 'SAME').array();
    expect(await conv2d(image, filter, 2, 'same').array()).to.deep.equal(long);
    expect(await conv2d(image, filter, [2, 2], 'same').array()).to.deep.equal(long);
    expect(conv2d(image, filter, 1, 'valid', { dilations: 1 }).shape).to.deep.equal([1, 2, 2, 1]);
    const one = await conv2d(image, filter, 1, 'EXPLICIT', { explicitPaddings: [0, 0, 1, 1, 1, 1, 0, 0] }).array();
    expect(await conv2d(image, filter, 1, 1).array()).to.deep.equal(one);
    expect(await conv2d(image, filter, 1, [[1, 1], [1, 1]]).array()).to.deep.equal(one);
    expect(await conv2d(image, filter, 1, [[0, 0], [1, 1], [1, 1], [0, 0]]).array()).to.deep.equal(one);
    expect(maxPool(image, 2, 2, 'valid').shape).to.deep.equal([1, 2, 2, 1]);
    expect(avgPool(image, [2, 2], 1, 'same').shape).to.deep.equal([1, 4, 4, 1]);
    checkError(thrownBy(() => conv2d(image, filter, 1, 'sane')), 'InvalidArgument', /padding/);
  });

  it('other names, and what is computed by several ops', async () => {
    expect(await div(x, 2).array()).to.deep.equal([[0.5, 1, 1.5], [2, 2.5, 3]]);
    expect(await stack([[1, 2], rt.tensor([3, 4])], 1).array()).to.deep.equal([[1, 3], [2, 4]]);
    expect(await Promise.all(unstack(x).map((row) => row.array()))).to.deep.equal([[1, 2, 3], [4, 5, 6]]);
    expect(unstack(x, -1)).to.have.length(3);
    expect(await where(rt.tensor([true, false]), rt.tensor([1, 2]), 0).array()).to.deep.equal([1, 0]);
    expect(Array.from(await where(rt.tensor([false, true])).data(), Number)).to.deep.equal([1]);
    expect(await norm(rt.tensor([3, 4])).item()).to.equal(5);
    expect(await norm(x, 1, 0).array()).to.deep.equal([5, 7, 9]);
    expect(await norm(x, Infinity).item()).to.equal(6);
    expect(await norm(x, -Infinity).item()).to.equal(1);
    checkError(thrownBy(() => norm(x, 3)), 'InvalidArgument', /order/);
    expect(await eye(rt, 2, 3).array()).to.deep.equal([[1, 0, 0], [0, 1, 0]]);
    expect(await eye(rt, 2, 2, 'i64').array()).to.deep.equal([[1n, 0n], [0n, 1n]]);
    const { mean: centre, variance } = moments(x, 1);
    expect(await centre.array()).to.deep.equal([2, 5]);
    expect((await variance.array()).map((value) => value.toFixed(5))).to.deep.equal(['0.66667', '0.66667']);
  });

  it('JSON has the elements', async () => {
    expect(JSON.stringify({ x })).to.equal('{"x":[[1,2,3],[4,5,6]]}');
    expect(JSON.stringify(rt.tensor([1n, 2n ** 60n]))).to.equal('[1,"1152921504606846976"]');
    expect(JSON.stringify(rt.tensor(['a', 'b']))).to.equal('["a","b"]');
    const gone = rt.scalar(1);
    gone.dispose();
    expect(JSON.stringify(gone)).to.equal('"Tensor (disposed)"');
  });

  it('what compares or copies objects ends, and tells tensors apart', () => {
    const y = rt.tensor([[1, 2, 3], [4, 5, 6]]);
    expect(() => expect(x).to.deep.equal(y)).to.throw();
    expect(x).to.deep.equal(x);
    expect(Object.keys(x)).to.deep.equal(['runtime', 'ref']);
    expect(() => structuredClone(x)).to.throw(/await tensor\.data\(\)/);
    expect(() => structuredClone(rt)).to.throw(/tandem-rt/);
  });

  it('wrong names of dtypes suggest the right one', () => {
    for (const [wrong, right] of [['float32', 'f32'], ['int32', 'i32'], ['bfloat16', 'bf16'], ['uint8', 'u8'],
      ['complex64', 'c64'], ['str', 'string'], ['float', 'f32'], ['boolean', 'bool']]) {
      const text = new RegExp(`such as '${right}', got '${wrong}'`);
      checkError(thrownBy(() => rt.zeros([1], wrong)), 'InvalidArgument', text);
    }
  });

  it('what nobody reads is refused, and a tensor is called one', () => {
    checkError(thrownBy(() => rt.tensor([1, 2], [2, 1], 'i32')), 'InvalidArgument', /\{ shape, dtype \}, got a third argument/);
    checkError(thrownBy(() => concat(x, x)), 'InvalidArgument', /got a Tensor$/);
    expect(Tensor.name).to.equal('Tensor');
    checkError(thrownBy(() => range(0, 3)), 'InvalidArgument', /^\[tf\.Range\] expected a tensor .* which says what runtime to use/);
  });

  it('attributes in the wrong place suggest the object that has them', () => {
    checkError(thrownBy(() => sum(x, 0, true)), 'InvalidArgument', /such as \{ keepDims: … \}/);
    checkError(thrownBy(() => sum(x, 0, { keepDim: true })), 'InvalidArgument', /did you mean keepDims/);
  });

  it('the list of ops says what each computes', async () => {
    const { docOf } = await import('tandem-rt/docs');
    expect(docOf('tf.MatMul')).to.match(/^Product of two matrices/);
    expect(docOf('toString')).to.equal(undefined);
    const ops = rt.ops();
    expect(ops.filter(({ doc }) => doc.length < 10 || !/[.:]/.test(doc)).map(({ name }) => name)).to.deep.equal([]);
    expect(ops.find(({ name }) => name === 'tf.MatMul').doc).to.equal(docOf('tf.MatMul'));
  });

  it('ops are methods for those that import them', async () => {
    expect('relu' in Tensor.prototype).to.equal(false);
    await import('tandem-rt/methods');
    expect(await x.sub(3).relu().sum(1).array()).to.deep.equal([0, 6]);
    expect(await x.div(2).max().item()).to.equal(3);
    expect(await x.matMul(x, { transposeB: true }).array()).to.deep.equal([[14, 32], [32, 77]]);
    checkError(await rejectionOf(Promise.resolve().then(() => x.matMul(x))), 'InvalidArgument', /inner dimensions/);
  });
});
