// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Wrong arguments: each an error that says what to do, after which the runtime goes on.

import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';

import { add, argMax, leakyRelu, matMul, slice, TandemError } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { errorOf, expectError, rejectionOf } from './errors.js';

describe('wrong arguments', () => {
  let rt;
  let x;
  before(async () => {
    rt = await createRuntime();
    x = rt.tensor([[1, 2], [3, 4]]);
  });
  after(() => rt.dispose());
  afterEach('the runtime lives on', async () => {
    expect(await add(x, x).array()).to.deep.equal([[2, 4], [6, 8]]);
  });

  it('shapes that disagree (ER-2)', () => {
    const error = expectError(() => matMul(x, rt.tensor([[1, 2, 3]])), 'InvalidArgument', /^\[tf\.MatMul\] .*f32\[2,2\]/);
    expect(error.op).to.equal('tf.MatMul');
  });

  it('are where the user called (ER-3)', () => {
    function userCode() {
      return matMul(x, rt.tensor([1]));
    }
    const error = errorOf(userCode);
    // Not a frame of the package: a bundle of all tests, or this file.
    expect(error.location).to.match(/:\d+:\d+$/).and.not.match(/dist\/index/);
    expect(error.stack.split('\n').filter((line) => /^\s+at |@/.test(line))[0]).to.include('userCode');
  });

  it('dtypes that disagree', () => {
    expectError(() => add(x, rt.tensor([1], { dtype: 'i32' })), 'InvalidArgument', /^\[tf\.AddV2\] .*i32/);
    expectError(() => add(x, rt.tensor(['a'])), 'InvalidArgument', /^\[tf\.AddV2\]/);
  });

  it('ragged nested arrays', () => {
    expectError(() => rt.tensor([[1, 2], [3]]), 'InvalidArgument', /^\[tensor\] values\[1\]: expected .*2.*, got .*1/);
    expectError(() => rt.tensor([1, [2]]), 'InvalidArgument', /^\[tensor\] values\[1\]/);
    expectError(() => rt.tensor([[1], 2]), 'InvalidArgument', /^\[tensor\] values\[1\]/);
    expectError(() => add(x, [[1, 2], [3]]), 'InvalidArgument', /^\[tf\.AddV2\] y\[1\]/);
  });

  it('values of several kinds', () => {
    expectError(() => rt.tensor([1, 'a']), 'InvalidArgument', /^\[tensor\] values\[1\]/);
    expectError(() => rt.tensor([1, null]), 'InvalidArgument', /null/);
    expectError(() => rt.tensor({}), 'InvalidArgument', /expected numbers/);
    expectError(() => rt.tensor(undefined), 'InvalidArgument', /undefined/);
    expectError(() => rt.tensor(Symbol('s')), 'InvalidArgument', /symbol/);
    const cyclic = [];
    cyclic.push(cyclic);
    expectError(() => rt.tensor(cyclic), 'InvalidArgument', /at most 8 dimensions/);
  });

  it('wrong typed arrays', () => {
    expectError(() => rt.tensor(new Float32Array(5), [2, 3]), 'InvalidArgument', /expected 6 elements .*\[2,3\], got 5/);
    expectError(() => rt.tensor(new Float32Array([0.5]), { dtype: 'i32' }), 'InvalidArgument', /integer/);
    expectError(() => rt.tensor(new Float32Array([300]), { dtype: 'u8' }), 'OutOfRange', /0 to 255/);
    expectError(() => rt.tensor(new DataView(new ArrayBuffer(8))), 'InvalidArgument', /DataView/);
    expectError(() => rt.tensor(new Float32Array(3), { dtype: 'c64' }), 'InvalidArgument', /re and im/);
  });

  it('shapes that are none', () => {
    for (const shape of [[-1], [1.5], [NaN], ['2'], [2 ** 60], [undefined], new Array(9).fill(1)]) {
      expectError(() => rt.zeros(shape), 'InvalidArgument', /^\[zeros\] expected/);
    }
    expectError(() => rt.zeros(3), 'InvalidArgument', /list of sizes/);
    expectError(() => rt.zeros([1], 'float32'), 'InvalidArgument', /dtype/);
    expectError(() => rt.tensor([1], { dtype: 3 }), 'InvalidArgument', /dtype/);
    expectError(() => rt.alloc([1], 'string'), 'InvalidArgument', /string/);
  });

  it('more memory than there is', () => {
    const codes = [[2 ** 31], [2 ** 26, 2 ** 26], [2 ** 52, 2 ** 52]].map((shape) => errorOf(() => rt.zeros(shape)).code);
    for (const code of codes) expect(code).to.be.oneOf(['ResourceExhausted', 'InvalidArgument']);
    expectError(() => rt.fill([2 ** 40], 'x'), 'ResourceExhausted', /strings/);
  });

  it('attributes of wrong values', () => {
    expectError(() => leakyRelu(x, { alpha: 1e300 }), 'InvalidArgument', /alpha must be a number that f32 can hold/);
    expectError(() => leakyRelu(x, { alpha: '1' }), 'InvalidArgument', /alpha must be a number, got '1'/);
    expectError(() => matMul(x, x, { transposeA: 1 }), 'InvalidArgument', /transposeA must be a boolean, got number 1/);
    expectError(() => argMax(x, NaN), 'InvalidArgument', /^\[tf\.ArgMax\] .*dimension.*i32.*got f32/);
    expectError(() => argMax(x, 2 ** 40), 'InvalidArgument', /^\[tf\.ArgMax\] .*\[-2, 2\), got 1099511627776/);
    expectError(() => argMax(x, 7), 'InvalidArgument', /^\[tf\.ArgMax\]/);
    expectError(() => argMax(x, 0, { outputType: 'int' }), 'InvalidArgument', /must be a dtype such as 'i32', got 'int'/);
    for (const size of [NaN, 2 ** 60, 1.5, Infinity, '1']) {
      expectError(() => rt.execute('tf.Split', [rt.tensor(0, { dtype: 'i32' }), x], { num_split: size }, { results: 2 }),
        'InvalidArgument', /^\[tf\.Split\] attribute num_split must be (i64|an integer)/);
    }
    expectError(() => slice(x, [0, NaN], [1, 1]), 'InvalidArgument', /^\[tf\.Slice\]/);
  });

  it('attributes that the op does not have', () => {
    expectError(() => matMul(x, x, { transposeC: true }), 'InvalidArgument', /got transposeC; did you mean transposeA/);
    expectError(() => matMul(x, x, 5), 'InvalidArgument', /^\[tf\.MatMul\] expected an object of attributes such as .*, got number 5/);
    expectError(() => rt.tensor([1], { dType: 'i32' }), 'InvalidArgument', /got dType/);
    expectError(() => matMul(x, x, { transpose_b: true }), 'InvalidArgument', /did you mean transposeB/);
    expectError(() => rt.execute('tf.MatMul', [x, x], { color: 1 }), 'InvalidArgument', /attribute color is not defined, expected one of transpose_a/);
  });

  it('ops that do not exist, and numbers of arguments', () => {
    expectError(() => rt.execute('tf.Matmul', [x, x]), 'NotFound',
      /^\[tf\.Matmul\] op tf\.Matmul is not defined, did you mean tf\.MatMul/);
    expectError(() => rt.execute(undefined, [x]), 'NotFound', /undefined/);
    expectError(() => rt.execute('tf.MatMul', [x]), 'InvalidArgument', /^\[tf\.MatMul\]/);
    expectError(() => rt.execute('tf.MatMul', [x, x, x]), 'InvalidArgument', /^\[tf\.MatMul\]/);
    expectError(() => rt.execute('tf.MatMul', x), 'InvalidArgument', /inputs to be an array/);
    expectError(() => add(x), 'InvalidArgument', /^\[tf\.AddV2\] y: .*undefined/);
    expectError(() => add(1, 2), 'InvalidArgument', /expected a tensor among the arguments/);
  });

  it('tensors that are disposed of', async () => {
    const y = rt.tensor([1]);
    y.dispose();
    y.dispose();
    const error = expectError(() => add(x, y), 'FailedPrecondition', /^\[tf\.AddV2\] .*not disposed of, got y/);
    expect(error.location).to.match(/:\d+:\d+$/);
    for (const what of ['data', 'array', 'item', 'ready', 'text']) {
      const rejection = await rejectionOf(y[what]());
      expect(rejection).to.be.instanceOf(TandemError);
      expect(rejection.message).to.match(/not disposed of/);
    }
    for (const what of ['shape', 'dtype', 'rank', 'size', 'state']) {
      expectError(() => y[what], 'FailedPrecondition', /not disposed of/);
    }
    expectError(() => y.view(), 'FailedPrecondition', /^\[view\] .*not disposed of/);
    expectError(() => y.clone(), 'FailedPrecondition', /not disposed of/);
    expect(String(y)).to.equal('Tensor (disposed)');
    expect(y.disposed).to.equal(true);
  });

  it('tensors of another runtime', async () => {
    const other = await createRuntime();
    const y = other.tensor([1]);
    expectError(() => add(x, y), 'InvalidArgument', /^\[tf\.AddV2\] expected tensors of one runtime, got y of another/);
    expectError(() => other.execute('tf.AddV2', [x, x]), 'InvalidArgument', /of another/);
    await other.dispose();
    expectError(() => add(x, y), 'InvalidArgument', /of another/);
  });

  it('one element where there are more', async () => {
    const error = await rejectionOf(x.item());
    expect(error.code).to.equal('InvalidArgument');
    expect(error.message).to.equal('[item] expected a tensor with one element, got f32[2,2]');
  });
});

