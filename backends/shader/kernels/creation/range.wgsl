// `element_at` is written by creation.cc. Integers of 32 bits are words, which wrap around in the same way with a sign
// and without.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let i: u32 = first + k * WORKGROUP;
    if (i < parameters.size) {
      result[i] = element_at(i);
    }
  }
}
