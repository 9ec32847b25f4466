// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Of [outer, rows, cols] each invocation takes every `chunks`-th row of one column, all of one channel.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (item == 0u) {
    zero[0] = 0.0;
  }
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
  let factor: Q = Q(scale[channel]) / sqrt(Q(variance[channel]) + parameters.epsilon);
  let shift: Q = Q(offset[channel]);
  for (var i: u32 = first; i < size; i += step) {
    y[base + i] = R((Q(x[base + i]) - center) * factor + shift);
  }
}
