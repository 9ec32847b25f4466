// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The code of programs, which is a module of its own and loaded when it is asked for.

import { expect } from 'chai';
import { describe, it } from 'mocha';

import { matMul, mean } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, rejectionOf } from './errors.js';
import { double, doubled } from './program_calls.js';

const dist = (name) => new URL(`../dist/${name}`, import.meta.url);
// In Node there is no policy, and no list of what was fetched.
const isBrowser = typeof globalThis.location === 'object';

describe('the code of programs', () => {
  for (const threads of [1, 3]) {
    it(`runs programs of inputs that are there or pending, with ${threads} threads if there can be`, async () => {
      const rt = await createRuntime({ threads });
      await rt.engine.loadPrograms();
      expect(await double(rt, rt.scalar(3))).to.equal(doubled(3));
      const ones = rt.ones([256, 256]);
      const one = rt.fill([256, 256], 1 / 256);
      for (let i = 0; i < 8; ++i) expect(await double(rt, mean(matMul(ones, one), [0, 1]))).to.equal(1024);
      await rt.dispose();
    });
  }

  it('is loaded once, whoever asks', async () => {
    const rt = await createRuntime();
    const loading = rt.engine.loadPrograms();
    expect(rt.engine.loadPrograms()).to.equal(loading);
    await loading;
    expect(rt.engine.loadPrograms()).to.equal(loading);
    await rt.dispose();
  });

  it('is found beside the package for a module that is given', async () => {
    const wasmModule = await WebAssembly.compile(await bytesOf(dist('tandem.wasm')));
    const withWebGpu = await WebAssembly.compile(await bytesOf(dist('tandem-webgpu.wasm')));
    const wasmUrl = dist('tandem.wasm');
    for (const source of [{ wasmModule }, { wasmModule: withWebGpu, device: 'cpu' }, { wasmUrl }]) {
      const rt = await createRuntime({ ...source, threads: 1 });
      await rt.engine.loadPrograms();
      expect(await double(rt, rt.scalar(5))).to.equal(doubled(5));
      await rt.dispose();
    }
  });

  it('of another module is FailedPrecondition, which says how to say where it is', async () => {
    const others = [[1, 'tandem-webgpu-programs.wasm'], [1, 'tandem.wasm'], [2, 'tandem-programs.wasm']];
    for (const [threads, name] of others) {
      const rt = await createRuntime({ threads, device: 'cpu', programsUrl: dist(name) });
      // Without threads the last one fits.
      if (threads === 1 || rt.capabilities.threads > 1) {
        checkError(await rejectionOf(rt.engine.loadPrograms()), 'FailedPrecondition',
          /expected the tandem-programs\.wasm that goes with .* got one of build (none|[0-9a-f]{16}); .*programsUrl/);
      }
      expect(await rt.scalar(1).item()).to.equal(1);
      await rt.dispose();
    }
  });

  it('that is no module is DataLoss, one that is not there NotFound', async () => {
    for (const threads of [1, 2]) {
      let rt = await createRuntime({ threads, programsUrl: dist('index.js') });
      checkError(await rejectionOf(rt.engine.loadPrograms()), 'DataLoss', /complete tandem-programs\.wasm .*index\.js/);
      await rt.dispose();
      rt = await createRuntime({ threads, programsUrl: dist('none.wasm') });
      checkError(await rejectionOf(rt.engine.loadPrograms()), 'NotFound', /tandem-programs\.wasm at .*programsUrl/);
      await rt.dispose();
    }
    checkError(await rejectionOf(createRuntime({ programsUrl: 'http://[' })), 'InvalidArgument', /programsUrl to be a/);
  });

  it('is not loaded into a runtime that is disposed of, before or meanwhile', async () => {
    const rt = await createRuntime();
    const loading = rt.engine.loadPrograms();
    await rt.dispose();
    const errors = await Promise.all([loading, rt.engine.loadPrograms()].map(rejectionOf));
    for (const error of errors) checkError(error, 'FailedPrecondition', /disposed of/);
  });

  it('is not fetched unless it is asked for', async () => {
    // Other tests have asked for it, by other addresses; there is room for so many entries only.
    performance.clearResourceTimings();
    const programsUrl = dist(`tandem-programs.wasm?${Math.random()}`);
    const rt = await createRuntime({ threads: 1, device: 'cpu', programsUrl });
    expect(await mean(rt.ones([2, 2]), [0, 1]).item()).to.equal(1);
    const fetches = () => performance.getEntriesByName(programsUrl.href).length;
    expect(fetches()).to.equal(0);
    await rt.engine.loadPrograms();
    if (isBrowser) expect(fetches()).to.equal(1);
    await rt.dispose();
  });
});

async function bytesOf(url) {
  if (isBrowser) return (await fetch(url)).arrayBuffer();
  const { readFile } = await import('node:fs/promises');
  return readFile(url);
}
