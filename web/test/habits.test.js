// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a person expects without reading: short forms and defaults as TensorFlow.js has them, other names, what shows,
// copies and compares tensors, and errors that say what was meant.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import {
  argMax, avgPool, batchNorm, booleanMask, concat, conv1d, conv2d, conv2dTranspose, cumsum, depthwiseConv2d, div, dot,
  expandDims, eye, fft, gather, identity, isNaN, linspace, localResponseNormalization, logSigmoid, logSumExp, max, maxPool,
  mean, moments, norm, oneHot, outerProduct, randomNormal, randomUniform, range, reverse, separableConv2d, slice, squeeze,
  stack, step, sum, Tensor, tensor1d, tensor2d, tensor3d, tensor4d, tensor5d, tensor6d, topk, topK, transpose, unstack,
  where,
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

  it('slices begin and end by dimensions that are left out', async () => {
    expect(await slice(x, 1).array()).to.deep.equal([[4, 5, 6]]);
    expect(await slice(x, [1]).array()).to.deep.equal([[4, 5, 6]]);
    expect(await slice(x, 0, 1).array()).to.deep.equal([[1, 2, 3]]);
    expect(await slice(x, [0, 1], 1).array()).to.deep.equal([[2, 3]]);
    expect(await slice(x, [0, 1], [1]).array()).to.deep.equal([[2, 3]]);
    expect(await slice(x, [1n], [1n]).array()).to.deep.equal([[4, 5, 6]]);
    expect(await slice(rt.tensor([1, 2, 3]), 1, 1).array()).to.deep.equal([2]);
    expect(await slice(x, rt.tensor([1, 2], { dtype: 'i32' })).array()).to.deep.equal([[6]]);
    checkError(thrownBy(() => slice(x, [0, 0, 0])), 'InvalidArgument', /tf\.Slice/);
    checkError(thrownBy(() => slice(x, 3)), 'InvalidArgument', /tf\.Slice/);
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    checkError(thrownBy(() => slice(x, proxy)), 'InvalidArgument', /tf\.Slice/);
    checkError(thrownBy(() => squeeze(x, proxy)), 'InvalidArgument', /tf\.Squeeze/);
    expect(squeeze(rt.ones([1, 2, 1]), [2]).shape).to.deep.equal([1, 2]);
    expect(squeeze(rt.ones([1, 2, 1]), { squeezeDims: [0] }).shape).to.deep.equal([2, 1]);
    expect(squeeze(rt.ones([1, 2, 1])).shape).to.deep.equal([2]);
    checkError(thrownBy(() => squeeze(x, [0])), 'InvalidArgument', /tf\.Squeeze/);
  });

  it('tensors are made by their number of dimensions', async () => {
    expect(await tensor1d(rt, [1, 2]).array()).to.deep.equal([1, 2]);
    expect(tensor1d(rt, [1, 2], 'i32').dtype).to.equal('i32');
    expect(tensor1d(rt, new Uint8Array(3)).dtype).to.equal('u8');
    expect(await tensor2d(rt, [1, 2, 3, 4], [2, 2]).array()).to.deep.equal([[1, 2], [3, 4]]);
    expect(await tensor2d(rt, [[1], [2]], undefined, 'i64').array()).to.deep.equal([[1n], [2n]]);
    expect(await tensor2d(rt, [new Float32Array(2)]).array()).to.deep.equal([[0, 0]]);
    for (const [rank, make] of [[3, tensor3d], [4, tensor4d], [5, tensor5d], [6, tensor6d]]) {
      const shape = Array.from({ length: rank }, (_, i) => i % 2 + 1);
      const values = Float32Array.from({ length: 2 ** (rank >> 1) }, (_, i) => i);
      const made = make(rt, values, shape, 'f32');
      expect(made.shape).to.deep.equal(shape);
      expect(Array.from(await made.data())).to.deep.equal(Array.from(values));
      checkError(thrownBy(() => make(rt, values)), 'InvalidArgument', new RegExp(`^\\[tensor${rank}d\\] .* got 1 deep`));
    }
    checkError(thrownBy(() => tensor1d(rt, [[1]])), 'InvalidArgument', /^\[tensor1d\] .* got 2 deep/);
    checkError(thrownBy(() => tensor2d(rt, [1, 2], [2])), 'InvalidArgument', /^\[tensor2d\] .* shape of 2 sizes, got one of 1/);
    checkError(thrownBy(() => tensor2d(rt, [1, 2], 2)), 'InvalidArgument', /^\[tensor2d\] expected a shape of 2 sizes, got /);
    checkError(thrownBy(() => tensor2d([[1, 2]])), 'InvalidArgument', /^\[tensor2d\] expected a runtime/);
    checkError(thrownBy(() => tensor1d(rt, [1], 'int32')), 'InvalidArgument', /such as 'i32', got 'int32'/);
  });

  it('products of vectors and matrices', async () => {
    const v = rt.tensor([1, 2, 3]);
    expect(await dot(v, v).item()).to.equal(14);
    expect(await dot(x, v).array()).to.deep.equal([14, 32]);
    expect(await dot(rt.tensor([1, -1]), x).array()).to.deep.equal([-3, -3, -3]);
    expect(await dot(x, transpose(x)).array()).to.deep.equal([[14, 32], [32, 77]]);
    expect(await dot(x, [1, 0, 1]).array()).to.deep.equal([4, 10]);
    expect(await dot([2, 1], x).array()).to.deep.equal([6, 9, 12]);
    expect(await outerProduct(rt.tensor([1, 2]), v).array()).to.deep.equal([[1, 2, 3], [2, 4, 6]]);
    expect(await outerProduct([1, 2], v).array()).to.deep.equal([[1, 2, 3], [2, 4, 6]]);
    checkError(thrownBy(() => dot(rt.scalar(1), v)), 'InvalidArgument', /^\[dot\] .* ranks 0 and 1/);
    checkError(thrownBy(() => dot(x, rt.tensor([1, 2]))), 'InvalidArgument', /inner dimensions/);
    checkError(thrownBy(() => outerProduct(x, v)), 'InvalidArgument', /^\[outerProduct\] .* ranks 2 and 1/);
  });

  it('parts of networks by the names that TensorFlow.js has for them', async () => {
    const near = (values, expected) => expected.forEach((value, i) => expect(values[i]).to.be.closeTo(value, 1e-5));
    near(await logSumExp(x, 1).data(), [3.4076059, 6.4076059]);
    expect(await logSumExp(rt.tensor([1000, 1000])).item()).to.be.closeTo(1000.6931, 1e-3);
    expect(logSumExp(x, -1, { keepDims: true }).shape).to.deep.equal([2, 1]);
    expect(await logSumExp(rt.tensor([-Infinity, -Infinity])).item()).to.equal(-Infinity);
    expect(await logSumExp(rt.tensor([Infinity, 0])).item()).to.equal(Infinity);
    expect(await step(rt.tensor([-1, 0, 2, NaN]), 0.5).array()).to.deep.equal([0.5, 0.5, 1, NaN]);
    expect(await step(rt.tensor([-1, 3])).array()).to.deep.equal([0, 1]);
    near(await logSigmoid(rt.tensor([0, -100])).data(), [-0.6931472, -100]);
    const normal = batchNorm(rt.tensor([[1, 2], [3, 6]]), [2, 4], rt.tensor([1, 4]), [10, 20], [2, 3], 0);
    near(await normal.data(), [8, 17, 12, 23]);
    near(await batchNorm(rt.tensor([3]), [1], rt.tensor([4]), undefined, undefined, 0).data(), [1]);
    const line = rt.tensor([[[1], [2], [3], [4]]]);
    expect(await conv1d(line, rt.tensor([[[1]], [[10]]]), 1, 'valid').array()).to.deep.equal([[[21], [32], [43]]]);
    expect(await conv1d(line, rt.tensor([[[1]], [[10]]]), 2, 1).array()).to.deep.equal([[[10], [32], [4]]]);
    expect(await conv1d(line, rt.tensor([[[1]], [[10]]]), 1, 'valid', { dilation: 2 }).array())
      .to.deep.equal([[[31], [42]]]);
    const spread = conv2dTranspose(rt.tensor([[[[1], [2]]]]), rt.tensor([[[[1]], [[10]]]]), [1, 1, 4, 1], [1, 2], 'valid');
    expect(await spread.array()).to.deep.equal([[[[1], [10], [2], [20]]]]);
    const pixel = rt.tensor([[[[1, 2]]]]);
    expect(await depthwiseConv2d(pixel, rt.tensor([[[[3], [5]]]]), 1, 'same').array()).to.deep.equal([[[[3, 10]]]]);
    expect(await separableConv2d(pixel, rt.tensor([[[[3], [5]]]]), rt.tensor([[[[1], [2]]]]), 1, 'same').array())
      .to.deep.equal([[[[23]]]]);
    expect(localResponseNormalization(rt.ones([1, 1, 1, 2])).shape).to.deep.equal([1, 1, 1, 2]);
    expect(await booleanMask(x, rt.tensor([false, true])).array()).to.deep.equal([[4, 5, 6]]);
    expect(await booleanMask(x, [true, false, true], 1).array()).to.deep.equal([[1, 3], [4, 6]]);
    expect(await booleanMask(x, [[true, false, false], [false, true, false]]).array()).to.deep.equal([1, 5]);
    checkError(thrownBy(() => booleanMask(x, true)), 'InvalidArgument', /^\[booleanMask\] .* mask of rank 0/);
    expect(await isNaN(rt.tensor([NaN, 1])).array()).to.deep.equal([true, false]);
    expect(await topk(x, 2).indices.array()).to.deep.equal([[2, 1], [2, 1]]);
    expect(await linspace(rt, 0, 1, 3).array()).to.deep.equal([0, 0.5, 1]);
    expect(await fft(rt.tensor([[1, 0], [1, 0]], { dtype: 'c64' })).array()).to.deep.equal([[2, 0], [0, 0]]);
  });

  it('random numbers of a range, or distributed normally', async () => {
    const uniform = await randomUniform(rt, [1000], -2, 6, { seed: 3 }).data();
    expect(uniform.every((value) => value >= -2 && value < 6)).to.equal(true);
    // 8 / sqrt(12 * 1000) is the deviation of the mean.
    expect(uniform.reduce((total, value) => total + value, 0) / 1000).to.be.closeTo(2, 5 * 8 / Math.sqrt(12_000));
    expect(await randomUniform(rt, [1000], -2, 6, { seed: 3 }).data()).to.deep.equal(uniform);
    expect(await randomUniform(rt, [1000], -2, 6).data()).to.not.deep.equal(uniform);
    const whole = await randomUniform(rt, [200], 0, 3, { dtype: 'i32', seed: 1 }).data();
    expect([...new Set(whole)].sort()).to.deep.equal([0, 1, 2]);
    const normal = await randomNormal(rt, [1000], 5, 2, { seed: -7 }).data();
    const centre = normal.reduce((total, value) => total + value, 0) / 1000;
    const variance = normal.reduce((total, value) => total + (value - centre) ** 2, 0) / 1000;
    expect(centre).to.be.closeTo(5, 5 * 2 / Math.sqrt(1000));
    expect(variance).to.be.closeTo(4, 5 * 4 * Math.sqrt(2 / 1000));
    expect(randomNormal(rt, [2, 3], 0, 1, { dtype: 'f64' }).dtype).to.equal('f64');
    checkError(thrownBy(() => randomUniform(rt, [1], 0, 1, { seed: 0.5 })), 'InvalidArgument', /seed to be an integer/);
    checkError(thrownBy(() => randomNormal([2])), 'InvalidArgument', /^\[randomNormal\] expected a runtime/);
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
    expect(await rt.tensor2d([1, 2, 3, 4], [2, 2], 'i32').dot(rt.tensor2d([[1], [1]]).toInt()).array())
      .to.deep.equal([[3], [7]]);
    expect(await rt.tensor1d([1, 2]).concat(rt.tensor1d([3])).array()).to.deep.equal([1, 2, 3]);
    expect(await rt.tensor1d([1, 2]).concat([[3], [4]]).array()).to.deep.equal([1, 2, 3, 4]);
    expect(await rt.tensor1d([1, 2]).stack(rt.tensor1d([3, 4]), 1).array()).to.deep.equal([[1, 3], [2, 4]]);
    expect(await Promise.all(x.split(3, 1).map((part) => part.flatten().array()))).to.deep.equal([[1, 4], [2, 5], [3, 6]]);
    expect(await x.where(x.greater(2), 0).array()).to.deep.equal([[0, 0, 3], [4, 5, 6]]);
    expect(x.flatten().reshapeAs(x).shape).to.deep.equal([2, 3]);
    expect(x.flatten().slice(0, 1).reshapeAs(rt.scalar(1)).shape).to.deep.equal([]);
    expect([x.toInt(), x.toBool(), x.toInt().toFloat(), x.asType('f64')].map(({ dtype }) => dtype))
      .to.deep.equal(['i32', 'bool', 'f32', 'f64']);
    expect(await rt.eye(2).array()).to.deep.equal([[1, 0], [0, 1]]);
    expect(await rt.range(0, 2).array()).to.deep.equal([0, 1]);
    expect(await identity(x).isNaN().any().item()).to.equal(false);
  });
});
