// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors: made of values, read as values, freed.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, cast, gather, matMul, relu, softmax, TandemError, topK, unique } from 'tandem-rt';
import * as tandem from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf, rejectionOf } from './errors.js';

// Small integers, so that sums of products of them are exact in any order.
const integers = (count, factor) => Float32Array.from({ length: count }, (_, i) => (i * factor) % 7 - 3);

describe('tensors', () => {
  let rt;
  before(async () => {
    rt = await createRuntime();
  });
  after(() => rt.dispose());

  it('compute what the quick start shows', async () => {
    const x = rt.tensor([[1, 2], [3, 4]]);
    const y = softmax(relu(matMul(x, x, { transposeB: true })));
    expect(y.shape).to.deep.equal([2, 2]);
    expect(y.dtype).to.equal('f32');
    const values = await y.data();
    expect(values).to.be.instanceOf(Float32Array);
    // x times its transpose is [[5, 11], [11, 25]]: a softmax of two is the logistic function of their difference.
    [1 / (1 + Math.exp(6)), 1 / (1 + Math.exp(-6)), 1 / (1 + Math.exp(14)), 1 / (1 + Math.exp(-14))].forEach(
      (value, i) => expect(values[i]).to.be.closeTo(value, 1e-6));
  });

  it('are kept in the order in which kernels read them, from the second call on', async () => {
    const own = await createRuntime({ device: 'cpu', threads: 1 });
    const x = own.tensor(integers(64 * 300, 5), [64, 300]);
    const w = own.tensor(integers(300 * 128, 3), [300, 128]);
    const expected = await matMul(x, w).data();
    const inUse = () => own.memory().bytesInUse;
    const before = inUse();
    const bytes = 4 * 300 * 128;
    for (let call = 0; call < 3; ++call) {
      const y = matMul(x, w);
      expect(await y.data()).to.deep.equal(expected);
      y.dispose();
      expect(inUse() - before).to.be.within(bytes, 1.5 * bytes);
    }
    w.dispose();
    expect(inUse()).to.equal(before - bytes);
    await own.dispose();
  });

  it('infer dtype and shape', () => {
    const cases = [
      [3, 'f32', []], [[1, 2, 3], 'f32', [3]], [[[1], [2]], 'f32', [2, 1]], [[true, false], 'bool', [2]], [[1n], 'i64', [1]],
      [['a', 'b'], 'string', [2]], [new Int32Array(3), 'i32', [3]], [new Float64Array(2), 'f64', [2]], [[], 'f32', [0]],
      [new Uint8ClampedArray(2), 'u8', [2]], [[[], []], 'f32', [2, 0]],
    ];
    for (const [values, dtype, shape] of cases) {
      const tensor = rt.tensor(values);
      expect(tensor.dtype).to.equal(dtype);
      expect(tensor.shape).to.deep.equal(shape);
      expect(tensor.rank).to.equal(shape.length);
      expect(tensor.size).to.equal(shape.reduce((a, b) => a * b, 1));
      tensor.dispose();
    }
  });

  it('take typed arrays as they are, with a shape', async () => {
    const tensor = rt.tensor(new Int32Array([1, 2, 3, 4, 5, 6]), [2, 3]);
    expect(await tensor.array()).to.deep.equal([[1, 2, 3], [4, 5, 6]]);
    expect(await rt.tensor([1, 2], { dtype: 'i8', shape: [2, 1] }).array()).to.deep.equal([[1], [2]]);
  });

  it('give back each dtype', async () => {
    const cases = [
      ['bool', [true, false], Uint8Array], ['u8', [0, 255], Uint8Array], ['i8', [-128, 127], Int8Array],
      ['u16', [0, 65535], Uint16Array], ['i16', [-32768, 32767], Int16Array], ['i32', [-(2 ** 31), 7], Int32Array],
      ['u32', [0, 2 ** 32 - 1], Uint32Array], ['i64', [-(2n ** 63n), 2n ** 63n - 1n], BigInt64Array],
      ['u64', [0n, 2n ** 64n - 1n], BigUint64Array], ['f16', [1.5, -65504], Uint16Array],
      ['bf16', [1.5, -Infinity], Uint16Array], ['f32', [0.5, NaN], Float32Array], ['f64', [Math.PI, -0], Float64Array],
      ['c64', [[1, -2], [0.5, 0]], Float32Array], ['string', ['', 'Grüße \u{1F600}'], Array],
    ];
    for (const [dtype, values, type] of cases) {
      const tensor = rt.tensor(values, { dtype });
      expect(tensor.dtype).to.equal(dtype);
      expect(await tensor.data(), dtype).to.be.instanceOf(type);
      expect(await tensor.array(), dtype).to.deep.equal(values);
      tensor.dispose();
    }
  });

  it('are filled', async () => {
    expect(await rt.zeros([2]).array()).to.deep.equal([0, 0]);
    expect(await rt.ones([1, 2], 'i64').array()).to.deep.equal([[1n, 1n]]);
    expect(await rt.fill([2], 2.5, 'bf16').array()).to.deep.equal([2.5, 2.5]);
    expect(await rt.fill([2], 1, 'c64').array()).to.deep.equal([[1, 0], [1, 0]]);
    expect(await rt.fill([2], 'x').array()).to.deep.equal(['x', 'x']);
    expect(await rt.ones([], 'bool').item()).to.equal(true);
    expect(await rt.scalar(7, 'u8').item()).to.equal(7);
    expect(await rt.fill([0, 3], 1).array()).to.deep.equal([]);
  });

  it('are filled in place', async () => {
    const allocation = rt.alloc([2, 2], 'i32');
    allocation.view().set([1, 2, 3, 4]);
    const tensor = allocation.tensor();
    expect(await tensor.array()).to.deep.equal([[1, 2], [3, 4]]);
    expect(errorOf(() => allocation.view()).code).to.equal('FailedPrecondition');
    expect(errorOf(() => allocation.tensor()).code).to.equal('FailedPrecondition');
    allocation.dispose();
    expect(await tensor.item({}).catch((error) => error.code)).to.equal('InvalidArgument');
  });

  it('are seen without copying', async () => {
    const tensor = add(rt.tensor([1, 2]), 1);
    await tensor.ready();
    expect(Array.from(tensor.view())).to.deep.equal([2, 3]);
    expect(errorOf(() => rt.tensor(['a']).view()).code).to.equal('FailedPrecondition');
  });

  it('take numbers as arguments, in the dtype of the others', async () => {
    const x = rt.tensor([1, 2], { dtype: 'i32' });
    expect(add(x, 1).dtype).to.equal('i32');
    expect(await add(2, x).array()).to.deep.equal([3, 4]);
    expect(await add(rt.tensor([1n]), 2n).array()).to.deep.equal([3n]);
    expect(await add(x, [10, 20]).array()).to.deep.equal([11, 22]);
    const error = errorOf(() => add(x, 1.5));
    expect(error.code).to.equal('InvalidArgument');
    expect(error.message).to.match(/^\[tf\.AddV2\] y: expected an integer for i32/);
  });

  it('take each number in the dtype of its own type attribute (TY-1)', async () => {
    const i = rt.tensor([1, 0], { dtype: 'i64' });
    const x = rt.tensor([3, 4], { dtype: 'f64' });
    const c = rt.tensor([true, false]);
    const hot = tandem.oneHot(i, 2, 1, 0);
    expect(hot.dtype).to.equal('f32');
    expect(await hot.array()).to.deep.equal([[0, 1], [1, 0]]);
    expect(tandem.select(c, x, 0).dtype).to.equal('f64');
    expect(tandem.select(c, 1, 0).dtype).to.equal('f32');
    expect(tandem.select(c, true, false).dtype).to.equal('bool');
    expect(tandem.gather(x, 0, 0).dtype).to.equal('f64');
    const range = tandem.range(rt, 0, 1, 0.25);
    expect(range.dtype).to.equal('f32');
    expect(await range.array()).to.deep.equal([0, 0.25, 0.5, 0.75]);
    expect(tandem.range(rt, 0, 3, 1).dtype).to.equal('i32');
    const far = tandem.range(rt, 3e9, 3e9 + 2, 1);
    expect(far.dtype).to.equal('i64');
    expect(await far.array()).to.deep.equal([3000000000n, 3000000001n]);
    expect(tandem.range(rt, rt.scalar(0, 'f64'), 3, 1).dtype).to.equal('f64');
    const [named] = rt.execute('tf.OneHot', [i, 2, 1, 0]);
    expect(named.dtype).to.equal('f32');
    const [counted] = rt.execute('tf.Range', [rt.scalar(0, 'i32'), 3, 1]);
    expect(counted.dtype).to.equal('i32');
  });

  it('take an empty list in the dtype of its own type attribute (TY-1)', async () => {
    for (const one of [rt.tensor(['a']), rt.tensor([7]), rt.tensor([7], { dtype: 'i64' })]) {
      for (let i = 0; i < 2; ++i) {
        const reshaped = tandem.reshape(one, []);
        expect(reshaped.shape).to.deep.equal([]);
        expect(await reshaped.array()).to.equal((await one.array())[0]);
      }
      expect(await tandem.tile(rt.tensor(5), []).array()).to.equal(5);
    }
    expect(tandem.add(rt.tensor([], { dtype: 'i64' }), []).dtype).to.equal('i64');
    expect(rt.tensor([]).dtype).to.equal('f32');
  });

  it('refuse numbers that do not fit (TY-1)', async () => {
    const bytes = rt.tensor([1, 2], { dtype: 'u8' });
    const x = rt.tensor([1, 2]);
    const half = rt.tensor([1], { dtype: 'f16' });
    const messageOf = (fn) => {
      const { code, message } = errorOf(fn);
      return `${code} ${message}`;
    };
    expect(messageOf(() => add(bytes, 300))).to.equal('OutOfRange [tf.AddV2] y: expected 0 to 255 for u8, got 300');
    expect(messageOf(() => add([1, -1], bytes))).to.equal(
      'OutOfRange [tf.AddV2] x[1]: expected 0 to 255 for u8, got -1');
    expect(messageOf(() => add(x, 1e300))).to.equal('OutOfRange [tf.AddV2] y: ' +
      'expected -3.4028234663852886e+38 to 3.4028234663852886e+38 for f32, got 1e+300');
    expect(messageOf(() => add(x, [0, 1e300]))).to.match(/^OutOfRange \[tf\.AddV2\] y\[1\]: expected -3\.4/);
    expect(messageOf(() => add(half, 65520))).to.equal(
      'OutOfRange [tf.AddV2] y: expected -65504 to 65504 for f16, got 65520');
    expect(await add(x, -Infinity).array()).to.deep.equal([-Infinity, -Infinity]);
    const tenth = Math.fround(0.1);
    expect(await add(x, 0.1).array()).to.deep.equal([1, 2].map((value) => Math.fround(value + tenth)));
  });

  it('let numbers wait with the op for a dtype that is not known (TY-2)', async () => {
    const ones = rt.fill([512, 512], 1);
    // Its shape is data of an op that is queued.
    const found = tandem.where(tandem.greater(matMul(ones, ones), 0));
    expect(errorOf(() => found.dtype).code).to.equal('FailedPrecondition');
    const shifted = add(found, 1);
    const listed = tandem.sub([512, 512], found);
    const wrong = add(found, 0.5);
    expect(await tandem.max(shifted, [0]).array()).to.deep.equal([512n, 512n]);
    expect(await tandem.min(listed, [0]).array()).to.deep.equal([1n, 1n]);
    const error = await rejectionOf(wrong.data());
    expect(error.message).to.equal('[tf.AddV2] y: expected an integer for i64, got 0.5');
  });

  it('come several at once', async () => {
    const { values, indices } = topK(rt.tensor([1, 5, 3]), 2);
    expect(await values.array()).to.deep.equal([5, 3]);
    expect(await indices.array()).to.deep.equal([1, 2]);
  });

  it('may have a shape that data decides', async () => {
    const { y } = unique(rt.tensor([3, 3, 4]));
    await y.ready();
    expect(y.shape).to.deep.equal([2]);
    expect(await y.array()).to.deep.equal([3, 4]);
  });

  it('are called by name', async () => {
    const x = rt.tensor([[1, 2]]);
    const [y] = rt.execute('tf.MatMul', [x, x], { transpose_b: true });
    expect(await y.array()).to.deep.equal([[5]]);
    expect(rt.ops().map(({ name }) => name)).to.include('tf.MatMul');
    const parts = rt.execute('tf.Split', [rt.tensor(0, { dtype: 'i32' }), rt.tensor([1, 2, 3, 4])], { num_split: 2 });
    expect(await Promise.all(parts.map((part) => part.array()))).to.deep.equal([[1, 2], [3, 4]]);
    const [all] = rt.execute('tf.ConcatV2', [x, x, rt.tensor(0, { dtype: 'i32' })]);
    expect(await all.array()).to.deep.equal([[1, 2], [1, 2]]);
    expect(rt.usedOps()).to.include.members(['tf.ConcatV2', 'tf.MatMul', 'tf.Split']);
  });

  it('of a queued op are pending, and come', async () => {
    const x = rt.fill([512, 512], 1);
    const y = matMul(x, x);
    expect(y.shape).to.deep.equal([512, 512]);
    x.dispose();
    expect((await y.data())[0]).to.equal(512);
    expect(y.state).to.equal('available');
  });

  it('describe themselves', async () => {
    const x = rt.tensor([[1, 2], [3, 4]]);
    expect(String(x)).to.equal('Tensor f32[2,2]');
    expect(await x.text()).to.equal('f32[2,2] = [1, 2, 3, 4]');
    expect(await x.text(1)).to.match(/^f32\[2,2\] = \[1, /);
  });

  it('have clones that live on', async () => {
    const x = rt.tensor([1, 2]);
    const y = x.clone();
    x.dispose();
    expect(x.disposed).to.equal(true);
    expect(await y.array()).to.deep.equal([1, 2]);
  });

  it('may be disposed of while their data is awaited', async () => {
    const x = rt.fill([300, 300], 1);
    const y = matMul(x, x);
    const data = y.data();
    y.dispose();
    y.dispose();
    expect((await data)[0]).to.equal(300);
  });

  it('free their memory when disposed of', async () => {
    await rt.settled();
    const before = rt.memory().bytesInUse;
    const x = rt.zeros([1 << 20]);
    expect(rt.memory().bytesInUse - before).to.be.at.least(4 << 20);
    x[Symbol.dispose]();
    expect(rt.memory().bytesInUse).to.equal(before);
  });

  it('cast to every number', async () => {
    expect(await cast(rt.tensor([1.5, -2.5]), 'i32').array()).to.deep.equal([1, -2]);
  });

  it('of errors reject with what led to them', async () => {
    const x = rt.fill([600, 600], 1);
    // Of a tensor that is pending for long, with threads too, so that the indices are looked at later.
    let product = x;
    for (let i = 0; i < 4; ++i) product = matMul(product, x);
    const wrong = gather(product, [-7], 0);
    const error = await rejectionOf(add(wrong, 1).data());
    expect(error).to.be.instanceOf(TandemError);
    expect(error.message).to.match(/^\[tf\.GatherV2\] .*-7/);
    expect(error.op).to.equal('tf.GatherV2');
    expect(error.stack).to.include('trackLocations');
    expect(wrong.state).to.equal('error');
    expect(await rt.tensor([1]).array()).to.deep.equal([1]);
  });
});
