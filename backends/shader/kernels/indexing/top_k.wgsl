// An element is among the largest of its row if fewer than k come before it: larger ones, and equal ones at lower indices.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let row: u32 = i / parameters.size;
    let first: u32 = row * parameters.size;
    let own: u32 = key_of(A(x[i]));
    var rank: u32 = 0u;
    for (var j: u32 = first; j < first + parameters.size && rank < parameters.k; j++) {
      let other: u32 = key_of(A(x[j]));
      rank += u32(other > own) + (u32(other == own) & u32(j < i));
    }
    if (rank < parameters.k) {
      values[row * parameters.k + rank] = x[i];
      indices[row * parameters.k + rank] = i32(i - first);
    }
  }
}
