// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs and layers on webgpu: what is recorded on one device runs on the other, and a shader that is wrong is found.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, conv2d, exp, loadSafetensors, matMul, mul, relu, reshape, saveSafetensors, softmax } from 'tandem-rt';
import { createRuntime as create } from '../create_runtime.js';
import { checkFused } from '../fused_programs.js';
import { changedDevice, createDevice, createRuntime, needGpu } from './device.js';

function values(runtime, shape, seed) {
  let state = seed;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647 - 0.5;
  return runtime.tensor(Float32Array.from({ length: shape.reduce((a, b) => a * b) }, random), shape);
}

// A small network for pictures.
function network(runtime) {
  const kernel = values(runtime, [3, 3, 1, 4], 1);
  const weight = values(runtime, [256, 10], 2);
  return (x) => softmax(matMul(
    reshape(relu(conv2d(x, kernel, [1, 1, 1, 1], 'SAME')), [-1, 256]), weight));
}

function expectNear(actual, expected) {
  expect(actual).to.have.length(expected.length);
  actual.forEach((value, i) => expect(value).to.be.closeTo(expected[i], 1e-5));
}

describe('programs on webgpu', () => {
  let gpu;
  let cpu;
  before(needGpu);
  before(async () => {
    [gpu, cpu] = [await createRuntime(), await create({ device: 'cpu' })];
  });
  after(() => Promise.all([gpu?.dispose(), cpu?.dispose()]));

  it('PR-4: recorded on one device run on the other', async () => {
    for (const [from, to] of [[gpu, cpu], [cpu, gpu]]) {
      const { program, result } = await from.record(network(from), { inputs: [values(from, [2, 8, 8, 1], 7)] });
      expect(program.toText()).to.include(`get_op_handler "${from.device}"`);
      const x = values(from, [3, 8, 8, 1], 9);
      const expected = await program.run('main', [x])[0].data();
      expectNear(expected, await network(from)(x).data());
      expect(result.device).to.equal(from.device);
      const elsewhere = await to.loadProgram(program.toBytes());
      const [y] = elsewhere.run('main', [values(to, [3, 8, 8, 1], 9)]);
      expect(y.device).to.equal(to.device);
      expectNear(await y.data(), expected);
    }
  });

  it('PR-5: compute a chain of element-wise ops as one, with the same results', () => checkFused(gpu, [0]));

  it('keep weights that were on the device', async () => {
    const { program, weights } = await gpu.record(
      network(gpu), { inputs: [values(gpu, [1, 8, 8, 1], 7)], maxInlineBytes: 1024 });
    expect([...weights.keys()]).to.deep.equal(['weight0']);
    const bytes = await saveSafetensors(weights);
    const elsewhere = await cpu.loadProgram(program.toText(), { weights: loadSafetensors(cpu, bytes) });
    const again = await gpu.loadProgram(program.toText(), { weights: loadSafetensors(gpu, bytes) });
    const x = values(cpu, [1, 8, 8, 1], 7);
    const expected = await network(cpu)(x).data();
    expectNear(await elsewhere.run('main', [x])[0].data(), expected);
    expectNear(await again.run('main', [values(gpu, [1, 8, 8, 1], 7)])[0].data(), expected);
  });

  it('follow what is read back while they are recorded', async () => {
    const { program } = await gpu.record(async (x) => {
      const [first] = await x.data();
      return mul(x, first > 1 ? 2 : 3);
    }, { inputs: [[2, 5]] });
    expect(await program.run('main', [[1, 10]])[0].array()).to.deep.equal([2, 20]);
  });

  it('take values, which become tensors of the device', async () => {
    const { program } = await gpu.record((x) => x, { inputs: [[1, 2]] });
    const [y] = program.run('main', [[3, 4]]);
    expect(y.device).to.equal('webgpu');
    expect(await y.array()).to.deep.equal([3, 4]);
  });

  it('leave no memory of the device behind', async () => {
    const x = values(gpu, [2, 8, 8, 1], 7);
    const run = network(gpu);
    let used;
    for (let i = 0; i < 8; ++i) {
      const recording = await gpu.record((input) => gpu.scope(() => run(input)), { inputs: [x] });
      const [y] = recording.program.run('main', [x]);
      await y.data();
      y.dispose();
      recording.result.dispose();
      recording.dispose();
      await gpu.settled();
      if (i === 2) used = gpu.memory().gpu.bytesInUse;
    }
    expect(gpu.memory().gpu.bytesInUse).to.be.at.most(used);
  });

  it('OH-4: shadow names the op whose shader is wrong', async () => {
    const device = await createDevice();
    // That of tf.Exp computes something else.
    const gpuDevice = changedDevice(device, {
      createShaderModule: (of) => (descriptor) => of.createShaderModule(
        { ...descriptor, code: descriptor.code.replace('return exp_of(a);', 'return a + 7.0;') }),
    });
    const rt = await createRuntime({ gpuDevice, layers: ['profile', 'shadow:cpu'], trackLocations: true });
    const x = values(rt, [64], 3);
    const y = mul(exp(add(x, 1)), 2);
    await y.data();
    await rt.settled();
    const { diverged, divergences, equal } = rt.layers.shadow();
    expect([equal, diverged]).to.deep.equal([2, 1]);
    expect(divergences).to.have.length(1);
    const [divergence] = divergences;
    expect(divergence).to.include({ op: 'tf.Exp', call: 2, result: 0, element: 0, metadata: 'f32[64]', inputs: 'f32[64]' });
    expect(divergence.location).to.match(/\.js:\d+:\d+$/);
    const inner = (await add(x, 1).data())[0];
    expect(Number(divergence.expected)).to.be.closeTo(Math.exp(inner), 1e-5);
    expect(Number(divergence.actual)).to.be.closeTo(inner + 7, 1e-5);
    expect(divergence.error).to.be.closeTo(inner + 7 - Math.exp(inner), 1e-4);
    expect(rt.layers.profile().map(({ op }) => op)).to.have.members(['tf.AddV2', 'tf.Exp', 'tf.Mul']);
    await rt.dispose();
    device.destroy();
  });

  it('settled waits for kernels that are compiled late', async () => {
    const device = await createDevice();
    const gpuDevice = changedDevice(device, {
      createComputePipelineAsync: (of) => async (descriptor) => {
        await new Promise((resolve) => { setTimeout(resolve, 100); });
        return of.createComputePipelineAsync(descriptor);
      },
    });
    const rt = await createRuntime({ gpuDevice });
    const y = mul(add(rt.tensor([3, 4]), 1), 2);
    expect(y.state).to.equal('pending');
    await rt.settled();
    expect(y.state).to.equal('available');
    expect([...await y.data()]).to.deep.equal([8, 10]);
    await rt.dispose();
    device.destroy();
  });

  it('OH-4: settled waits for comparisons whose results are read late', async () => {
    const device = await createDevice();
    const gpuDevice = changedDevice(device, {
      createBuffer: (of) => (descriptor) => {
        const buffer = of.createBuffer(descriptor);
        const mapAsync = buffer.mapAsync.bind(buffer);
        buffer.mapAsync = async (...args) => {
          await mapAsync(...args);
          await new Promise((resolve) => { setTimeout(resolve, 50); });
        };
        return buffer;
      },
    });
    const rt = await createRuntime({ gpuDevice, layers: ['shadow:cpu'] });
    const x = values(rt, [64], 3);
    const y = mul(add(x, 1), 2);
    await rt.settled();
    const { diverged, equal } = rt.layers.shadow();
    expect([equal, diverged]).to.deep.equal([2, 0]);
    y.dispose();
    await rt.dispose();
    device.destroy();
  });
});
