// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What fails on the device: shaders, memory, commands, the device itself.

import { expect } from 'chai';
import { before, describe, it } from 'mocha';

import { add, mul, TandemError } from 'tandem-rt';
import { createRuntime as create } from '../create_runtime.js';
import { errorOf, rejectionOf } from '../errors.js';
import { changedDevice, createDevice, createRuntime, fullDevice, needGpu } from './device.js';

describe('errors of the device', () => {
  before(needGpu);

  it('name the op whose shader does not compile, in the words of the compiler', async () => {
    const device = await createDevice();
    let isBroken = true;
    const broken = changedDevice(device, {
      createShaderModule: (of) => (descriptor) => of.createShaderModule({
        ...descriptor, code: isBroken ? `${descriptor.code}\nfn broken() -> f32 { return missing; }` : descriptor.code,
      }),
    });
    const rt = await create({ gpuDevice: broken, trackLocations: true });
    const x = rt.tensor([1, 2]);
    const y = add(x, x);
    const error = await rejectionOf(y.data());
    expect(error).to.be.instanceOf(TandemError);
    expect(error.op).to.equal('tf.AddV2');
    expect(error.location).to.match(/errors\.test\.js|tests\.js/);
    expect(error.message).to.match(/compile/).and.to.match(/missing/);
    // What depends on it is that error; the rest goes on.
    expect(errorOf(() => mul(y, x)).message).to.equal(error.message);
    expect(await x.array()).to.deep.equal([1, 2]);
    isBroken = false;
    expect(await add(x, x).array()).to.deep.equal([2, 4]);
    await rt.dispose();
    device.destroy();
  });

  it('name the op that found no memory, and go on when there is some', async () => {
    const device = await createDevice();
    let isFull = false;
    // Its memory is its own: no other tensor has the size.
    const full = fullDevice(device, ({ size }) => isFull && size >= 40_000);
    const rt = await create({ gpuDevice: full, trackLocations: true });
    const small = rt.tensor([1, 2]);
    const x = rt.tensor(new Float32Array(10_000).fill(1));
    // Held, so that its memory is not there to be used again.
    const held = add(x, 1);
    await held.data();
    await add(small, small).data();
    isFull = true;
    const [y, z, fine] = [add(x, x), add(x, 2), add(small, small)];
    const error = await rejectionOf(y.data());
    expect(error.code).to.equal('ResourceExhausted');
    expect(error.message).to.match(/memory of the device, got none: the test has taken it all/);
    expect(error.op).to.equal('tf.AddV2');
    expect(error.location).to.match(/errors\.test\.js|tests\.js/);
    expect((await rejectionOf(z.data())).code).to.equal('ResourceExhausted');
    // They were in one batch.
    expect((await rejectionOf(fine.data())).code).to.equal('ResourceExhausted');
    expect(await add(small, small).array()).to.deep.equal([2, 4]);
    isFull = false;
    for (const tensor of [held, y, z]) tensor.dispose();
    expect([...(await add(x, x).data()).subarray(0, 2)]).to.deep.equal([2, 2]);
    await rt.dispose();
    device.destroy();
  });

  it('are told of where the device throws', async () => {
    const device = await createDevice();
    let throws = false;
    const queue = changedDevice(device.queue, {
      writeBuffer: (of) => (...args) => {
        if (throws) throw new TypeError('not this');
        of.writeBuffer(...args);
      },
    });
    const rt = await create({ gpuDevice: changedDevice(device, { queue: () => queue }) });
    const x = rt.tensor([1, 2]);
    await add(x, x).data();
    throws = true;
    const error = await rejectionOf(add(rt.tensor([3, 4]), x).data());
    expect(error).to.be.instanceOf(TandemError);
    expect(error.code).to.equal('Internal');
    expect(error.message).to.match(/not this/);
    throws = false;
    expect(await add(rt.tensor([3, 4]), x).array()).to.deep.equal([4, 6]);
    await rt.dispose();
    device.destroy();
  });

  it('are told of once', async () => {
    const device = await createDevice();
    let isFull = false;
    const full = fullDevice(device, ({ size }) => isFull && size >= 40_000);
    const told = [];
    const rt = await create({ gpuDevice: full, onDiagnostic: (error) => told.push(error) });
    const x = rt.tensor(new Float32Array(10_000));
    await add(x, x).data();
    isFull = true;
    const y = add(x, 1);
    await rejectionOf(y.data());
    expect(told.filter(({ code }) => code === 'ResourceExhausted')).to.have.length.at.least(1);
    await rt.dispose();
    device.destroy();
  });

  it('are of the call where more than the limit is asked for', async () => {
    const rt = await createRuntime({ memoryLimit: 2 ** 20 });
    const error = errorOf(() => rt.zeros([2 ** 19]));
    expect(error.code).to.equal('ResourceExhausted');
    expect(await add(rt.scalar(1), 2).item()).to.equal(3);
    await rt.dispose();
  });

  it('name the op that used a buffer that was destroyed', async () => {
    const rt = await createRuntime({ trackLocations: true });
    const buffer = rt.gpuDevice.createBuffer({ size: 16, usage: 4 | 8 | 128 });
    const x = rt.fromGPUBuffer(buffer, [4]);
    const y = rt.tensor([1, 2, 3, 4]);
    await add(x, y).data();
    buffer.destroy();
    const fine = mul(y, y);
    await fine.ready();
    const z = add(x, y);
    const error = await rejectionOf(z.data());
    expect(error).to.be.instanceOf(TandemError);
    expect(error.op).to.equal('tf.AddV2');
    expect(error.location).to.match(/errors\.test\.js|tests\.js/);
    expect(await fine.array()).to.deep.equal([1, 4, 9, 16]);
    expect(await add(y, y).array()).to.deep.equal([2, 4, 6, 8]);
    await rt.dispose();
  });

  it('make everything of a lost device unavailable, and nothing else', async () => {
    const rt = await createRuntime();
    const x = rt.tensor([1, 2]);
    const y = add(x, x);
    await y.data();
    const pending = add(y, x).data();
    rt.gpuDevice.destroy();
    const expectLost = (error) => {
      expect(error).to.be.instanceOf(TandemError);
      expect(error.code).to.equal('Unavailable');
      expect(error.message).to.match(/is lost/);
    };
    // It was handed over before.
    await pending.then((value) => expect([...value]).to.deep.equal([3, 6]), expectLost);
    await rt.gpuDevice.lost;
    expectLost(await rejectionOf(y.data()));
    expectLost(errorOf(() => add(x, y)));
    expectLost(errorOf(() => rt.tensor([1])));
    expectLost(await rejectionOf(y.ready()));
    expectLost(await rejectionOf(y.gpuBuffer()));
    y.dispose();
    // Another one.
    const other = await createRuntime();
    expect(await add(other.tensor([1, 2]), 1).array()).to.deep.equal([2, 3]);
    await other.dispose();
    await rt.dispose();
  });
});
