// lin_space.wgsl for devices without f64, whose numbers are never too far apart for one.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let start: D = double_of(start_value[0]);
  let stop: D = double_of(stop_value[0]);
  let last: u32 = parameters.size - 1u;
  let step: D = double_quotient(double_difference(stop, start), double_of_u32(max(last, 1u)));
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let i: u32 = first + k * WORKGROUP;
    if (i < parameters.size) {
      if (i == 0u) {
        result[i] = start_value[0];
      } else if (i == last || (double_is_finite(start) && !double_is_finite(stop))) {
        result[i] = stop_value[0];
      } else if (!double_is_finite(start)) {
        result[i] = T(not_a_number());
      } else {
        result[i] = rounded(double_sum(start, double_product(double_of_u32(i), step)));
      }
    }
  }
}
