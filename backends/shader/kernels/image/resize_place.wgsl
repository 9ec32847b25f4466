// Where a row or a column of a resized image lies in the image, in f32, rounded after each step: every device is to
// come to the same pixels. The combination with parameters.zero, which no compiler knows to be 0, keeps steps apart.
fn scaled(i: u32, scale: f32) -> f32 {
  return rounded((f32(i) + parameters.shift) * scale);
}

fn rounded(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ parameters.zero);
}

fn clamped(place: f32, size: u32) -> u32 {
  return min(u32(max(place, 0.0)), size - 1u);
}
