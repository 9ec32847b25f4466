// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Random numbers that are the same in every run, and changes of memory layout.

/** Returns a function that makes `count` normal-like f32 numbers (mean 0, standard deviation `scale`). */
export function randomSource(seed) {
  let state = seed >>> 0 || 1;
  const uniform = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
  return (count, scale = 1) => {
    const values = new Float32Array(count);
    for (let i = 0; i < count; ++i) values[i] = scale * (uniform() + uniform() + uniform() - 1.5) * 2;
    return values;
  };
}

/** The elements of `values`, of shape `shape`, in the order of the transposed tensor: result dimension i is perm[i]. */
export function transposed(values, shape, perm) {
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
  const sizes = perm.map((p) => shape[p]);
  const steps = perm.map((p) => strides[p]);
  const result = new values.constructor(values.length);
  const index = sizes.map(() => 0);
  for (let at = 0, from = 0; at < result.length; ++at) {
    result[at] = values[from];
    for (let d = sizes.length - 1; d >= 0; --d) {
      from += steps[d];
      if (++index[d] < sizes[d]) break;
      from -= steps[d] * sizes[d];
      index[d] = 0;
    }
  }
  return result;
}

/** NHWC to NCHW. */
export const channelsFirst = (values, shape) => transposed(values, shape, [0, 3, 1, 2]);

/** NCHW, of the NHWC shape `shape`, to NHWC. */
export const channelsLast = (values, [n, h, w, c]) => transposed(values, [n, c, h, w], [0, 2, 3, 1]);
