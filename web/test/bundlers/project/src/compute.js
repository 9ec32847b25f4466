// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the project computes with tandem-rt: a product, and an error at the call; then it loads the code of programs.

import { add, createRuntime, matMul, relu } from 'tandem-rt';

/** How many WebAssembly files were fetched; none where files are read. */
const fetches = () => performance.getEntriesByType('resource').filter(({ name }) => name.includes('.wasm')).length;

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
  await rt.engine.loadPrograms();
  wasmFiles.push(fetches());
  await rt.dispose();
  return { values, error, threads, wasmFiles };
}
