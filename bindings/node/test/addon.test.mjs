// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The addon: memory that is shared, results that come later, errors, the end of runtimes and workers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const index = pathToFileURL(`${process.env.TANDEM_NODE_PACKAGE}/index.js`).href;
const { addressOf, alignedArray, createRuntime, TandemError, Tensor, version } = await import(index);
const rt = createRuntime({ threads: 2 });

function throws(fn, code, message) {
  assert.throws(fn, (error) => {
    assert.ok(error instanceof TandemError, String(error.stack));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.match(error.location, /addon\.test\.mjs:\d+:\d+$/);
    return true;
  });
}

test('the version', () => assert.match(version, /^\d+\.\d+\.\d+$/));

test('tensors have copies of what they are made of', async () => {
  const values = new Float32Array([1, 2, 3, 4]);
  const x = rt.tensor(values, [2, 2]);
  values[0] = 9;
  assert.deepEqual([x.dtype, x.shape, x.size, x.state], ['f32', [2, 2], 4, 'available']);
  assert.deepEqual(await x.data(), new Float32Array([1, 2, 3, 4]));
  assert.deepEqual(await x.array(), [[1, 2], [3, 4]]);
  assert.equal(await x.text(), 'f32[2,2] = [1, 2, 3, 4]');
});

test('tensors of every dtype', async () => {
  for (const [data, dtype] of [
    [new Uint8Array([1, 255]), 'u8'], [new Int8Array([1, -1]), 'i8'], [new Uint16Array([1, 65535]), 'u16'],
    [new Int16Array([1, -2]), 'i16'], [new Int32Array([1, -2]), 'i32'], [new Uint32Array([1, 2 ** 31]), 'u32'],
    [new BigInt64Array([1n, -(2n ** 60n)]), 'i64'], [new BigUint64Array([1n, 2n ** 63n]), 'u64'],
    [new Float32Array([0.5, -0]), 'f32'], [new Float64Array([0.1, 1e300]), 'f64']]) {
    const x = rt.tensor(data);
    assert.equal(x.dtype, dtype);
    assert.deepEqual(await x.data(), data);
  }
  assert.deepEqual(await rt.tensor(new Uint16Array([0x3c00]), [1], 'f16').data(), new Uint16Array([0x3c00]));
  assert.deepEqual(rt.tensor(new Float32Array([1, 2]), undefined, 'c64').shape, [1]);
  assert.deepEqual(await rt.tensor([true, false]).array(), [true, false]);
  assert.deepEqual(await rt.tensor([['a', 'ü'], ['', 'b\0c']]).array(), [['a', 'ü'], ['', 'b\0c']]);
  assert.equal(await rt.tensor(7).array(), 7);
  assert.deepEqual(await rt.tensor([1n, -2n]).array(), [1n, -2n]);
  assert.deepEqual(await rt.tensor([1, 2], [2], 'i32').data(), new Int32Array([1, 2]));
  assert.deepEqual(await rt.tensor(new Float32Array(0)).data(), new Float32Array(0));
  assert.deepEqual(await rt.tensor([], [0, 3]).array(), []);
});

test('memory is shared both ways', async () => {
  const array = alignedArray('f32', 100);
  assert.equal(addressOf(array) % 64n, 0n);
  array.fill(2);
  const x = rt.wrap(array, [10, 10]);
  assert.equal(x.address, addressOf(array));
  assert.equal(x.view(), array);
  const [y] = rt.execute('tf.Neg', [x]);
  await y.ready();
  const view = y.view();
  assert.equal(addressOf(view), y.address);
  assert.equal(view, y.view());
  // A result in the memory of its input.
  const [flat] = rt.execute('tf.Reshape', [x, rt.tensor([100], [1], 'i32')]);
  assert.deepEqual(await flat.data(), array);
  assert.equal(flat.address, addressOf(array));
  y.dispose();
  globalThis.gc();
  assert.deepEqual(view, new Float32Array(100).fill(-2));
});

test('memory that is wrapped lives as long as the tensor', async () => {
  let x = rt.wrap(new Float64Array(10000).fill(3));
  globalThis.gc();
  const [sum] = rt.execute('tf.Sum', [x, rt.tensor([0], [1], 'i32')]);
  x = undefined;
  globalThis.gc();
  assert.equal(await sum.array(), 30000);
});

