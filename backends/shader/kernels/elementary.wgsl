// Functions of f32 that kernels' texts may call; shader_functions.h puts those that are called into a shader. The
// algorithms and coefficients are those of backends/cpu/kernels/simd_math-inl.h, in forms that stay accurate where a
// compiler contracts or cancels terms: no addition is undone by a subtraction, NaN is found by its bits, and numbers
// are rounded by `round`.

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// 2^k for k in [-126, 127].
fn power_of_two(k: i32) -> f32 {
  return bitcast<f32>((k + 127) << 23u);
}

// y * 2^k, rounded once, for y near 1 and k in [-252, 254]: two factors, since one alone may be out of range.
fn scale_by_power(y: f32, k: i32) -> f32 {
  let half: i32 = k >> 1u;
  return y * power_of_two(half) * power_of_two(k - half);
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
fn exp_tail(r: f32) -> f32 {
  return ((((1.99143076e-4 * r + 1.39410491e-3) * r + 8.33327323e-3) * r + 4.1666355e-2) * r + 1.66666672e-1) * r + 0.5;
}

// e^x - 1 less k ln 2, k being the nearest whole number to x / ln 2. Multiples of the first part of ln 2 are exact.
fn reduce_exp(x: f32, k: f32) -> f32 {
  return (x - k * 0.693359375) - k * -2.12194442e-4;
}

fn exp_of(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  let bounded: f32 = clamp(x, -104.0, 89.0);
  let k: f32 = round(bounded * 1.44269504);
  let r: f32 = reduce_exp(bounded, k);
  return scale_by_power(1.0 + (r + r * r * exp_tail(r)), i32(k));
}

// 0 where x is below it or -0; NaN stays. By bits: what looks like a maximum may lose NaN.
fn relu(x: f32) -> f32 {
  return select(x, 0.0, bitcast<u32>(x) - 0x80000000u <= 0x7f800000u);
}
