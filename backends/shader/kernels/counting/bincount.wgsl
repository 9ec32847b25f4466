// How often each integer below `size` occurs in its row, or what the weights of its occurrences come to. Sums of integers
// do not depend on the order, so that each invocation adds to them when its turn comes. A bin has WORDS words.
#if NEAR
// Of few bins each workgroup has its own, and adds them to those of all at the end.
var<workgroup> near_bins: array<atomic<u32>, MOST_NEAR>;

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  for (var bin: u32 = lidx; bin < parameters.size; bin += WORKGROUP) {
    atomicStore(&near_bins[bin], 0u);
  }
  workgroupBarrier();
  let first: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  let step: u32 = nwg.x * nwg.y * WORKGROUP;
  for (var i: u32 = first; i < parameters.count; i += step) {
    let bin: u32 = load_index(i);
    if (bin < parameters.size) {
      atomicAdd(&near_bins[bin], weight_of(i));
    }
  }
  workgroupBarrier();
  for (var bin: u32 = lidx; bin < parameters.size; bin += WORKGROUP) {
    let sum: u32 = atomicLoad(&near_bins[bin]);
    if (sum != 0u) {
      atomicAdd(&bins[bin], sum);
    }
  }
}
#else
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let number: u32 = load_index(i);
    if (number < parameters.size) {
      let bin: u32 = (i / parameters.row * parameters.size + number) * WORDS;
#if BINARY
      atomicStore(&bins[bin], LOW_OF_ONE);
#if LONG
      atomicStore(&bins[bin + 1u], HIGH_OF_ONE);
#end
#else
#if LONG
      let weight: vec2u = weight_of(i);
      let low: u32 = atomicAdd(&bins[bin], weight.x);
      let carry: u32 = u32(low + weight.x < low);
      if ((weight.y + carry) != 0u) {
        atomicAdd(&bins[bin + 1u], weight.y + carry);
      }
#else
      atomicAdd(&bins[bin], weight_of(i));
#end
#end
    }
  }
}
#end
