// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runtimes on webgpu: what they say of themselves, why there is none, what tensors of theirs do.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, broadcastArgs, concat, matMul, relu, reshape, TandemError } from 'tandem-rt';
import { createRuntime as create } from '../create_runtime.js';
import { errorOf, rejectionOf } from '../errors.js';
import { double, doubled } from '../program_calls.js';
import { changedDevice, createDevice, createRuntime, findGpu, needGpu } from './device.js';

describe('no WebGPU', () => {
  const noAdapter = { requestAdapter: () => Promise.resolve(null) };

  async function expectFailure(options, code, message) {
    const error = await rejectionOf(create({ device: 'webgpu', ...options }));
    expect(error).to.be.instanceOf(TandemError);
    expect(error.code).to.equal(code);
    expect(error.message).to.match(message);
    // With any device the CPU's is taken, unless the call is wrong.
    if (code !== 'Unavailable') return;
    const rt = await create({ device: 'auto', ...options });
    expect(rt.device).to.equal('cpu');
    expect(rt.capabilities.reasons.webgpu).to.match(message);
    expect(await add(rt.scalar(1), 2).item()).to.equal(3);
    await rt.dispose();
  }

  it('is an error that says what is missing', async () => {
    await expectFailure({ gpu: noAdapter }, 'Unavailable', /expected a WebGPU adapter, got none/);
    const failing = { requestAdapter: () => Promise.reject(new Error('no driver')) };
    await expectFailure({ gpu: failing }, 'Unavailable', /adapter, got no driver/);
    const limits = { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27, maxStorageBuffersPerShaderStage: 4 };
    const small = { requestAdapter: () => Promise.resolve({ limits, features: new Set() }) };
    await expectFailure({ gpu: small }, 'Unavailable', /maxStorageBuffersPerShaderStage of at least 8, got 4/);
  });

  it('is an error for what is no GPU and no device', async () => {
    await expectFailure({ gpu: {} }, 'InvalidArgument', /expected gpu to be a GPU/);
    await expectFailure({ gpuDevice: {} }, 'InvalidArgument', /expected gpuDevice to be a GPUDevice/);
  });

  it('has neither buffers nor a device', async () => {
    const rt = await create({ device: 'cpu' });
    expect(rt.gpuDevice).to.equal(undefined);
    expect(rt.memory().gpu).to.equal(undefined);
    expect(errorOf(() => rt.fromGPUBuffer({}, [1])).message).to.match(/fromGPUBuffer.*expected a runtime on webgpu/);
    expect((await rejectionOf(rt.scalar(1).gpuBuffer())).message).to.match(/expected a runtime on webgpu/);
    expect(rt.scalar(1).device).to.equal('cpu');
    await rt.dispose();
  });
});

