// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls that wait for each other, computed as one by code that is fetched when it would first be of use.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, createRuntime, mul, relu, sub, sum } from 'tandem-rt';
import { checkError, rejectionOf } from './errors.js';
import { chains, inputsOf as inputsFor } from './fused_chains.js';

const dist = (name) => new URL(`../dist/${name}`, import.meta.url);
// In Node there is no list of what was fetched.
const isBrowser = typeof globalThis.location === 'object';
// Large enough for calls to wait for their turn.
const SIZE = 1 << 20;

const inputsOf = (rt) => inputsFor(rt, 1024, 1024);

/** What `fn` gives, and the names of the kernels that ran for it. */
async function traced(rt, fn) {
  rt.trace.clear();
  rt.trace.start();
  const result = await fn();
  rt.trace.stop();
  const { traceEvents } = JSON.parse(rt.trace.json());
  return { result, names: traceEvents.filter(({ ph }) => ph === 'X').map(({ name }) => name) };
}

// Of five calls, until these are computed as one; false if they never are.
async function becomesOne(rt) {
  const [x, y] = inputsOf(rt);
  for (let i = 0; i < 200; ++i) {
    const { names } = await traced(rt, () => rt.scope(() => chains.arithmetic(x, y)).ready());
    if (names.some((name) => name.startsWith('tandem.Fused('))) return true;
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  return false;
}

describe('calls that wait for each other', () => {
  for (const threads of [1, 3]) {
    describe(`with ${threads} threads if there can be`, () => {
      let fusing;
      let alone;
      before(async () => {
        fusing = await createRuntime({ device: 'cpu', threads, preload: ['fusion'] });
        alone = await createRuntime({ device: 'cpu', threads, fuse: false });
      });
      after(() => Promise.all([fusing, alone].map((rt) => rt.dispose())));

      for (const [name, chain] of Object.entries(chains)) {
        it(`give the same bits as one by one: ${name} (PR-6)`, async () => {
          const results = [];
          for (const rt of [fusing, alone]) {
            const inputs = inputsOf(rt);
            const { result, names } = await traced(rt, () => rt.scope(() => chain(...inputs)).data());
            results.push(new Uint32Array(result.slice().buffer));
            const isFused = names.some((each) => each.startsWith('tandem.Fused('));
            // With threads one may take the first call before the next is there.
            if (rt === alone || rt.capabilities.threads === 1) expect(isFused).to.equal(rt === fusing);
            for (const input of inputs) input.dispose();
          }
          expect(results[0].length).to.equal(SIZE);
          const different = results[0].findIndex((bits, i) => bits !== results[1][i]);
          expect(different).to.equal(-1);
        });
      }

      it('give what a user may still want of what is in between', async () => {
        const [x, y] = inputsOf(fusing);
        const a = add(x, y);
        const b = mul(a, 2);
        const c = sub(b, x);
        const [ofX, ofY] = [await x.data(), await y.data()];
        for (const [result, formula] of [
          [a, (i) => Math.fround(ofX[i] + ofY[i])], [b, (i) => 2 * Math.fround(ofX[i] + ofY[i])],
          [c, (i) => Math.fround(2 * Math.fround(ofX[i] + ofY[i]) - ofX[i])],
        ]) {
          const got = await result.data();
          for (let i = 0; i < SIZE; i += 1001) expect(got[i]).to.equal(formula(i));
        }
      });

      it('are computed as one once the code for that has come, which they ask for', async () => {
        const rt = await createRuntime({ device: 'cpu', threads });
        expect(await becomesOne(rt)).to.equal(true);
        await rt.dispose();
      });

      it('are computed one by one if that cannot be had, which is no error', async () => {
        const errors = [];
        const rt = await createRuntime({
          device: 'cpu', threads, fusionUrl: dist('none.wasm'), onDiagnostic: (error) => errors.push(error),
        });
        const [x, y] = inputsOf(rt);
        for (let i = 0; i < 3; ++i) {
          const { result, names } = await traced(rt, () => rt.scope(() => sum(chains.arithmetic(x, y))).item());
          expect(result).to.be.a('number').and.not.NaN;
          expect(names.some((name) => name.startsWith('tandem.Fused('))).to.equal(false);
        }
        checkError(await rejectionOf(rt.engine.loadFusion()), 'NotFound',
          /expected the file tandem-fusion\.wasm at .*none\.wasm.*fusionUrl/);
        expect(errors).to.deep.equal([]);
        await rt.dispose();
      });
    });
  }

  it('take no memory for what is in between', async () => {
    const peaks = [];
    for (const options of [{ preload: ['fusion'] }, { fuse: false }]) {
      const rt = await createRuntime({ device: 'cpu', threads: 1, ...options });
      const x = rt.ones([SIZE]);
      await x.ready();
      const before = rt.memory().bytesInUse;
      // Each is used twice, so that none may take over the memory of another.
      const y = rt.scope(() => {
        const a = add(x, 1);
        const b = mul(x, a);
        return add(mul(a, b), sub(b, a));
      });
      expect((await y.data())[7]).to.equal(4);
      peaks.push(rt.memory().peakBytesInUse - before);
      await rt.dispose();
    }
    expect(peaks[0]).to.be.below(SIZE * 4 * 1.5);
    expect(peaks[1]).to.be.above(SIZE * 4 * 1.9);
  });

  it('may be more chains than the engine keeps code for', async () => {
    const rt = await createRuntime({ device: 'cpu', threads: 1, preload: ['fusion'] });
    const size = 1 << 17;
    const x = rt.fill([size], 3);
    await x.ready();
    for (let round = 0; round < 2; ++round) {
      for (let bits = 0; bits < 80; ++bits) {
        let expected = 3;
        const y = rt.scope(() => {
          let value = x;
          for (let i = 0; i < 7; ++i) {
            const isSum = bits >> i & 1;
            value = isSum ? add(value, 1) : sub(value, 2);
            expected += isSum ? 1 : -2;
          }
          return value;
        });
        const data = await y.data();
        expect([data[0], data[size - 1]]).to.deep.equal([expected, expected]);
        y.dispose();
      }
    }
    await rt.dispose();
  });

  it('have code for that of the module with WebGPU, too', async () => {
    const url = dist('tandem-webgpu.wasm');
    const rt = await createRuntime({ device: 'cpu', threads: 1, wasmUrl: url });
    expect(await becomesOne(rt)).to.equal(true);
    await rt.dispose();
  });

  it('do not fetch the code for that where it would be of no use', async () => {
    performance.clearResourceTimings();
    const url = () => dist(`tandem-fusion.wasm?${Math.random()}`);
    const fetches = ({ href }) => performance.getEntriesByName(href).length;
    const [small, off, large] = [url(), url(), url()];
    for (const [fusionUrl, size, fuse] of [[small, 1000, true], [off, SIZE, false], [large, SIZE, true]]) {
      const rt = await createRuntime({ device: 'cpu', threads: 1, fusionUrl, fuse });
      const y = rt.scope(() => relu(mul(add(rt.fill([size], 1), 2), 3)));
      expect((await y.data())[size - 1]).to.equal(9);
      // A call of another kind that waits.
      expect(await rt.scope(() => sum(add(rt.ones([size]), 1))).item()).to.equal(2 * size);
      if (fusionUrl === large) await rt.engine.loadFusion();
      await rt.dispose();
    }
    expect(fetches(small) + fetches(off)).to.equal(0);
    if (isBrowser) expect(fetches(large)).to.equal(1);
  });

  it('of a runtime that is disposed of meanwhile end', async () => {
    const rt = await createRuntime({ device: 'cpu', threads: 1 });
    const [x, y] = inputsOf(rt);
    const result = rt.scope(() => chains.arithmetic(x, y)).data();
    const loading = rt.engine.loadFusion();
    await rt.dispose();
    // What was computed by then is there.
    for (const { status, reason } of await Promise.allSettled([result, loading])) {
      if (status === 'rejected') expect(reason).to.have.property('code');
    }
  });
});
