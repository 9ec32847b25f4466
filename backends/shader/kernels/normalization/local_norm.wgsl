// Local response normalisation across channels, in f64: each element is divided by a power of bias + alpha * the sum of the
// squares of those within `radius` channels of it. `bases` has these, `first_of` and `last_of` are the channels.
fn first_of(channel: u32) -> u32 {
  return channel - min(channel, parameters.radius);
}

fn last_of(channel: u32) -> u32 {
  return min(parameters.channels - 1u, channel + parameters.radius);
}

// base^-beta, by roots for the powers that networks use.
fn factor_of(base: D) -> D {
  let one: D = double_of_u32(1u);
  if (parameters.beta == 0.5) {
    return double_quotient(one, double_root(base));
  }
  if (parameters.beta == 0.75) {
    return double_quotient(one, double_product(double_root(base), double_root(double_root(base))));
  }
  if (parameters.beta == 1.0) {
    return double_quotient(one, base);
  }
  return double_power(base, double_of_f32(-parameters.beta));
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let channel: u32 = i % parameters.channels;
  let pixel: u32 = i - channel;
  var sum: D = double_of_u32(0u);
#if SPECIAL
  // Not a number that is NaN: what a comparison with that gives, WGSL leaves open.
  var has_infinity: bool = false;
  var has_nan: bool = false;
#end
  for (var c: u32 = first_of(channel); c <= last_of(channel); c++) {
#if GRADIENT
    let product: D = double_product(double_of(grad[pixel + c]), double_of(y[pixel + c]));
    sum = double_sum(sum, double_quotient(product, bases[pixel + c]));
#else
    let element: D = double_of(x[pixel + c]);
    sum = double_sum(sum, double_product(element, element));
#if SPECIAL
    if (!double_is_finite(element)) {
      if (is_nan(f32(x[pixel + c]))) {
        has_nan = true;
      } else {
        has_infinity = true;
      }
    }
#end
#end
  }
#if GRADIENT
  let twice: D = double_product(double_of_u32(2u), double_of_f32(parameters.alpha));
  let scale: D = double_product(twice, double_of_f32(parameters.beta));
  let first: D = double_product(double_of(grad[i]), factor_of(bases[i]));
  dx[i] = rounded(double_difference(first, double_product(double_product(scale, double_of(x[i])), sum)));
#else
  let base: D = double_sum(double_of_f32(parameters.bias), double_product(double_of_f32(parameters.alpha), sum));
#if BASES
  bases[i] = base;
#else
#if SPECIAL
  // Soft numbers are finite. Beside an infinity all others become 0.
  if (has_nan || has_infinity || !double_less(double_of_u32(0u), base)) {
    if (has_infinity && !has_nan && double_is_finite(double_of(x[i]))) {
      y[i] = T(with_sign_of(0.0, f32(x[i])));
    } else {
      y[i] = T(not_a_number());
    }
    return;
  }
#end
  y[i] = rounded(double_product(double_of(x[i]), factor_of(base)));
#end
#end
}
