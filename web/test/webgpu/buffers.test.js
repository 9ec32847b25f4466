// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors of the program's buffers, and buffers of tensors.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, mul } from 'tandem-rt';
import { errorOf, rejectionOf } from '../errors.js';
import { createRuntime, needGpu } from './device.js';

const MAP_READ = 1;
const COPY_SRC = 4;
const COPY_DST = 8;
const STORAGE = 128;

describe('GPU buffers', () => {
  let rt;
  let device;
  before(needGpu);
  before(async () => {
    rt = await createRuntime();
    device = rt.gpuDevice;
  });
  after(() => rt?.dispose());

  function bufferOf(values, usage = STORAGE | COPY_SRC | COPY_DST) {
    const buffer = device.createBuffer({ size: Math.max(values.byteLength, 4), usage });
    if (usage & COPY_DST) device.queue.writeBuffer(buffer, 0, values);
    return buffer;
  }

  // The first bytes of a buffer, read by the program itself.
  async function read(buffer, bytes) {
    const copy = device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await copy.mapAsync(MAP_READ);
    const result = copy.getMappedRange().slice(0);
    copy.destroy();
    return result;
  }

  it('become tensors without a copy', async () => {
    const buffer = bufferOf(Float32Array.of(1, 2, 3, 4, 5, 6));
    const bytes = rt.memory().gpu.bytesInUse;
    const x = rt.fromGPUBuffer(buffer, [2, 3]);
    expect(rt.memory().gpu.bytesInUse).to.equal(bytes);
    expect(x.shape).to.deep.equal([2, 3]);
    expect(x.dtype).to.equal('f32');
    expect(await x.array()).to.deep.equal([[1, 2, 3], [4, 5, 6]]);
    expect(await x.gpuBuffer()).to.equal(buffer);
    // What the program writes is seen by what comes later.
    device.queue.writeBuffer(buffer, 0, Float32Array.of(10));
    expect(await add(x, 1).array()).to.deep.equal([[11, 3, 4], [5, 6, 7]]);
    x.dispose();
    await rt.settled();
    // It is still the program's.
    expect([...new Float32Array(await read(buffer, 24))]).to.deep.equal([10, 2, 3, 4, 5, 6]);
    buffer.destroy();
  });

  it('are never written to', async () => {
    const buffer = bufferOf(Float32Array.of(1, 2, 3, 4));
    const x = rt.fromGPUBuffer(buffer, [4]);
    const y = add(x, x);
    x.dispose();
    const z = mul(y, y);
    y.dispose();
    expect(await z.array()).to.deep.equal([4, 16, 36, 64]);
    expect([...new Float32Array(await read(buffer, 16))]).to.deep.equal([1, 2, 3, 4]);
    buffer.destroy();
  });

  it('have other dtypes', async () => {
    const ints = bufferOf(Int32Array.of(-1, 2));
    expect(await rt.fromGPUBuffer(ints, { shape: [2], dtype: 'i32' }).array()).to.deep.equal([-1, 2]);
    const bools = bufferOf(Uint32Array.of(1, 0, 1));
    expect(await rt.fromGPUBuffer(bools, { shape: [3], dtype: 'bool' }).array()).to.deep.equal([true, false, true]);
    ints.destroy();
    bools.destroy();
  });

  it('are those of tensors', async () => {
    const y = add(rt.tensor([1, 2, 3]), 1);
    const buffer = await y.gpuBuffer();
    expect(buffer.size).to.be.at.least(12);
    expect([...new Float32Array(await read(buffer, 12))]).to.deep.equal([2, 3, 4]);
    const bools = await rt.tensor([true, false]).gpuBuffer();
    expect([...new Uint32Array(await read(bools, 8))]).to.deep.equal([1, 0]);
    y.dispose();
    expect((await rejectionOf(y.gpuBuffer())).code).to.equal('FailedPrecondition');
  });

  it('are refused if they cannot serve', () => {
    const refused = (buffer, options, message) => {
      const error = errorOf(() => rt.fromGPUBuffer(buffer, options));
      expect(error.code).to.equal('InvalidArgument');
      expect(error.message).to.match(message);
    };
    const buffer = bufferOf(Float32Array.of(1, 2));
    refused(buffer, [3], /at least 12 bytes for f32\[3\], got one of 8/);
    refused(buffer, { shape: [2], dtype: 'string' }, /dtype of numbers, got string/);
    refused(buffer, { shape: [-1] }, /sizes that are integers from 0 on/);
    refused(buffer, {}, /expected a shape/);
    refused(bufferOf(Float32Array.of(1), STORAGE), [1], /usages STORAGE, COPY_SRC and COPY_DST/);
    refused({}, [1], /expected a GPUBuffer/);
    refused(null, [1], /expected a GPUBuffer/);
  });

  it('may be wrapped many times', async () => {
    const buffer = bufferOf(Float32Array.of(1, 2));
    for (let i = 0; i < 200; ++i) {
      const x = rt.fromGPUBuffer(buffer, [2]);
      const y = add(x, 1);
      x.dispose();
      if (i % 50 === 0) expect(await y.array()).to.deep.equal([2, 3]);
      y.dispose();
    }
    buffer.destroy();
  });
});
