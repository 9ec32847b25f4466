// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The backend of TensorFlow.js on WebGPU.

import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { registerBackends, runtimeOf, setRuntimeOptions, toTandem } from 'tandem-rt/tfjs';
import { checkError, errorOf, rejectionOf } from '../errors.js';
import { findGpu, needGpu } from './device.js';

describe('the backend of TensorFlow.js on webgpu', () => {
  before(needGpu);
  before(async () => {
    setRuntimeOptions({ gpu: await findGpu() });
    await tf.setBackend('tandem-webgpu');
  });
  after(() => {
    setRuntimeOptions({});
  });

  it('computes there', async () => {
    expect(tf.getBackend()).to.equal('tandem-webgpu');
    const x = tf.tensor2d([[1, 2], [3, 4]]);
    const y = tf.relu(tf.add(tf.matMul(x, x), 1));
    expect(await y.array()).to.deep.equal([[8, 11], [16, 23]]);
    expect(toTandem(y).device).to.equal('webgpu');
  });

  it('says what is not known at once, and knows what was read', async () => {
    const x = tf.tensor1d([3, 1, 3]);
    expect([...x.dataSync()]).to.deep.equal([3, 1, 3]);
    const y = tf.mul(x, 2);
    expect(errorOf(() => y.dataSync()).message).to.match(/got ones that WebGPU computes; await data\(\) of the tensor first/);
    expect(errorOf(() => tf.unique(y)).message).to.match(/await data\(\)/);
    expect([...await y.data()]).to.deep.equal([6, 2, 6]);
    expect([...y.dataSync()]).to.deep.equal([6, 2, 6]);
    const { indices, values } = tf.unique(y);
    expect([...values.dataSync()]).to.deep.equal([6, 2]);
    expect([...await tf.mul(indices, tf.scalar(1, 'int32')).data()]).to.deep.equal([0, 1, 0]);
    expect([...await tf.add(values, 1).data()]).to.deep.equal([7, 3]);
  });

  it('has strings on the host', async () => {
    const x = tf.tensor1d(['a', 'b', 'ü']);
    expect(tf.slice(tf.reshape(x, [3, 1]), [1, 0], [2, 1]).dataSync()).to.deep.equal(['b', 'ü']);
    expect(await tf.equal(x, tf.tensor1d(['a', 'c', 'ü'])).data()).to.deep.equal(Uint8Array.of(1, 0, 1));
  });

  it('gives its buffers, and takes those of the program', async () => {
    const device = runtimeOf().gpuDevice;
    const x = tf.add(tf.tensor1d([1, 2, 3]), 1);
    await x.data();
    const { buffer, tensorRef } = x.dataToGPU();
    expect(tensorRef.shape).to.deep.equal([3]);
    // What TensorFlow.js knows a buffer by.
    globalThis.GPUBuffer ??= buffer.constructor;
    const given = device.createBuffer({ size: 16, usage: 128 | 4 | 8 });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, given, 0, 12);
    device.queue.submit([encoder.finish()]);
    const y = tf.tensor({ buffer: given, zeroCopy: true }, [3], 'float32');
    expect([...await tf.square(y).data()]).to.deep.equal([4, 9, 16]);
    const copy = tf.tensor({ buffer: given }, [3], 'float32');
    await copy.data();
    device.queue.writeBuffer(given, 0, Float32Array.of(7, 7, 7));
    expect([...await tf.square(copy).data()]).to.deep.equal([4, 9, 16]);
    tf.dispose([x, y, copy, tensorRef]);
    await runtimeOf().settled();
    given.destroy();
  });

  it('frees what TensorFlow.js does not need', async () => {
    const { numDataBuffers } = tf.memory();
    const sum = tf.tidy(() => tf.sum(tf.reshape(tf.add(tf.ones([64, 64]), 1), [4096])));
    expect([...await sum.data()]).to.deep.equal([8192]);
    sum.dispose();
    expect(tf.memory().numDataBuffers).to.equal(numDataBuffers);
    expect(tf.memory().numBytesInGPU).to.be.a('number');
  });

  it('gives its tensors to another backend, and says which it cannot', async () => {
    const known = tf.tensor1d([1, 2]);
    const computed = tf.mul(known, 2);
    await tf.setBackend('tandem');
    expect([...tf.add(known, 1).dataSync()]).to.deep.equal([2, 3]);
    const error = errorOf(() => tf.add(computed, 1));
    checkError(error, 'FailedPrecondition', /got ones that WebGPU computes; await data\(\) of the tensor first/);
    expect([...await computed.data()]).to.deep.equal([2, 4]);
    expect([...tf.add(computed, 1).dataSync()]).to.deep.equal([3, 5]);
    await tf.setBackend('tandem-webgpu');
    tf.dispose([known, computed]);
  });

  it('says that a buffer was detached before the elements went to the device', async () => {
    const values = Float32Array.of(1, 2, 3);
    const x = tf.tensor1d(values);
    structuredClone(values, { transfer: [values.buffer] });
    checkError(errorOf(() => tf.add(x, 1)), 'InvalidArgument', /typed array whose buffer is detached/);
    checkError(errorOf(() => x.dataSync()), 'InvalidArgument', /typed array whose buffer is detached/);
    checkError(await rejectionOf(x.data()), 'InvalidArgument', /typed array whose buffer is detached/);
    expect([...await tf.add(tf.tensor1d([1]), 1).data()]).to.deep.equal([2]);
    x.dispose();
  });

  it('says where the program called what is wrong, as on the CPU', async () => {
    const error = errorOf(() => tf.add(tf.ones([2]), tf.ones([3])));
    checkError(error, 'InvalidArgument', /^\[tf\.AddV2\] shapes must be broadcast compatible/);
    expect(error.location).to.match(/tests?\.js:\d+:\d+$/);
  });

  it('fails when its device is lost, and another backend goes on, or it itself on a new device', async () => {
    const x = tf.add(tf.tensor1d([1, 2]), 1);
    const known = tf.tensor1d([5, 6]);
    const waiting = rejectionOf(tf.mul(tf.ones([64, 64]), tf.tensor1d([2])).data().then(async () => {
      throw await rejectionOf((async () => tf.add(x, 1).data())());
    }));
    runtimeOf().gpuDevice.destroy();
    await runtimeOf().gpuDevice.lost;
    expect((await waiting).message).to.match(/is lost/);
    for (const use of [() => tf.add(x, 1), () => tf.matMul(tf.ones([2, 2]), tf.ones([2, 2])), () => x]) {
      const error = await rejectionOf((async () => use().data())());
      checkError(error, 'Unavailable', /is lost/);
    }
    expect([...known.dataSync()]).to.deep.equal([5, 6]);
    tf.memory();
    x.dispose();
    await tf.setBackend('tandem');
    expect([...tf.add(known, 1).dataSync()]).to.deep.equal([6, 7]);
    tf.removeBackend('tandem-webgpu');
    registerBackends();
    await tf.setBackend('tandem-webgpu');
    expect([...await tf.add(tf.tensor1d([1, 2]), 1).data()]).to.deep.equal([2, 3]);
    await tf.setBackend('tandem');
    tf.removeBackend('tandem-webgpu');
  });
});
