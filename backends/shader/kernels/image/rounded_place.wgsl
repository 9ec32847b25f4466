// Places in images are computed in f32 and rounded after each step: every device is to come to the same pixels. The
// combination with parameters.zero, which no compiler knows to be 0, keeps steps apart.
fn rounded(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ parameters.zero);
}

fn clamped(place: f32, size: u32) -> u32 {
  return min(u32(max(place, 0.0)), size - 1u);
}
