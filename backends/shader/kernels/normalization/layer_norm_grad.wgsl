// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The gradient of x; and of each row what its elements are normalized with: mean, what that lacks, and factor.
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
  if (lane == 0u && end > 0u) {
    stats[row] = vec4<A>(mean, rest.x, factor, 0.0);
  }

  var sum: Q = Q(0.0);
  var product: Q = Q(0.0);
  for (var i: u32 = lane; i < end; i += LANES) {
    let scaled: Q = Q(dy[base + i]) * Q(scale[i]);
    sum += scaled;
    product += scaled * ((Q(x[base + i]) - mean) - rest.x);
  }
  let row_sum: A = sum_gradients(sum_of(sum), lidx);
  let row_product: A = sum_products(sum_of(product), lidx);
  let slope: A = factor * factor * row_product / parameters.count;
  let offset: A = row_sum / parameters.count;
  for (var i: u32 = lane; i < end; i += LANES) {
    let scaled: Q = Q(dy[base + i]) * Q(scale[i]);
    y[base + i] = R(((scaled - offset) - ((Q(x[base + i]) - mean) - rest.x) * slope) * factor);
  }
}
