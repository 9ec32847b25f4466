// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of element-wise ops, which are computed as one, against the same ops one by one: for tests of each device.

import { expect } from 'chai';

// What is between is used outside too; operands on either side, also twice; a scalar and a vector that are stretched.
// Every op gives the same bits everywhere.
const CHAIN = `func @main(%a: !corert.tensorhandle, %b: !corert.tensorhandle, %v: !corert.tensorhandle)
    -> (!corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler "cpu"
  %two = corert.const_dense_tensor dense<2.0> : tensor<f32>
  %0 = corert.executeop(%cpu) "tf.AddV2"(%a, %b)
  %1 = corert.executeop(%cpu) "tf.Mul"(%0, %b)
  %2 = corert.executeop(%cpu) "tf.Sub"(%two, %1)
  %3 = corert.executeop(%cpu) "tf.Maximum"(%2, %a)
  %4 = corert.executeop(%cpu) "tf.Minimum"(%v, %3)
  %5 = corert.executeop(%cpu) "tf.Square"(%4)
  %6 = corert.executeop(%cpu) "tf.Sub"(%5, %5)
  %7 = corert.executeop(%cpu) "tf.AddV2"(%6, %3)
  %8 = corert.executeop(%cpu) "tf.Abs"(%7)
  %9 = corert.executeop(%cpu) "tf.Neg"(%8)
  %10 = corert.executeop(%cpu) "tf.Relu"(%9)
  tfrt.return %3, %10 : !corert.tensorhandle, !corert.tensorhandle
}`;

/** Numbers that ops treat differently. GPUs need not keep all of them. */
export const SPECIAL = [0, -0, 1, -1, Infinity, -Infinity, NaN];

function tensors(rt, rows, columns, special) {
  let state = 7 + rows;
  const value = () => {
    state = (state * 48271) % 2147483647;
    return state % 11 === 0 ? special[state % special.length] : state / 2147483647 - 0.5;
  };
  const tensor = (...shape) =>
    rt.tensor(Float32Array.from({ length: shape.reduce((x, y) => x * y, 1) }, value), shape);
  return [tensor(rows, columns), tensor(rows, columns), tensor(columns)];
}

/**
 * Checks that a chain of ops is one op of a program, and that its results are those of the ops one by one, in sizes of
 * less than a tile up to those that threads share. `special`: numbers that are among the random ones.
 */
export async function checkFused(rt, special) {
  const apart = await rt.loadProgram(CHAIN, { fuse: false });
  const fused = await rt.loadProgram(CHAIN);
  for (const [rows, columns] of [[1, 1], [3, 5], [4, 8], [7, 33], [64, 1000], [300, 1000]]) {
    const inputs = tensors(rt, rows, columns, special);
    const expected = apart.run('main', inputs);
    const actual = fused.run('main', inputs);
    for (let i = 0; i < expected.length; ++i) {
      const [values, wanted] = [await actual[i].data(), await expected[i].data()];
      expect(values.length).to.equal(rows * columns);
      // Object.is takes any NaN for the same, and tells zeros of different signs apart.
      const wrong = values.findIndex((value, j) => !Object.is(value, wanted[j]));
      expect(wrong, `result ${i} of ${rows}x${columns}: ${values[wrong]}, not ${wanted[wrong]}`).to.equal(-1);
    }
    for (const tensor of [...inputs, ...expected, ...actual]) tensor.dispose();
  }
  await expectOneOp(rt, fused);
  for (const program of [apart, fused]) program.dispose();
}

async function expectOneOp(rt, fused) {
  const inputs = tensors(rt, 64, 1000, [0]);
  rt.trace.start();
  const results = fused.run('main', inputs);
  await Promise.all(results.map((result) => result.data()));
  rt.trace.stop();
  // Of calls; a device's own spans of them are in the trace, too.
  const calls = JSON.parse(rt.trace.json()).traceEvents.filter(({ cat }) => cat === 'op');
  const names = calls.map(({ name }) => name);
  rt.trace.clear();
  expect(names.filter((name) => name.startsWith('tandem.Fused(')), names.join()).to.have.length(1);
  expect(names).to.not.include('tf.Maximum');
  for (const tensor of [...inputs, ...results]) tensor.dispose();
}
