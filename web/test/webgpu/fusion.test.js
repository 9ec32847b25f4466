// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise calls on WebGPU that follow each other, computed as one shader by code that is fetched when it would first
// be of use (PR-6).

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, cast, matMul, maximum, mul, neg, relu, sub, sum } from 'tandem-rt';
import { checkError, rejectionOf } from '../errors.js';
import { chains, inputsOf as inputsFor } from '../fused_chains.js';
import { createDevice, createRuntime, needGpu } from './device.js';

const SIZE = 128 * 64;
const NUM_CALLS = { 'arithmetic': 5, 'functions': 5, 'rows and columns': 3, 'conditions': 5, 'integers': 4 };

const inputsOf = (rt) => inputsFor(rt, 128, 64);

/** What `fn` gives, and how many shaders ran for it. */
async function counted(rt, fn) {
  const { dispatches } = rt.memory().gpu;
  const result = await fn();
  return { result, dispatches: rt.memory().gpu.dispatches - dispatches };
}

/** The same of calls that are repeated until the shader for all of them is there, or a hundred times. */
async function whenFused(rt, fn) {
  let last;
  for (let i = 0; i < 100; ++i) {
    last = await counted(rt, fn);
    if (last.dispatches === 1) break;
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  return last;
}

describe('calls on WebGPU that follow each other', () => {
  let fusing;
  let alone;
  before(needGpu);
  before(async () => {
    fusing = await createRuntime({ preload: ['fusion'] });
    alone = await createRuntime({ fuse: false });
  });
  after(() => Promise.all([fusing, alone].map((rt) => rt?.dispose())));

  for (const [name, chain] of Object.entries(chains)) {
    it(`give the same bits as one by one: ${name}`, async () => {
      const results = [];
      for (const rt of [fusing, alone]) {
        const inputs = inputsOf(rt);
        const run = () => rt.scope(() => chain(...inputs)).data();
        const first = await counted(rt, run);
        const last = rt === fusing ? await whenFused(rt, run) : await counted(rt, run);
        expect(last.dispatches).to.equal(rt === fusing ? 1 : NUM_CALLS[name]);
        for (const { result } of [first, last]) results.push(new Uint32Array(result.slice().buffer));
        for (const input of inputs) input.dispose();
      }
      for (const bits of results) {
        expect(bits.length).to.equal(SIZE);
        expect(bits.findIndex((word, i) => word !== results[3][i])).to.equal(-1);
      }
    });
  }

  it('are one shader for ten calls in a scope, which holds what is in between until its end', async () => {
    const [x, y] = inputsOf(fusing);
    const chain = () => relu(add(neg(maximum(sub(mul(mul(add(mul(add(x, y), y), y), x), 0.5), y), x)), y));
    expect((await whenFused(fusing, () => fusing.scope(chain).data())).dispatches).to.equal(1);
  });

  it('give what a user may still want of what is in between', async () => {
    const [x, y] = inputsOf(fusing);
    const [ofX, ofY] = [await x.data(), await y.data()];
    for (let round = 0; round < 3; ++round) {
      const a = add(x, y);
      const b = mul(a, 2);
      const c = sub(b, x);
      for (const [result, formula] of [
        [c, (i) => Math.fround(2 * Math.fround(ofX[i] + ofY[i]) - ofX[i])], [b, (i) => 2 * Math.fround(ofX[i] + ofY[i])],
        [a, (i) => Math.fround(ofX[i] + ofY[i])],
      ]) {
        const got = await result.data();
        for (let i = 0; i < SIZE; i += 101) expect(got[i]).to.equal(formula(i));
        result.dispose();
      }
    }
  });

  it('are computed before those of another kind that take their results', async () => {
    const x = fusing.fill([64, 64], 0.5);
    for (let round = 0; round < 3; ++round) {
      const y = fusing.scope(() => sum(mul(matMul(add(x, 0.5), x), 2)));
      expect(await y.item()).to.equal(64 * 64 * 64);
      y.dispose();
    }
  });

  it('are handed over at the end of the task, read or not', async () => {
    const [x, y] = inputsOf(fusing);
    const results = [];
    const run = () => fusing.scope(() => chains.arithmetic(x, y));
    for (let i = 0; i < 3; ++i) {
      const { dispatches } = await counted(fusing, async () => {
        results.push(run());
        for (let turns = 0; turns < 20; ++turns) {
          await new Promise((resolve) => {
            setTimeout(resolve);
          });
        }
      });
      expect(dispatches).to.be.at.least(1);
    }
    const values = await Promise.all(results.map((result) => result.data()));
    for (const value of values) expect(value[77]).to.equal(values[0][77]);
  });

  it('are there for whoever reads the buffer', async () => {
    const device = await createDevice();
    const rt = await createRuntime({ gpuDevice: device, preload: ['fusion'] });
    const x = rt.fill([SIZE], 3);
    for (let i = 0; i < 3; ++i) {
      const y = rt.scope(() => mul(add(x, 1), 2));
      const copy = device.createBuffer({ size: SIZE * 4, usage: 1 | 8 });  // MAP_READ | COPY_DST
      const commands = device.createCommandEncoder();
      commands.copyBufferToBuffer(await y.gpuBuffer(), 0, copy, 0, SIZE * 4);
      device.queue.submit([commands.finish()]);
      await copy.mapAsync(1);
      expect(new Float32Array(copy.getMappedRange())[SIZE - 1]).to.equal(8);
      copy.destroy();
      y.dispose();
    }
    await rt.dispose();
    device.destroy();
  });

  it('are put off by threads of the CPU, too, whose results they wait for', async () => {
    const rt = await createRuntime({ threads: 2, preload: ['fusion'] });
    const [x, y] = inputsOf(rt);
    const [ofX, ofY] = [await x.data(), await y.data()];
    for (let round = 0; round < 10; ++round) {
      // Of f64 there is no shader.
      const result = rt.scope(() => sub(mul(add(cast(cast(x, 'f64'), 'f32'), y), 2), y));
      const got = await result.data();
      for (let i = 0; i < SIZE; i += 101) {
        expect(got[i]).to.equal(Math.fround(2 * Math.fround(ofX[i] + ofY[i]) - ofY[i]));
      }
      result.dispose();
    }
    await rt.dispose();
  });

  it('are one shader once the code for that has come, which they ask for', async () => {
    const rt = await createRuntime();
    const [x, y] = inputsOf(rt);
    const { dispatches } = await whenFused(rt, () => rt.scope(() => chains.arithmetic(x, y)).data());
    expect(dispatches).to.equal(1);
    await rt.dispose();
  });

  it('are computed one by one if that cannot be had, which is no error', async () => {
    const errors = [];
    const rt = await createRuntime({
      fusionUrl: new URL('../../dist/none.wasm', import.meta.url), onDiagnostic: (error) => errors.push(error),
    });
    const [x, y] = inputsOf(rt);
    for (let i = 0; i < 4; ++i) {
      const { dispatches } = await counted(rt, () => rt.scope(() => chains.arithmetic(x, y)).data());
      expect(dispatches).to.equal(5);
    }
    checkError(await rejectionOf(rt.engine.loadFusion()), 'NotFound', /none\.wasm.*fusionUrl/);
    expect(errors).to.deep.equal([]);
    await rt.dispose();
  });

  it('end with a device that is lost', async () => {
    const device = await createDevice();
    const rt = await createRuntime({ gpuDevice: device, preload: ['fusion'], onDiagnostic: () => undefined });
    const [x, y] = inputsOf(rt);
    await x.ready();
    await rt.scope(() => chains.arithmetic(x, y)).data();
    const late = rt.scope(() => chains.arithmetic(x, y));
    device.destroy();
    await device.lost;
    checkError(await rejectionOf(late.data()), 'Unavailable', /is lost/);
    await rt.dispose();
  });
});
