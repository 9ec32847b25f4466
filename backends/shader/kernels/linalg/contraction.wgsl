// Sums of products of elements at any distances: each invocation computes one element of the result. The table has for
// each dimension of the result, the last one first: its size, the distances of elements of `a` and of `b`, and the
// dimension that has the same label and comes before in the table, or itself; then for each dimension that is summed
// over its size and the two distances.

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (item >= parameters.elements) { return; }
  var place: array<u32, 8>;
  var rest: u32 = item;
  var a_at: u32 = 0u;
  var b_at: u32 = 0u;
  var is_diagonal: bool = true;
  for (var d: u32 = 0u; d < parameters.dims; d++) {
    let size: u32 = table[d * 4u];
    let index: u32 = rest % size;
    rest = rest / size;
    place[d] = index;
    a_at += index * table[d * 4u + 1u];
    b_at += index * table[d * 4u + 2u];
    is_diagonal = is_diagonal && place[table[d * 4u + 3u]] == index;
  }
  var sum: A = A(0);
  if (is_diagonal) {
    var k: u32 = 0u;
    while (k < parameters.inner) {
      // Parts of their own, so that sums of many numbers stay exact.
      var part: A = A(0);
      let last: u32 = min(k + 64u, parameters.inner);
      while (k < last) {
        rest = k;
        k++;
        var a_inner: u32 = a_at;
        var b_inner: u32 = b_at;
        for (var d: u32 = 0u; d < parameters.inner_dims; d++) {
          let entry: u32 = parameters.dims * 4u + d * 3u;
          let index: u32 = rest % table[entry];
          rest = rest / table[entry];
          a_inner += index * table[entry + 1u];
          b_inner += index * table[entry + 2u];
        }
#if BINARY
        part += A(a[a_inner]) * A(b[b_inner]);
#else
        part += A(a[a_inner]);
#end
      }
      sum += part;
    }
  }
  c[item] = T(sum);
}