test('memory that nobody refers to is given back', async () => {
  const size = 1 << 20;
  const turn = () => new Promise((resolve) => { setImmediate(resolve); });
  let peak = 0;
  for (let i = 0; i < 200; ++i) {
    rt.wrap(new Float32Array(size));
    rt.execute('tf.Neg', [rt.tensor(new Float32Array(size))]);
    await turn();
    peak = Math.max(peak, rt.memory().bytesInUse);
  }
  globalThis.gc();
  await turn();
  globalThis.gc();
  await turn();
  assert.ok(rt.memory().bytesInUse < 64 * size, `${rt.memory().bytesInUse}`);
});

test('calls return at once, results are awaited', async () => {
  const [large] = rt.execute('tf.Fill', [rt.tensor([600, 600], [2], 'i32'), 1]);
  let [product] = rt.execute('tf.MatMul', [large, large], { transpose_a: true });
  [product] = rt.execute('tf.Sum', [product, rt.tensor([0, 1], [2], 'i32')]);
  assert.equal(await product.array(), 600 ** 3);
  const parts = rt.execute('tf.Split', [rt.tensor(0, [], 'i32'), rt.tensor([1, 2, 3, 4])], { num_split: 2 });
  assert.deepEqual(await Promise.all(parts.map((part) => part.array())), [[1, 2], [3, 4]]);
  assert.deepEqual(await rt.execute('tf.Cast', [[1.5, 2]], { DstT: 'i32' })[0].data(), new Int32Array([1, 2]));
});

test('errors are thrown where the program calls', async () => {
  throws(() => rt.execute('tf.MatMul', [[[1, 2]], [[1, 2]]]), 'InvalidArgument', /\[tf.MatMul\] inner dimensions/);
  throws(() => rt.execute('tf.MatMull', [[1], [1]]), 'NotFound', /did you mean tf.MatMul/);
  throws(() => rt.execute('tf.MatMul', [[[1]], [[1]]], { transpose: true }), 'InvalidArgument', /transpose is not/);
  throws(() => rt.execute('tf.MatMul', [[[1]], [[1]]], { transpose_a: 'yes' }), 'InvalidArgument', /transpose_a/);
  throws(() => rt.execute('tf.Neg', [[1]], {}, { device: 'tpu' }), 'NotFound', /tpu/);
  throws(() => rt.tensor([[1, 2], [3]]), 'InvalidArgument', /nested arrays of the shape \[2,2\]/);
  throws(() => rt.tensor([1, 'a']), 'InvalidArgument', /all of one kind/);
  throws(() => rt.tensor([1.5], [1], 'i64'), 'InvalidArgument', /elements of i64/);
  throws(() => rt.tensor(new Float32Array(3), [2]), 'InvalidArgument', /12/);
  throws(() => rt.tensor([1], 'x'), 'InvalidArgument', /a shape/);
  throws(() => rt.tensor([1], [1], 'f8'), 'InvalidArgument', /one of the dtypes/);
  throws(() => rt.wrap(new Float32Array(new SharedArrayBuffer(8))), 'InvalidArgument', /neither shared nor resized/);
  throws(() => rt.wrap([1]), 'InvalidArgument', /typed array/);
  throws(() => new Tensor(), 'InvalidArgument', /made by a runtime/);
  throws(() => createRuntime({ device: 'tpu' }), 'NotFound', /tpu/);
  throws(() => createRuntime({ threads: -1 }), 'InvalidArgument', /threads/);
  throws(() => rt.loadOpLibrary('none.so'), 'NotFound', /No such file/);
  const large = rt.tensor(new Float32Array(1 << 20), [1024, 1024]);
  const [pending] = rt.execute('tf.ArgMax', [rt.execute('tf.MatMul', [large, large])[0], rt.tensor(0, [], 'i32')]);
  const [outside] = rt.execute('tf.AddV2', [pending, rt.tensor([5n])]);
  const [late] = rt.execute('tf.GatherV2', [rt.tensor([1, 2]), outside, rt.tensor(0, [], 'i32')]);
  await assert.rejects(late.data(), (error) => {
    assert.ok(error instanceof TandemError);
    assert.match(error.message, /\[tf.GatherV2\].*5/);
    assert.match(error.location, /addon\.test\.mjs:\d+:\d+$/);
    return true;
  });
});

