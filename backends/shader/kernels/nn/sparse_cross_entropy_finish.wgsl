// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A label that is no class makes its row NaN.
fn finish_row(row: u32, begin: u32, end: u32, largest: A, sum: A, is_nan: bool) {
  var label: u32 = 0xffffffffu;
  if (row < parameters.rows) {
    label = label_of(row);
  }
  var factor: A = 1.0 / sum;
  if (is_nan || label >= parameters.units) {
    factor = parameters.nan;
  }
  let first: u32 = row * parameters.units;
  for (var i: u32 = begin; i < end; i += LANES) {
    var gradient: A = power_of(i, largest) * factor;
    if (i - first == label) {
      gradient -= 1.0;
    }
    y[i] = R(gradient);
  }
  if (begin == first && row < parameters.rows) {
    var value: A = factor;
    if (label < parameters.units) {
      value = (largest - A(x[first + label])) + log_above_one(sum);
      if (is_nan) {
        value = factor;
      }
    }
    loss[row] = T(value);
  }
}
