// Sorts blocks of BLOCK elements of each row in shared memory (K. E. Batcher, "Sorting networks and their applications",
// 1968): keys, of which smaller ones come first, and the places that they have in the row, which decide between equals.
// `key_of` is written by sort.cc.
var<workgroup> block_keys: array<K, BLOCK>;
var<workgroup> block_places: array<u32, BLOCK>;

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let group: u32 = wid.y * nwg.x + wid.x;
  let row: u32 = group / parameters.blocks;
  let first: u32 = group % parameters.blocks * BLOCK;
  for (var slot: u32 = lidx; slot < BLOCK; slot += WORKGROUP) {
    let place: u32 = first + slot;
    // What fills up the last block comes behind all.
    var key: K = LAST_KEY;
    var known: u32 = 0xffffffffu;
    if (row < parameters.rows && place < parameters.cols) {
      key = key_of(A(x[row * parameters.cols + place]));
      known = place;
    }
    block_keys[slot] = key;
    block_places[slot] = known;
  }
  workgroupBarrier();
  for (var size: u32 = 2u; size <= BLOCK; size = size * 2u) {
    for (var step: u32 = size / 2u; step > 0u; step = step / 2u) {
      for (var pair: u32 = lidx; pair < BLOCK / 2u; pair += WORKGROUP) {
        let low: u32 = pair / step * step * 2u + pair % step;
        let high: u32 = low + step;
        let low_key: K = block_keys[low];
        let high_key: K = block_keys[high];
        let low_place: u32 = block_places[low];
        let high_place: u32 = block_places[high];
        let is_ascending: bool = (low & size) == 0u;
        if (is_before(high_key, high_place, low_key, low_place) == is_ascending) {
          block_keys[low] = high_key;
          block_keys[high] = low_key;
          block_places[low] = high_place;
          block_places[high] = low_place;
        }
      }
      workgroupBarrier();
    }
  }
  for (var slot: u32 = lidx; slot < BLOCK; slot += WORKGROUP) {
    if (row < parameters.rows && first + slot < parameters.cols) {
      keys[row * parameters.cols + first + slot] = block_keys[slot];
      places[row * parameters.cols + first + slot] = block_places[slot];
    }
  }
}
