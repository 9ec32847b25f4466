// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reduces `items` chunks of rows of adjacent elements, `chunks` of each row. Sizes count units of the type Q.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP / LANES) + lidx / LANES;
  let lane: u32 = lidx % LANES;
  let row: u32 = item / parameters.chunks;
  let channel: u32 = row % parameters.channels;
  let base: u32 = row * parameters.rows;
  let begin: u32 = (item % parameters.chunks) * parameters.chunk;
  var end: u32 = min(begin + parameters.chunk, parameters.rows);
  if (item >= parameters.items) {
    end = 0u;
  }
  var sum: Q = identity();
  var i: u32 = begin + lane;
  if (i + 3u * LANES < end) {
    var sum1: Q = sum;
    var sum2: Q = sum;
    var sum3: Q = sum;
    while (i + 3u * LANES < end) {
      sum = combine(sum, load(base, i, channel));
      sum1 = combine(sum1, load(base, i + LANES, channel));
      sum2 = combine(sum2, load(base, i + 2u * LANES, channel));
      sum3 = combine(sum3, load(base, i + 3u * LANES, channel));
      i += 4u * LANES;
    }
    sum = combine(combine(sum, sum1), combine(sum2, sum3));
  }
  while (i < end) {
    sum = combine(sum, load(base, i, channel));
    i += LANES;
  }
  let total: A = join_lanes(fold(sum), lidx);
  if (lane == 0u && item < parameters.items) {
    y[item] = finish(total);
  }
}
