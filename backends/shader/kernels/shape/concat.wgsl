// Columns [first, first + window) of each row of the result: `element` gives these alone. Values of a word or more.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var round: u32 = 0u; round < ROUNDS; round++) {
    let i: u32 = first + round * WORKGROUP;
    if (i < parameters.count) {
      y[(i / parameters.window) * parameters.row + parameters.first + i % parameters.window] = element(i);
    }
  }
}
