// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let row: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP / LANES) + lidx / LANES;
  let lane: u32 = lidx % LANES;
  let base: u32 = row * parameters.units;
  var end: u32 = parameters.units;
  if (row >= parameters.rows) {
    end = 0u;
  }
  let mean: A = row_mean(base, lane, end, lidx);
  let rest: vec2<A> = row_moments(base, lane, end, mean, lidx);
  let factor: A = 1.0 / sqrt(rest.y + parameters.epsilon);
  for (var i: u32 = lane; i < end; i += LANES) {
    let difference: Q = (Q(x[base + i]) - mean) - rest.x;
    y[base + i] = R(difference * factor * Q(scale[i]) + Q(bias[i]));
  }
}
