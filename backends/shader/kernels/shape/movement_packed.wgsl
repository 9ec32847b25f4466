// Each invocation gives words of the result, of several elements each.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var round: u32 = 0u; round < ROUNDS; round++) {
    let begin: u32 = (first + round * WORKGROUP) * PER_WORD;
    if (begin < parameters.count) {
      var word: u32 = 0u;
      for (var k: u32 = 0u; k < PER_WORD; k++) {
        if (begin + k < parameters.count) {
          word = word | (element(begin + k) << (k * BITS));
        }
      }
      y[begin / PER_WORD] = word;
    }
  }
}
