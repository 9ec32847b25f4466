// Merges neighbouring sorted runs of each row: an element goes behind those of its own run that are before it, and behind
// those of the other run, which it looks for.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.items) {
    return;
  }
  let at: u32 = i % parameters.cols;
  let begin: u32 = i - at;
  let run: u32 = at / parameters.length;
  let other: u32 = min((run ^ 1u) * parameters.length, parameters.cols);
  let key: K = keys[i];
  let place: u32 = places[i];
  var low: u32 = other;
  var high: u32 = min(other + parameters.length, parameters.cols);
  while (low < high) {
    let middle: u32 = low + (high - low) / 2u;
    if (is_before(keys[begin + middle], places[begin + middle], key, place)) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  let to: u32 = begin + run / 2u * 2u * parameters.length + at % parameters.length + (low - other);
  merged_keys[to] = key;
  merged_places[to] = place;
}
