// The two numbers of f64 of the words of a block.

// A number in [1, 2) with a random mantissa, less 1.
fn uniform_of(high: u32, low: u32) -> f64 {
  return bitcast<f64>(vec2u(low, (high & 0xfffffu) | 0x3ff00000u)) - 1.0lf;
}

fn uniforms_of(words: vec4u) -> vec2<f64> {
  return vec2<f64>(uniform_of(words.x, words.y), uniform_of(words.z, words.w));
}

// The sine of a number of quarter turns and a rest.
fn turned_sine(rest: f64, turn: i32) -> f64 {
  let sine: f64 = select(sin(rest), cos(rest), (turn & 1) == 1);
  return select(sine, -sine, (turn & 2) == 2);
}

// Box and Muller: two uniform numbers make two normal ones.
fn normals_of(u: f64, v: f64) -> vec2<f64> {
  let radius: f64 = sqrt(-2.0lf * log(max(u, 1e-7lf)));
  let quarters: f64 = 4.0lf * v;
  let turn: i32 = i32(quarters + 0.5lf);
  let rest: f64 = (quarters - f64(turn)) * 1.57079632679489661923lf;
  return vec2<f64>(radius * turned_sine(rest, turn), radius * turned_sine(rest, turn + 1));
}
