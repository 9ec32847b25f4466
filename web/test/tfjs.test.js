// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The backend of TensorFlow.js on the CPU, beyond what TensorFlow.js's own specs ask (tests/tfjs runs these).

import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { mul, TandemError } from 'tandem-rt';
import { fromTandem, runtimeOf, toTandem } from 'tandem-rt/tfjs';
import { createRuntime } from './create_runtime.js';
import { errorOf, rejectionOf } from './errors.js';

// A backend of another maker: what it is asked for it answers, and nothing else.
class OtherBackend extends tf.KernelBackend {
  data = new tf.DataStorage(this, tf.engine());

  write(values, shape, dtype) {
    const id = {};
    this.data.set(id, { values, dtype, refCount: 1 });
    return id;
  }

  move(id, values, shape, dtype, refCount) { this.data.set(id, { values, dtype, refCount }); }
  readSync(id) { return this.data.get(id).values; }
  async read(id) { return this.readSync(id); }
  refCount(id) { return this.data.has(id) ? this.data.get(id).refCount : 0; }
  incRef(id) { ++this.data.get(id).refCount; }
  disposeData(id) { return this.data.delete(id); }
  numDataIds() { return this.data.numDataIds(); }
  floatPrecision() { return 32; }
  dispose() {}
}

describe('the backend of TensorFlow.js', () => {
  before(async () => {
    await tf.setBackend('tandem');
  });
  after(() => tf.findBackendFactory('other') && tf.removeBackend('other'));

  it('computes, and gives values at once and later', async () => {
    const x = tf.tensor2d([[1, 2], [3, 4]]);
    const y = tf.relu(tf.add(tf.matMul(x, x), 1));
    expect([...y.dataSync()]).to.deep.equal([8, 11, 16, 23]);
    expect(await y.array()).to.deep.equal([[8, 11], [16, 23]]);
    expect(tf.getBackend()).to.equal('tandem');
  });

  it('frees what TensorFlow.js does not need', () => {
    const { bytesInUse } = runtimeOf().memory();
    const { numDataBuffers } = tf.memory();
    tf.tidy(() => {
      let x = tf.ones([256, 1024]);
      for (let i = 0; i < 20; ++i) x = tf.reshape(tf.add(tf.reshape(tf.mul(x, 2), [1024, 256]), 1), [256, 1024]);
      expect(tf.memory().numBytesInTandem).to.be.above(bytesInUse);
      return tf.sum(x).dataSync();
    });
    expect(tf.memory().numDataBuffers).to.equal(numDataBuffers);
    expect(runtimeOf().memory().bytesInUse).to.equal(bytesInUse);
    expect(tf.memory().unreliable).to.not.equal(true);
  });

  it('keeps weights that several calls read in the order in which they are read, until they are gone', () => {
    const integers = (shape, factor) => tf.tensor(
      Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => (i * factor) % 7 - 3), shape);
    const x = integers([64, 300], 5);
    const w = tf.tidy(() => tf.variable(integers([300, 128], 3)));
    const bytes = 4 * 300 * 128;
    const inUse = () => runtimeOf().memory().bytesInUse;
    const product = () => tf.tidy(() => tf.matMul(x, w).dataSync());
    const before = inUse();
    const expected = product();
    expect(inUse()).to.equal(before);
    for (let call = 0; call < 3; ++call) {
      expect(product()).to.deep.equal(expected);
      expect(inUse() - before).to.be.within(bytes, 1.5 * bytes);
    }
    expect(tf.tidy(() => tf.reshape(w, [-1]).dataSync())).to.deep.equal(w.dataSync());
    tf.tidy(() => w.assign(tf.mul(w, 2)));
    expect(inUse()).to.equal(before);
    for (let call = 0; call < 4; ++call) {
      expect(product()).to.deep.equal(expected.map((value) => 2 * value));
    }
    tf.dispose([x, w]);
    expect(inUse()).to.equal(before - bytes - 4 * 64 * 300);
    const image = integers([1, 20, 20, 16], 5);
    const filter = integers([3, 3, 16, 32], 3);
    const convolved = () => tf.tidy(() => tf.conv2d(image, filter, 1, 'same').dataSync());
    const first = convolved();
    for (let call = 0; call < 4; ++call) expect(convolved()).to.deep.equal(first);
    tf.dispose([image, filter]);
  });

  it('shares tensors with the runtime, both ways', async () => {
    const x = tf.tensor2d([[1, 2], [3, 4]]);
    const own = toTandem(x);
    const product = mul(own, own);
    const y = fromTandem(product);
    product.dispose();
    x.dispose();
    expect(own.arraySync()).to.deep.equal([[1, 2], [3, 4]]);
    expect(await y.array()).to.deep.equal([[1, 4], [9, 16]]);
    expect([y.dtype, y.shape]).to.deep.equal(['float32', [2, 2]]);
    expect([...tf.add(fromTandem(own), y).dataSync()]).to.deep.equal([2, 6, 12, 20]);
  });

  it('says which tensors it cannot share', async () => {
    const wide = runtimeOf().tensor([1, 2], { dtype: 'f64' });
    expect(errorOf(() => fromTandem(wide)).message).to.match(/expected a tensor of f32, i32, bool, c64 or string, .*, got f64/);
    const other = await createRuntime();
    const error = errorOf(() => fromTandem(other.tensor([1])));
    expect(error).to.be.instanceOf(TandemError);
    expect(error.message).to.match(/got one of another$/);
    await other.dispose();
  });

  it('takes over tensors of other backends, and gives its own away', async () => {
    tf.registerBackend('other', () => new OtherBackend());
    await tf.setBackend('other');
    const numbers = tf.tensor1d([1, 2, 3]);
    const strings = tf.tensor1d(['a', 'ü']);
    await tf.setBackend('tandem');
    expect([...tf.add(numbers, 1).dataSync()]).to.deep.equal([2, 3, 4]);
    expect(tf.slice(strings, [1], [1]).dataSync()).to.deep.equal(['ü']);
    const mine = tf.square(tf.tensor1d([4, 5]));
    await tf.setBackend('other');
    expect([...tf.engine().backend.data.get(mine.dataId).values]).to.deep.equal([16, 25]);
    const error = errorOf(() => runtimeOf());
    expect(error.message).to.match(/expected the backend tandem or tandem-webgpu to be in use, got other/);
    await tf.setBackend('tandem');
  });

  it('says in TensorFlow.js\'s words what it is given wrongly', () => {
    const x = tf.ones([2, 3]);
    expect(errorOf(() => tf.matMul(x, x)).message).to.match(/inner shapes \(3\) and \(2\)/);
    expect(errorOf(() => tf.reshape(x, [4])).message).to.match(/Size\(6\) must match/);
    expect(errorOf(() => tf.concat([x, tf.ones([3, 3])], 1)).message).to.match(/Shape/);
    expect(errorOf(() => tf.gather(x, tf.tensor1d([7], 'int32')).dataSync()).message).to.match(/7/);
    expect(errorOf(() => tf.add(x, tf.ones([4]))).message).to.match(/broadcast/);
    const line = errorOf(() => tf.add(x, tf.ones([4]))).stack;
    expect(line).to.match(/tfjs|tests\.js/);
  });

  // The elements [row, column] of one channel that each window has, row by row.
  function windowsOf(size, outSize, { filter, strides, before }) {
    const range = (o) => Array.from({ length: filter }, (_, i) => o * strides - before + i).filter((i) => i >= 0 && i < size);
    return Array.from({ length: outSize ** 2 }, (_, i) => (
      range(Math.floor(i / outSize)).flatMap((row) => range(i % outSize).map((col) => row * size + col))));
  }

  it('pools images with padding that windows may have nothing but', () => {
    const values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
    const x = tf.tensor4d(values, [1, 4, 4, 1]);
    const cases = [[2, 1, 1, undefined], [2, 3, 1, 'ceil'], [2, 2, 4, 'floor'], [1, 1, 2, 'floor']];
    for (const [filter, strides, before, rounding] of cases) {
      const max = tf.maxPool(x, filter, strides, before, rounding);
      const windows = windowsOf(4, max.shape[1], { filter, strides, before });
      expect([...max.dataSync()], `max ${filter} ${strides} ${before}`).to.deep.equal(
        windows.map((at) => Math.max(...at.map((i) => values[i]))));
      const means = windows.map((at) => (at.length === 0 ? 0 : at.reduce((sum, i) => sum + values[i], 0) / at.length));
      tf.test_util.expectArraysClose(tf.avgPool(x, filter, strides, before, rounding).dataSync(), means);
      const gradient = tf.engine().runKernel('MaxPoolGrad', { dy: tf.onesLike(max), input: x, output: max },
        { filterSize: filter, strides, pad: before, dimRoundingMode: rounding }).dataSync();
      const expected = new Array(16).fill(0);
      for (const at of windows.filter((each) => each.length > 0)) {
        ++expected[at.find((i) => values[i] === Math.max(...at.map((j) => values[j])))];
      }
      expect([...gradient], `gradient ${filter} ${strides} ${before}`).to.deep.equal(expected);
    }
    expect(errorOf(() => tf.maxPool(x, 2, 3, 2, 'ceil')).message).to.match(/explicit_paddings must be less than ksize/);
  });

  it('finds the places of largest elements in images that are padded', () => {
    const values = [3, 1, 4, 1, 5, 9, 2, 6, 8, 3, 5, 7, 1, 2, 3, 4, 5, 6];
    const x = tf.tensor4d(values, [2, 3, 3, 1]);
    const windows = windowsOf(3, 2, { filter: 2, strides: 2, before: 1 });
    const largest = [0, 9].flatMap((first) => windows.map((at) => (
      at.reduce((best, i) => (values[first + i] > values[first + best] ? i : best)) + first)));
    for (const includeBatch of [false, true]) {
      const { indexes, result } = tf.maxPoolWithArgmax(x, 2, 2, 1, includeBatch);
      expect(result.shape).to.deep.equal([2, 2, 2, 1]);
      expect([...result.dataSync()]).to.deep.equal(largest.map((i) => values[i]));
      expect([...indexes.dataSync()]).to.deep.equal(largest.map((i) => (includeBatch ? i : i % 9)));
    }
  });

  it('keeps strings that are not UTF-8', () => {
    const bytes = [Uint8Array.of(0xff, 0xfe), Uint8Array.of(0x61)];
    const x = tf.tensor1d(bytes, 'string');
    const y = tf.slice(tf.reshape(tf.concat([tf.reshape(x, [2, 1]), tf.reshape(x, [2, 1])], 0), [4]), [1], [2]);
    expect(tf.engine().readSync(y.dataId).map((each) => [...each])).to.deep.equal([[0x61], [0xff, 0xfe]]);
  });

  it('measures time, of what is queued, too', async () => {
    const x = tf.ones([400, 400]);
    const { kernelMs, wallMs } = await tf.time(() => tf.matMul(tf.matMul(x, x), x));
    expect(kernelMs).to.be.above(0);
    expect(wallMs).to.be.at.least(kernelMs);
  });

  it('has no buffer of a GPU', () => {
    expect(errorOf(() => tf.ones([2]).dataToGPU()).message).to.match(/expected a tensor on webgpu, got one on the CPU/);
  });

  it('knows of no other element types', () => {
    expect(errorOf(() => tf.cast(tf.ones([2]), 'float64')).message).to.match(/dtype|float64/i);
    expect(errorOf(() => tf.cast(tf.tensor1d(['1']), 'float32')).message).to.match(/string/);
  });

  it('rejects what became an error later, and stays usable', async () => {
    const params = tf.range(0, 600_000);
    const indices = tf.fill([600_000], 700_000, 'int32');
    const outside = (async () => tf.gather(params, indices).data())();
    const error = await rejectionOf(outside);
    expect(error.message).to.match(/700000/);
    expect(tf.sum(params).dataSync()[0]).to.be.above(0);
  });
});
