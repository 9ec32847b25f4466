// The first `taken` of each sorted row: the elements themselves, and their places.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.items) {
    let row: u32 = i / parameters.taken;
    let place: u32 = places[row * parameters.cols + i % parameters.taken];
    values[i] = x[row * parameters.cols + place];
    indices[i] = I(place);
  }
}
