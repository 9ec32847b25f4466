// Functions of f64 and of complex numbers, for devices that have these: as elementary.wgsl for f32, with the same names.
// That of f64 which the devices' language has built in is as accurate as its maker says.
//
// Complex numbers are computed as pairs of f64, rounded once: the formulas are those of backends/cpu/simd/complex_math.cc,
// where it is told whose they are.

// ---- Numbers.

fn is_nan(x: f64) -> bool {
  return (bitcast<u64>(x) & 0x7fffffffffffffff) > 0x7ff0000000000000;
}

fn is_infinite(x: f64) -> bool {
  return (bitcast<u64>(x) & 0x7fffffffffffffff) == 0x7ff0000000000000;
}

fn is_finite(x: f64) -> bool {
  return (bitcast<u64>(x) & 0x7ff0000000000000) != 0x7ff0000000000000;
}

fn is_zero(x: f64) -> bool {
  return x == 0.0;
}

fn infinity_of_f64() -> f64 {
  var bits: u64 = 0x7ff0000000000000;
  return bitcast<f64>(bits);
}

fn nan_of_f64() -> f64 {
  var bits: u64 = 0x7ff8000000000000;
  return bitcast<f64>(bits);
}

fn exp_of(x: f64) -> f64 {
  return exp(x);
}

fn expm1_of(x: f64) -> f64 {
  return expm1(x);
}

fn log_of(x: f64) -> f64 {
  return log(x);
}

fn log1p_of(x: f64) -> f64 {
  return log1p(x);
}

fn sin_of(x: f64) -> f64 {
  return sin(x);
}

fn cos_of(x: f64) -> f64 {
  return cos(x);
}

fn tan_of(x: f64) -> f64 {
  return tan(x);
}

fn asin_of(x: f64) -> f64 {
  return asin(x);
}

fn acos_of(x: f64) -> f64 {
  return acos(x);
}

fn atan_of(x: f64) -> f64 {
  return atan(x);
}

fn atan2_of(y: f64, x: f64) -> f64 {
  return atan2(y, x);
}

fn sinh_of(x: f64) -> f64 {
  return sinh(x);
}

fn cosh_of(x: f64) -> f64 {
  return cosh(x);
}

fn tanh_of(x: f64) -> f64 {
  return tanh(x);
}

fn asinh_of(x: f64) -> f64 {
  return asinh(x);
}

fn acosh_of(x: f64) -> f64 {
  return acosh(x);
}

fn atanh_of(x: f64) -> f64 {
  return atanh(x);
}

fn erf_of(x: f64) -> f64 {
  return erf(x);
}

fn pow_of(x: f64, y: f64) -> f64 {
  return pow(x, y);
}

fn sigmoid(x: f64) -> f64 {
  let e: f64 = exp(-abs(x));
  return select(1.0, e, x < 0.0) / (1.0 + e);
}

fn relu(x: f64) -> f64 {
  return select(x, f64(0.0), x <= 0.0);
}

fn softplus(x: f64) -> f64 {
  return select(f64(0.0), x, x > 0.0) + log1p(exp(-abs(x)));
}

fn softsign(x: f64) -> f64 {
  return select(x / (1.0 + abs(x)), copysign(f64(1.0), x), is_infinite(x));
}

fn selu(x: f64) -> f64 {
  return select(1.0507009873554805lf * x, 1.7580993408473769lf * expm1(x), x < 0.0);
}

// What two numbers lose when they are added up (D. E. Knuth).
fn lost_of_sum(a: f64, b: f64) -> f64 {
  let sum: f64 = a + b;
  let rounded: f64 = sum - a;
  return (a - (sum - rounded)) + (b - rounded);
}

// x Phi(x) = x erfc(t) / 2 with t = -x / sqrt(2): what t loses by rounding is put right by the derivative.
fn gelu(x: f64) -> f64 {
  let t: f64 = x * -0.7071067811865476lf;
  let lost: f64 = fma(x, -0.7071067811865476lf, -t) + x * 4.833646656726457e-17lf;
  let y: f64 = 0.5 * x * (erfc(t) - 1.1283791670955126lf * exp(-t * t) * lost);
  return select(y, select(x, f64(-0.0), x < 0.0), is_infinite(x));
}

