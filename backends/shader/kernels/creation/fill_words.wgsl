// Words of even and odd number get one each of the pattern's. `pattern` is put together by fill_words.cc.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  let word: u32 = pattern(lidx & 1u);
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let i: u32 = first + k * WORKGROUP;
    if (i < parameters.words) {
      result[i] = word;
    }
  }
}
