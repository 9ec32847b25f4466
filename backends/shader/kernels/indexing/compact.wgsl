// Marked elements are numbered in their order, by blocks of BLOCK, in three launches: their numbers are counted, the
// counts are added up, and each block goes on from the sum of those before it. `is_marked` and, for the last one, `put`
// are written by compact.cc.
var<workgroup> sums: array<u32, WORKGROUP>;

// What all invocations before this one have, added up (W. D. Hillis and G. L. Steele, "Data parallel algorithms", 1986).
fn sum_before(lidx: u32, own: u32) -> u32 {
  sums[lidx] = own;
  workgroupBarrier();
  for (var distance: u32 = 1u; distance < WORKGROUP; distance = distance * 2u) {
    var below: u32 = 0u;
    if (lidx >= distance) {
      below = sums[lidx - distance];
    }
    workgroupBarrier();
    sums[lidx] = sums[lidx] + below;
    workgroupBarrier();
  }
  return sums[lidx] - own;
}

#if ADDS
// In one workgroup: each count becomes the sum of those before it, and `total` that of all.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  var before: u32 = 0u;
  for (var first: u32 = 0u; first < parameters.blocks; first += WORKGROUP) {
    let block: u32 = first + lidx;
    var own: u32 = 0u;
    if (block < parameters.blocks) {
      own = counts[block];
    }
    let sum: u32 = before + sum_before(lidx, own);
    if (block < parameters.blocks) {
      counts[block] = sum;
    }
    before = before + sums[WORKGROUP - 1u];
    workgroupBarrier();
  }
  if (lidx == 0u) {
    total[0] = before;
  }
}
#else
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let block: u32 = wid.y * nwg.x + wid.x;
  let first: u32 = block * BLOCK + lidx * (BLOCK / WORKGROUP);
  let end: u32 = min(first + BLOCK / WORKGROUP, parameters.size);
  var own: u32 = 0u;
  for (var i: u32 = first; i < end; i++) {
    own += u32(is_marked(i));
  }
  let before: u32 = sum_before(lidx, own);
#if PUTS
  if (block < parameters.blocks) {
    var number: u32 = counts[block] + before;
    for (var i: u32 = first; i < end; i++) {
      if (is_marked(i)) {
        put(i, number);
        number += 1u;
      }
    }
  }
#else
  if (block < parameters.blocks && lidx == WORKGROUP - 1u) {
    counts[block] = before + own;
  }
#end
}
#end