describe('a runtime on webgpu', () => {
  let rt;
  before(needGpu);
  before(async () => {
    rt = await createRuntime();
  });
  after(() => rt?.dispose());

  it('says what it has', () => {
    const { device, gpu, reasons, webgpuAvailable } = rt.capabilities;
    expect(rt.device).to.equal('webgpu');
    expect(device).to.equal('webgpu');
    expect(webgpuAvailable).to.equal(true);
    expect(reasons.webgpu).to.equal(undefined);
    expect(gpu.adapter).to.be.a('string').that.is.not.empty;
    expect(gpu.limits.maxStorageBufferBindingSize).to.be.at.least(2 ** 27);
    expect(gpu.features).to.satisfy((features) => features.every((name) => rt.gpuDevice.features.has(name)));
  });

  it('is what auto means where there is an adapter', async () => {
    const other = await create({ gpu: await findGpu() });
    expect(other.device).to.equal('webgpu');
    await other.dispose();
  });

  it('needs a module with WebGPU', async () => {
    const wasmUrl = new URL('../../dist/tandem.wasm', import.meta.url);
    const error = await rejectionOf(createRuntime({ wasmUrl }));
    expect(error.code).to.equal('FailedPrecondition');
    expect(error.message).to.match(/no WebGPU, unlike tandem-webgpu\.wasm/);
    const other = await create({ device: 'auto', gpu: await findGpu(), wasmUrl });
    expect(other.device).to.equal('cpu');
    expect(other.capabilities.reasons.webgpu).to.match(/no WebGPU/);
    expect([...await add(other.tensor([1, 2]), 1).data()]).to.deep.equal([2, 3]);
    await other.dispose();
  });

  it('loads the code of programs of its module', async () => {
    await rt.engine.loadPrograms();
    expect(await double(rt, add(rt.scalar(2), 1))).to.equal(doubled(3));
  });

  it('has tensors of every dtype', async () => {
    for (const [dtype, values] of Object.entries({
      f32: [1.5, -2, 0], i32: [-1, 2, 2147483647], u32: [0, 4294967295, 1], bool: [true, false, true],
      f64: [0.1, -1e300, 2], i64: [-9007199254740993n, 0n, 1n], u64: [1n, 2n, 18446744073709551615n],
      u8: [0, 255, 7], i8: [-128, 127, 1], u16: [1, 65535, 0], i16: [-1, 2, 3], f16: [0.5, -2, 65504],
      bf16: [1, -2, 0.5], c64: [[1, 2], [3, -4], [0, 0]],
    })) {
      const x = rt.tensor(values, { dtype });
      expect(x.device, dtype).to.equal('webgpu');
      expect(x.dtype).to.equal(dtype);
      expect(await x.array(), dtype).to.deep.equal(values);
    }
    const empty = rt.zeros([0, 3]);
    expect([...await empty.data()]).to.deep.equal([]);
    const big = rt.tensor(Float32Array.from({ length: 100_003 }, (_, i) => i), [100_003]);
    expect((await big.data())[100_002]).to.equal(100_002);
  });

  it('keeps strings on the CPU', async () => {
    const x = rt.tensor(['a', 'grüße']);
    expect(x.device).to.equal('cpu');
    expect(await x.array()).to.deep.equal(['a', 'grüße']);
    expect((await rejectionOf(x.gpuBuffer())).code).to.equal('FailedPrecondition');
    expect(await concat([x, x], 0).array()).to.deep.equal(['a', 'grüße', 'a', 'grüße']);
  });

  it('computes', async () => {
    const x = rt.tensor([[1, 2], [3, 4]]);
    const y = add(x, x);
    expect(y.device).to.equal('webgpu');
    expect(y.shape).to.deep.equal([2, 2]);
    expect(await y.array()).to.deep.equal([[2, 4], [6, 8]]);
    expect(await add(x, 10).array()).to.deep.equal([[11, 12], [13, 14]]);
    expect(await relu(add(x, [[-2, -2], [-2, -2]])).array()).to.deep.equal([[0, 0], [1, 2]]);
    expect(await matMul(x, x).array()).to.deep.equal([[7, 10], [15, 22]]);
    expect(await reshape(x, [4]).array()).to.deep.equal([1, 2, 3, 4]);
    // A shape that is on the device.
    const z = reshape(x, rt.tensor([1, 4], { dtype: 'i32' }));
    expect(await z.array()).to.deep.equal([[1, 2, 3, 4]]);
    expect(await y.text()).to.match(/^f32\[2,2\] = \[2, 4, 6, 8\]/);
  });

  it('has tensors that were allocated and filled', async () => {
    const allocation = rt.alloc([3]);
    allocation.view().set([1, 2, 3]);
    const x = allocation.tensor();
    expect(x.device).to.equal('webgpu');
    expect([...await add(x, 1).data()]).to.deep.equal([2, 3, 4]);
    expect([...await rt.fill([3], 7, 'i32').data()]).to.deep.equal([7, 7, 7]);
  });

  it('waits for the device', async () => {
    const x = add(rt.tensor([1, 2]), 1);
    await x.ready();
    expect(x.state).to.equal('available');
    await rt.settled();
  });

  it('has views of tensors of the CPU alone', () => {
    const error = errorOf(() => rt.tensor([1, 2]).view());
    expect(error.code).to.equal('FailedPrecondition');
    expect(error.message).to.match(/on the CPU, got f32\[2\] on webgpu; use data\(\)/);
  });

  it('takes no tensors of another runtime', async () => {
    const other = await createRuntime();
    const error = errorOf(() => add(rt.scalar(1), other.scalar(2)));
    expect(error.code).to.equal('InvalidArgument');
    expect(error.message).to.match(/of one runtime, got y of another one/);
    expect(await add(other.scalar(1), 2).item()).to.equal(3);
    await other.dispose();
  });

  it('says wrong shapes at the call', () => {
    const error = errorOf(() => add(rt.zeros([2]), rt.zeros([3])));
    expect(error.code).to.equal('InvalidArgument');
    expect(error.op).to.equal('tf.AddV2');
    expect(error.location).to.match(/\d+:\d+$/);
  });

  it('counts its memory', async () => {
    const before = rt.memory().gpu.bytesInUse;
    const x = rt.zeros([1024, 1024]);
    expect(rt.memory().gpu.bytesInUse - before).to.be.within(2 ** 22, 1.13 * 2 ** 22);
    x.dispose();
    expect(rt.memory().gpu.bytesInUse).to.equal(before);
    expect(rt.memory().gpu.bytesCached).to.be.at.least(2 ** 22);
  });

  it('records what runs', async () => {
    rt.trace.clear();
    rt.trace.start();
    await add(rt.tensor([1, 2]), 1).data();
    rt.trace.stop();
    expect(rt.trace.json()).to.match(/"tf\.AddV2"/).and.to.match(/"webgpu"/);
  });
});

describe('a device that the program shares', () => {
  before(needGpu);

  it('is used and not destroyed', async () => {
    const device = await createDevice();
    let lost = false;
    device.lost.then(() => {
      lost = true;
    });
    const rt = await create({ gpuDevice: device });
    expect(rt.device).to.equal('webgpu');
    expect(rt.gpuDevice).to.equal(device);
    expect(await add(rt.tensor([1, 2]), 1).array()).to.deep.equal([2, 3]);
    await rt.dispose();
    await device.queue.onSubmittedWorkDone();
    expect(lost).to.equal(false);
    const again = await create({ device: 'webgpu', gpuDevice: device });
    expect(await add(again.tensor([1, 2]), 1).array()).to.deep.equal([2, 3]);
    await again.dispose();
    device.destroy();
  });

  it('runs what has no shader on the CPU, unless that is not wanted', async () => {
    const device = await createDevice();
    const rt = await create({ gpuDevice: device, fallback: false });
    // Small lists of numbers for the host: there is no shader for it.
    const error = errorOf(() => broadcastArgs(rt.tensor(Int32Array.of(1, 3)), Int32Array.of(2, 1)));
    expect(error.code).to.equal('Unimplemented');
    await rt.dispose();
    const other = await create({ gpuDevice: changedDevice(device, {}) });
    const shape = broadcastArgs(other.tensor(Int32Array.of(1, 3)), Int32Array.of(2, 1));
    expect(shape.device).to.equal('webgpu');
    expect(await shape.array()).to.deep.equal([2, 3]);
    await other.dispose();
    device.destroy();
  });
});
