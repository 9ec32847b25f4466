// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Of the units [0, end) of the row at `base`, to be called by all lanes.
fn row_mean(base: u32, lane: u32, end: u32, lidx: u32) -> A {
  var sum: Q = Q(0.0);
  for (var i: u32 = lane; i < end; i += LANES) {
    sum += Q(x[base + i]);
  }
  return sum_elements(sum_of(sum), lidx) / parameters.count;
}

// What the mean lacks, since it was rounded, and the variance.
fn row_moments(base: u32, lane: u32, end: u32, mean: A, lidx: u32) -> vec2<A> {
  var sum: Q = Q(0.0);
  var squares: Q = Q(0.0);
  for (var i: u32 = lane; i < end; i += LANES) {
    let difference: Q = Q(x[base + i]) - mean;
    sum += difference;
    squares += difference * difference;
  }
  let rest: A = sum_differences(sum_of(sum), lidx) / parameters.count;
  let square: A = sum_squares(sum_of(squares), lidx) / parameters.count;
  return vec2<A>(rest, max(square - rest * rest, 0.0));
}
