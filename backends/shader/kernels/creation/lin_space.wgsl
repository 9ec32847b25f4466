// Computed in f64; the ends are those that were given.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let start: D = double_of(start_value[0]);
  let stop: D = double_of(stop_value[0]);
  let last: u32 = parameters.size - 1u;
#if SOFT
  // Numbers of f32 are never too far apart.
  let step: D = double_quotient(double_difference(stop, start), double_of_u32(max(last, 1u)));
#else
  // By halves where the distance of the ends is too large.
  let is_finite: bool = abs(stop - start) < bitcast<f64>(vec2u(0u, 0x7ff00000u));
  let scale: f64 = select(f64(0.5), f64(1.0), is_finite);
  let step: f64 = (stop * scale - start * scale) / f64(max(last, 1u));
#end
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let i: u32 = first + k * WORKGROUP;
    if (i < parameters.size) {
      if (i == 0u) {
        result[i] = start_value[0];
      } else if (i == last) {
        result[i] = stop_value[0];
      } else {
#if SOFT
        // Soft numbers are finite.
        if (!double_is_finite(start)) {
          result[i] = T(not_a_number());
        } else if (!double_is_finite(stop)) {
          result[i] = stop_value[0];
        } else {
          result[i] = rounded(double_sum(start, double_product(double_of_u32(i), step)));
        }
#else
        result[i] = rounded((start * scale + f64(i) * step) / scale);
#end
      }
    }
  }
}
