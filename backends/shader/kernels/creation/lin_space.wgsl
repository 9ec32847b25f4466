// Computed in f64, by halves where the distance of the ends is too large for one; the ends are those that were given.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let start: f64 = f64(start_value[0]);
  let stop: f64 = f64(stop_value[0]);
  let is_finite: bool = abs(stop - start) < bitcast<f64>(vec2u(0u, 0x7ff00000u));
  let scale: f64 = select(f64(0.5), f64(1.0), is_finite);
  let last: u32 = parameters.size - 1u;
  let step: f64 = (stop * scale - start * scale) / f64(max(last, 1u));
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let i: u32 = first + k * WORKGROUP;
    if (i < parameters.size) {
      result[i] = T(A((start * scale + f64(i) * step) / scale));
      if (i == last) {
        result[i] = stop_value[0];
      }
      if (i == 0u) {
        result[i] = start_value[0];
      }
    }
  }
}