test('what is disposed of says so', () => {
  const x = rt.tensor([1]);
  x.dispose();
  x.dispose();
  throws(() => x.shape, 'FailedPrecondition', /disposed of/);
  throws(() => rt.execute('tf.Neg', [x]), 'FailedPrecondition', /disposed of/);
  const other = createRuntime({ threads: 1 });
  const y = other.tensor([1]);
  throws(() => rt.execute('tf.Neg', [y]), 'InvalidArgument', /runtime/);
  other.dispose();
  other.dispose();
  throws(() => other.tensor([1]), 'FailedPrecondition', /disposed of/);
  y.dispose();
});

test('cancelling rejects what is pending', async () => {
  const other = createRuntime({ threads: 1 });
  other.cancel('enough');
  throws(() => other.execute('tf.Neg', [[1]]), 'Cancelled', /enough/);
  other.restart();
  assert.deepEqual(await other.execute('tf.Neg', [[1]])[0].array(), [-1]);
  other.dispose();
});

test('a runtime that ends rejects what is awaited', async () => {
  const other = createRuntime({ threads: 1 });
  let [x] = other.execute('tf.Fill', [other.tensor([2000, 2000], [2], 'i32'), 1]);
  for (let i = 0; i < 10; ++i) [x] = other.execute('tf.MatMul', [x, x]);
  const ready = x.ready();
  other.dispose();
  await assert.rejects(ready, { code: 'Cancelled' });
});

test('layers', async () => {
  const other = createRuntime({ threads: 1, device: 'nan-guard:cpu' });
  throws(() => other.execute('tf.Log', [[-1]]), 'OutOfRange', /NaN|nan/);
  other.useDevice('cpu');
  assert.deepEqual(await other.execute('tf.Log', [[-1]])[0].array(), [NaN]);
  other.dispose();
});

test('substitution by ops', async () => {
  const other = createRuntime({ threads: 1 });
  other.substitute({ substitutions: [{ op: 'tf.Neg', inputs: ['f32[2]'], use: { op: 'tf.Abs' } }] });
  assert.deepEqual(await other.execute('tf.Neg', [[-1, 2]])[0].array(), [1, 2]);
  assert.deepEqual(await other.execute('tf.Neg', [[1, 2, 3]])[0].array(), [-1, -2, -3]);
  other.substitute('{"substitutions": [{"op": "tf.Exp", "use": {"op": "tf.Neg"}}]}');
  assert.deepEqual(await other.execute('tf.Exp', [[3]])[0].array(), [-3]);
  const undefinedOp = { substitutions: [{ op: 'tf.Nog', use: { op: 'tf.Abs' } }] };
  throws(() => other.substitute(undefinedOp), 'NotFound', /1:\d+: op tf.Nog/);
  throws(() => other.substitute({ substitutions: 3 }), 'InvalidArgument', /1:\d+/);
  throws(() => other.substitute({ library: 'none.so' }), 'NotFound', /No such file/);
  other.dispose();
});

test('op libraries', async (t) => {
  const folder = process.env.TANDEM_TEST_PLUGINS;
  if (!folder) return t.skip('no op library was given');
  const library = rt.loadOpLibrary(`${folder}/good.so`);
  assert.deepEqual(await rt.execute('plug.NonZero', [[0, 3, 0, 4]])[0].array(), [3, 4]);
  assert.deepEqual(await rt.execute('plug.Later', [[1, 2]])[0].array(), [2, 3]);
  library.unload();
  library.unload();
  throws(() => rt.execute('plug.NonZero', [[1]]), 'NotFound', /plug.NonZero/);
});

test('workers have runtimes of their own, and end with calls pending', async () => {
  const program = `
    import { createRuntime } from ${JSON.stringify(index)};
    const rt = createRuntime({ threads: 1 });
    let [x] = rt.execute('tf.Fill', [rt.tensor([1000, 1000], [2], 'i32'), 1]);
    for (let i = 0; i < 10; ++i) [x] = rt.execute('tf.MatMul', [x, x]);
    globalThis.kept = [x, rt.wrap(new Float32Array(100)), x.ready().catch(() => {})];
    process.exit(3);`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
  const ends = Array.from({ length: 4 }, () => new Promise((resolve, reject) => {
    const worker = new Worker(url);
    worker.on('error', reject);
    worker.on('exit', resolve);
  }));
  assert.deepEqual(await Promise.all(ends), [3, 3, 3, 3]);
});
