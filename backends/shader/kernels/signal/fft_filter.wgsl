// What rows are convolved with: the conjugate chirp of a transform of `size` numbers, from both ends of `stride`, which it
// is divided by.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.stride) {
    return;
  }
  let k: u32 = min(i, parameters.stride - i);
  var number: vec2<f64> = vec2<f64>(0.0lf, 0.0lf);
  if (k < parameters.size) {
    let chirp: vec2<f64> = chirp_of(k, parameters.size);
    number = vec2<f64>(chirp.x / f64(parameters.stride), -chirp.y / f64(parameters.stride));
  }
  y[i] = number;
}
