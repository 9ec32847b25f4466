// Each invocation gives elements of the result, of a word or more each.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var round: u32 = 0u; round < ROUNDS; round++) {
    let i: u32 = first + round * WORKGROUP;
    if (i < parameters.count) {
      y[i] = element(i);
    }
  }
}
