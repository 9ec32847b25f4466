// Numbers of f64 for devices that have none: the bits as two words, low and high, and arithmetic on them that rounds as
// IEEE 754 says, to nearest, ties to even. Numbers are finite: what is too small for a normal number is 0, and what is too
// large, as a quotient by 0 is, the largest. After Hauser, Berkeley SoftFloat, in its ideas.

// ---- Integers of 64 bits, low and high.

fn wide_add(a: vec2u, b: vec2u) -> vec2u {
  let low: u32 = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn wide_subtract(a: vec2u, b: vec2u) -> vec2u {
  return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn wide_less(a: vec2u, b: vec2u) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// By 0 to 63 bits.
fn wide_left(a: vec2u, count: u32) -> vec2u {
  if (count == 0u) {
    return a;
  }
  if (count >= 32u) {
    return vec2u(0u, a.x << (count - 32u));
  }
  return vec2u(a.x << count, (a.y << count) | (a.x >> (32u - count)));
}

// By any number of bits; the last bit of the result is 1 if one that is lost was.
fn wide_right_sticky(a: vec2u, count: u32) -> vec2u {
  if (count == 0u) {
    return a;
  }
  if (count >= 64u) {
    return vec2u(select(0u, 1u, (a.x | a.y) != 0u), 0u);
  }
  if (count >= 32u) {
    let rest: u32 = count - 32u;
    let lost: u32 = a.x | select(0u, a.y << ((32u - rest) & 31u), rest != 0u);
    return vec2u((a.y >> rest) | select(0u, 1u, lost != 0u), 0u);
  }
  let lost: u32 = a.x << (32u - count);
  return vec2u((a.x >> count) | (a.y << (32u - count)) | select(0u, 1u, lost != 0u), a.y >> count);
}

// The lowest 0 to 63 bits.
fn wide_low_bits(a: vec2u, count: u32) -> vec2u {
  if (count >= 32u) {
    return vec2u(a.x, a.y & ((1u << (count - 32u)) - 1u));
  }
  return vec2u(a.x & ((1u << count) - 1u), 0u);
}

fn wide_product(a: u32, b: u32) -> vec2u {
  return vec2u(a * b, multiply_high(a, b));
}

fn leading_zeros(a: u32) -> u32 {
  var rest: u32 = a;
  var count: u32 = 0u;
  for (var step: u32 = 16u; step > 0u; step = step >> 1u) {
    if ((rest >> (32u - step)) == 0u) {
      count += step;
      rest = rest << step;
    }
  }
  return count + select(0u, 1u, (rest >> 31u) == 0u);
}

fn wide_leading_zeros(a: vec2u) -> u32 {
  return select(32u + leading_zeros(a.x), leading_zeros(a.y), a.y != 0u);
}

// ---- Numbers.

fn double_exponent(a: vec2u) -> i32 {
  return i32((a.y >> 20u) & 0x7ffu);
}

fn double_is_zero(a: vec2u) -> bool {
  return (a.y & 0x7ff00000u) == 0u;
}

fn double_negated(a: vec2u) -> vec2u {
  return vec2u(a.x, a.y ^ 0x80000000u);
}

// The bits of the mantissa, the highest of which is 2^52.
fn double_mantissa(a: vec2u) -> vec2u {
  return vec2u(a.x, (a.y & 0xfffffu) | 0x100000u);
}

// From a mantissa with its highest bit at 2^62, the last bit of which stands for all that are lost, and the exponent, of
// 2^52 of the mantissa that is left.
fn double_rounded(sign: u32, exponent: i32, mantissa: vec2u) -> vec2u {
  let tail: u32 = mantissa.x & 0x3ffu;
  var rounded: vec2u = vec2u((mantissa.x >> 10u) | (mantissa.y << 22u), mantissa.y >> 10u);
  if (tail > 0x200u || (tail == 0x200u && (rounded.x & 1u) == 1u)) {
    rounded = wide_add(rounded, vec2u(1u, 0u));
  }
  if (exponent <= 0) {
    return vec2u(0u, sign);
  }
  if (exponent > 2046) {
    return vec2u(0xffffffffu, sign | 0x7fefffffu);
  }
  // A carry into the highest bit becomes one of the exponent.
  return vec2u(rounded.x, sign + (u32(exponent - 1) << 20u) + rounded.y);
}

// Times 2^k.
fn double_scaled(a: vec2u, k: i32) -> vec2u {
  let exponent: i32 = double_exponent(a) + k;
  if (double_is_zero(a) || exponent <= 0) {
    return vec2u(0u, a.y & 0x80000000u);
  }
  if (exponent > 2046) {
    return vec2u(0xffffffffu, (a.y & 0x80000000u) | 0x7fefffffu);
  }
  return vec2u(a.x, a.y + (u32(k) << 20u));
}

fn double_sum(a: vec2u, b: vec2u) -> vec2u {
  if (double_is_zero(b)) {
    return vec2u(a.x, select(a.y, a.y & b.y, double_is_zero(a)));
  }
  if (double_is_zero(a)) {
    return b;
  }
  var large: vec2u = a;
  var small: vec2u = b;
  if (wide_less(vec2u(a.x, a.y & 0x7fffffffu), vec2u(b.x, b.y & 0x7fffffffu))) {
    large = b;
    small = a;
  }
  let sign: u32 = large.y & 0x80000000u;
  let exponent: i32 = double_exponent(large);
  let distance: u32 = u32(exponent - double_exponent(small));
  let shifted: vec2u = wide_right_sticky(wide_left(double_mantissa(small), 9u), distance);
  let mantissa: vec2u = wide_left(double_mantissa(large), 9u);
  if (((a.y ^ b.y) & 0x80000000u) == 0u) {
    let sum: vec2u = wide_add(mantissa, shifted);
    if (sum.y >= 0x40000000u) {
      return double_rounded(sign, exponent + 1, sum);
    }
    return double_rounded(sign, exponent, wide_left(sum, 1u));
  }
  let difference: vec2u = wide_subtract(mantissa, shifted);
  if ((difference.x | difference.y) == 0u) {
    return vec2u(0u, 0u);
  }
  let zeros: u32 = wide_leading_zeros(difference) - 1u;
  return double_rounded(sign, exponent + 1 - i32(zeros), wide_left(difference, zeros));
}

fn double_difference(a: vec2u, b: vec2u) -> vec2u {
  return double_sum(a, double_negated(b));
}

fn double_product(a: vec2u, b: vec2u) -> vec2u {
  let sign: u32 = (a.y ^ b.y) & 0x80000000u;
  if (double_is_zero(a) || double_is_zero(b)) {
    return vec2u(0u, sign);
  }
  // Of mantissas at 2^63 and 2^62: the highest bit of their product is at 2^125 or 2^126.
  let x: vec2u = wide_left(double_mantissa(a), 11u);
  let y: vec2u = wide_left(double_mantissa(b), 10u);
  let low: vec2u = wide_product(x.x, y.x);
  let high: vec2u = wide_product(x.y, y.y);
  let first: vec2u = wide_add(wide_product(x.x, y.y), vec2u(low.y, 0u));
  let second: vec2u = wide_add(wide_product(x.y, y.x), vec2u(first.x, 0u));
  let top: vec2u = wide_add(high, wide_add(vec2u(first.y, 0u), vec2u(second.y, 0u)));
  let mantissa: vec2u = vec2u(top.x | select(0u, 1u, (low.x | second.x) != 0u), top.y);
  let exponent: i32 = double_exponent(a) + double_exponent(b) - 1023;
  if (mantissa.y >= 0x40000000u) {
    return double_rounded(sign, exponent + 1, mantissa);
  }
  return double_rounded(sign, exponent, wide_left(mantissa, 1u));
}

fn double_quotient(a: vec2u, b: vec2u) -> vec2u {
  let sign: u32 = (a.y ^ b.y) & 0x80000000u;
  if (double_is_zero(a)) {
    return vec2u(0u, sign);
  }
  if (double_is_zero(b)) {
    return vec2u(0xffffffffu, sign | 0x7fefffffu);
  }
  let divisor: vec2u = double_mantissa(b);
  var rest: vec2u = double_mantissa(a);
  var exponent: i32 = double_exponent(a) - double_exponent(b) + 1023;
  if (wide_less(rest, divisor)) {
    rest = wide_left(rest, 1u);
    exponent = exponent - 1;
  }
  var quotient: vec2u = vec2u(0u, 0u);
  for (var i: u32 = 0u; i < 63u; i++) {
    quotient = wide_left(quotient, 1u);
    if (!wide_less(rest, divisor)) {
      rest = wide_subtract(rest, divisor);
      quotient.x = quotient.x | 1u;
    }
    rest = wide_left(rest, 1u);
  }
  quotient.x = quotient.x | select(0u, 1u, (rest.x | rest.y) != 0u);
  return double_rounded(sign, exponent, quotient);
}

fn double_less(a: vec2u, b: vec2u) -> bool {
  if (double_is_zero(a) && double_is_zero(b)) {
    return false;
  }
  let is_negative: bool = a.y >= 0x80000000u;
  if (is_negative != (b.y >= 0x80000000u)) {
    return is_negative;
  }
  return select(wide_less(a, b), wide_less(b, a), is_negative);
}

// ---- From and to others.

fn double_of_bits(bits: vec2u) -> vec2u {
  return bits;
}

fn double_of_u32(a: u32) -> vec2u {
  if (a == 0u) {
    return vec2u(0u, 0u);
  }
  let zeros: u32 = leading_zeros(a);
  let mantissa: vec2u = wide_left(vec2u(a, 0u), 21u + zeros);
  return vec2u(mantissa.x, (u32(1053 - i32(zeros)) << 20u) + mantissa.y);
}

fn double_of_i32(a: i32) -> vec2u {
  let magnitude: vec2u = double_of_u32(select(u32(a), 0u - u32(a), a < 0));
  return vec2u(magnitude.x, magnitude.y | select(0u, 0x80000000u, a < 0));
}

// Subnormal numbers included; of what is not finite, a number that double_is_finite knows.
fn double_of_f32(a: f32) -> vec2u {
  let bits: u32 = bitcast<u32>(a);
  let sign: u32 = bits & 0x80000000u;
  let magnitude: u32 = bits & 0x7fffffffu;
  if (magnitude >= 0x800000u) {
    return vec2u(magnitude << 29u, sign | ((magnitude >> 3u) + (896u << 20u)));
  }
  if (magnitude == 0u) {
    return vec2u(0u, sign);
  }
  let zeros: u32 = leading_zeros(magnitude);
  let mantissa: vec2u = wide_left(vec2u(magnitude, 0u), 21u + zeros);
  // The last bit of a subnormal number is 2^-149.
  return vec2u(mantissa.x, sign | ((u32(904 - i32(zeros)) << 20u) + mantissa.y));
}

// Of what double_of_f32 gave.
fn double_is_finite(a: vec2u) -> bool {
  return double_exponent(a) < 1151;
}

// The bits of the f32 that is nearest, subnormal ones included; an infinity's where it is too large.
fn f32_bits_of_double(a: vec2u) -> u32 {
  let sign: u32 = a.y & 0x80000000u;
  let exponent: i32 = double_exponent(a) - 896;
  if (exponent >= 255) {
    return sign | 0x7f800000u;
  }
  if (exponent < -24) {
    return sign;
  }
  // At 2^26, and where the number is subnormal lower by what is missing of its exponent.
  let shift: u32 = 26u + u32(max(1 - exponent, 0));
  let mantissa: u32 = wide_right_sticky(double_mantissa(a), shift).x;
  let tail: u32 = mantissa & 7u;
  var rounded: u32 = mantissa >> 3u;
  if (tail > 4u || (tail == 4u && (rounded & 1u) == 1u)) {
    rounded += 1u;
  }
  return sign | ((u32(max(exponent - 1, 0)) << 23u) + rounded);
}

fn f32_of_double(a: vec2u) -> f32 {
  return bitcast<f32>(f32_bits_of_double(a));
}

// ---- Functions.

fn inverse_factorial(n: u32) -> vec2u {
  switch (n) {
    case 2u: {
      return vec2u(0x00000000u, 0x3fe00000u);
    }
    case 3u: {
      return vec2u(0x55555555u, 0x3fc55555u);
    }
    case 4u: {
      return vec2u(0x55555555u, 0x3fa55555u);
    }
    case 5u: {
      return vec2u(0x11111111u, 0x3f811111u);
    }
    case 6u: {
      return vec2u(0x16c16c17u, 0x3f56c16cu);
    }
    case 7u: {
      return vec2u(0x1a01a01au, 0x3f2a01a0u);
    }
    case 8u: {
      return vec2u(0x1a01a01au, 0x3efa01a0u);
    }
    case 9u: {
      return vec2u(0xa556c734u, 0x3ec71de3u);
    }
    case 10u: {
      return vec2u(0xb7789f5cu, 0x3e927e4fu);
    }
    case 11u: {
      return vec2u(0x67f544e4u, 0x3e5ae645u);
    }
    case 12u: {
      return vec2u(0xeff8d898u, 0x3e21eed8u);
    }
    case 13u: {
      return vec2u(0x13a86d09u, 0x3de61246u);
    }
    default: {
      return vec2u(0u, 0x3ff00000u);
    }
  }
}

// These are within a few units in the last place.

// 2^k times the Taylor series of a rest of at most ln(2) / 2.
fn double_exp(x: vec2u) -> vec2u {
  let near: f32 = f32_of_double(x);
  if (near < -740.0) {
    return vec2u(0u, 0u);
  }
  if (near > 710.0) {
    return vec2u(0xffffffffu, 0x7fefffffu);
  }
  let k: i32 = i32(round(near * 1.44269504));
  // ln(2) in two parts, so that k times the first one is exact.
  let scale: vec2u = double_of_i32(k);
  let first: vec2u = double_difference(x, double_product(scale, vec2u(0xfee00000u, 0x3fe62e42u)));
  let rest: vec2u = double_difference(first, double_product(scale, vec2u(0x35793c76u, 0x3dea39efu)));
  var sum: vec2u = inverse_factorial(13u);
  for (var n: u32 = 0u; n < 13u; n++) {
    sum = double_sum(double_product(sum, rest), inverse_factorial(12u - n));
  }
  return double_scaled(sum, k);
}

// Of what is above 0. Newton's steps double the bits that are right.
fn double_root(a: vec2u) -> vec2u {
  let exponent: i32 = double_exponent(a) - 1023;
  // In [1, 4).
  let number: vec2u = vec2u(a.x, (a.y & 0xfffffu) | (u32(1023 + (exponent & 1)) << 20u));
  var root: vec2u = double_of_f32(sqrt(f32_of_double(number)));
  for (var i: u32 = 0u; i < 2u; i++) {
    root = double_scaled(double_sum(root, double_quotient(number, root)), -1);
  }
  return double_scaled(root, (exponent - (exponent & 1)) / 2);
}

// Of what is above 0: 2 artanh((m - 1) / (m + 1)) by its series, where m is the mantissa, in [sqrt(0.5), sqrt(2)) or so.
fn double_log(a: vec2u) -> vec2u {
  let is_high: bool = (a.y & 0xfffffu) >= 0x6a09eu;
  let k: i32 = double_exponent(a) - 1023 + select(0, 1, is_high);
  let mantissa: vec2u = vec2u(a.x, (a.y & 0xfffffu) | select(0x3ff00000u, 0x3fe00000u, is_high));
  let one: vec2u = vec2u(0u, 0x3ff00000u);
  let s: vec2u = double_quotient(double_difference(mantissa, one), double_sum(mantissa, one));
  let square: vec2u = double_product(s, s);
  var sum: vec2u = vec2u(0u, 0u);
  for (var n: u32 = 0u; n < 12u; n++) {
    sum = double_sum(double_product(sum, square), double_quotient(one, double_of_u32(23u - 2u * n)));
  }
  let scale: vec2u = double_of_i32(k);
  let small: vec2u = double_sum(double_product(double_scaled(s, 1), sum), double_product(scale, vec2u(0x35793c76u, 0x3dea39efu)));
  return double_sum(double_product(scale, vec2u(0xfee00000u, 0x3fe62e42u)), small);
}

// Of a base above 0.
fn double_power(base: vec2u, exponent: vec2u) -> vec2u {
  return double_exp(double_product(exponent, double_log(base)));
}

// ---- Numbers of dtypes that devices lack, as bits. Those of f64 may be anything here.

// From a magnitude of 64 bits, rounded.
fn double_of_magnitude(magnitude: vec2u, sign: u32) -> vec2u {
  if ((magnitude.x | magnitude.y) == 0u) {
    return vec2u(0u, 0u);
  }
  let zeros: u32 = wide_leading_zeros(magnitude);
  return double_rounded(sign, 1086 - i32(zeros), wide_right_sticky(wide_left(magnitude, zeros), 1u));
}

// The same, not rounded: where bits are lost the last one is 1, which is what a second rounding needs.
fn odd_double_of_magnitude(magnitude: vec2u, sign: u32) -> vec2u {
  if ((magnitude.x | magnitude.y) == 0u) {
    return vec2u(0u, 0u);
  }
  let zeros: u32 = wide_leading_zeros(magnitude);
  let mantissa: vec2u = wide_right_sticky(wide_left(magnitude, zeros), 11u);
  return vec2u(mantissa.x, sign + (u32(1085 - i32(zeros)) << 20u) + mantissa.y);
}

fn wide_magnitude(a: vec2u, is_signed: bool) -> vec2u {
  if (is_signed && a.y >= 0x80000000u) {
    return wide_subtract(vec2u(0u, 0u), a);
  }
  return a;
}

fn wide_sign(a: vec2u, is_signed: bool) -> u32 {
  return select(0u, a.y & 0x80000000u, is_signed);
}

fn double_bits_of_f32(a: f32) -> vec2u {
  let bits: u32 = bitcast<u32>(a);
  if ((bits & 0x7f800000u) == 0x7f800000u) {
    return vec2u(0u, (bits & 0x80000000u) | select(0x7ff00000u, 0x7ff80000u, (bits & 0x7fffffu) != 0u));
  }
  return double_of_f32(a);
}

fn double_is_special(a: vec2u) -> bool {
  return (a.y & 0x7ff00000u) == 0x7ff00000u;
}

fn double_is_nan(a: vec2u) -> bool {
  return double_is_special(a) && ((a.y & 0xfffffu) | a.x) != 0u;
}

// The bits of an infinity or a NaN as f32.
fn special_f32_bits(a: vec2u) -> u32 {
  return (a.y & 0x80000000u) | select(0x7f800000u, 0x7fc00000u, double_is_nan(a));
}

fn f32_bits_of_any_double(a: vec2u) -> u32 {
  if (double_is_special(a)) {
    return special_f32_bits(a);
  }
  return f32_bits_of_double(a);
}

// As f32_bits_of_any_double, but not rounded: where bits are lost the last one is 1.
fn odd_f32_bits_of_double(a: vec2u) -> u32 {
  if (double_is_special(a)) {
    return special_f32_bits(a);
  }
  let sign: u32 = a.y & 0x80000000u;
  let exponent: i32 = double_exponent(a) - 896;
  if (double_is_zero(a)) {
    return sign;
  }
  if (exponent >= 255) {
    return sign | 0x7f7fffffu;
  }
  let shift: u32 = 29u + u32(clamp(1 - exponent, 0, 64));
  return sign | ((u32(max(exponent - 1, 0)) << 23u) + wide_right_sticky(double_mantissa(a), shift).x);
}

fn half_bits_of_f32_bits(bits: u32) -> u32 {
  let sign: u32 = (bits >> 16u) & 0x8000u;
  let magnitude: u32 = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {
    return sign | select(0x7c00u, 0x7e00u, magnitude > 0x7f800000u);
  }
  let exponent: i32 = i32(magnitude >> 23u) - 112;
  if (exponent >= 31) {
    return sign | 0x7c00u;
  }
  if (exponent < -10) {
    return sign;
  }
  let shift: u32 = 13u + u32(max(1 - exponent, 0));
  let mantissa: u32 = (magnitude & 0x7fffffu) | 0x800000u;
  let tail: u32 = mantissa << (32u - shift);
  let kept: u32 = (u32(max(exponent - 1, 0)) << 10u) + (mantissa >> shift);
  return sign | (kept + select(0u, 1u, tail > 0x80000000u || (tail == 0x80000000u && (kept & 1u) == 1u)));
}

fn f32_bits_of_half_bits(half: u32) -> u32 {
  let sign: u32 = (half & 0x8000u) << 16u;
  let exponent: u32 = (half >> 10u) & 31u;
  let fraction: u32 = half & 0x3ffu;
  if (exponent == 0u) {
    return sign | bitcast<u32>(f32(fraction) * 5.9604644775390625e-8);
  }
  return sign | (select(exponent + 112u, 255u, exponent == 31u) << 23u) | (fraction << 13u);
}

fn bf16_bits_of_f32_bits(bits: u32) -> u32 {
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return (bits >> 16u) | 0x40u;
  }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

// The whole part, limited to what i64 or u64 have; of NaN 0.
fn wide_of_double(a: vec2u, is_signed: bool) -> vec2u {
  let is_negative: bool = a.y >= 0x80000000u;
  let exponent: i32 = double_exponent(a) - 1023;
  if (exponent < 0 || double_is_nan(a) || (is_negative && !is_signed)) {
    return vec2u(0u, 0u);
  }
  if (exponent >= select(64, 63, is_signed)) {
    if (is_negative) {
      return vec2u(0u, 0x80000000u);
    }
    return vec2u(0xffffffffu, select(0xffffffffu, 0x7fffffffu, is_signed));
  }
  var whole: vec2u = double_mantissa(a);
  if (exponent >= 52) {
    whole = wide_left(whole, u32(exponent - 52));
  } else {
    // Without the bits that are lost, so that none is kept as the last one.
    let lost: u32 = u32(52 - exponent);
    whole = wide_right_sticky(wide_subtract(whole, wide_low_bits(whole, lost)), lost);
  }
  if (is_negative) {
    return wide_subtract(vec2u(0u, 0u), whole);
  }
  return whole;
}

// Limited to what u32 or i32 have.
fn u32_of_wide(a: vec2u) -> u32 {
  return select(a.x, 0xffffffffu, a.y != 0u);
}

fn i32_of_wide(a: vec2u) -> i32 {
  if (a.y == 0u - (a.x >> 31u)) {
    return bitcast<i32>(a.x);
  }
  return select(2147483647, -2147483647 - 1, a.y >= 0x80000000u);
}
