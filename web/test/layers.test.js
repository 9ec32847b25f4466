// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers over the device: what they find, and that they change nothing else.

import { expect } from 'chai';
import { describe, it } from 'mocha';

import { add, log, matMul, mul, sum } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, expectError, rejectionOf } from './errors.js';

const ADD = `func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %y = corert.executeop(%cpu) "tf.AddV2"(%x, %x)
  %z = corert.executeop(%cpu) "tf.Log"(%y)
  tfrt.return %z : !corert.tensorhandle
}
`;

describe('layers', () => {
  it('OH-4: profile counts calls and measures them', async () => {
    const rt = await createRuntime({ device: 'cpu', layers: ['profile'] });
    expect(rt.layers.names).to.deep.equal(['profile']);
    const x = rt.ones([200, 200]);
    await matMul(x, x).ready();
    await add(x, 1).ready();
    await add(rt.tensor([1, 2], { dtype: 'i32' }), 1).ready();
    // A worker counts a result when it is there, and may not be at the end of that.
    await rt.settled();
    const profile = rt.layers.profile();
    const counts = profile.map(({ op, dtype, calls, resultBytes }) => [op, dtype, calls, resultBytes]);
    expect(counts).to.deep.include.members(
      [['tf.MatMul', 'f32', 1, 160_000], ['tf.AddV2', 'f32', 1, 160_000], ['tf.AddV2', 'i32', 1, 8]]);
    for (const { call, dropped, errors, pending, results } of profile) {
      expect([dropped, errors, pending]).to.deep.equal([0, 0, 0]);
      for (const { count, max, mean, min, total } of [call, results]) {
        expect(count).to.equal(1);
        expect(new Set([max, mean, min, total]).size).to.equal(1);
        expect(total).to.be.at.least(0);
      }
      expect(results.total).to.be.at.least(call.total);
    }
    expect(profile.map((entry) => entry.results.total)).to.deep.equal(
      profile.map((entry) => entry.results.total).sort((a, b) => b - a));
    rt.layers.resetProfile();
    expect(rt.layers.profile()).to.deep.equal([]);
    await rt.dispose();
  });

  it('are changed at any time, for calls and programs from then on', async () => {
    const rt = await createRuntime({ device: 'cpu' });
    expect(rt.layers).to.equal(undefined);
    const x = rt.tensor([1, 2]);
    const before = await rt.loadProgram(ADD);
    add(x, x);
    await rt.setLayers(['profile']);
    add(x, x);
    rt.execute('tf.AddV2', [x, x]);
    before.run('main', [x]);
    expect(rt.layers.profile().map(({ op, calls }) => [op, calls])).to.deep.equal([['tf.AddV2', 2]]);
    const after = await rt.loadProgram(ADD);
    after.run('main', [x]);
    const { layers } = rt;
    await rt.setLayers([]);
    expect(rt.layers).to.equal(undefined);
    add(x, x);
    after.run('main', [x]);
    const calls = Object.fromEntries(layers.profile().map((entry) => [entry.op, entry.calls]));
    expect(calls).to.deep.equal({ 'tf.AddV2': 4, 'tf.Log': 2 });
    await rt.dispose();
  });

  it('OH-4: nan-guard names the op that gave a NaN first', async () => {
    const rt = await createRuntime({ device: 'cpu', layers: ['nan-guard'], trackLocations: true });
    const x = rt.tensor([[1, -1]]);
    const error = expectError(() => mul(log(x), 2), 'OutOfRange',
      /^\[tf\.Log\] result 0 must be without NaN, got nan at \[0,1\] of f32\[1,2\]$/);
    expect(error.location).to.match(/\.js:\d+:\d+$/);
    const program = await rt.loadProgram(ADD, { file: 'f.mlir' });
    expect(expectError(() => program.run('main', [[-3]]), 'OutOfRange', /tf\.Log/).location).to.match(/^f\.mlir:4:/);
    expect(await program.run('main', [[0.5]])[0].array()).to.deep.equal([0]);
    // Pending, mostly; with threads it may have failed when the call returns, which then throws.
    const large = async () => log(add(rt.ones([1 << 20]), -2)).data();
    checkError(await rejectionOf(large()), 'OutOfRange', /tf\.Log/);
    await rt.dispose();
  });

  it('OH-4: shadow compares with another device', async () => {
    const rt = await createRuntime({ device: 'cpu', layers: ['shadow:cpu'] });
    const x = rt.ones([3]);
    expect(await add(x, 1).array()).to.deep.equal([2, 2, 2]);
    expect(rt.layers.shadow()).to.deep.equal({ equal: 1, diverged: 0, pending: 0, skipped: {}, divergences: [] });
    await rt.dispose();
  });

  it('OH-4: nan-guard may look for infinities, and only tell', async () => {
    const rt = await createRuntime({ device: 'cpu', layers: [{ layer: 'nan-guard', infinities: true, fail: false }] });
    expect(rt.layers.names).to.deep.equal(['nan-guard{infinities,report}']);
    expect(await log(rt.tensor([1, 0])).array()).to.deep.equal([0, -Infinity]);
    expect(rt.layers.nanGuard()).to.deep.equal([{
      op: 'tf.Log', location: '', result: 0, metadata: 'f32[2]', element: 1, value: -Infinity,
      message: '[tf.Log] result 0 must be finite, got -inf at [1] of f32[2]',
    }]);
    await rt.setLayers([{ layer: 'nan-guard', infinities: true }]);
    expectError(() => log(rt.tensor([0])), 'OutOfRange', /-inf/);
    await rt.setLayers(['nan-guard']);
    expect(await log(rt.tensor([0])).array()).to.deep.equal([-Infinity]);
    await rt.dispose();
  });

  it('OH-4: shadow has a tolerance, and log a number of elements', async () => {
    let printed = '';
    const rt = await createRuntime({
      device: 'cpu',
      layers: [
        { layer: 'profile' },
        { layer: 'shadow', device: 'cpu', ulp: 0, abs: 1e-7, ofLargest: 1e21, fail: true, maxReports: 2 },
        { layer: 'log', maxElements: 1 },
      ],
      onPrint: (text) => { printed += text; },
    });
    expect(rt.layers.names).to.deep.equal(
      ['profile', 'shadow{fail,reports=2,ulp=0,abs=1e-7,of-largest=1e21}:cpu', 'log{elements=1}']);
    expect(await add(rt.tensor([1, 2]), 3).array()).to.deep.equal([4, 5]);
    await rt.settled();
    expect(rt.layers.shadow().equal).to.equal(1);
    expect(rt.layers.nanGuard()).to.deep.equal([]);
    expect(printed).to.match(/f32\[2\] = \[4, \.\.\.\]/);
    await rt.dispose();
  });

  it('OH-4: log prints calls and results', async () => {
    let printed = '';
    const rt = await createRuntime({ device: 'cpu', layers: ['log'], onPrint: (text) => { printed += text; } });
    add(rt.tensor([1, 2]), 3);
    await rt.settled();
    expect(printed).to.match(/tf\.AddV2[^]*f32\[2\] = \[4, 5\]/);
    await rt.dispose();
  });

  it('are put over each other', async () => {
    const rt = await createRuntime({ device: 'cpu', layers: ['profile', 'shadow:cpu', 'nan-guard', 'shadow:cpu'] });
    expect(rt.layers.names).to.have.length(4);
    expect(await add(rt.ones([3]), 1).array()).to.deep.equal([2, 2, 2]);
    expectError(() => log(rt.tensor([-1])), 'OutOfRange', /NaN/);
    const entry = rt.layers.profile().find(({ op }) => op === 'tf.Log');
    expect([entry.calls, entry.errors]).to.deep.equal([1, 1]);
    expect(rt.layers.shadow().equal).to.be.at.least(2);
    await rt.dispose();
  });

  it('have no part in recordings, which go on below them', async () => {
    const rt = await createRuntime({ device: 'cpu', layers: ['profile'] });
    const { program } = await rt.record((x) => add(x, 1), { inputs: [1] });
    expect(rt.layers.profile()).to.deep.equal([]);
    expect(program.toText()).to.match(/get_op_handler "cpu"/);
    expect(await program.run('main', [1])[0].item()).to.equal(2);
    expect(rt.layers.profile().map(({ op }) => op)).to.deep.equal(['tf.AddV2']);
    await add(rt.scalar(1), 1).ready();
    expect(rt.layers.profile()[0].calls).to.equal(2);
    await rt.dispose();
  });

  it('that are wrong are refused', async () => {
    const rt = await createRuntime({ device: 'cpu' });
    for (const layer of ['fast', 5, '', 'profile:cpu', 'shadow', null]) {
      const error = checkError(await rejectionOf(rt.setLayers([layer])), 'InvalidArgument', /expected the layers/);
      expect(error.location).to.match(/\.js:\d+:\d+$/);
    }
    checkError(await rejectionOf(rt.setLayers('profile')), 'InvalidArgument', /layers to be an array/);
    const wrong = [
      [{}, /expected the layers/], [{ layer: 'fast' }, /expected the layers/], [{ layer: 'toString' }, /expected the layers/],
      [{ layer: 'profile', fail: true }, /expected no options of the layer 'profile', got fail/],
      [{ layer: 'nan-guard', ulp: 1 }, /expected the options infinities, fail of the layer 'nan-guard', got ulp/],
      [{ layer: 'nan-guard', fail: 1 }, /the option fail of the layer 'nan-guard' to be true or false/],
      [{ layer: 'shadow', device: 'cpu', abs: -1 }, /the option abs .* a number that is not negative/],
      [{ layer: 'shadow', device: 'cpu', ulp: NaN }, /the option ulp .* a number that is not negative/],
      [{ layer: 'shadow', device: 'cpu', maxReports: 1.5 }, /the option maxReports .* a count/],
      [{ layer: 'shadow', device: 'cpu', maxReports: 2 ** 31 }, /the option maxReports .* a count/],
      [{ layer: 'shadow' }, /the device of the layer 'shadow' to be a text/],
      [{ layer: 'shadow', device: 5 }, /the device of the layer 'shadow' to be a text/],
      [{ layer: 'log', maxElements: '8' }, /the option maxElements .* a count/],
    ];
    for (const [layer, text] of wrong) checkError(await rejectionOf(rt.setLayers([layer])), 'InvalidArgument', text);
    checkError(await rejectionOf(rt.setLayers(['shadow:npu'])), 'NotFound', /npu/);
    checkError(await rejectionOf(rt.setLayers(['shadow:'])), 'InvalidArgument', /at offset/);
    expect(rt.layers).to.equal(undefined);
    checkError(await rejectionOf(createRuntime({ device: 'cpu', layers: ['fast'] })), 'InvalidArgument', /'fast'/);
    await rt.setLayers(['profile']);
    const { layers } = rt;
    await rt.dispose();
    expectError(() => layers.profile(), 'FailedPrecondition', /disposed of/);
    expectError(() => layers.resetProfile(), 'FailedPrecondition', /disposed of/);
    checkError(await rejectionOf(rt.setLayers([])), 'FailedPrecondition', /disposed of/);
  });

  it('OH-4a: substitute runs what rules say in place of what is called', async () => {
    const rt = await createRuntime({ device: 'cpu', trackLocations: true });
    let calls = 0;
    await rt.registerOp({
      name: 'my.Sum', inputs: ['x: T', 'y: T'], outputs: ['z: T'], attrs: ['T: {float}'],
      metadata: ['x'],
      kernel({ inputs: [x, y] }) {
        ++calls;
        return x.data.map((value, i) => value + y.data[i] + 100);
      },
    });
    const x = rt.tensor([1, 2]);
    await rt.setLayers(['profile', { layer: 'substitute', rules: [
      { use: { op: 'my.Sum' }, op: 'tf.AddV2', inputs: ['f32[2]', 'f32[2]'] },
      { op: 'tf.Log', use: { op: 'tf.Neg' } },
    ] }]);
    expect(rt.layers.names).to.deep.equal(['profile', 'substitute']);
    expect(await add(x, x).array()).to.deep.equal([102, 104]);
    expect(await add(x, [[1, 1]]).array()).to.deep.equal([[2, 3]]);
    expect(await add(rt.tensor([1, 2], { dtype: 'i32' }), [1, 1]).array()).to.deep.equal([2, 3]);
    const loaded = await rt.loadProgram(ADD);
    expect(await loaded.run('main', [x])[0].array()).to.deep.equal([-102, -104]);
    expect(calls).to.equal(2);
    // What callers see is what they called.
    expect(rt.layers.profile().map(({ op }) => op).sort()).to.deep.equal(['tf.AddV2', 'tf.AddV2', 'tf.Log']);
    await rt.setLayers([]);
    expect(await add(x, x).array()).to.deep.equal([2, 4]);
    await rt.dispose();
  });

  it('OH-4a: tables are texts, too, and attributes come from rules and calls', async () => {
    const rt = await createRuntime({ device: 'cpu' });
    const x = rt.tensor([[-1, 2], [3, -4]]);
    const table = JSON.stringify({ substitutions: [
      { op: 'tf.Relu6', use: { op: 'tf.LeakyRelu', attrs: { alpha: 0.5 } } },
      { op: 'tf.Sum', attrs: { keep_dims: true }, use: { op: 'tf.Max', attrs: { keep_dims: { from: 'keep_dims' } } } },
    ] });
    // The same rules again are the same table.
    for (let i = 0; i < 3; ++i) await rt.setLayers([{ layer: 'substitute', rules: table }]);
    expect(await rt.execute('tf.Relu6', [x])[0].array()).to.deep.equal([[-0.5, 2], [3, -2]]);
    expect(await sum(x, 1).array()).to.deep.equal([1, -1]);
    expect(await sum(x, 1, { keepDims: true }).array()).to.deep.equal([[2], [3]]);
    await rt.dispose();
  });

  it('wrong rules are errors that tell the place, and change nothing', async () => {
    const rt = await createRuntime({ device: 'cpu' });
    const wrong = async (rules, text, code = 'InvalidArgument') => {
      checkError(await rejectionOf(rt.setLayers([{ layer: 'substitute', rules }])), code, text);
    };
    const right = { op: 'tf.Relu', use: { op: 'tf.Neg' } };
    await wrong([right, { op: 'tf.Rleu', use: { op: 'tf.Neg' } }], /substitutions:3:\d+: .*tf\.Rleu/, 'NotFound');
    await wrong([{ op: 'tf.Relu' }], /substitutions:2:\d+: .*"use"/);
    await wrong([{ ...right, inputs: ['f32[2'] }], /substitutions:2:\d+/);
    await wrong([{ ...right, input: [] }], /key "input" is not known, did you mean "inputs"/);
    await wrong([{ op: 'tf.Relu', use: { library: 'x.so', function: 'f' } }], /substitutions:2:\d+: /,
      'Unimplemented');
    await wrong('{', /substitutions:1:2/);
    await wrong([3], /expected a rule of the layer 'substitute' to be an object/);
    await wrong(undefined, /expected the rules of the layer 'substitute' to be an array, got undefined/);
    await wrong([{ ...right, attrs: { x: 1n } }], /BigInt/);
    expect(rt.layers).to.equal(undefined);
    const x = rt.tensor([-1, 2]);
    expect(await rt.execute('tf.Relu', [x])[0].array()).to.deep.equal([0, 2]);
    await rt.dispose();
  });
});
