// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The gradient of x. Of [outer, rows, cols] each invocation takes every `chunks`-th row of one column, all of one
// channel.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (item >= parameters.items) {
    return;
  }
  let step: u32 = parameters.chunks * parameters.cols;
  let size: u32 = parameters.rows * parameters.cols;
  let outer: u32 = item / step;
  let first: u32 = item % step;
  var channel: u32 = outer % parameters.channels;
  if (CHANNELS_LAST) {
    channel = first % parameters.cols;
  }
  let base: u32 = outer * size;
  let center: Q = Q(mean[channel]);
  let square: Q = Q(variance[channel]) + parameters.epsilon;
  let factor: Q = Q(scale[channel]) / sqrt(square);
  var slope: Q = Q(0.0);
  var shift: Q = Q(0.0);
  if (IS_TRAINING) {
    // Mean and variance depend on the elements only if they were computed from them.
    slope = Q(products[channel]) / (square * parameters.count);
    shift = Q(offset_gradient[channel]) / parameters.count;
  }
  for (var i: u32 = first; i < size; i += step) {
    y[base + i] = R(fma(center - Q(x[base + i]), slope, Q(dy[base + i]) - shift) * factor);
  }
}
