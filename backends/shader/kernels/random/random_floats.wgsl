// Numbers of f32 of the words of a block.

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
