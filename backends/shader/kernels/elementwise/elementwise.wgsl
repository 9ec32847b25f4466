// A unit is what one turn of an invocation computes: one element, or four neighbouring ones. `compute_unit` is put
// together by elementwise_composer.cc.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let unit: u32 = first + k * WORKGROUP;
    if (unit < parameters.units) {
      compute_unit(unit);
    }
  }
}
