// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DL-3: ops that a program defines itself, with kernels in WGSL.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, TandemError } from 'tandem-rt';
import { createRuntime as create } from '../create_runtime.js';
import { checkError, expectError, rejectionOf } from '../errors.js';
import { createRuntime, needGpu } from './device.js';

const SCALE = {
  name: 'my.Scale',
  inputs: ['x: T'],
  outputs: ['y: T'],
  attrs: ['T: {float, int32}', 'factor: float = 2.0'],
  metadata: ['x'],
  wgsl: 'fn element(i: u32) { y[i] = T(f32(x[i]) * parameters.factor); }',
  parameters: { factor: 'factor' },
};

describe('shaders of a program\'s own', () => {
  let rt;
  before(needGpu);
  before(async () => {
    rt = await createRuntime({ trackLocations: true });
    await rt.registerOp(SCALE);
  });
  after(() => rt?.dispose());

  it('DL3: a shader computes the results of calls', async () => {
    const scale = rt.op('my.Scale');
    const y = scale(rt.tensor([[1, 2], [3, 4]]), { factor: 0.5 });
    expect(y.shape).to.deep.equal([2, 2]);
    expect(y.device).to.equal('webgpu');
    expect(await add(scale(y), 1).array()).to.deep.equal([[2, 3], [4, 5]]);
    expect(await scale(rt.tensor([3, -3], { dtype: 'i32' })).array()).to.deep.equal([6, -6]);
    expect(await scale(rt.zeros([0])).array()).to.deep.equal([]);
  });

  it('DL3: a shader may have an entry of its own, sizes and shared memory', async () => {
    const rows = await rt.registerOp({
      name: 'my.RowSums', inputs: ['x: float'], outputs: ['y: float'], metadata: [['x[0]']],
      wgsl: `var<workgroup> parts: array<f32, 64>;
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  var sum: f32 = 0.0;
  for (var i: u32 = lidx; i < parameters.columns; i += 64u) { sum += x[wid.y * parameters.columns + i]; }
  parts[lidx] = sum;
  workgroupBarrier();
  for (var step: u32 = 32u; step > 0u; step = step / 2u) {
    if (lidx < step) { parts[lidx] += parts[lidx + step]; }
    workgroupBarrier();
  }
  if (lidx == 0u) { y[wid.y] = parts[0]; }
}`,
      workgroup: [64], invocations: [64, 'x[0]'], parameters: { columns: 'x[1]' },
    });
    const x = rt.tensor(Float32Array.from({ length: 300 }, (_, i) => i), [3, 100]);
    expect(await rows(x).array()).to.deep.equal([4950, 14950, 24950]);
  });

  it('DL3: what does not compile is the error of the call, with the line of the text', async () => {
    const wrong = await rt.registerOp({
      ...SCALE, name: 'my.Wrong', wgsl: 'fn element(i: u32) {\n  let a: T = x[i];\n  y[i] = a * nowhere;\n}',
    });
    const error = await rejectionOf(wrong(rt.tensor([1])).data());
    checkError(error, 'InvalidArgument', /^\[my\.Wrong\][^]*\b3:\d+ [^]*nowhere/);
    expect(error.location).to.match(/:\d+:\d+$/);
  });

  it('DL3: wrong definitions are errors, and leave nothing', async () => {
    for (const [spec, pattern] of [
      [{ wgsl: 'fn other() {}' }, /expected a shader with 'fn element\(i: u32\)' or 'fn main\(\.\.\.\)', got neither/],
      [{ workgroup: [1024] }, /expected a workgroup of 1 to/],
      [{ parameters: { factor: 'q' } }, /parameter factor: 'q': expected the name of an int attribute/],
      [{ inputs: ['x: double'], outputs: ['y: float'] }, /for a shader, got x of f64/],
    ]) {
      const error = await rejectionOf(rt.registerOp({ ...SCALE, name: 'my.Other', ...spec }));
      expect(error).to.be.instanceOf(TandemError);
      expect(error.message).to.match(pattern);
      expectError(() => rt.op('my.Other'), 'NotFound', /./);
    }
  });

  it('DL3: what has no shader for a dtype runs the kernel in JavaScript', async () => {
    const both = await rt.registerOp({
      ...SCALE, name: 'my.Both', attrs: ['T: {float, double}', 'factor: float = 2.0'],
      kernel: ({ inputs: [x] }) => x.data.map((value) => value * 100),
    });
    expect(await both(rt.tensor([1])).array()).to.deep.equal([2]);
    expect(await both(rt.tensor([1], { dtype: 'f64' })).array()).to.deep.equal([100]);
    const script = await rt.registerOp({ ...SCALE, name: 'my.Script', wgsl: undefined, parameters: undefined,
      kernel: ({ inputs: [x] }) => x.data.map((value) => value + 1) });
    expect(await add(script(rt.tensor([1, 2])), 1).array()).to.deep.equal([3, 4]);
  });

  it('DL3: a recorded program has its calls, and runs them in runtimes that have the op', async () => {
    const scale = rt.op('my.Scale');
    const { program } = await rt.record((x) => add(scale(x, { factor: 3 }), 1), { inputs: [[1, 2]] });
    expect(await program.run('main', [[5, 6]])[0].array()).to.deep.equal([16, 19]);
    const cpu = await create({ device: 'cpu' });
    await cpu.registerOp({ ...SCALE, kernel: ({ attrs, inputs: [x] }) => x.data.map((value) => value * attrs.factor) });
    expect(await (await cpu.loadProgram(program.toBytes())).run('main', [[5]])[0].array()).to.deep.equal([16]);
    await cpu.dispose();
  });
});
