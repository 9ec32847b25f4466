// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A test for Jest as it comes: without ES modules.

'use strict';

const { add, createRuntime, matMul } = require('tandem-rt');

test('computes, with ops of its own and programs', async () => {
  const rt = await createRuntime();
  const x = rt.tensor([[1, 2], [3, 4]]);
  expect(await matMul(x, x).array()).toEqual([[7, 10], [15, 22]]);
  const { program } = await rt.record((a) => add(a, 1), { inputs: [x] });
  expect(await program.run('main', [[5]])[0].array()).toEqual([6]);
  expect(() => matMul(x, rt.ones([3, 1]))).toThrow(/inner dimensions must agree/);
  await rt.dispose();
});
