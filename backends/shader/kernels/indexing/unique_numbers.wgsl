// The number of each element is that of the first one that is equal.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.size) {
    let number: u32 = numbers[heads[i]];
#if LONG
    indices[i] = vec2u(number, 0u);
#else
    indices[i] = number;
#end
  }
}
