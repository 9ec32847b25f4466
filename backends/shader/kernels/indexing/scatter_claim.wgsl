// The last update of each slice wins.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let update: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (update < parameters.updates) {
    let number: u32 = slice_of(update);
    if (number != 0xffffffffu) {
      atomicMax(&winners[number], update + 1u);
    }
  }
}
