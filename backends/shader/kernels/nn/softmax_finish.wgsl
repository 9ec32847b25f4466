// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

fn finish_row(row: u32, begin: u32, end: u32, largest: A, sum: A, is_nan: bool) {
  var factor: A = 1.0 / sum;
  if (is_nan) {
    factor = parameters.nan;
  }
  for (var i: u32 = begin; i < end; i += LANES) {
    y[i] = R(power_of(i, largest) * factor);
  }
}
