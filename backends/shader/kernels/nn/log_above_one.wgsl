// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The logarithm of a number that is at least 1: that of its power of two, and twice the inverse hyperbolic tangent of
// (m - 1) / (m + 1) as a series.
fn log_above_one(x: f32) -> f32 {
  let bits: u32 = bitcast<u32>(x) - 0x3f3504f3u;
  let k: f32 = f32(bits >> 23u);
  let m: f32 = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u);
  let s: f32 = (m - 1.0) / (m + 1.0);
  let z: f32 = s * s;
  let series: f32 = z * (0.6666667 + z * (0.4 + z * (0.2857143 + z * (0.22222222 + z * 0.18181819))));
  return k * 0.693359375 + (2.0 * s + (s * series - k * 2.12194440054690583e-4));
}