// x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3): the exponent, x (c1 + c3 x^2), as a sum of two numbers.
fn gelu_tanh(x: f64) -> f64 {
  let square: f64 = x * x;
  let square_lost: f64 = fma(x, x, -square);
  let cubic: f64 = -0.07135481627260025lf * square;
  let cubic_lost: f64 = fma(-0.07135481627260025lf, square, -cubic) +
                        (-0.07135481627260025lf * square_lost + 6.175149918155315e-19lf * square);
  let factor: f64 = -1.5957691216057308lf + cubic;
  let factor_lost: f64 = lost_of_sum(f64(-1.5957691216057308lf), cubic) + (cubic_lost + 9.96930880911092e-17lf);
  let exponent: f64 = x * factor;
  let exponent_lost: f64 = fma(x, factor, -exponent) + x * factor_lost;
  let power: f64 = exp(min(exponent, 700.0));
  let y: f64 = x / (1.0 + (power + power * exponent_lost));
  // Where 1 leaves no trace and the power may be infinite, in two factors.
  let root: f64 = exp(-0.5 * exponent);
  let tail: f64 = (x * root) * (root - root * exponent_lost);
  // Where squares are infinite, too, it is x or 0 with its sign.
  return select(select(y, tail, exponent > 700.0), select(x, f64(-0.0), x < 0.0), abs(x) > 60.0);
}

fn remainder_of(x: f64, y: f64) -> f64 {
  return x % y;
}

fn floor_remainder(x: f64, y: f64) -> f64 {
  let rest: f64 = x % y;
  return select(rest, rest + y, rest != 0.0 && (rest < 0.0) != (y < 0.0));
}

fn floor_quotient(x: f64, y: f64) -> f64 {
  let quotient: f64 = x / y;
  let whole: f64 = round(quotient);
  return select(floor(quotient), whole, whole * y == x);
}

fn maximum(x: f64, y: f64) -> f64 {
  return select(y, x, x > y || is_nan(x));
}

fn minimum(x: f64, y: f64) -> f64 {
  return select(y, x, x < y || is_nan(x));
}

fn clip(x: f64, low: f64, high: f64) -> f64 {
  let below: f64 = select(x, high, x > high || is_nan(high));
  return select(below, low, below < low || is_nan(low));
}

fn sign_of(x: f64) -> f64 {
  return select(f64(x > 0.0) - f64(x < 0.0), x, is_nan(x));
}

fn next_after(x: f64, y: f64) -> f64 {
  return nextafter(x, y);
}

// ---- Division and powers of integers of 64 bits. A device divides by 0, and by -1, without failing.

fn floor_quotient_of_integers(x: i64, y: i64) -> i64 {
  let quotient: i64 = x / y;
  let is_below: bool = quotient * y != x && ((x ^ y) < 0);
  return select(quotient - i64(is_below), i64(0), y == 0);
}

fn remainder_of_integers(x: i64, y: i64) -> i64 {
  return select(x % y, i64(0), y == 0);
}

fn floor_remainder_of_integers(x: i64, y: i64) -> i64 {
  return select(x - floor_quotient_of_integers(x, y) * y, i64(0), y == 0);
}

fn power_of_integers(x: i64, y: i64) -> i64 {
  var power: i64 = select(i64(1), i64(0), y < 0);
  var base: i64 = x;
  for (var exponent: u64 = u64(max(y, i64(0))); exponent != u64(0u); exponent = exponent >> 1u) {
    if ((exponent & u64(1u)) == u64(1u)) {
      power = power * base;
    }
    base = base * base;
  }
  return power;
}

// ---- Conversions.

// Without the last bits of the fraction.
fn without_bits(x: f64, count: u32) -> f64 {
  return select(bitcast<f64>((bitcast<u64>(x) >> count) << count), x, is_nan(x));
}

// ---- Complex numbers.

fn parts_of(x: c64) -> vec2<f64> {
  return vec2<f64>(real_of(x), imag_of(x));
}

fn to_c64(z: vec2<f64>) -> c64 {
  return c64(f32(z.x), f32(z.y));
}

