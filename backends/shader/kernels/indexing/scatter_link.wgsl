// Puts each update of a block into the list of its slice, in whatever order: lists have update numbers plus 1, 0 ends.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let update: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (update < parameters.updates) {
    let number: u32 = slice_of(parameters.first + update);
    var previous: u32 = 0u;
    if (number != 0xffffffffu) {
      previous = atomicExchange(&heads[number], update + 1u);
    }
    previous_of[update] = previous;
  }
}
