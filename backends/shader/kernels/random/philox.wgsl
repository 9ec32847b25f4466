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
