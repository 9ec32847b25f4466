// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The exponential of numbers that are not above 0, to about one unit in the last place: 2^k times a polynomial of what
// is left. The power is scaled up on the way, since the result may be denormal.
fn exp_below_zero(x: Q) -> Q {
  let t: Q = max(x, Q(-104.0));
  let k: Q = floor(t * 1.4426950408889634 + 0.5);
  let r: Q = (t - k * 0.693359375) + k * 2.12194440054690583e-4;
  var p: Q = r * 1.9875691500e-4 + 1.3981999507e-3;
  p = p * r + 8.3334519073e-3;
  p = p * r + 4.1665795894e-2;
  p = p * r + 1.6666665459e-1;
  p = p * r + 5.0000001201e-1;
  p = p * (r * r) + r + 1.0;
  return bitcast<Q>(bitcast<I>(p) + ((I(k) + I(64)) << U(23u))) * 5.42101086242752217e-20;
}
