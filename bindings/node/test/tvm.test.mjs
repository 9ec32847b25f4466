// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Functions compiled for TVM's ABIs, from Node (DL-2, DL-4).

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const prefix = process.env.TANDEM_TVM_LIBRARIES;
const options = { skip: prefix === undefined ? 'no libraries were given' : false };
const { addressOf, alignedArray, createRuntime, loadModule, TandemError } =
  await import(pathToFileURL(`${process.env.TANDEM_NODE_PACKAGE}/index.js`).href);
const rt = createRuntime({ threads: 2 });
const pathOf = (name) => `${prefix}${name}.so`;

function throws(fn, code, message) {
  assert.throws(fn, (error) => {
    assert.ok(error instanceof TandemError, String(error.stack));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.match(error.location, /tvm\.test\.mjs:\d+:\d+$/);
    return true;
  });
}

test('a function of either ABI adds one', options, async () => {
  for (const name of ['classic', 'ffi', 'ffi_linked']) {
    const { addone } = loadModule(pathOf(name));
    for (const size of [1, 3, 16, 17, 1000, 300000]) {
      const x = Float32Array.from({ length: size }, (_, i) => i);
      const y = addone(rt.tensor(x));
      assert.deepEqual(await y.data(), x.map((value) => value + 1), `${name} ${size}`);
    }
  }
  assert.deepEqual(await loadModule(pathOf('ffi')).addone(rt.tensor([[1, 2], [3, 4]])).array(), [[2, 3], [4, 5]]);
});

test('functions see the memory of JavaScript', options, async () => {
  for (const name of ['classic', 'ffi']) {
    const { places } = loadModule(pathOf(name));
    const array = alignedArray('i64', 100);
    const y = places(rt.wrap(array));
    await y.ready();
    const [input, result, misaligned] = y.view();
    assert.equal(input, addressOf(array), 'the input is the typed array itself');
    assert.equal(result, addressOf(y.view()), 'and the result the array that views it');
    assert.equal(misaligned, 0n);
  }
});

test('a misaligned input is copied right', options, async () => {
  for (const name of ['classic', 'ffi']) {
    const { addone } = loadModule(pathOf(name));
    for (const size of [3, 40, 1000]) {
      const array = alignedArray('f32', size + 1).subarray(1);
      for (let i = 0; i < size; ++i) array[i] = i;
      assert.notEqual(addressOf(array) % 64n, 0n);
      assert.deepEqual(await addone(rt.wrap(array)).data(), array.map((value) => value + 1));
      assert.equal(array[0], 0);
    }
  }
});

test('results of other dtypes and shapes, and several of them', options, async () => {
  const { parts, sum, describe } = loadModule(pathOf('classic'));
  const x = rt.tensor([1.5, -2.25, 3]);
  const results = parts(x, { outputs: [{ dtype: 'i32' }, { dtype: 'f64' }] });
  assert.deepEqual(await Promise.all(results.map((result) => result.array())), [[1, -2, 3], [0.5, -0.25, 0]]);
  assert.deepEqual(await sum(x, [1, 1, 1], new Float32Array([1, 2, 3])).array(), [3.5, 0.75, 7]);
  const numbers = describe(rt.tensor(new Uint8Array(6), [1, 2, 3]), { dtype: 'i64', shape: [11] });
  assert.deepEqual(await numbers.array(), [1, 8, 1, 1, 3, 1, 2, 3, 6, 3, 1].map(BigInt));
  const { addone } = loadModule(pathOf('ffi'));
  const shaped = addone(rt.tensor(new Float32Array(24)), { shape: rt.tensor([2, 3, 4], [3], 'i32') });
  assert.deepEqual(shaped.shape, [2, 3, 4]);
  assert.deepEqual(await shaped.data(), new Float32Array(24).fill(1));
});

