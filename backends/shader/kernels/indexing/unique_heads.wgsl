// For each element, in the order that they were given: the first one that is equal, which is the first of its run.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.size) {
    return;
  }
  let key: K = keys[i];
  var low: u32 = 0u;
  var high: u32 = i;
  while (low < high) {
    let middle: u32 = low + (high - low) / 2u;
    if (keys[middle] < key) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  let place: u32 = places[i];
  heads[place] = select(places[low], place, is_alone(A(x[place])));
}