fn conj_of(x: c64) -> c64 {
  return c64(real_of(x), -imag_of(x));
}

fn squared_difference(x: c64, y: c64) -> c64 {
  let re: f32 = real_of(x) - real_of(y);
  let im: f32 = imag_of(x) - imag_of(y);
  return c64(re * re + im * im, 0.0);
}

fn abs_of(x: c64) -> f32 {
  let z: vec2<f64> = parts_of(x);
  return f32(select(sqrt(z.x * z.x + z.y * z.y), infinity_of_f64(), is_infinite(z.x) || is_infinite(z.y)));
}

fn sign_of(x: c64) -> c64 {
  let z: vec2<f64> = parts_of(x);
  let size: f64 = sqrt(z.x * z.x + z.y * z.y);
  return select(to_c64(vec2<f64>(z.x / size, z.y / size)), c64(0.0), size == 0.0);
}

fn times_i(z: vec2<f64>) -> vec2<f64> {
  return vec2<f64>(-z.y, z.x);
}

fn over_i(z: vec2<f64>) -> vec2<f64> {
  return vec2<f64>(z.y, -z.x);
}

fn has_infinity(z: vec2<f64>) -> bool {
  return is_infinite(z.x) || is_infinite(z.y);
}

// R. L. Smith, "Algorithm 116: complex division", 1962; by 0 as the real parts do.
fn quotient_of(x: vec2<f64>, y: vec2<f64>) -> vec2<f64> {
  if (y.x == 0.0 && y.y == 0.0) {
    return vec2<f64>(x.x / abs(y.x), x.y / abs(y.x));
  }
  if (abs(y.x) >= abs(y.y)) {
    let ratio: f64 = y.y / y.x;
    let scale: f64 = y.x + y.y * ratio;
    return vec2<f64>((x.x + x.y * ratio) / scale, (x.y - x.x * ratio) / scale);
  }
  let ratio: f64 = y.x / y.y;
  let scale: f64 = y.y + y.x * ratio;
  return vec2<f64>((x.x * ratio + x.y) / scale, (x.y * ratio - x.x) / scale);
}

// A factor of a product that has an infinity: infinite parts are 1, others 0, with their signs.
fn limited(z: vec2<f64>) -> vec2<f64> {
  if (has_infinity(z)) {
    return vec2<f64>(copysign(f64(is_infinite(z.x)), z.x), copysign(f64(is_infinite(z.y)), z.y));
  }
  return vec2<f64>(select(z.x, copysign(f64(0.0), z.x), is_nan(z.x)), select(z.y, copysign(f64(0.0), z.y), is_nan(z.y)));
}