describe('a runtime that is disposed of', () => {
  it('says so wherever it is used', async () => {
    const rt = await createRuntime();
    const x = rt.tensor([1]);
    const big = rt.fill([1500, 1500], 1);
    const pending = matMul(big, big).data();
    await rt.dispose();
    await rt.dispose();
    expect(rt.disposed).to.equal(true);
    expect(x.disposed).to.equal(true);
    expect((await rejectionOf(pending)).message).to.match(/disposed of/);
    const calls = [
      () => rt.tensor([1]), () => rt.zeros([1]), () => rt.alloc([1]), () => add(x, x), () => add(x, 1), () => rt.memory(),
      () => rt.cancel(), () => rt.restart(), () => rt.execute('tf.AddV2', [x, x]), () => rt.ops(), () => rt.usedOps(),
      () => rt.trace.start(), () => x.view(), () => x.clone(), () => x.shape, () => rt.scalar(1),
    ];
    for (const call of calls) expectError(call, 'FailedPrecondition', /the runtime has been disposed of/);
    expect((await rejectionOf(x.data())).code).to.equal('FailedPrecondition');
    expect((await rejectionOf(rt.settled())).code).to.equal('FailedPrecondition');
    expect((await rejectionOf(rt.request({}, () => 1))).code).to.equal('FailedPrecondition');
    x.dispose();
  });
});
