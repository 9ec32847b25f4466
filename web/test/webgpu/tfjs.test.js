// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The backend of TensorFlow.js on WebGPU.

import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { runtimeOf, setRuntimeOptions, toTandem } from 'tandem-rt/tfjs';
import { errorOf, rejectionOf } from '../errors.js';
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

  it('fails when its device is lost, and another backend goes on', async () => {
    const x = tf.add(tf.tensor1d([1, 2]), 1);
    runtimeOf().gpuDevice.destroy();
    await runtimeOf().gpuDevice.lost;
    const error = await rejectionOf((async () => tf.add(x, 1).data())());
    expect(error.message).to.match(/is lost/);
    await tf.setBackend('tandem');
    expect([...tf.add(tf.tensor1d([1, 2]), 1).dataSync()]).to.deep.equal([2, 3]);
    tf.removeBackend('tandem-webgpu');
  });
});
