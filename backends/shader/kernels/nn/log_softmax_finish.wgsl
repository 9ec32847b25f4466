// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

fn finish_row(row: u32, begin: u32, end: u32, largest: A, sum: A, is_nan: bool) {
  var offset: A = log_above_one(sum);
  if (is_nan) {
    offset = parameters.nan;
  }
  for (var i: u32 = begin; i < end; i += LANES) {
    y[i] = R((Q(x[i]) - largest) - offset);
  }
}