// As C's Annex G has it: infinite if a factor is, whatever else that one is.
fn product_of(x: vec2<f64>, y: vec2<f64>) -> vec2<f64> {
  let z: vec2<f64> = vec2<f64>(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
  if (!is_nan(z.x) || !is_nan(z.y) || !(has_infinity(x) || has_infinity(y))) {
    return z;
  }
  let a: vec2<f64> = limited(x);
  let b: vec2<f64> = limited(y);
  return vec2<f64>(infinity_of_f64() * (a.x * b.x - a.y * b.y), infinity_of_f64() * (a.x * b.y + a.y * b.x));
}

fn sqrt_of(z: vec2<f64>) -> vec2<f64> {
  if (is_infinite(z.y)) {
    return vec2<f64>(infinity_of_f64(), z.y);
  }
  if (is_infinite(z.x)) {
    let rest: f64 = 0.0 * abs(z.y);
    if (z.x > 0.0) {
      return vec2<f64>(z.x, copysign(rest, z.y));
    }
    return vec2<f64>(rest, copysign(infinity_of_f64(), z.y));
  }
  let larger: f64 = sqrt((abs(z.x) + sqrt(z.x * z.x + z.y * z.y)) / 2.0);
  if (larger == 0.0) {
    return vec2<f64>(0.0, z.y);
  }
  let smaller: f64 = z.y / (2.0 * larger);
  if (z.x < 0.0) {
    return vec2<f64>(abs(smaller), copysign(larger, z.y));
  }
  return vec2<f64>(larger, smaller);
}

fn exp_of(z: vec2<f64>) -> vec2<f64> {
  let power: f64 = exp(z.x);
  if (z.y == 0.0) {
    return vec2<f64>(power, z.y);
  }
  if (is_infinite(z.x) && !is_finite(z.y)) {
    if (power == 0.0) {
      return vec2<f64>(0.0, copysign(f64(0.0), z.y));
    }
    return vec2<f64>(infinity_of_f64(), nan_of_f64());
  }
  return vec2<f64>(power * cos(z.y), power * sin(z.y));
}

fn expm1_of(z: vec2<f64>) -> vec2<f64> {
  let half: f64 = sin(z.y / 2.0);
  let growth: f64 = expm1(z.x);
  let power: f64 = select(exp(z.x), growth + 1.0, z.x > -1.0);
  return vec2<f64>(growth * cos(z.y) - 2.0 * half * half, power * sin(z.y));
}

fn log_of(z: vec2<f64>) -> vec2<f64> {
  let angle: f64 = atan2(z.y, z.x);
  if (has_infinity(z)) {
    return vec2<f64>(infinity_of_f64(), angle);
  }
  if (is_nan(angle)) {
    return vec2<f64>(angle, angle);
  }
  let larger: f64 = max(abs(z.x), abs(z.y));
  let smaller: f64 = min(abs(z.x), abs(z.y));
  let norm: f64 = larger * larger + smaller * smaller;
  if (norm > 0.5 && norm < 2.0) {
    return vec2<f64>(log1p((larger - 1.0) * (larger + 1.0) + smaller * smaller) / 2.0, angle);
  }
  return vec2<f64>(log(norm) / 2.0, angle);
}

fn log1p_of(z: vec2<f64>) -> vec2<f64> {
  // |1 + z|^2 - 1
  let squared: f64 = z.y * z.y;
  let first: f64 = 2.0 * z.x + squared;
  let lost: f64 = lost_of_sum(2.0 * z.x, squared) + lost_of_sum(first, z.x * z.x);
  let excess: f64 = (first + z.x * z.x) + lost;
  if (!(abs(excess) < 0.5)) {
    return log_of(vec2<f64>(z.x + 1.0, z.y));
  }
  return vec2<f64>(log1p(excess) / 2.0, atan2(z.y, z.x + 1.0));
}

fn sinh_of(z: vec2<f64>) -> vec2<f64> {
  if (z.y == 0.0) {
    return vec2<f64>(sinh(z.x), z.y);
  }
  if (!is_finite(z.y) && (z.x == 0.0 || is_infinite(z.x))) {
    return vec2<f64>(select(infinity_of_f64(), z.x, z.x == 0.0), nan_of_f64());
  }
  return vec2<f64>(sinh(z.x) * cos(z.y), cosh(z.x) * sin(z.y));
}

fn cosh_of(z: vec2<f64>) -> vec2<f64> {
  if (z.y == 0.0) {
    return vec2<f64>(cosh(z.x), select(z.y * copysign(f64(1.0), z.x), z.y, is_nan(z.x)));
  }
  if (!is_finite(z.y) && z.x == 0.0) {
    return vec2<f64>(nan_of_f64(), 0.0);
  }
  if (!is_finite(z.y) && is_infinite(z.x)) {
    return vec2<f64>(infinity_of_f64(), nan_of_f64());
  }
  return vec2<f64>(cosh(z.x) * cos(z.y), sinh(z.x) * sin(z.y));
}

fn tanh_of(z: vec2<f64>) -> vec2<f64> {
  if (z.y == 0.0) {
    return vec2<f64>(tanh(z.x), z.y);
  }
  if (!is_finite(z.y)) {
    if (is_infinite(z.x)) {
      return vec2<f64>(copysign(f64(1.0), z.x), copysign(f64(0.0), z.y));
    }
    return vec2<f64>(select(nan_of_f64(), z.x, z.x == 0.0), nan_of_f64());
  }
  let tangent: f64 = tan(z.y);
  let squared_secant: f64 = 1.0 + tangent * tangent;
  // From there on tanh of the real part is 1.
  if (abs(z.x) > 22.0) {
    return vec2<f64>(copysign(f64(1.0), z.x), 4.0 * exp(-2.0 * abs(z.x)) * (tangent / squared_secant));
  }
  let sine: f64 = sinh(z.x);
  let scale: f64 = 1.0 + squared_secant * sine * sine;
  return vec2<f64>(squared_secant * sqrt(1.0 + sine * sine) * sine / scale, tangent / scale);
}

fn asin_of(z: vec2<f64>) -> vec2<f64> {
  if (has_infinity(z)) {
    return vec2<f64>(atan2(z.x, abs(z.y)), copysign(infinity_of_f64(), z.y));
  }
  if (is_nan(z.y)) {
    return vec2<f64>(select(nan_of_f64(), z.x, z.x == 0.0), nan_of_f64());
  }
  let below: vec2<f64> = sqrt_of(vec2<f64>(1.0 - z.x, -z.y));
  let above: vec2<f64> = sqrt_of(vec2<f64>(1.0 + z.x, z.y));
  return vec2<f64>(atan2(z.x, below.x * above.x - below.y * above.y), asinh(below.x * above.y - below.y * above.x));
}

fn acos_of(z: vec2<f64>) -> vec2<f64> {
  if (has_infinity(z)) {
    return vec2<f64>(atan2(abs(z.y), z.x), copysign(infinity_of_f64(), -z.y));
  }
  if (is_nan(z.y)) {
    return vec2<f64>(select(nan_of_f64(), 1.5707963267948966lf, z.x == 0.0), nan_of_f64());
  }
  let below: vec2<f64> = sqrt_of(vec2<f64>(1.0 - z.x, -z.y));
  let above: vec2<f64> = sqrt_of(vec2<f64>(1.0 + z.x, z.y));
  return vec2<f64>(2.0 * atan2(below.x, above.x), asinh(above.x * below.y - above.y * below.x));
}

fn acosh_of(z: vec2<f64>) -> vec2<f64> {
  let angle: vec2<f64> = acos_of(z);
  return vec2<f64>(abs(angle.y), copysign(angle.x, z.y));
}

fn atanh_of(z: vec2<f64>) -> vec2<f64> {
  if (has_infinity(z)) {
    return vec2<f64>(copysign(f64(0.0), z.x), select(copysign(1.5707963267948966lf, z.y), z.y, is_nan(z.y)));
  }
  if (z.x == 0.0 && is_nan(z.y)) {
    return z;
  }
  let size: f64 = abs(z.x);
  let below: f64 = 1.0 - size;
  return vec2<f64>(copysign(log1p(4.0 * size / (below * below + z.y * z.y)) / 4.0, z.x),
                   atan2(2.0 * z.y, below * (1.0 + size) - z.y * z.y) / 2.0);
}

// Of e^-|x|, so that nothing overflows, and with a sum of squares as the denominator.
fn sigmoid(z: vec2<f64>) -> vec2<f64> {
  let is_right: bool = z.x > 0.0;
  if (is_infinite(z.x)) {
    return vec2<f64>(f64(is_right), 0.0);
  }
  let x: f64 = -abs(z.x);
  let growth: f64 = expm1(x);
  let power: f64 = select(exp(x), growth + 1.0, x > -1.0);
  let cosine: f64 = cos(z.y);
  var cosine_and_1: f64 = cosine + 1.0;
  var cosine_and_power: f64 = cosine + power;
  if (cosine < -0.5) {
    let half: f64 = cos(z.y / 2.0);
    cosine_and_1 = 2.0 * half * half;
    cosine_and_power = cosine_and_1 + growth;
  }
  let scale: f64 = growth * growth + 2.0 * power * cosine_and_1;
  let re: f64 = select(power * cosine_and_power, power * cosine_and_1 - growth, is_right);
  return vec2<f64>(re / scale, power * sin(z.y) / scale);
}

fn pow_of(x: vec2<f64>, y: vec2<f64>) -> vec2<f64> {
  // The logarithm of 0 would give NaN.
  if (x.x == 0.0 && x.y == 0.0 && y.y == 0.0) {
    return vec2<f64>(pow(x.x, y.x), 0.0);
  }
  return exp_of(product_of(y, log_of(x)));
}
