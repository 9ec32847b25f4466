// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the project computes with tandem-rt: a product, and an error at the call; then, with kernels of the second part, a
// sum of f64; then, with the code of programs, ops of its own.

import { add, createRuntime, matMul, relu } from 'tandem-rt';

/** How many WebAssembly files were fetched; none where files are read. */
const fetches = () => performance.getEntriesByType('resource').filter(({ name }) => name.includes('.wasm')).length;

/** An op of its own, by a kernel in JavaScript or on WebGPU by a shader: what it computes, also in a program. */
async function customOp(rt) {
  const scale = await rt.registerOp({
    name: 'stranger.Scale', inputs: ['x: float'], outputs: ['y: float'], attrs: ['factor: float = 2.0'], metadata: ['x'],
    kernel: async ({ attrs, inputs: [x] }) => x.data.map((value) => value * attrs.factor),
    wgsl: 'fn element(i: u32) { y[i] = x[i] * parameters.factor; }',
    parameters: { factor: 'factor' },
  });
  const { program, result } = await rt.record((x) => add(scale(x, { factor: 3 }), 1), { inputs: [[1, 2]] });
  const [again] = program.run('main', [[3, 4]]);
  return [result, again].map((tensor) => tensor.array());
}

/** Plain data, so that it can be compared wherever it was computed. */
export async function compute(options) {
  const rt = await createRuntime(options);
  const a = rt.tensor([[1, 2], [3, 4]]);
  const values = Array.from(await relu(add(matMul(a, a, { transposeB: true }), -11)).data());
  let error;
  try {
    matMul(a, rt.tensor([[1], [2], [3]]));
  } catch (caught) {
    error = { name: caught.name, code: caught.code, op: caught.op, message: caught.message };
  }
  const { threads } = rt.capabilities;
  const wasmFiles = [fetches()];
  const half = rt.tensor([0.5], { dtype: 'f64' });
  const one = await add(half, half).array();
  wasmFiles.push(fetches());
  const custom = await Promise.all(await customOp(rt));
  wasmFiles.push(fetches());
  await rt.dispose();
  return { values, error, one, threads, wasmFiles, custom, device: rt.device };
}
