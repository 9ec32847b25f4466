// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A program, for tests of how the code of programs comes to be there.

// Doubles a number until it is 1000 or more. What a loop does next is found out where its condition was computed, which
// is a worker if there are threads.
const DOUBLE = `
func @less(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler "cpu"
  %limit = corert.const_dense_tensor dense<1000.0> : tensor<f32>
  %is_less = corert.executeop(%cpu) "tf.Less"(%x, %limit)
  tfrt.return %is_less : !corert.tensorhandle
}
func @double(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler "cpu"
  %sum = corert.executeop(%cpu) "tf.AddV2"(%x, %x)
  tfrt.return %sum : !corert.tensorhandle
}
func @f(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler "cpu"
  %here = corert.transfer %x, %cpu
  %y = corert.while @less @double (%here)
  tfrt.return %y : !corert.tensorhandle
}`;

/** What the program makes of a tensor of one f32. */
export async function double(rt, x) {
  const program = await rt.loadProgram(DOUBLE, { device: 'program' });
  const [result] = program.run('f', [x]);
  const value = await result.item();
  result.dispose();
  program.dispose();
  return value;
}

/** What `double` has to give. */
export function doubled(x) {
  while (x < 1000) x += x;
  return x;
}
