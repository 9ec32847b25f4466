// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs by the plain functions of the module, for tests of how their code comes to be there.

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

/** What the program makes of a tensor of one f32. The code of programs is there. */
export async function double(rt, x) {
  const { engine } = rt;
  const { heap } = engine;
  const text = heap.newCString(DOUBLE);
  const name = heap.newCString('f');
  const args = heap.malloc(4);
  const program = engine.ask((exports, scratch) =>
    exports.tandem_program_load(engine.runtime, text, DOUBLE.length, 0, 0, scratch));
  heap.u32[args >>> 2] = x.ref.pointer;
  const result = engine.ask((exports, scratch) =>
    exports.tandem_program_run(program, name, args, 1, 0, scratch, 1));
  await rt.settled();
  await engine.events.when((id) => engine.askReady(result, id));
  const value = engine.elements('f32', engine.placeOf(result), 1)[0];
  engine.releaseTensor(result);
  engine.guard((exports) => exports.tandem_program_release(program));
  for (const room of [text, name, args]) engine.free(room);
  return value;
}

/** What `double` has to give. */
export function doubled(x) {
  while (x < 1000) x += x;
  return x;
}
