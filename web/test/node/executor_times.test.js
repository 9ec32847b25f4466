// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The executor of WebGPU's commands on a device: when shaders ran, by the device's clock (TR-2). The executor is bundled
// by itself, without a module.

import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { changedDevice, findGpu } from '../webgpu/device.js';

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), '../../src/wasm/webgpu/executor.ts');
// Records, as in layout.ts.
const CREATE_BUFFER = 1;
const CREATE_LAYOUT = 3;
const CREATE_PIPELINE = 4;
const CREATE_GROUP = 6;
const DISPATCH = 8;
const DOWNLOAD = 13;
const TIMED_DISPATCH = 15;
const READ_TIMES = 16;

const SHADER = `
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var word = x[id.x];
  for (var i = 0u; i < 1000u; i++) { word = word * 1664525u + 1u; }
  x[id.x] = word;
}`;
const WORKGROUPS = 1024;
const DATA = 4096;
const TIMES = 8192;

describe('times of the executor of WebGPU', () => {
  let Executor;
  let gpu;
  before(async function setUp() {
    gpu = await findGpu();
    const adapter = await gpu?.requestAdapter();
    if (!adapter?.features.has('timestamp-query')) this.skip();
    const { outputFiles } = await esbuild.build({
      entryPoints: [SOURCE], bundle: true, format: 'esm', write: false, target: 'es2022',
    });
    ({ Executor } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`));
  });

  /** An executor with the shader as pipeline 1, and its buffer in group 1. */
  async function start(changes = {}) {
    const adapter = await gpu.requestAdapter();
    const device = await adapter.requestDevice({ requiredFeatures: ['timestamp-query'] });
    const u32 = new Uint32Array(1 << 14);
    const u8 = new Uint8Array(u32.buffer);
    const events = [];
    let compiled;
    const compiling = new Promise((resolve) => {
      compiled = resolve;
    });
    const listener = {
      onBatchDone: () => undefined,
      onBatchFailed: (batch, word, code, text) => events.push(`failed: ${text}`),
      onBufferFailed: (buffer, text) => events.push(`buffer: ${text}`),
      onPipelineDone: (number, code, text) => compiled(text),
      onEnd: (number) => events.push(number),
      onDeviceLost: () => executor.close(),
    };
    const text = new TextEncoder().encode(SHADER);
    u8.set(text, DATA);
    const memory = {
      u8, u32, renew: () => undefined, text: (at, size) => new TextDecoder().decode(u8.slice(at, at + size)),
    };
    const executor = new Executor(changedDevice(device, changes), memory, listener);
    let batch = 0;
    const run = (...words) => {
      u32.set(words);
      executor.execute(++batch, 0, words.length, 0, 0);
    };
    run(CREATE_BUFFER, 1, 4 * 64 * WORKGROUPS, CREATE_LAYOUT, 1, 1, 0,
      CREATE_PIPELINE, 1, 1, DATA, text.length, DATA, 0, CREATE_GROUP, 1, 1, 1, 1, 0, 0);
    expect(await compiling).to.equal('');
    const times = (count) => [...new BigUint64Array(u32.buffer, TIMES, count)];
    return { device, events, executor, run, times };
  }
  const dispatch = (command) => [command, 1, 1, 0, WORKGROUPS, 1, 1];
  const timed = dispatch(TIMED_DISPATCH);

  it('has a beginning and an end of each shader, in order', async () => {
    const { device, events, executor, run, times } = await start();
    const began = performance.now();
    run(...timed, ...dispatch(DISPATCH), ...timed, ...timed, DOWNLOAD, 1, 0, DATA, 16, 7, READ_TIMES, TIMES, 6, 8);
    await executor.finished();
    const taken = 1e6 * (performance.now() - began);
    expect(events).to.deep.equal([8, 7], 'times come before the results that they are of');
    const read = times(6);
    for (let i = 0; i < 6; i += 2) {
      expect(Number(read[i])).to.be.above(0);
      expect(read[i + 1] >= read[i], `shader ${i / 2}: ${read}`).to.equal(true);
      if (i > 0) expect(read[i] >= read[i - 1], `shader ${i / 2}: ${read}`).to.equal(true);
    }
    // Browsers round by up to 100 µs.
    expect(Number(read[5] - read[0])).to.be.within(0, taken + 2e5);
    executor.close();
    device.destroy();
  });

  it('begins anew with each batch, and makes its queries once', async () => {
    let made = 0;
    const { device, events, executor, run, times } = await start({
      createQuerySet: (of) => (descriptor) => {
        made += 1;
        return of.createQuerySet(descriptor);
      },
    });
    expect(made).to.equal(0);
    const last = [];
    for (let i = 1; i <= 3; ++i) {
      run(...timed, ...timed, READ_TIMES, TIMES, 4, i);
      await executor.finished();
      const [first, , , end] = times(4);
      if (i > 1) expect(first >= last[i - 2]).to.equal(true);
      last.push(end);
    }
    run(...dispatch(DISPATCH));
    await executor.finished();
    expect(events).to.deep.equal([1, 2, 3]);
    expect(made).to.equal(1);
    executor.close();
    device.destroy();
  });

  it('tells nothing of a device that is lost meanwhile, and lets go of what it has', async () => {
    const destroyed = [];
    const { device, events, executor, run } = await start({
      createQuerySet: (of) => (descriptor) => {
        const queries = of.createQuerySet(descriptor);
        const { destroy } = queries;
        queries.destroy = () => {
          destroyed.push('queries');
          destroy.call(queries);
        };
        return queries;
      },
    });
    run(...timed, READ_TIMES, TIMES, 2, 1);
    device.destroy();
    executor.close();
    await executor.finished();
    expect(events).to.deep.equal([]);
    expect(destroyed).to.deep.equal(['queries']);
  });

  it('finds the shader that fails among those that are timed', async () => {
    const { device, events, executor, run } = await start();
    run(...timed, TIMED_DISPATCH, 1, 1, 0, 65536, 1, 1, READ_TIMES, TIMES, 4, 1);
    await executor.finished();
    expect(events[0]).to.match(/^failed: /);
    executor.close();
    device.destroy();
  });
});
