// Local response normalisation across channels, in f64: each element is divided by a power of bias + alpha * the sum of the
// squares of those within `radius` channels of it. `bases` has these, `first_of` and `last_of` are the channels.
fn first_of(channel: u32) -> u32 {
  return channel - min(channel, parameters.radius);
}

fn last_of(channel: u32) -> u32 {
  return min(parameters.channels - 1u, channel + parameters.radius);
}

// base^-beta, by roots for the powers that networks use.
fn factor_of(base: f64) -> f64 {
  if (parameters.beta == 0.5) {
    return 1.0lf / sqrt(base);
  }
  if (parameters.beta == 0.75) {
    return 1.0lf / (sqrt(base) * sqrt(sqrt(base)));
  }
  if (parameters.beta == 1.0) {
    return 1.0lf / base;
  }
  return pow_of(base, f64(-parameters.beta));
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let channel: u32 = i % parameters.channels;
  let pixel: u32 = i - channel;
  var sum: f64 = 0.0lf;
  for (var c: u32 = first_of(channel); c <= last_of(channel); c++) {
#if GRADIENT
    sum += f64(grad[pixel + c]) * f64(y[pixel + c]) / bases[pixel + c];
#else
    let element: f64 = f64(x[pixel + c]);
    sum += element * element;
#end
  }
#if GRADIENT
  let scale: f64 = 2.0lf * f64(parameters.alpha) * f64(parameters.beta);
  dx[i] = T(f32(f64(grad[i]) * factor_of(bases[i]) - scale * f64(x[i]) * sum));
#else
  let base: f64 = f64(parameters.bias) + f64(parameters.alpha) * sum;
#if BASES
  bases[i] = base;
#else
  y[i] = T(f32(f64(x[i]) * factor_of(base)));
#end
#end
}
