// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DL-3: ops that a program defines itself, with kernels in JavaScript.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, mul, TandemError } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, expectError, rejectionOf } from './errors.js';

/** y = factor * x. */
const SCALE = {
  name: 'my.Scale',
  inputs: ['x: T'],
  outputs: ['y: T'],
  attrs: ['T: {float, int32}', 'factor: float = 2.0'],
  metadata: ['x'],
  kernel: ({ attrs, inputs: [x] }) => x.data.map((value) => value * attrs.factor),
};

/** A promise and what resolves it. */
function deferred() {
  let resolve;
  const promise = new Promise((given) => { resolve = given; });
  return { promise, resolve };
}

describe('ops of a program\'s own', () => {
  let rt;
  let count = 0;
  /** Registers an op of a new name, and gives its function. */
  const register = (spec) => rt.registerOp({ ...SCALE, name: `my.Op${++count}`, ...spec });

  before(async () => {
    rt = await createRuntime({ device: 'cpu', trackLocations: true });
    await rt.registerOp(SCALE);
  });
  after(() => rt.dispose());

  it('DL3: a kernel computes the results of calls by rt.op and execute', async () => {
    const scale = rt.op('my.Scale');
    const y = scale(rt.tensor([[1, 2], [3, 4]]), { factor: 0.5 });
    expect(y.shape).to.deep.equal([2, 2]);
    expect(y.dtype).to.equal('f32');
    expect(y.state).to.equal('pending');
    expect(await y.array()).to.deep.equal([[0.5, 1], [1.5, 2]]);
    expect(await rt.execute('my.Scale', [[5, 6]])[0].array()).to.deep.equal([10, 12]);
    expect(await scale(rt.tensor([3], { dtype: 'i32' })).array()).to.deep.equal([6]);
    expect(rt.ops().find(({ name }) => name === 'my.Scale').inputs[0].name).to.equal('x');
  });

  it('DL3: results go on into other ops before they are there', async () => {
    const scale = rt.op('my.Scale');
    const x = rt.tensor([1, 2]);
    expect(await mul(scale(add(scale(x), 1)), 10).array()).to.deep.equal([60, 100]);
  });

  it('DL3: a kernel may be asynchronous', async () => {
    const { promise, resolve } = deferred();
    const slow = await register({ kernel: async ({ inputs: [x] }) => {
      await promise;
      return x.data;
    } });
    const y = slow([1, 2]);
    const settled = rt.settled().then(() => y.state);
    expect(await rt.op('my.Scale')([7]).array()).to.deep.equal([14]);
    expect(y.state).to.equal('pending');
    resolve();
    expect(await y.array()).to.deep.equal([1, 2]);
    expect(await settled).to.equal('available');
  });

  it('DL3: a kernel may itself call ops', async () => {
    const square = await register({ kernel: async ({ inputs: [x] }) => {
      const t = rt.tensor(x.data);
      return mul(t, t).data();
    } });
    expect(await square([3, 4]).array()).to.deep.equal([9, 16]);
  });

  it('DL3: a kernel sees inputs, attributes and what is known of results', async () => {
    let seen;
    const op = await register({
      inputs: ['xs: N * float', 'names: string'],
      outputs: ['a: float', 'b: int32'],
      attrs: ['N: int >= 1', 'n: int', 'sizes: list(int) = [1, 2]', 'type: type', 'text: string = \'t\'',
        'shape: shape = [2, -1]', 'on: bool = true', 'rate: float = 0.5'],
      metadata: [[2, 'n'], []],
      kernel: (call) => {
        seen = call;
        return [[[1, 2, 3], [4, 5, 6]], 7];
      },
    });
    const [a, b] = op([[1], [2, 3]], ['u', 'v'], { n: 3, type: 'i64', sizes: [2 ** 40] });
    expect(await a.array()).to.deep.equal([[1, 2, 3], [4, 5, 6]]);
    expect(await b.item()).to.equal(7);
    expect(seen.inputs.map(({ data, dtype, shape }) => [Array.from(data), dtype, shape])).to.deep.equal(
      [[[1], 'f32', [1]], [[2, 3], 'f32', [2]], [['u', 'v'], 'string', [2]]]);
    expect(seen.attrs).to.deep.include({
      n: 3, type: 'i64', sizes: [2 ** 40], text: 't', shape: [2, -1], on: true, rate: 0.5,
    });
    expect(seen.outputs).to.deep.equal([{ dtype: 'f32', shape: [2, 3] }, { dtype: 'i32', shape: [] }]);
    expect(seen.signal.aborted).to.equal(false);
  });

  it('DL3: metadata may be a function, or come with the results', async () => {
    const twice = await register({
      metadata: ([x]) => ({ shape: [2 * x.shape[0]] }),
      kernel: ({ inputs: [x], outputs: [y] }) => Float32Array.from({ length: y.shape[0] }, (_, i) => x.data[i >> 1]),
    });
    const y = twice([1, 2]);
    await y.ready();
    expect(y.shape).to.deep.equal([4]);
    expect(await y.array()).to.deep.equal([1, 1, 2, 2]);
    const unknown = await register({
      outputs: ['y: any'], metadata: undefined, kernel: () => ({ data: [1, 0], dtype: 'bool', shape: [2, 1] }),
    });
    expect(await unknown([1]).array()).to.deep.equal([[true], [false]]);
    const words = await register({ outputs: ['y: string'], metadata: undefined, kernel: () => ['ä', ''] });
    expect(await words([1]).array()).to.deep.equal(['ä', '']);
    const wrong = await register({ metadata: () => { throw new TandemError('OutOfRange', 'not that shape'); } });
    checkError(await rejectionOf(wrong([1]).data()), 'OutOfRange', /^\[my\.Op\d+\] not that shape/);
  });

  it('DL3: what a kernel throws is the error of its results, with op and place', async () => {
    const broken = await register({ kernel: () => { throw new Error('boom'); } });
    const y = broken([1]);
    const error = await rejectionOf(add(y, 1).data());
    expect(error.message).to.match(/^\[my\.Op\d+\] kernel threw Error: boom/);
    expect(error.code).to.equal('Unknown');
    expect(error.op).to.match(/^my\.Op/);
    expect(error.location).to.match(/:\d+:\d+$/);
    const rejecting = await register({ kernel: () => Promise.reject(new RangeError('no room')) });
    checkError(await rejectionOf(rejecting([1]).data()), 'ResourceExhausted', /kernel threw RangeError: no room/);
    const strange = await register({ kernel: () => { throw undefined; } });
    checkError(await rejectionOf(strange([1]).data()), 'Unknown', /kernel threw undefined/);
  });

  it('DL3: results of another number, size, dtype or kind are errors', async () => {
    const failing = async (kernel, pattern, spec = {}) => {
      const op = await register({ kernel, ...spec });
      const result = op([1, 2]);
      const error = await rejectionOf((Array.isArray(result) ? result[0] : result).data());
      expect(error).to.be.instanceOf(TandemError);
      expect(error.message).to.match(pattern);
      expect(error.location).to.match(/:\d+:\d+$/);
    };
    await failing(() => new Float32Array(3), /expected 2 elements for shape \[2\], got 3/);
    await failing(() => new Float64Array(2), /kernel must give result 0 as f32, gave a Float64Array/);
    await failing(() => ({ data: [1, 2], shape: [2, 1] }), /kernel must give result 0 as f32\[2\], gave f32\[2,1\]/);
    await failing(() => ({ data: [1, 2], dtype: 'i32' }), /kernel must give result 0 as f32\[2\], gave i32\[2\]/);
    await failing(() => undefined, /expected .*, got undefined/);
    await failing(() => ['a', 'b'], /expected a number for f32/);
    await failing(() => ({}), /expected the elements of result 0, got an object/);
    const two = { outputs: ['a: float', 'b: float'], metadata: ['x', 'x'] };
    await failing(() => [[1, 2]], /expected a list of 2 results, got 1/, two);
    await failing(() => 5, /expected a list of 2 results, got number 5/, two);
  });

  it('DL3: wrong calls throw where they are made', async () => {
    const rows = await register({ metadata: [['x[0]', 'x[1] / 2']], kernel: () => [] });
    expectError(() => rows([1, 2]), 'InvalidArgument', /x must have a dimension 1, got x: f32\[2\]/);
    expectError(() => rows(), 'InvalidArgument', /./);
    expectError(() => rows(rt.tensor([true])), 'InvalidArgument', /./);
    expectError(() => rows([[1]], { factr: 1 }), 'InvalidArgument', /attribute factr is not defined/);
    expectError(() => rt.op('my.Scal'), 'NotFound', /my\.Scale/);
  });

  it('DL3: wrong definitions are errors, and leave nothing', async () => {
    const failing = async (spec, code, pattern) => {
      const error = await rejectionOf(rt.registerOp({ ...SCALE, name: 'my.Wrong', ...spec }));
      expect(error).to.be.instanceOf(TandemError);
      expect(error.code).to.equal(code);
      expect(error.message).to.match(pattern);
      expect(error.location, error.message).to.match(/:\d+:\d+$/);
      expectError(() => rt.op('my.Wrong'), 'NotFound', /./);
    };
    checkError(await rejectionOf(rt.registerOp({ ...SCALE, kernel: () => 0 })), 'AlreadyExists', /my\.Scale/);
    // The one that was there stays.
    expect(await rt.op('my.Scale')([1]).array()).to.deep.equal([2]);
    await failing({ name: '' }, 'InvalidArgument', /expected name to be a text that is not empty/);
    await failing({ name: 'no good' }, 'InvalidArgument', /no good/);
    await failing({ inputs: ['x: T', 'y: U'], attrs: ['T: {flot}'] }, 'InvalidArgument', /flot[^]*U|U[^]*flot/);
    await failing({ inputs: 'x: T' }, 'InvalidArgument', /expected inputs to be an array/);
    await failing({ inputs: [5] }, 'InvalidArgument', /expected inputs to be texts, got number 5 among them/);
    await failing({ metadata: ['q'] }, 'InvalidArgument', /shape of y: 'q': expected the name of an input/);
    await failing({ metadata: ['x', 'x'] }, 'InvalidArgument', /expected a shape for each of 1 outputs, got 2/);
    await failing({ kernel: 5 }, 'InvalidArgument', /expected kernel to be a function, got number 5/);
    await failing({ kernel: undefined }, 'InvalidArgument', /expected a kernel or wgsl for my\.Wrong, got neither/);
    await failing({ kernels: 1 }, 'InvalidArgument', /expected the options .*, got kernels/);
    await failing({ wgsl: 'fn element(i: u32) {}', metadata: undefined }, 'InvalidArgument', /metadata to be a list/);
    await failing({ workgroup: [0] }, 'InvalidArgument', /expected workgroup to be/);
    const unreadable = { get name() { throw new Error('mine'); } };
    checkError(await rejectionOf(rt.registerOp(unreadable)), 'InvalidArgument', /mine/);
    expect(await rejectionOf(rt.registerOp(null))).to.be.instanceOf(TandemError);
    await rt.registerOp({ ...SCALE, name: 'my.Wrong' });
  });

  it('DL3: an op with a shader alone has no kernel on the CPU', async () => {
    const shader = await register({ kernel: undefined, wgsl: 'fn element(i: u32) { y[i] = x[i]; }' });
    expectError(() => shader([1]), 'Unimplemented', /has no kernel/);
  });

  it('DL3: cancelling a request ends its calls, and tells kernels', async () => {
    const started = deferred();
    const aborted = deferred();
    const slow = await register({ kernel: ({ signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason));
      started.resolve();
      return new Promise(() => undefined);
    } });
    const controller = new AbortController();
    const running = rt.request({ signal: controller.signal }, () => slow([1]).data());
    await started.promise;
    controller.abort(new Error('enough'));
    expect((await rejectionOf(running)).message).to.equal('enough');
    expect((await aborted.promise).code).to.equal('Cancelled');
    await rt.settled();
  });

  it('DL3: a recorded program has its calls, and runs them in its runtime', async () => {
    const scale = rt.op('my.Scale');
    const { program, result } = await rt.record((x) => add(scale(x, { factor: 3 }), 1), { inputs: [[1, 2]] });
    expect(await result.array()).to.deep.equal([4, 7]);
    expect(program.toText()).to.include('"my.Scale"');
    expect(await program.run('main', [[5, 6]])[0].array()).to.deep.equal([16, 19]);
    const loaded = await rt.loadProgram(program.toBytes());
    expect(await loaded.run('main', [[7]])[0].array()).to.deep.equal([22]);
    const other = await createRuntime({ device: 'cpu' });
    checkError(await rejectionOf(other.loadProgram(program.toText())), 'NotFound', /my\.Scale/);
    await other.registerOp(SCALE);
    expect(await (await other.loadProgram(program.toText())).run('main', [[1]])[0].array()).to.deep.equal([4]);
    await other.dispose();
  });

  it('DL3: a runtime is disposed of while a kernel runs', async () => {
    const mine = await createRuntime({ device: 'cpu' });
    const aborted = deferred();
    const { promise, resolve } = deferred();
    const slow = await mine.registerOp({ ...SCALE, kernel: async ({ inputs: [x], signal }) => {
      signal.addEventListener('abort', aborted.resolve);
      await promise;
      return x.data;
    } });
    const failing = rejectionOf(slow([1]).data());
    await new Promise((done) => { setTimeout(done); });
    await mine.dispose();
    checkError(await failing, 'Cancelled', /disposed/);
    await aborted.promise;
    // What it gives now is nobody's.
    resolve();
    await promise;
  });

  it('DL3: side effects happen in order', async () => {
    const seen = [];
    const note = await register({
      outputs: [], attrs: ['T: {float}'], metadata: [], sideEffects: true,
      kernel: async ({ inputs: [x] }) => {
        await undefined;
        seen.push(x.data[0]);
      },
    });
    for (const value of [1, 2, 3]) note([value]);
    await rt.settled();
    expect(seen).to.deep.equal([1, 2, 3]);
  });
});