test('what is wrong is an error with a place', options, async () => {
  const x = rt.tensor([1, 2, 3]);
  throws(() => loadModule('/nowhere/libaddone.so'), 'NotFound', /No such file/);
  throws(() => loadModule(''), 'InvalidArgument', /path/);
  throws(() => loadModule(tmpdir()), 'InvalidArgument', /no regular file/);
  const folder = mkdtempSync(join(tmpdir(), 'tandem-'));
  writeFileSync(join(folder, 'text.so'), 'this is no library, but a text that is long enough to have a header');
  throws(() => loadModule(join(folder, 'text.so')), 'FailedPrecondition', /invalid ELF header/);
  rmSync(folder, { recursive: true });
  throws(() => loadModule(pathOf('ffi_next')), 'FailedPrecondition', /tvm-ffi 0\.x, got 1\.1\.14/);
  const classic = loadModule(pathOf('classic'));
  throws(() => classic.subtractone, 'NotFound', /to have the function 'subtractone'/);
  assert.equal(await classic, classic, 'a module is no promise');
  throws(() => classic.fail(x), 'Unknown', /\[tandem.TvmDso\] expected fail of .* got -1: Check failed: it never/);
  throws(() => classic.fail_silently(x), 'Unknown', /got 42/);
  throws(() => classic.addone(x, x), 'Unknown', /num_args should be 2/);
  const doubles = rt.tensor(new Float64Array(3));
  throws(() => loadModule(pathOf('ffi')).addone(doubles), 'Unknown', /TypeError: Mismatched type/);
  throws(() => loadModule(pathOf('ffi')).addone(x, { shape: [4] }), 'Unknown', /TypeError/);
  throws(() => classic.addone(x, { dtype: 'string' }), 'InvalidArgument', /output_dtype must be of/);
  throws(() => classic.addone(x, { shape: [-1] }), 'InvalidArgument', /-1/);
  throws(() => classic.addone(x, { dtype: 'f8' }), 'InvalidArgument', /output_dtype/);
  throws(() => classic.addone(new Float32Array(3)), 'InvalidArgument', /at least one argument that is a tensor/);
  throws(() => classic.addone(rt.tensor(['a'])), 'InvalidArgument', /string/);
  throws(() => classic.parts(x, { outputs: [{}, { shape: [3] }] }), 'InvalidArgument', /a shape for each of 2 results/);
});

test('compiled functions in place of ops, by a table and by what their library says', options, async () => {
  const other = createRuntime({ threads: 1 });
  const net = (x) => other.execute('tf.Neg', [other.execute('tf.AddV2', [x, x])[0]])[0];
  assert.deepEqual(await net([1, 2]).array(), [-2, -4]);
  other.substitute({
    substitutions: [{ op: 'tf.Neg', inputs: ['f32[2]'], use: { library: pathOf('ffi'), function: 'addone' } }],
  });
  assert.deepEqual(await net([1, 2]).array(), [3, 5]);
  other.substitute({ library: pathOf('classic') });
  assert.deepEqual(await net([1, 2, 3]).array(), [3, 5, 7]);
  throws(() => other.substitute({ library: pathOf('ffi') }), 'NotFound', /:2:27: .*'subtractone'/);
  throws(() => other.substitute({ library: pathOf('ffi_linked') }), 'NotFound', /to have a table of substitutions/);
  other.dispose();
});

test('100,000 calls leak nothing', options, async () => {
  const own = createRuntime({ threads: 1, trackLocations: false });
  const modules = [loadModule(pathOf('classic')), loadModule(pathOf('ffi'))];
  const x = own.tensor(new Float32Array(40));
  const misaligned = own.wrap(alignedArray('f32', 41).subarray(1));
  const turn = () => new Promise((resolve) => { setImmediate(resolve); });
  const call = async (count) => {
    for (let i = 0; i < count; ++i) {
      for (const { addone } of modules) for (const input of [x, misaligned]) addone(input).dispose();
      if (i % 1000 === 0) await turn();
    }
    globalThis.gc();
    await turn();
    globalThis.gc();
  };
  await call(2500);
  const bytes = own.memory().bytesInUse;
  const resident = process.memoryUsage().rss;
  await call(25000);
  assert.equal(own.memory().bytesInUse, bytes);
  const grown = process.memoryUsage().rss - resident;
  assert.ok(grown < 16 << 20, `${grown} bytes more`);
  own.dispose();
});
