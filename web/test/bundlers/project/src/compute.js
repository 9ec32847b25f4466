// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the project computes with tandem-rt: a product, and an error at the call.

import { add, createRuntime, matMul, relu } from 'tandem-rt';

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
  await rt.dispose();
  return { values, error, threads };
}
