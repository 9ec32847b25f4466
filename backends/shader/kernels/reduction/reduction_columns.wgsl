// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reduces the rows of matrices, each to `chunks` rows, of which one gets every `chunks`-th row: so invocations that are
// neighbours read neighbours, however few columns there are. Columns count units of the type Q.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (item >= parameters.items) {
    return;
  }
  let step: u32 = parameters.chunks * parameters.cols;
  let first: u32 = item % step;
  let channel: u32 = first % parameters.cols;
  let size: u32 = parameters.rows * parameters.cols;
  let base: u32 = item / step * size;
  var sum: Q = identity();
  var i: u32 = first;
  if (i < parameters.unrolled) {
    var sum1: Q = sum;
    var sum2: Q = sum;
    var sum3: Q = sum;
    while (i < parameters.unrolled) {
      sum = combine(sum, load(base, i, channel));
      sum1 = combine(sum1, load(base, i + step, channel));
      sum2 = combine(sum2, load(base, i + 2u * step, channel));
      sum3 = combine(sum3, load(base, i + 3u * step, channel));
      i += 4u * step;
    }
    sum = combine(combine(sum, sum1), combine(sum2, sum3));
  }
  while (i < size) {
    sum = combine(sum, load(base, i, channel));
    i += step;
  }
  y[item] = finish(sum);
}
