// All roots of unity of the order `size`.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let k: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (k < parameters.size) {
    roots[k] = root_of(k, parameters.size);
  }
}
