// The result is blocks of `depth` rows of `inner` elements; `index_at` is put together by creation.cc and gives
// 0xffffffffu for an index that no row has.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  let on: T = on_value[0];
  let off: T = off_value[0];
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let place: u32 = first + k * WORKGROUP;
    if (place < parameters.size) {
      let row: u32 = place / parameters.inner;
      let block: u32 = row / parameters.depth;
      let index: u32 = index_at(block * parameters.inner + place % parameters.inner);
      result[place] = select(off, on, index == row % parameters.depth);
    }
  }
}
