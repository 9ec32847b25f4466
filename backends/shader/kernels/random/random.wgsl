// Element i of the result is made of word i % 4 of block i / 4 of Philox4x32-10 (core/include/tandem/philox.h), or, if it
// has 8 bytes, of two words. An invocation makes whole blocks, each of which `draw` stores the PER_BLOCK elements of;
// this is put together by random.cc.

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  let mixed: vec4u = philox(seed_words(), vec2u(0x3ec8f720u, 0x02461e29u));
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let block: u32 = first + k * WORKGROUP;
    // The last block may have fewer elements.
    if (block <= (parameters.size - 1u) / PER_BLOCK) {
      draw(block, philox(vec4u(block, 0u, mixed.z, mixed.w), mixed.xy));
    }
  }
}
