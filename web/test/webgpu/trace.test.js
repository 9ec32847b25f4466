// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Device times in traces (TR-2): rows of what the device ran, by its own clock, where it has the feature for that.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, matMul } from 'tandem-rt';
import { createDevice, createRuntime, needGpu } from './device.js';

// Microseconds by which browsers round the device's clock, or more.
const ROUNDING = 200;

/** The spans of the device, and those of the host, in a runtime's trace. */
function spansOf(rt) {
  const { traceEvents } = JSON.parse(rt.trace.json());
  const spans = traceEvents.filter(({ ph }) => ph === 'X');
  return { device: spans.filter(({ cat }) => cat === 'device'), host: spans.filter(({ cat }) => cat === 'op') };
}

describe('device times in traces', () => {
  let rt;
  before(needGpu);
  before(async function setUp() {
    rt = await createRuntime();
    if (!rt.capabilities.gpu.features.includes('timestamp-query')) this.skip();
  });
  after(() => rt?.dispose());

  it('are those of each op, in order, within the time of the whole', async () => {
    const x = rt.tensor(new Float32Array(256 * 256).fill(1), [256, 256]);
    // What is compiled now is not traced.
    await add(matMul(x, x), x).data();
    rt.trace.start();
    const began = performance.now();
    const product = matMul(x, x);
    const sum = add(product, x);
    expect((await sum.data())[0]).to.equal(257);
    const taken = 1000 * (performance.now() - began);
    rt.trace.stop();
    const { device, host } = spansOf(rt);
    expect(host.map(({ name }) => name)).to.include.members(['tf.MatMul', 'tf.AddV2']);
    expect([...new Set(device.map(({ name }) => name))]).to.deep.equal(['tf.MatMul', 'tf.AddV2']);
    let end = -ROUNDING;
    for (const { name, ts, dur, args } of device) {
      expect(args.device).to.equal('webgpu');
      expect(dur, name).to.be.at.least(0);
      // Times are written with three digits.
      expect(ts, name).to.be.at.least(end - 0.01);
      end = ts + dur;
    }
    expect(end - device[0].ts).to.be.at.most(taken + ROUNDING);
    expect(device[0].ts).to.be.at.least(-ROUNDING);
    expect(end).to.be.at.most(taken + ROUNDING);
    rt.trace.clear();
    for (const tensor of [x, product, sum]) tensor.dispose();
  });

  it('are there for what was issued while the trace was on', async () => {
    const x = rt.tensor([1, 2, 3]);
    await add(x, x).data();
    rt.trace.start();
    const y = add(x, x);
    rt.trace.stop();
    const z = add(y, x);
    expect(await z.array()).to.deep.equal([3, 6, 9]);
    await rt.settled();
    expect(spansOf(rt).device.map(({ name }) => name)).to.deep.equal(['tf.AddV2']);
    rt.trace.clear();
    expect(await add(x, x).array()).to.deep.equal([2, 4, 6]);
    await rt.settled();
    expect(spansOf(rt).device).to.deep.equal([]);
  });

  it('come for more ops than a batch has', async () => {
    const x = rt.tensor([1, 2]);
    await add(x, x).data();
    rt.trace.start();
    let y = x;
    for (let i = 0; i < 1200; ++i) y = add(y, x);
    expect(await y.array()).to.deep.equal([1201, 2402]);
    rt.trace.stop();
    expect(spansOf(rt).device).to.have.lengthOf(1200);
    rt.trace.clear();
  });

  it('may be on their way when the runtime ends', async () => {
    const other = await createRuntime();
    const x = other.tensor([1, 2]);
    await add(x, x).data();
    other.trace.start();
    add(x, x);
    await other.dispose();
  });
});

describe('traces of a device without a clock', () => {
  before(needGpu);

  it("have the host's times, and the runtime says so", async () => {
    const gpuDevice = await createDevice();
    const rt = await createRuntime({ gpuDevice });
    expect(rt.capabilities.reasons['timestamp-query']).to.match(/traces/);
    rt.trace.start();
    expect(await add(rt.tensor([1, 2]), 1).array()).to.deep.equal([2, 3]);
    rt.trace.stop();
    const { device, host } = spansOf(rt);
    expect(device).to.deep.equal([]);
    expect(host.map(({ name }) => name)).to.include('tf.AddV2');
    await rt.dispose();
    gpuDevice.destroy();
  });
});
