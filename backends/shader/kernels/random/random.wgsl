// Element i of the result is made of word i % 4 of block i / 4 of Philox4x32-10 (core/include/tandem/philox.h). An
// invocation makes whole blocks; `store` and `numbers_of` are put together by random.cc.

// Philox4x32 of a counter and a key.
fn philox(counter: vec4u, key: vec2u) -> vec4u {
  var c: vec4u = counter;
  var k: vec2u = key;
  for (var turn: u32 = 0u; turn < 10u; turn++) {
    let high_a: u32 = multiply_high(0xd2511f53u, c.x);
    let high_b: u32 = multiply_high(0xcd9e8d57u, c.z);
    c = vec4u(high_b ^ c.y ^ k.x, 0xcd9e8d57u * c.z, high_a ^ c.w ^ k.y, 0xd2511f53u * c.x);
    k = vec2u(k.x + 0x9e3779b9u, k.y + 0xbb67ae85u);
  }
  return c;
}

// A number in [1, 2) with a random mantissa, less 1.
fn uniform_of(word: u32) -> f32 {
  return bitcast<f32>(((word << SHIFT) & 0x7fffffu) | 0x3f800000u) - 1.0;
}

fn uniforms_of(words: vec4u) -> vec4f {
  return vec4f(uniform_of(words.x), uniform_of(words.y), uniform_of(words.z), uniform_of(words.w));
}

// Box and Muller: two uniform numbers make two normal ones.
fn normals_of(u: f32, v: f32) -> vec2f {
  let radius: f32 = sqrt(-2.0 * log_of(max(u, 1e-7)));
  // The angle is a number of quarter turns and a rest of at most an eighth of a turn.
  let quarters: f32 = 4.0 * v;
  let turn: i32 = i32(quarters + 0.5);
  let rest: f32 = (quarters - f32(turn)) * 1.57079637;
  return vec2f(radius * sine_in_quadrant(rest, turn), radius * sine_in_quadrant(rest, turn + 1));
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  let mixed: vec4u = philox(seed_words(), vec2u(0x3ec8f720u, 0x02461e29u));
  for (var k: u32 = 0u; k < ROUNDS; k++) {
    let block: u32 = first + k * WORKGROUP;
    // The last block may have fewer elements.
    if (block <= (parameters.size - 1u) / 4u) {
      store(block, numbers_of(philox(vec4u(block, 0u, mixed.z, mixed.w), mixed.xy)));
    }
  }
}
