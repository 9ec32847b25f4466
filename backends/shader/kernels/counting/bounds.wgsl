// Where each value would be put into its row of sorted elements. Keys descend as elements ascend.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let first: u32 = i / parameters.values_of_row * parameters.size;
  let key: K = key_of(A(values[i]));
  var low: u32 = 0u;
  var high: u32 = parameters.size;
  while (low < high) {
    let middle: u32 = low + (high - low) / 2u;
    let element: K = key_of(A(sorted[first + middle]));
#if UPPER
    if (element >= key) {
#else
    if (element > key) {
#end
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
#if LONG
  y[i] = vec2u(low, 0u);
#else
  y[i] = low;
#end
}
