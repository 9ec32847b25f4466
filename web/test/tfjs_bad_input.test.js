// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the backend of TensorFlow.js says of what it is given wrongly: the kernel, the argument and the line of the
// program; and that it goes on afterwards.

import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';

import { TandemError } from 'tandem-rt';
import { fromTandem, runtimeOf, setRuntimeOptions } from 'tandem-rt/tfjs';
import { checkError, errorOf, rejectionOf } from './errors.js';

/** The line that a stack begins with, in this file or in the bundle of it. */
const firstLine = (stack) => Number(/:(\d+):\d+\)?$/m.exec(stack.split('\n').find((line) => /:\d+:\d+\)?$/.test(line)))[1]);

/** Expects an error of the package that says where in `call` it was made, which gives a place beside the call. */
function expectHere(error, here) {
  expect(error, String(error)).to.be.instanceOf(TandemError);
  const line = Number(/:(\d+):\d+$/.exec(error.location ?? '')?.[1]);
  // A bundler may have put a statement on the next lines.
  expect(line - firstLine(here.stack), `${error.location} for ${error.message}`).to.be.within(0, 3);
}

const detached = () => {
  const values = Float32Array.of(1, 2, 3);
  structuredClone(values, { transfer: [values.buffer] });
  return values;
};

describe('the backend of TensorFlow.js, given wrong things', () => {
  before(async () => {
    await tf.setBackend('tandem');
  });
  beforeEach(() => tf.engine().startScope());
  afterEach(async () => {
    expect([...await tf.add(tf.tensor1d([1, 2]), 1).data()]).to.deep.equal([2, 3]);
    tf.engine().endScope();
  });

  // By the op that is to be named.
  const wrong = {
    'tf.AddV2': [() => tf.add(tf.ones([2]), tf.ones([3])), /shapes must be broadcast compatible, got x: f32\[2\], y: f32\[3\]/],
    'tf.MaxPool': [() => tf.maxPool(tf.ones([1, 4, 4, 3]), 0, 1, 'valid'), /ksize must be at least 1/],
    'tf.PadV2': [() => tf.pad(tf.ones([2, 2]), [[1, 1]]), /paddings must have two elements for each dimension/],
    'tf.Transpose': [() => tf.transpose(tf.ones([2, 2]), [0, 0]), /perm must have each of the dimensions of x once/],
    'tf.Slice': [() => tf.slice(tf.ones([3]), [-7], [1]), /begin: \[-7\]/],
    'tf.ScatterNd': [
      () => tf.scatterND(tf.tensor2d([[7]], [1, 1], 'int32'), tf.tensor1d([1]), [3]), /indices must lie within .* got \[7\]/],
    'tf.CropAndResize': [
      () => tf.image.cropAndResize(tf.ones([1, 4, 4, 1]), tf.tensor2d([[0, 0, 1, 1]]), tf.tensor1d([5], 'int32'), [2, 2]),
      /box_ind must be in \[0, 1\), got 5/],
    'BatchMatMul': [() => tf.engine().runKernel('BatchMatMul', { a: tf.ones([2, 3]), b: tf.ones([2, 3]) }), /inner shapes \(3\) and \(2\)/],
    'Concat': [() => tf.concat([tf.ones([2, 2]), tf.ones([3, 3])]), /Shape of tensors\[1\] \(3,3\)/],
    'Reshape': [() => tf.reshape(tf.ones([4]), [3]), /Size\(4\) must match the product of shape 3/],
    'GatherV2': [() => tf.gather(tf.ones([3]), tf.tensor1d([5], 'int32')), /the index value 5 is not in \[0, 2\]/],
    'Sum': [() => tf.sum(tf.ones([2]), 3), /axis 3/],
    'Conv2D': [() => tf.conv2d(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 3, 4]), 1, 'sameish'), /sameish/],
    '_FusedMatMul': [
      () => tf.fused.matMul({ a: tf.ones([2, 3]), b: tf.ones([3, 3]), activation: 'gelu' }), /expected linear, .* got gelu/],
    'Relu': [() => tf.engine().runKernel('Relu', {}), /^\[Relu\] expected the inputs and attributes that TensorFlow\.js has .*got the inputs \(none\)/],
    'MaxPool': [
      () => tf.engine().runKernel('MaxPool', { x: tf.ones([1, 2, 2, 1]) }, {}),
      /^\[MaxPool\] expected .*, got the inputs x: float32\[1,2,2,1\] and the attributes \(none\)/],
  };
  for (const [op, [call, message]] of Object.entries(wrong)) {
    it(`names ${op} and what is wrong`, () => {
      const error = errorOf(() => call().dataSync());
      checkError(error, 'InvalidArgument', message);
      expect(error.op).to.equal(op);
    });
  }

  it('says where the program called, through ops of ops, too', () => {
    let here;
    const x = tf.ones([1, 2, 2, 3]);
    const small = tf.ones([2]);
    const error = errorOf(() => { here = new Error(); return tf.add(x, small); });
    expectHere(error, here);
    expect(error.location).to.match(new RegExp(`:${firstLine(error.stack)}:`));
    expectHere(errorOf(() => { here = new Error(); return tf.batchNorm(x, small, small); }), here);
    expectHere(errorOf(() => tf.tidy(() => { here = new Error(); return tf.sum(x, 9); })), here);
    expectHere(errorOf(() => { here = new Error(); return tf.conv2d(x, tf.ones([1, 1, 3, 1]), 1, 'sameish'); }), here);
  });

  it('says where the program called what fails later, if the runtime tracks locations', async () => {
    setRuntimeOptions({ trackLocations: true });
    const factory = tf.findBackendFactory('tandem');
    tf.registerBackend('tandem-tracking', factory);
    for (const kernel of tf.getKernelsForBackend('tandem')) tf.registerKernel({ ...kernel, backendName: 'tandem-tracking' });
    try {
      await tf.setBackend('tandem-tracking');
      const params = tf.fill([600_000], 1);
      const indices = tf.fill([600_000], 700_000, 'int32');
      let here;
      // With threads it may have failed when the call is to return, which then throws.
      const gather = async () => { here = new Error(); return tf.gather(params, indices).data(); };
      const error = await rejectionOf(gather());
      expect(error.message).to.match(/700000/);
      expectHere(error, here);
    } finally {
      setRuntimeOptions({});
      await tf.setBackend('tandem');
      tf.removeBackend('tandem-tracking');
    }
  });

  it('knows tensors that are disposed of', () => {
    const x = tf.ones([2]);
    x.dispose();
    checkError(errorOf(() => tf.relu(x)), 'FailedPrecondition', /expected a tensor that is not disposed of, got one that is/);
    expect(errorOf(() => x.dataSync()).message).to.match(/disposed/);
  });

  it('says that a buffer is detached, and copies before it is', () => {
    checkError(errorOf(() => tf.tensor(detached())), 'InvalidArgument', /typed array whose buffer is detached/);
    expect(errorOf(() => tf.tensor(detached(), [3])).message).to.match(/should have 3 values but has 0/);
    const values = Float32Array.of(1, 2, 3);
    const x = tf.tensor(values);
    structuredClone(values, { transfer: [values.buffer] });
    expect([...x.dataSync()]).to.deep.equal([1, 2, 3]);
    const read = x.dataSync();
    structuredClone(read, { transfer: [read.buffer] });
    expect([...x.dataSync()]).to.deep.equal([1, 2, 3]);
  });

  it('says what is too large, and frees what a failing function made', () => {
    const { numTensors } = tf.memory();
    const error = errorOf(() => tf.tidy(() => tf.add(tf.ones([1000]), tf.fill([1 << 20, 1 << 20], 1))));
    checkError(error, 'InvalidArgument', /f32\[1048576,1048576\] is too large/);
    expect(tf.memory().numTensors).to.equal(numTensors);
  });

  it('keeps strings that are not UTF-8 through ops, and tells them apart', () => {
    const bytes = [Uint8Array.of(0xff), Uint8Array.of(0xfe), Uint8Array.of(0xff)];
    const x = tf.tensor1d(bytes, 'string');
    expect([...tf.equal(x, tf.slice(x, [0], [1])).dataSync()]).to.deep.equal([1, 0, 1]);
    const { values } = tf.string.stringSplit(tf.tensor1d([Uint8Array.of(0xff, 0x20, 0xfe)], 'string'), ' ');
    expect(tf.engine().readSync(values.dataId).map((each) => [...each])).to.deep.equal([[0xff], [0xfe]]);
    expect(x.dataSync()).to.deep.equal(['\ufffd', '\ufffd', '\ufffd']);
    expect(errorOf(() => tf.add(x, 1)).message).to.match(/numeric tensor/);
  });

  it('does not take tensors of the runtime for its own', () => {
    const own = runtimeOf().tensor([1, 2]);
    expect(errorOf(() => tf.add(own, 1)).message).to.match(/Argument 'a' passed to 'add' must be a Tensor or TensorLike/);
    expect([...tf.add(fromTandem(own), 1).dataSync()]).to.deep.equal([2, 3]);
    own.dispose();
  });

  describe('with a backend that fails', () => {
    // Its tensors cannot be read.
    class FailingBackend extends tf.KernelBackend {
      data = new tf.DataStorage(this, tf.engine());
      write(values, shape, dtype) {
        const id = {};
        this.data.set(id, { shape, dtype });
        return id;
      }

      readSync() { throw new Error('the other backend has lost it'); }
      async read() { return this.readSync(); }
      refCount() { return 1; }
      incRef() {}
      disposeData(id) { return this.data.delete(id); }
      numDataIds() { return this.data.numDataIds(); }
      floatPrecision() { return 32; }
      dispose() {}
    }
    before(() => tf.registerBackend('failing', () => new FailingBackend()));
    after(() => tf.removeBackend('failing'));

    it('passes on what that says of its tensors', async () => {
      await tf.setBackend('failing');
      const theirs = tf.tensor1d([1, 2]);
      await tf.setBackend('tandem');
      const mine = tf.tensor1d([1, 2]);
      expect(errorOf(() => tf.add(mine, theirs)).message).to.match(/the other backend has lost it/);
      expect([...tf.add(mine, mine).dataSync()]).to.deep.equal([2, 4]);
    });
  });
});
