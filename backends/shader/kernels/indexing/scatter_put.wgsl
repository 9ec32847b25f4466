// Elements of a word or more, in place.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let update: u32 = i / parameters.slice;
    let number: u32 = slice_of(update);
    if (number != 0xffffffffu) {
      if (winners[number] == update + 1u) {
        y[number * parameters.slice + i % parameters.slice] = updates[i];
      }
    }
  }
}
