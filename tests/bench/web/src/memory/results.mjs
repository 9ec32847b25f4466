// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What making many results of 4 MB without disposing of them does: the same loop for Tandem and TensorFlow.js.

const ELEMENTS = 1 << 20;
const STEP = 1000;

/**
 * Makes `results` tensors of 4 MB by adding to one of them, keeps none and disposes of none.
 * `made(count)` is told every 1,000 of them. @returns { made, last, memory } or { made, error }.
 */
export async function tandemResults({ tandemUrl, threads, results }, made = () => {}) {
  const { add, createRuntime } = await import(tandemUrl);
  const rt = await createRuntime({ device: 'cpu', threads });
  const ones = rt.ones([ELEMENTS]);
  let count = 0;
  try {
    let last = ones;
    for (; count < results; ++count) {
      last = add(ones, count);
      if (count % STEP === 0) made(count);
    }
    const values = await last.data();
    return { made: count, last: values[ELEMENTS - 1], memory: rt.memory() };
  } catch (error) {
    return { made: count, error: String(error).split('\n')[0] };
  }
}

/** The same with TensorFlow.js; `tf` is its core with the WebAssembly backend set up. */
export async function tfjsResults(tf, { results }, made = () => {}) {
  const ones = tf.ones([ELEMENTS]);
  let count = 0;
  try {
    let last = ones;
    for (; count < results; ++count) {
      last = tf.add(ones, count);
      if (count % STEP === 0) made(count);
    }
    const values = await last.data();
    return { made: count, last: values[ELEMENTS - 1], memory: tf.memory() };
  } catch (error) {
    return { made: count, error: String(error).split('\n')[0] };
  }
}

/** Whether TensorFlow.js still adds 1 and 2 after that. */
export async function tfjsWorks(tf) {
  try {
    const [sum] = await tf.add(tf.tensor1d([1]), 2).data();
    return sum === 3;
  } catch {
    return false;
  }
}
