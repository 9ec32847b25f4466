// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Making runtimes: options, the wasm file, what they say of themselves.

import { expect } from 'chai';
import { describe, it } from 'mocha';

import * as tandem from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf, rejectionOf } from './errors.js';

const { add, matMul, TandemError } = tandem;

async function expectFailure(options, code, message) {
  const error = await rejectionOf(createRuntime(options));
  expect(error, String(error)).to.be.instanceOf(TandemError);
  expect(error.message).to.match(message);
  expect(error.code).to.equal(code);
}

// The header of a module, which is all of an empty one.
const EMPTY_MODULE = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);

describe('createRuntime', () => {
  it('says what was found, and why something is not used', async () => {
    const rt = await createRuntime({ device: 'auto' });
    expect(rt.device).to.equal('cpu');
    const { capabilities } = rt;
    expect(capabilities.device).to.equal('cpu');
    expect(capabilities.threads).to.be.at.least(1);
    expect(capabilities.reasons.webgpu).to.match(/WebGPU|asked for/);
    if (capabilities.threads === 1) expect(capabilities.reasons.threads).to.be.a('string');
    expect(JSON.parse(JSON.stringify(capabilities))).to.deep.equal(capabilities);
    await rt[Symbol.asyncDispose]();
  });

  it('refuses wrong options', async () => {
    await expectFailure({ device: 'gpu' }, 'InvalidArgument', /device/);
    await expectFailure({ device: 'webgpu' }, 'Unavailable', /expected (WebGPU|a WebGPU adapter)/);
    for (const threads of [0, -1, 1.5, NaN, 'many']) await expectFailure({ threads }, 'InvalidArgument', /threads/);
    for (const memoryLimit of [0, -1, NaN, '1']) await expectFailure({ memoryLimit }, 'InvalidArgument', /memoryLimit/);
    await expectFailure({ pendingLimit: -3 }, 'InvalidArgument', /pendingLimit/);
    for (const exact of [null, 1, 'true']) await expectFailure({ exact }, 'InvalidArgument', /exact to be true/);
    for (const fuse of [null, 0]) await expectFailure({ fuse }, 'InvalidArgument', /fuse to be true/);
    await expectFailure({ onPrint: 'console' }, 'InvalidArgument', /onPrint/);
    await expectFailure({ memorylimit: 3 }, 'InvalidArgument', /memorylimit/);
    await expectFailure(null, 'InvalidArgument', /options/);
    await expectFailure({ wasmUrl: 'http://[', threads: 1 }, 'InvalidArgument', /wasmUrl/);
    await expectFailure({ wasmModule: {}, threads: 1 }, 'InvalidArgument', /wasmModule/);
    await expectFailure({ wasmBinary: 'binary', threads: 1 }, 'InvalidArgument', /wasmBinary/);
    await expectFailure({ wasmBinary: EMPTY_MODULE, wasmUrl: 'x' }, 'InvalidArgument', /one of/);
  });

  it('refuses a wasm file that is damaged or of another version', async () => {
    await expectFailure({ wasmBinary: new Uint8Array(0) }, 'DataLoss', /0 bytes that are no valid module/);
    await expectFailure({ wasmBinary: EMPTY_MODULE.subarray(0, 6) }, 'DataLoss', /complete tandem\.wasm/);
    await expectFailure({ wasmBinary: new TextEncoder().encode('<!doctype html>') }, 'DataLoss', /no valid module/);
    await expectFailure({ wasmBinary: EMPTY_MODULE }, 'FailedPrecondition', /version.*another module/);
    await expectFailure({ wasmModule: new WebAssembly.Module(EMPTY_MODULE) }, 'FailedPrecondition', /another module/);
    // One that exports memory and functions of other versions: tandem_abi_version and tandem_js_version give 7.
    const name = (text) => [text.length, ...new TextEncoder().encode(text)];
    const exports = [3, ...name('memory'), 2, 0, ...name('tandem_abi_version'), 0, 0, ...name('tandem_js_version'), 0, 0];
    const other = new Uint8Array([
      ...EMPTY_MODULE, 1, 5, 1, 0x60, 0, 1, 0x7f, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, exports.length, ...exports,
      10, 6, 1, 4, 0, 0x41, 7, 0x0b,
    ]);
    await expectFailure({ wasmBinary: other }, 'FailedPrecondition', /got one of interface 7\.7/);
  });

  it('refuses to work without WebAssembly SIMD', async () => {
    const { validate } = WebAssembly;
    WebAssembly.validate = () => false;
    try {
      await expectFailure({}, 'Unimplemented', /SIMD/);
    } finally {
      WebAssembly.validate = validate;
    }
  });

  it('makes runtimes that live side by side, and end in any order', async () => {
    const [a, b] = await Promise.all([createRuntime(), createRuntime()]);
    const x = a.tensor([1]);
    const y = b.tensor([2]);
    await a.dispose();
    expect(await add(y, y).array()).to.deep.equal([4]);
    expect(errorOf(() => add(x, x)).message).to.match(/disposed of/);
    await b.dispose();
  });

  // That they are the same bits everywhere is shown by the conformance cases.
  it('makes exact runtimes, beside others (NU-3)', async () => {
    const [exact, other] = await Promise.all([createRuntime({ exact: true }), createRuntime({ exact: false })]);
    for (const rt of [exact, other]) {
      expect(await add(rt.tensor([1, 2]), 0.5).array()).to.deep.equal([1.5, 2.5]);
      await rt.dispose();
    }
  });

  it('makes runtimes that tell of errors', async () => {
    const errors = [];
    const rt = await createRuntime({ onDiagnostic: (error) => errors.push(error) });
    const x = rt.tensor([1, 2]);
    const thrown = errorOf(() => matMul(x, x));
    await rt.settled();
    expect(errors.map(({ message }) => message)).to.deep.equal([thrown.message]);
    expect(errors[0]).to.be.instanceOf(TandemError);
    await rt.dispose();
  });

  it('makes runtimes that know where late errors came from (ER-3)', async () => {
    const rt = await createRuntime({ trackLocations: true });
    const x = rt.fill([600, 600], 1);
    // Pending, so that the indices are looked at later.
    const values = matMul(x, x);
    const indices = rt.tensor([-7], { dtype: 'i32' });
    function userCode() {
      return tandem.gather(values, indices, 0);
    }
    // With threads the product may be there already; then userCode() itself throws.
    const error = await rejectionOf((async () => add(userCode(), 1).data())());
    expect(error.op).to.equal('tf.GatherV2');
    expect(error.location).to.match(/:\d+:\d+$/).and.not.match(/dist\/index/);
    expect(error.stack).to.include(error.location);
    await rt.dispose();
  });

  it('shows where an error arose in what is thrown by a call that is given it (ER-3)', async () => {
    const rt = await createRuntime({ trackLocations: true, device: 'cpu', threads: 1 });
    const x = rt.fill([600, 600], 1);
    const values = matMul(x, x);
    const indices = rt.tensor([-7], { dtype: 'i32' });
    function gatherHere() {
      return tandem.gather(values, indices, 0);
    }
    function addHere(y) {
      return add(y, 1);
    }
    const failed = gatherHere();
    const { location } = await rejectionOf(failed.ready());
    const error = errorOf(() => addHere(failed));
    expect(error.op).to.equal('tf.GatherV2');
    expect(error.location).to.equal(location);
    const frames = error.stack.split('\n').filter((line) => line.includes(':'));
    const [arose, noticed] = [location, 'addHere'].map((text) => frames.findIndex((line) => line.includes(text)));
    expect([arose >= 0, noticed > arose]).to.deep.equal([true, true]);
    await rt.dispose();
  });

  it('makes runtimes that print in order', async () => {
    const printed = [];
    const rt = await createRuntime({ onPrint: (text) => printed.push(text) });
    for (let i = 0; i < 3; ++i) tandem.printStrings(rt, rt.scalar(String(i)));
    await rt.settled();
    const text = printed.join('');
    expect([0, 1, 2].map((i) => text.indexOf(String(i)) >= 0)).to.deep.equal([true, true, true]);
    expect(text.indexOf('0')).to.be.below(text.indexOf('1'));
    expect(text.indexOf('1')).to.be.below(text.lastIndexOf('2'));
    await rt.dispose();
  });

  it('makes runtimes that trace', async () => {
    const rt = await createRuntime();
    const x = rt.tensor([1, 2]);
    rt.trace.start();
    add(x, x);
    rt.trace.stop();
    matMul(rt.ones([2, 2]), rt.ones([2, 2]));
    const { traceEvents } = JSON.parse(rt.trace.json());
    const names = traceEvents.map(({ name }) => name);
    expect(names).to.include('tf.AddV2').and.not.include('tf.MatMul');
    rt.trace.clear();
    expect(rt.trace.json()).to.not.include('tf.AddV2');
    if (typeof document === 'undefined') expect(errorOf(() => rt.trace.download()).code).to.equal('Unimplemented');
    await rt.dispose();
  });

  // With threads, each wait takes one, and most of these end then.
  it('makes runtimes that many may wait for at once', async () => {
    const rt = await createRuntime();
    for (let round = 0; round < 3; ++round) {
      const product = matMul(rt.fill([300, 300], 1), rt.fill([300, 300], 2));
      await Promise.all(Array.from({ length: 40 }, () => rt.settled()));
      expect(product.state).to.equal('available');
      expect(product.view()[89_999]).to.equal(600);
    }
    await rt.dispose();
  });

  it('makes runtimes that a failing module ends, with an error', async () => {
    const rt = await createRuntime();
    const x = rt.tensor([1, 2]);
    const pending = matMul(rt.ones([2000, 2000]), rt.ones([2000, 2000])).data();
    add(x, x);
    // What a trap looks like from outside: no input is known to cause one.
    Object.defineProperty(rt.engine, 'opExecute', {
      value: () => {
        throw new WebAssembly.RuntimeError('unreachable');
      },
    });
    expect(errorOf(() => add(x, x)).code).to.equal('Internal');
    expect(errorOf(() => rt.tensor([1])).message).to.match(/failed \(unreachable\).*create another/);
    expect((await rejectionOf(pending)).code).to.equal('Internal');
    expect(rt.disposed).to.equal(true);
    x.dispose();
    await rt.dispose();
  });
});
