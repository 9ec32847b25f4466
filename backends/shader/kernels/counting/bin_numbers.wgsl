// For each integer the number of its bin among those of all rows, or -1 if it has none.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let number: u32 = load_index(i);
    bins[i] = select(0xffffffffu, i / parameters.row * parameters.size + number, number < parameters.size);
  }
}
