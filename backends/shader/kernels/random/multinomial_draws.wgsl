// Sample i is the class in whose part of the row's sum number i of the uniform ones lies; the last class of a row that has
// no finite logit. `seed_words` is that of random.wgsl, and so are the numbers of f64.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let mixed: vec4u = philox(seed_words(), vec2u(0x3ec8f720u, 0x02461e29u));
  let words: vec4u = philox(vec4u(i / 2u, 0u, mixed.z, mixed.w), mixed.xy);
  let is_odd: bool = i % 2u == 1u;
  // A number in [1, 2) with a random mantissa, less 1.
  let high: u32 = (select(words.x, words.z, is_odd) & 0xfffffu) | 0x3ff00000u;
  let number: D = double_of_bits(vec2u(select(words.y, words.w, is_odd), high));
  let uniform_number: D = double_difference(number, double_of_u32(1u));
  let first: u32 = i / parameters.samples * parameters.classes;
  let wanted: D = double_product(uniform_number, sums[first + parameters.classes - 1u]);
  var low: u32 = 0u;
  var end: u32 = parameters.classes;
  while (low < end) {
    let middle: u32 = low + (end - low) / 2u;
    if (!double_less(wanted, sums[first + middle])) {
      low = middle + 1u;
    } else {
      end = middle;
    }
  }
  y[WORDS * i] = min(low, parameters.classes - 1u);
  if (WORDS == 2u) {
    y[WORDS * i + 1u] = 0u;
  }
}
