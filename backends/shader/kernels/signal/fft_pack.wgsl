// Rows of the argument as complex numbers of f64, `stride` of them in a row, of which `size` are transformed. The inverse
// transform is that of numbers whose real and imaginary parts are exchanged, with these exchanged again.
fn number_at(row: u32, k: u32) -> vec2<f64> {
#if REAL
  if (k >= parameters.given) {
    return vec2<f64>(0.0lf, 0.0lf);
  }
  return vec2<f64>(f64(x[row * parameters.given + k]), 0.0lf);
#else
#if HALF
  // Of the other half the conjugates are given.
  let is_mirrored: bool = k > parameters.size - k;
  let place: u32 = select(k, parameters.size - k, is_mirrored);
  if (place >= parameters.given) {
    return vec2<f64>(0.0lf, 0.0lf);
  }
  let number: c64 = x[row * parameters.given + place];
  let imaginary: f64 = f64(imag_of(number));
  let has_none: bool = place == 0u || 2u * place == parameters.size;
  return vec2<f64>(select(select(imaginary, -imaginary, is_mirrored), 0.0lf, has_none), f64(real_of(number)));
#else
  let number: c64 = x[row * parameters.given + k];
#if INVERSE
  return vec2<f64>(f64(imag_of(number)), f64(real_of(number)));
#else
  return vec2<f64>(f64(real_of(number)), f64(imag_of(number)));
#end
#end
#end
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let k: u32 = i % parameters.stride;
  var number: vec2<f64> = vec2<f64>(0.0lf, 0.0lf);
  if (k < parameters.size) {
    number = number_at(i / parameters.stride, k);
#if CHIRP
    number = times(number, chirp_of(k, parameters.size));
#end
  }
  y[i] = number;
}
