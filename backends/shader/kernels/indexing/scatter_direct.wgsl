// Few updates: each element of the result looks for those of its own among all of them, in order.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let number: u32 = i / parameters.slice;
    let place: u32 = i % parameters.slice;
    var sum: A = start_of(i);
    for (var update: u32 = 0u; update < parameters.updates; update++) {
      if (slice_of(update) == number) {
        sum = joined(sum, A(updates[update * parameters.slice + place]));
      }
    }
    y[i] = T(sum);
  }
}
