// Sample i is the class in whose part of the row's sum number i of the uniform ones lies; the last class of a row that has
// no finite logit. `uniforms_of` and `seed_words` are those of random.wgsl.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let mixed: vec4u = philox(seed_words(), vec2u(0x3ec8f720u, 0x02461e29u));
  let numbers: vec2<f64> = uniforms_of(philox(vec4u(i / 2u, 0u, mixed.z, mixed.w), mixed.xy));
  let first: u32 = i / parameters.samples * parameters.classes;
  let wanted: f64 = select(numbers.x, numbers.y, i % 2u == 1u) * sums[first + parameters.classes - 1u];
  var low: u32 = 0u;
  var high: u32 = parameters.classes;
  while (low < high) {
    let middle: u32 = low + (high - low) / 2u;
    if (sums[first + middle] <= wanted) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  y[i] = I(min(low, parameters.classes - 1u));
}
