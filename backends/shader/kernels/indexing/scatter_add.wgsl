// The first update of each slice in a block goes on to those after it, in order. Leaves the lists empty.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  var update: u32 = i / parameters.slice;
  if (i < parameters.count && next_of[update] >= FIRST) {
    let place: u32 = i % parameters.slice;
    let number: u32 = slice_of(parameters.first + update);
    var sum: A = A(y[number * parameters.slice + place]);
    while (update != LAST) {
      sum = joined(sum, A(updates[(parameters.first + update) * parameters.slice + place]));
      update = next_of[update] & LAST;
    }
    y[number * parameters.slice + place] = T(sum);
    if (place == 0u) {
      heads[number] = 0u;
    }
  }
}
