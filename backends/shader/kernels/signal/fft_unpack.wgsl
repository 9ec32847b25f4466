// The first `taken` numbers of each row, rounded to f32.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let k: u32 = i % parameters.taken;
  var number: vec2<f64> = x[i / parameters.taken * parameters.stride + k];
#if CHIRP
  number = times(vec2<f64>(number.x, -number.y), chirp_of(k, parameters.size));
#end
#if HALF
  y[i] = f32(number.y / f64(parameters.size));
#else
#if INVERSE
  y[i] = c64(f32(number.y / f64(parameters.size)), f32(number.x / f64(parameters.size)));
#else
  y[i] = c64(f32(number.x), f32(number.y));
#end
#end
}
