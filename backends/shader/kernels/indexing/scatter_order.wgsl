// Finds for each update of a block the next one of the same slice, or LAST, with FIRST added if there is none before.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let update: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (update < parameters.updates) {
    let number: u32 = slice_of(parameters.first + update);
    var next: u32 = LAST;
    if (number != 0xffffffffu) {
      var first: u32 = FIRST;
      var entry: u32 = heads[number];
      while (entry != 0u) {
        let other: u32 = entry - 1u;
        if (other < update) {
          first = 0u;
        }
        if (other > update && other < next) {
          next = other;
        }
        entry = previous_of[other];
      }
      next = next + first;
    }
    next_of[update] = next;
  }
}
