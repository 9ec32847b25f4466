// The functions of soft_double.wgsl that kernels call, for devices that have f64.

fn double_sum(a: f64, b: f64) -> f64 {
  return a + b;
}

fn double_difference(a: f64, b: f64) -> f64 {
  return a - b;
}

fn double_product(a: f64, b: f64) -> f64 {
  return a * b;
}

fn double_quotient(a: f64, b: f64) -> f64 {
  return a / b;
}

fn double_less(a: f64, b: f64) -> bool {
  return a < b;
}

fn double_of_u32(a: u32) -> f64 {
  return f64(a);
}

fn double_of_bits(bits: vec2u) -> f64 {
  return bitcast<f64>(bits);
}

fn double_is_finite(a: f64) -> bool {
  return is_finite(a);
}

fn double_of_f32(a: f32) -> f64 {
  return f64(a);
}

fn double_root(a: f64) -> f64 {
  return sqrt(a);
}

fn double_power(base: f64, exponent: f64) -> f64 {
  return pow_of(base, exponent);
}

fn double_exp(x: f64) -> f64 {
  return exp(x);
}
