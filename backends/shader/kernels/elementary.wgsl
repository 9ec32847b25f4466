// Functions that kernels' texts may call; shader_functions.h puts those that are called into a shader, so each stands
// behind those that it calls itself.
//
// The algorithms and coefficients for f32 are those of backends/cpu/kernels/simd_math-inl.h and its neighbours, where
// the errors of the polynomials are told, in forms that bear what WGSL lets compilers do: no sum is undone by a
// difference (which may be cancelled), numbers are rounded by `round`, split by clearing bits, and NaN is found and
// made by its bits. With divisions and square roots that are correctly rounded, errors are within 4 ULP.

// ---- Numbers.

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_infinite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

fn is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn is_zero(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0u;
}

// Only a value that is not constant may be NaN.
fn not_a_number() -> f32 {
  var bits: u32 = 0x7fc00000u;
  return bitcast<f32>(bits);
}

// Bits of one and bits of the other joined by | would be the same, but gave wrong signs of tanh on Mesa 22.3's lavapipe
// (LLVM 15, AVX-512), in one shader of several ops.
fn with_sign_of(magnitude: f32, x: f32) -> f32 {
  return select(abs(magnitude), -abs(magnitude), bitcast<i32>(x) < 0);
}

// The first 12 bits of the significand, so that products of two such numbers are exact, and x - first_bits(x), too.
fn first_bits(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// The upper half of a product.
fn multiply_high(a: u32, b: u32) -> u32 {
  let a_low: u32 = a & 0xffffu;
  let a_high: u32 = a >> 16u;
  let b_low: u32 = b & 0xffffu;
  let b_high: u32 = b >> 16u;
  let middle: u32 = a_high * b_low + ((a_low * b_low) >> 16u);
  let other: u32 = a_low * b_high + (middle & 0xffffu);
  return a_high * b_high + (middle >> 16u) + (other >> 16u);
}

// ---- Exponential functions.

// 2^k for k in [-126, 127].
fn power_of_two(k: i32) -> f32 {
  return bitcast<f32>((k + 127) << 23u);
}

// y 2^k, rounded once, for y near 1 and k in [-252, 254]: two factors, since one alone may be out of range.
fn scale_by_power(y: f32, k: i32) -> f32 {
  let first: i32 = k >> 1u;
  return y * power_of_two(first) * power_of_two(k - first);
}

// e^r - 1 for |r| <= ln(2)/2.
fn expm1_of_rest(r: f32) -> f32 {
  let tail: f32 =
      ((((0.000199143076 * r + 0.00139410491) * r + 0.00833327323) * r + 0.0416663550) * r + 0.166666672) * r + 0.5;
  return r + r * r * tail;
}

// x - k ln 2. Multiples of the first part of ln 2 are exact.
fn less_log2s(x: f32, k: f32) -> f32 {
  return (x - k * 0.693359375) - k * -0.000212194442;
}

fn exp_of(x: f32) -> f32 {
  let bounded: f32 = clamp(x, -104.0, 89.0);
  let k: f32 = round(bounded * 1.44269504);
  let y: f32 = scale_by_power(1.0 + expm1_of_rest(less_log2s(bounded, k)), i32(k));
  return select(y, x, is_nan(x));
}

// e^x / 2 for x >= 0, which is in range a little longer than e^x.
fn half_exp(x: f32) -> f32 {
  let bounded: f32 = min(x, 90.5);
  let k: f32 = round(bounded * 1.44269504);
  return scale_by_power(1.0 + expm1_of_rest(less_log2s(bounded, k)), i32(k) - 1);
}

fn expm1_of(x: f32) -> f32 {
  let bounded: f32 = clamp(x, -18.0, 89.0);
  let k: f32 = round(bounded * 1.44269504);
  let p: f32 = expm1_of_rest(less_log2s(bounded, k));
  // 2 (2^(k-1) p + (2^(k-1) - 1/2)): in this form k may be as large as it gets before the result overflows.
  let scale: f32 = power_of_two(i32(k) - 1);
  let y: f32 = 2.0 * (scale * p + (scale - 0.5));
  return select(select(y, p, k == 0.0), x, abs(x) < 1e-8 || is_nan(x));
}

// m / (m + 2) with m = e^-2|x| - 1 = 2^k (2^f - 1) + (2^k - 1), since e^-2|x| = 2^(k + f).
fn tanh_of(x: f32) -> f32 {
  let a: f32 = min(abs(x), 9.1) * -2.88539008;
  let k: f32 = round(a);
  let f: f32 = a - k;
  let p: f32 =
      ((((0.000154032168 * f + 0.00133907341) * f + 0.00961823855) * f + 0.0555035733) * f + 0.240226492) * f +
      0.693147182;
  let scale: f32 = power_of_two(i32(k));
  let m: f32 = scale * (f * p) + (scale - 1.0);
  return select(with_sign_of(m / (m + 2.0), x), x, is_nan(x));
}

fn cosh_of(x: f32) -> f32 {
  let e: f32 = half_exp(abs(x));
  return select(e + 0.25 / e, x, is_nan(x));
}

fn sinh_of(x: f32) -> f32 {
  let e: f32 = half_exp(abs(x));
  let z: f32 = x * x;
  let p: f32 = ((2.81695134e-06 * z + 0.000198361595) * z + 0.0083333496) * z + 0.166666672;
  let small: f32 = select(x + x * z * p, x, abs(x) < 1e-4);
  let y: f32 = select(with_sign_of(e - 0.25 / e, x), small, abs(x) < 1.0);
  return select(y, x, is_nan(x));
}

fn sigmoid(x: f32) -> f32 {
  let e: f32 = exp_of(-abs(x));
  return select(1.0, e, x < 0.0) / (1.0 + e);
}

// ---- Logarithms.

// k ln 2 + log(1 + f), for 1 + f in [sqrt(1/2), sqrt(2)).
fn combine_log(k: f32, f: f32) -> f32 {
  let s: f32 = f / (2.0 + f);
  let z: f32 = s * s;
  let series: f32 = z * ((0.298730731 * z + 0.399774969) * z + 0.666667759);
  let half_square: f32 = 0.5 * f * f;
  let small: f32 = half_square - (s * (half_square + series) + k * -0.000212194442);
  return k * 0.693359375 + (f - small);
}

// The bits of a positive number, and if it is subnormal, those of 2^149 times it.
fn normal_bits(x: f32) -> u32 {
  let bits: u32 = bitcast<u32>(x);
  return select(bits, bitcast<u32>(f32(bits)), bits < 0x00800000u);
}

// For a normal number 2^k m with m in [sqrt(1/2), sqrt(2)), given by its bits: k, and m.
fn exponent_of(bits: u32) -> i32 {
  return bitcast<i32>(bits - 0x3f3504f3u) >> 23u;
}

fn mantissa_of(bits: u32) -> f32 {
  return bitcast<f32>(((bits - 0x3f3504f3u) & 0x7fffffu) + 0x3f3504f3u);
}

fn log_of(x: f32) -> f32 {
  let bits: u32 = bitcast<u32>(x);
  let normal: u32 = normal_bits(x);
  let k: i32 = exponent_of(normal) - select(0, 149, bits < 0x00800000u);
  let y: f32 = combine_log(f32(k), mantissa_of(normal) - 1.0);
  // Zero gives minus infinity, negative numbers NaN; infinity and NaN stand for themselves.
  let nan_if_negative: u32 = select(bits, 0x7fc00000u, bits > 0x80000000u && bits <= 0xff800000u);
  let special: u32 = select(nan_if_negative, 0xff800000u, (bits & 0x7fffffffu) == 0u);
  return bitcast<f32>(select(special, bitcast<u32>(y), bits - 1u < 0x7f7fffffu));
}

// log(1 + x) + shift ln 2, for a whole shift, which is 0 where x is not large.
fn shifted_log1p(x: f32, shift: f32) -> f32 {
  let bits: u32 = bitcast<u32>(x);
  let sum: u32 = bitcast<u32>(1.0 + x);
  let k: i32 = exponent_of(sum);
  // 2^-k (1 + x) - 1 without what rounding 1 + x loses; from some k on that does not matter.
  let scale: f32 = power_of_two(-clamp(k, -24, 24));
  let scaled: f32 = select(x * scale + (scale - 1.0), mantissa_of(sum) - 1.0, k > 24);
  let y: f32 = combine_log(f32(k) + shift, select(scaled, x, k == 0));
  let is_below: bool = bits > 0xbf800000u && bits <= 0xff800000u;
  let special: u32 = select(select(bits, 0x7fc00000u, is_below), 0xff800000u, bits == 0xbf800000u);
  let is_regular: bool = abs(x) > 1e-8 && (bits < 0x7f800000u || bits - 0x80000000u < 0x3f800000u);
  return bitcast<f32>(select(special, bitcast<u32>(y), is_regular));
}

fn log1p_of(x: f32) -> f32 {
  return shifted_log1p(x, 0.0);
}

// ---- Sine, cosine and tangent.

// The words of 2/pi behind the first three.
fn later_word_of_two_over_pi(i: u32) -> u32 {
  return select(select(0xf534ddc0u, 0xdb629599u, i == 1u), select(0x3c439041u, 0xfe5163abu, i == 3u), i >= 2u);
}

// For a finite x > pi/4, x - q pi/2, with a whole q that makes it at most pi/4 (and a little) from zero, and q modulo
// 4: the product of x and 2/pi modulo 4, in integers, from those bits of 2/pi that matter for the exponent of x.
// M. Payne, R. Hanek: "Radian reduction for trigonometric functions", 1983.
fn reduce_by_half_pi(x: f32) -> vec2f {
  let bits: u32 = bitcast<u32>(x);
  let mantissa: u32 = (bits & 0x7fffffu) | 0x800000u;
  let position: u32 = (bits >> 23u) - 120u;
  var t0: u32 = 0u;
  var t1: u32 = 0xa2f9836eu;
  var t2: u32 = 0x4e441529u;
  var t3: u32 = 0xfc2757d1u;
  for (var i: u32 = 0u; i < (position >> 5u); i++) {
    t0 = t1;
    t1 = t2;
    t2 = t3;
    t3 = later_word_of_two_over_pi(i);
  }
  let up: u32 = position & 31u;
  let down: u32 = 31u - up;
  let high: u32 = (t0 << up) | ((t1 >> 1u) >> down);
  let middle: u32 = (t1 << up) | ((t2 >> 1u) >> down);
  let low: u32 = (t2 << up) | ((t3 >> 1u) >> down);
  // Two words of the product: two bits of the quadrant, 62 of the fraction.
  let carried: u32 = multiply_high(mantissa, low);
  let product_low: u32 = mantissa * middle + carried;
  let product_high: u32 = mantissa * high + multiply_high(mantissa, middle) + select(0u, 1u, product_low < carried);
  let quadrant: u32 = (product_high + 0x20000000u) >> 30u;
  let rest_high: u32 = (product_high << 2u) | (product_low >> 30u);
  let rest_low: u32 = product_low << 2u;
  let is_negative: bool = rest_high >= 0x80000000u;
  let size_low: u32 = select(rest_low, 0u - rest_low, is_negative);
  let size_high: u32 = select(rest_high, ~rest_high + select(0u, 1u, rest_low == 0u), is_negative);
  let rest: f32 = f32(size_high) * 2.32830644e-10 + f32(size_low) * 5.42101086e-20;
  let r: f32 = rest * 1.57079637 + rest * -4.37113883e-08;
  return vec2f(select(r, -r, is_negative), f32(quadrant));
}

// The same for any x; of NaN and infinity, anything.
fn reduce_angle(x: f32) -> vec2f {
  if (abs(x) <= 0.785398) {
    return vec2f(x, 0.0);
  }
  let reduced: vec2f = reduce_by_half_pi(abs(x));
  return vec2f(select(reduced.x, -reduced.x, x < 0.0), select(reduced.y, 4.0 - reduced.y, x < 0.0));
}

// Of r with |r| <= pi/4.
fn sine_of_rest(r: f32) -> f32 {
  let z: f32 = r * r;
  return r + z * r * ((-0.000195166562 * z + 0.00833217334) * z - 0.166666552);
}

fn cosine_of_rest(r: f32) -> f32 {
  let z: f32 = r * r;
  return (1.0 - 0.5 * z) + z * z * ((2.44377297e-05 * z - 0.00138873619) * z + 0.0416666456);
}

// The sine of r and as many quadrants.
fn sine_in_quadrant(r: f32, quadrant: i32) -> f32 {
  let y: f32 = select(sine_of_rest(r), cosine_of_rest(r), (quadrant & 1) != 0);
  return select(y, -y, (quadrant & 2) != 0);
}

fn sin_of(x: f32) -> f32 {
  let reduced: vec2f = reduce_angle(x);
  let y: f32 = select(sine_in_quadrant(reduced.x, i32(reduced.y)), x, abs(x) < 1e-4);
  return select(not_a_number(), y, is_finite(x));
}

fn cos_of(x: f32) -> f32 {
  let reduced: vec2f = reduce_angle(x);
  return select(not_a_number(), sine_in_quadrant(reduced.x, i32(reduced.y) + 1), is_finite(x));
}

fn tan_of(x: f32) -> f32 {
  let reduced: vec2f = reduce_angle(x);
  let sine: f32 = sine_of_rest(reduced.x);
  let cosine: f32 = cosine_of_rest(reduced.x);
  let is_odd: bool = (i32(reduced.y) & 1) != 0;
  let y: f32 = select(sine, cosine, is_odd) / select(cosine, -sine, is_odd);
  return select(not_a_number(), select(y, x, abs(x) < 1e-4), is_finite(x));
}

// ---- Arcsine and arccosine.

// For a = |x| up to 1/2, asin(a); above, asin(sqrt((1 - a) / 2)), which is half of acos(a).
fn reduced_asin(a: f32) -> f32 {
  let is_large: bool = a > 0.5;
  let z: f32 = select(a * a, 0.5 - 0.5 * a, is_large);
  let s: f32 = select(a, sqrt(z), is_large);
  let p: f32 = (((0.0421782099 * z + 0.0241729673) * z + 0.0454716012) * z + 0.0749528855) * z + 0.166667521;
  return s + s * z * p;
}

fn asin_of(x: f32) -> f32 {
  let a: f32 = abs(x);
  let y: f32 = reduced_asin(a);
  let from_half_pi: f32 = 1.57079637 - (2.0 * y + 4.37113883e-08);
  return select(not_a_number(), with_sign_of(select(y, from_half_pi, a > 0.5), x), a <= 1.0);
}

fn acos_of(x: f32) -> f32 {
  let a: f32 = abs(x);
  let y: f32 = with_sign_of(reduced_asin(a), x);
  // pi/2 - y near 0; 2y from 1/2 on; pi + 2y below -1/2.
  let near_zero: f32 = 1.57079637 + (-4.37113883e-08 - y);
  let below: f32 = 3.14159274 + (-8.74227766e-08 + 2.0 * y);
  return select(not_a_number(), select(near_zero, select(2.0 * y, below, x < 0.0), a > 0.5), a <= 1.0);
}

// ---- Arctangent.

// Of q in [0, 1].
fn atan_of_ratio(q: f32) -> f32 {
  let z: f32 = q * q;
  let high: f32 = (((-0.00179362716 * z + 0.0109146331) * z - 0.0311779026) * z + 0.0579576567) * z - 0.0840345472;
  let p: f32 = (((high * z + 0.109521873) * z - 0.142642424) * z + 0.199985489) * z - 0.333332986;
  return q + q * z * p;
}

fn atan_of(x: f32) -> f32 {
  let a: f32 = abs(x);
  let y: f32 = atan_of_ratio(select(a, 1.0 / a, a > 1.0));
  let from_half_pi: f32 = 1.57079637 - (y + 4.37113883e-08);
  return select(with_sign_of(select(y, from_half_pi, a > 1.0), x), x, is_nan(x) || a < 1e-5);
}

// The angle of the point (x, y).
fn atan2_of(y: f32, x: f32) -> f32 {
  let abs_x: f32 = abs(x);
  let abs_y: f32 = abs(y);
  let is_steep: bool = abs_y > abs_x;
  let smaller: f32 = select(abs_y, abs_x, is_steep);
  let larger: f32 = select(abs_x, abs_y, is_steep);
  // Equal ones may both be infinite, or zero.
  let if_equal: f32 = select(0.0, 1.0, larger > 0.0);
  let angle: f32 = atan_of_ratio(select(smaller / larger, if_equal, smaller == larger));
  // pi/2 -+ angle where it is steep; else angle, or pi - angle to the left of the axis.
  let is_left: bool = bitcast<u32>(x) >= 0x80000000u;
  let base: f32 = select(select(0.0, 3.14159274, is_left), 1.57079637, is_steep);
  let base_low: f32 = select(select(0.0, -8.74227766e-08, is_left), -4.37113883e-08, is_steep);
  let flipped: f32 = select(angle, -angle, is_left != is_steep);
  let result: f32 = with_sign_of(base + (base_low + flipped), y);
  return select(result, not_a_number(), is_nan(x) || is_nan(y));
}

// ---- Inverse hyperbolic functions.

// log(1 + small), or log(2 x) where x is so large that sqrt(x^2 + 1) and sqrt(x^2 - 1) are x.
fn log_of_sum(small: f32, x: f32) -> f32 {
  let is_large: bool = x > 67108864.0;
  return shifted_log1p(select(small, x, is_large), select(0.0, 1.0, is_large));
}

fn asinh_of(x: f32) -> f32 {
  let a: f32 = abs(x);
  let square: f32 = a * a;
  // a + sqrt(a^2 + 1) - 1 without cancellation.
  let small: f32 = a + square / (1.0 + sqrt(square + 1.0));
  return select(with_sign_of(log_of_sum(small, a), x), x, is_nan(x) || a < 1e-5);
}

fn acosh_of(x: f32) -> f32 {
  let t: f32 = x - 1.0;
  let small: f32 = t + sqrt(t * (x + 1.0));
  return select(select(log_of_sum(small, x), not_a_number(), x < 1.0), x, is_nan(x));
}

fn atanh_of(x: f32) -> f32 {
  let a: f32 = abs(x);
  let y: f32 = with_sign_of(0.5 * log1p_of(2.0 * a / (1.0 - a)), x);
  return select(select(y, not_a_number(), a > 1.0), x, is_nan(x) || a < 1e-5);
}

// ---- Error function, and activations.

fn erf_of(x: f32) -> f32 {
  let a: f32 = min(abs(x), 3.95);
  let z: f32 = x * x;
  let p: f32 =
      (((((7.88912221e-05 * z - 0.000802084222) * z + 0.00518953567) * z - 0.0268544443) * z + 0.112836003) * z -
       0.37612626) * z + 0.128379166;
  let q: f32 =
      (((((-0.000186376259 * a + 0.0029476299) * a - 0.0218379516) * a + 0.103106521) * a + 0.638145089) * a +
       1.12708902) * a + 0.000341559469;
  let y: f32 = select(with_sign_of(1.0 - exp_of(-q), x), x * (1.0 + p), a < 1.0);
  return select(y, x, is_nan(x) || x == 0.0);
}

// 0 where x is below it or -0; NaN stays. By bits: what looks like a maximum may lose NaN.
fn relu(x: f32) -> f32 {
  return select(x, 0.0, bitcast<u32>(x) - 0x80000000u <= 0x7f800000u);
}

fn softplus(x: f32) -> f32 {
  return select(0.0, x, x > 0.0) + log1p_of(exp_of(-abs(x)));
}

fn softsign(x: f32) -> f32 {
  // Larger numbers give -1 or 1, too; quotients by the largest ones may be 0.
  let bounded: f32 = clamp(x, -1e20, 1e20);
  return select(bounded / (1.0 + abs(bounded)), x, is_nan(x));
}

fn selu(x: f32) -> f32 {
  return select(1.05070102 * x, 1.75809932 * expm1_of(x), x < 0.0);
}

// x Phi(x), where for a >= 0 Phi(a) = 1/2 + a P(a^2) and a Phi(-a) = e^(-a^2/2) H(a) a / (a + 2.5).
fn gelu(x: f32) -> f32 {
  let a: f32 = min(abs(x), 15.0);
  // -a^2/2 in two parts, the first exact.
  let high: f32 = first_bits(a);
  let square: f32 = high * -0.5 * high;
  let rest: f32 = 0.5 * (high - a) * (high + a);
  let k: f32 = round(square * 1.44269504);
  let expm1: f32 = expm1_of_rest(less_log2s(square, k) + rest);
  let w: f32 = a / (a + 2.5);
  let t: f32 = w + w - 1.0;
  let upper: f32 =
      (((-0.00056424248 * t + 0.000722125405) * t + 0.00262691616) * t - 0.00163274526) * t - 0.0164006725;
  let h: f32 =
      w * ((((upper * t + 0.00924049411) * t + 0.131987706) * t - 0.433692187) * t + 0.706656635);
  // Two factors, since k may be as low as -163; the first product is exact.
  let tail: f32 = (h + h * expm1) * power_of_two(i32(k) + 64) * 5.42101086e-20;
  let z: f32 = x * x;
  let centre: f32 =
      ((((-7.46288561e-06 * z + 0.000112952148) * z - 0.00118578493) * z + 0.00997307803) * z - 0.0664903149) * z +
      0.398942292;
  let outside: f32 = select(x - tail, -tail, x < 0.0);
  return select(select(outside, x * (0.5 + x * centre), a < 1.0), x, is_nan(x));
}

// a (c1 + c3 a^2) as the sum of two numbers, the first of which has nearly all of it and is exact; a = high + low, and
// of every pair the first number has at most 12 bits.
fn odd_cubic(high: f32, low: f32, c1: vec2f, c3: vec2f) -> vec2f {
  let a: f32 = high + low;
  let square: f32 = high * high;
  let square_high: f32 = first_bits(square);
  let square_low: f32 = (square - square_high) + low * (high + a);
  let product: f32 = c3.x * square_high;
  let product_low: f32 = c3.x * square_low + c3.y * (square_high + square_low);
  let factor: f32 = first_bits(c1.x + product);
  let factor_low: f32 = ((c1.x - factor) + product) + (c1.y + product_low);
  return vec2f(high * factor, low * factor + a * factor_low);
}

// x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2.
fn gelu_tanh(x: f32) -> f32 {
  let a: f32 = min(abs(x), 12.0);
  let high: f32 = first_bits(a);
  let exponent: vec2f = odd_cubic(high, a - high, vec2f(-1.59570312, -6.59966026e-05),
                                  vec2f(-0.0713500977, -4.71861631e-06));
  let k: f32 = round((exponent.x + exponent.y) * 1.44269504);
  let e: f32 = 1.0 + expm1_of_rest(less_log2s(exponent.x, k) + exponent.y);
  // Powers of 2 that leave no trace in the sum need not be exact.
  let sum: f32 = 1.0 + e * power_of_two(i32(max(k, -100.0)));
  let y: f32 = select(x / sum, -scale_by_power(e * a / sum, i32(k)), x < 0.0);
  return select(y, x, is_nan(x));
}

// ---- Powers.

// log2 of a positive number as the sum of two numbers, the first of at most 12 bits.
fn log2_in_parts(x: f32) -> vec2f {
  let normal: u32 = normal_bits(x);
  let k: f32 = f32(exponent_of(normal) - select(0, 149, bitcast<u32>(x) < 0x00800000u));
  let m: f32 = mantissa_of(normal);
  // s = (m - 1) / (m + 1), and log(m) = 2 s + 2/3 s^3 + ...
  let f: f32 = m - 1.0;
  let sum: f32 = m + 1.0;
  let sum_high: f32 = first_bits(sum);
  let sum_low: f32 = m - (sum_high - 1.0);
  let s: f32 = f / sum;
  let s_high: f32 = first_bits(s);
  let s_low: f32 = ((f - s_high * sum_high) - s_high * sum_low) / sum;
  let log: vec2f = odd_cubic(s_high, s_low, vec2f(2.0, 0.0), vec2f(0.666503906, 0.000162760422));
  let z: f32 = s * s;
  let series: f32 = s * z * z * (((0.181818182 * z + 0.222222222) * z + 0.285714286) * z + 0.4);
  let log_high: f32 = first_bits(log.x);
  let log_low: f32 = (log.x - log_high) + (log.y + series);
  let product: f32 = 1.44238281 * log_high;
  let product_low: f32 = 1.44238281 * log_low + 0.000312228396 * (log_high + log_low);
  let result: f32 = first_bits(k + product);
  return vec2f(result, ((k - result) + product) + product_low);
}

// 2^(y log2 x) for x that is positive or infinite.
fn positive_power(x: f32, y: f32) -> f32 {
  // Beyond, the power is out of range, or x is 1.
  let bounded: f32 = clamp(y, -1e12, 1e12);
  let high: f32 = first_bits(bounded);
  let log: vec2f = log2_in_parts(x);
  let product: f32 = high * log.x;
  let product_low: f32 = (bounded - high) * log.x + bounded * log.y;
  let exponent: f32 = clamp(product + product_low, -200.0, 200.0);
  let k: f32 = round(exponent);
  let rest: f32 = select(0.0, (product - k) + product_low, abs(exponent) < 200.0);
  return scale_by_power(1.0 + expm1_of_rest(rest * 0.693147182), i32(k));
}

// Both, and either, without a branch: WGSL's && and || are branches, of which software adapters compile hundreds slowly.
fn both(a: bool, b: bool) -> bool {
  return select(false, b, a);
}

fn either(a: bool, b: bool) -> bool {
  return select(b, true, a);
}

fn pow_of(x: f32, y: f32) -> f32 {
  let size: u32 = bitcast<u32>(x) & 0x7fffffffu;
  let is_negative: bool = bitcast<u32>(x) >= 0x80000000u;
  // Subnormal numbers are not whole, though they may be taken for zero.
  let is_whole: bool = both(floor(y) == y, (bitcast<u32>(y) & 0x7fffffffu) - 1u >= 0x7fffffu);
  let is_odd: bool = both(is_whole, floor(y * 0.5) != y * 0.5);
  // Zero and infinity to any power but 0 are zero or infinity.
  let is_end: bool = either(size == 0u, size == 0x7f800000u);
  let end: u32 = select(0u, 0x7f800000u, (size == 0u) == (y < 0.0));
  var bits: u32 = bitcast<u32>(positive_power(abs(x), y));
  bits = select(bits, end, is_end);
  bits = select(bits, bits | 0x80000000u, both(is_negative, is_odd));
  let lacks_root: bool = both(is_negative, !either(is_end, either(is_whole, is_infinite(y))));
  bits = select(bits, 0x7fc00000u, either(lacks_root, either(is_nan(x), is_nan(y))));
  let is_one: bool = either(x == 1.0, both(x == -1.0, is_infinite(y)));
  bits = select(bits, 0x3f800000u, either(is_zero(y), is_one));
  return bitcast<f32>(bits);
}

// ---- Division.

// The remainder of the quotient x / y, with the sign of x; exact: long division, 8 bits at a time.
fn remainder_of(x: f32, y: f32) -> f32 {
  let x_size: u32 = bitcast<u32>(x) & 0x7fffffffu;
  let y_size: u32 = bitcast<u32>(y) & 0x7fffffffu;
  if (x_size >= 0x7f800000u || y_size > 0x7f800000u || y_size == 0u) {
    return not_a_number();
  }
  if (x_size < y_size) {
    return x;
  }
  let x_exponent: u32 = max(x_size >> 23u, 1u);
  let y_exponent: u32 = max(y_size >> 23u, 1u);
  let divisor: u32 = (y_size & 0x7fffffu) | select(0u, 0x800000u, y_size >= 0x800000u);
  var rest: u32 = ((x_size & 0x7fffffu) | select(0u, 0x800000u, x_size >= 0x800000u)) % divisor;
  var places: u32 = x_exponent - y_exponent;
  while (places > 0u) {
    let step: u32 = min(places, 8u);
    rest = (rest << step) % divisor;
    places = places - step;
  }
  // rest * 2^(y_exponent - 150), which may be subnormal.
  let rest_bits: u32 = bitcast<u32>(f32(rest));
  let exponent: i32 = i32(rest_bits >> 23u) + i32(y_exponent) - 150;
  let normal: u32 = (rest_bits & 0x7fffffu) | (u32(max(exponent, 1)) << 23u);
  let bits: u32 = select(rest << ((y_exponent - 1u) & 31u), normal, exponent >= 1);
  return bitcast<f32>(select(bits, 0u, rest == 0u) | (bitcast<u32>(x) & 0x80000000u));
}

// The same with the sign of y.
fn floor_remainder(x: f32, y: f32) -> f32 {
  let rest: f32 = remainder_of(x, y);
  return select(rest, rest + y, !is_zero(rest) && with_sign_of(1.0, rest) != with_sign_of(1.0, y));
}

// The floor of the quotient as if that were correctly rounded where it is a whole number.
fn floor_quotient(x: f32, y: f32) -> f32 {
  let quotient: f32 = x / y;
  let whole: f32 = round(quotient);
  return select(floor(quotient), whole, whole * y == x);
}

// ---- Division of integers, which gives 0 for a divisor of 0.

// A divisor that no device fails with; the smallest integer over -1 is itself.
fn safe_divisor(x: i32, y: i32) -> i32 {
  return select(y, 1, y == 0 || (y == -1 && x < -2147483647));
}

fn floor_quotient_of_integers(x: i32, y: i32) -> i32 {
  let divisor: i32 = safe_divisor(x, y);
  let quotient: i32 = x / divisor;
  let is_below: bool = quotient * divisor != x && ((x ^ divisor) < 0);
  return select(quotient - i32(is_below), 0, y == 0);
}

fn floor_remainder_of_integers(x: i32, y: i32) -> i32 {
  return select(x - floor_quotient_of_integers(x, y) * safe_divisor(x, y), 0, y == 0);
}

fn remainder_of_integers(x: i32, y: i32) -> i32 {
  let divisor: i32 = safe_divisor(x, y);
  return select(x - x / divisor * divisor, 0, y == 0);
}

// By squaring; a negative exponent gives 0.
fn power_of_integers(x: i32, y: i32) -> i32 {
  var power: i32 = select(1, 0, y < 0);
  var base: i32 = x;
  for (var exponent: u32 = u32(max(y, 0)); exponent != 0u; exponent = exponent >> 1u) {
    if ((exponent & 1u) == 1u) {
      power = power * base;
    }
    base = base * base;
  }
  return power;
}

// ---- Choices that keep NaN.

fn maximum(x: f32, y: f32) -> f32 {
  return select(y, x, x > y || is_nan(x));
}

fn minimum(x: f32, y: f32) -> f32 {
  return select(y, x, x < y || is_nan(x));
}

// The lower limit wins.
fn clip(x: f32, low: f32, high: f32) -> f32 {
  let below: f32 = select(x, high, x > high || is_nan(high));
  return select(below, low, below < low || is_nan(low));
}

// Of subnormal numbers, too, which comparisons may take for zero.
fn sign_of(x: f32) -> f32 {
  let one: f32 = select(with_sign_of(1.0, x), x, is_nan(x));
  return select(one, 0.0, is_zero(x));
}

// The number next to x in the direction of y, by integers in the order of the numbers.
fn order_of(x: f32) -> i32 {
  let size: i32 = bitcast<i32>(bitcast<u32>(x) & 0x7fffffffu);
  return select(size, -size, bitcast<u32>(x) >= 0x80000000u);
}

fn next_after(x: f32, y: f32) -> f32 {
  let start: i32 = order_of(x);
  let to: i32 = order_of(y);
  let next: i32 = select(start - 1, start + 1, start < to);
  let is_negative: bool = next < 0 || (next == 0 && start < 0);
  let moved: u32 = u32(abs(next)) | select(0u, 0x80000000u, is_negative);
  let result: f32 = bitcast<f32>(select(moved, bitcast<u32>(y), start == to));
  return select(result, not_a_number(), is_nan(x) || is_nan(y));
}

// ---- Conversions.

// The nearest integer that is in range, towards zero; of NaN, 0.
fn to_i32(x: f32) -> i32 {
  let whole: i32 = i32(clamp(x, -2147483648.0, 2147483520.0));
  return select(select(whole, 2147483647, x >= 2147483648.0), 0, is_nan(x));
}

fn to_u32(x: f32) -> u32 {
  let whole: u32 = u32(clamp(x, 0.0, 4294967040.0));
  return select(select(whole, 4294967295u, x >= 4294967296.0), 0u, is_nan(x));
}

// Without the bits of the fraction that f16 has no room for.
fn truncate_for_f16(x: f32) -> f32 {
  return select(bitcast<f32>(bitcast<u32>(x) & 0xffffe000u), x, is_nan(x));
}

// The same for bf16.
fn truncate_for_bf16(x: f32) -> f32 {
  return select(bitcast<f32>(bitcast<u32>(x) & 0xffff0000u), x, is_nan(x));
}
