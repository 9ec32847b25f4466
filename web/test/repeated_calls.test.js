// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls that repeat others, for which the package keeps what it made of options, lists and numbers: what has changed
// since must be seen.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { argMax, concat, matMul, mul, realDiv, slice, sum } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf } from './errors.js';

describe('a call that repeats another', () => {
  let rt;
  let x;
  before(async () => {
    rt = await createRuntime();
    x = rt.tensor([[1, 2], [3, 4]]);
  });
  after(() => rt.dispose());

  it('sees options and lists that were changed in place', async () => {
    const options = { keepDims: false };
    const axes = [0];
    for (let i = 0; i < 2; ++i) {
      options.keepDims = false;
      axes[0] = 0;
      expect(await sum(x, axes, options).array()).to.deep.equal([4, 6]);
      axes[0] = 1;
      expect(await sum(x, axes, options).array()).to.deep.equal([3, 7]);
      options.keepDims = true;
      expect(await sum(x, axes, options).array()).to.deep.equal([[3], [7]]);
      axes.push(0);
      expect(await sum(x, axes, options).array()).to.deep.equal([[10]]);
      axes.pop();
    }
  });

  it('may be one of many with other options and lists', async () => {
    const y = rt.tensor(Array.from({ length: 10 }, (_, i) => i));
    for (let round = 0; round < 3; ++round) {
      for (let i = 0; i < 10; ++i) {
        expect(await slice(y, [i], [10 - i]).array()).to.deep.equal([...Array(10).keys()].slice(i));
      }
      for (const transposeA of [false, true, undefined]) {
        for (const transposeB of [true, false]) {
          const expected = transposeA ? (transposeB ? 7 : 10) : transposeB ? 5 : 7;
          expect((await matMul(x, x, { transposeA, transposeB }).data())[0]).to.equal(expected);
        }
      }
    }
  });

  it('tells the zeros and NaN from one another', async () => {
    const one = rt.scalar(1);
    for (let i = 0; i < 3; ++i) {
      expect(await realDiv(one, 0).item()).to.equal(Infinity);
      expect(await realDiv(one, -0).item()).to.equal(-Infinity);
      expect(await mul(one, NaN).item()).to.be.NaN;
    }
  });

  it('gives numbers the dtype of the tensor that is there this time', async () => {
    for (let i = 0; i < 3; ++i) {
      for (const dtype of ['f32', 'i32', 'f64', 'f16', 'i64', 'u8']) {
        const y = mul(rt.ones([2], dtype), 3);
        expect(y.dtype).to.equal(dtype);
        expect((await y.array()).map(Number)).to.deep.equal([3, 3]);
      }
      expect(errorOf(() => mul(rt.ones([2], 'i32'), 1.5)).message).to.match(/expected an integer for i32, got 1\.5/);
    }
  });

  it('may have any of many numbers', async () => {
    const one = rt.scalar(1, 'f64');
    const values = Array.from({ length: 2000 }, (_, i) => i / 10);
    const products = values.map((value) => mul(one, value));
    for (const value of [0, 0.1, 25.5, 25.6, 25.7, 199.9]) expect(await mul(one, value).item()).to.equal(value);
    expect(await Promise.all(products.map((product) => product.item()))).to.deep.equal(values);
  });

  it('fails as the other did, at its own place', () => {
    const failures = Array.from({ length: 3 }, () => errorOf(() => argMax(x, 9)));
    for (const { code, location, message } of failures) {
      expect({ code, message }).to.deep.equal({ code: 'InvalidArgument', message: failures[0].message });
      // In browsers all tests are one file.
      expect(location).to.match(/(repeated_calls\.test|tests)\.js:\d+:\d+$/);
    }
    const gone = rt.tensor([1]);
    expect(concat([gone, gone], 0).shape).to.deep.equal([2]);
    gone.dispose();
    expect(errorOf(() => concat([gone, gone], 0)).message).to.match(/not disposed of/);
    const wrong = errorOf(() => matMul(x, x, { transposeB: 1 }));
    expect(wrong.message).to.match(/transposeB must be a boolean, got number 1/);
    expect(errorOf(() => matMul(x, x, 'transposeB')).message).to.match(/expected an object of attributes/);
  });

  it('is right though reading its lists calls other ops', async () => {
    expect(await slice(x, [0, 1], [2, 1]).array()).to.deep.equal([[2], [4]]);
    const calls = () => {
      for (let i = 0; i < 2; ++i) {
        for (let j = 1; j < 3; ++j) slice(x, [i, 0], [1, j]);
      }
    };
    const sizes = new Proxy([2, 1], { get: (target, key) => (key === '0' ? (calls(), 2) : Reflect.get(target, key)) });
    for (let i = 0; i < 3; ++i) expect(await slice(x, [0, 1], sizes).array()).to.deep.equal([[2], [4]]);
  });

  it('by name takes what the other did, and no more or fewer arguments', async () => {
    for (let i = 0; i < 3; ++i) {
      const [product] = rt.execute('tf.MatMul', [x, x], { transpose_b: true });
      expect(await product.array()).to.deep.equal([[5, 11], [11, 25]]);
      expect(await rt.execute('tf.Sum', [x, [0]])[0].array()).to.deep.equal([4, 6]);
      expect(errorOf(() => rt.execute('tf.MatMul', [x])).code).to.equal('InvalidArgument');
      expect(errorOf(() => rt.execute('tf.MatMul', [x, x, x])).code).to.equal('InvalidArgument');
    }
  });

  it('belongs to its own runtime and scope', async () => {
    const other = await createRuntime();
    const y = other.tensor([[5, 6], [7, 8]]);
    for (let i = 0; i < 3; ++i) {
      const inScope = rt.scope(() => [sum(x, [0], { keepDims: true }), mul(x, 7)]);
      expect(await inScope[0].array()).to.deep.equal([[4, 6]]);
      expect(await sum(y, [0], { keepDims: true }).array()).to.deep.equal([[12, 14]]);
      expect(await mul(y, 7).array()).to.deep.equal([[35, 42], [49, 56]]);
      expect(await mul(x, 7).array()).to.deep.equal([[7, 14], [21, 28]]);
    }
    await other.dispose();
    expect(errorOf(() => mul(y, 7)).code).to.equal('FailedPrecondition');
    expect(await mul(x, 7).array()).to.deep.equal([[7, 14], [21, 28]]);
  });
});
