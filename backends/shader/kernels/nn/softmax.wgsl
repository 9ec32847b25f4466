// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rows of `units` numbers of type Q, some of them NaN or infinite, but only the negative infinity has an exponential.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let row: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP / LANES) + lidx / LANES;
  let begin: u32 = row * parameters.units + lidx % LANES;
  var end: u32 = 0u;
  if (row < parameters.rows) {
    end = (row + 1u) * parameters.units;
  }

  var largest: Q = Q(LOWEST);
  var magnitude: U = U(0u);
  for (var i: u32 = begin; i < end; i += LANES) {
    let value: Q = Q(x[i]);
    largest = max(largest, value);
    magnitude = max(magnitude, bitcast<U>(value) & U(ALL_BUT_SIGN));
  }
  var lane_largest: A = largest_of(largest);
  if (magnitude_of(magnitude) > INFINITY) {
    lane_largest = parameters.infinity;
  }
  let row_largest: A = max_of_lanes(lane_largest, lidx);

  // In blocks, so that many small numbers are not lost beside a large one.
  var sum: Q = Q(0.0);
  var next: u32 = begin;
  while (next < end) {
    let stop: u32 = min(next + 32u * LANES, end);
    var part: Q = Q(0.0);
    for (var i: u32 = next; i < stop; i += LANES) {
      let power: Q = exp_below_zero(Q(x[i]) - row_largest);
      part += power;
      keep(i, power);
    }
    sum += part;
    next += 32u * LANES;
  }
  let row_sum: A = sum_of_lanes(sum_of(sum), lidx);
  let is_nan: bool = bitcast<B>(row_largest) == INFINITY || row_sum == 0.0;
  finish_row(row, begin, end, row_largest, row_sum, is_nan);
}
