// Where a row or a column of a resized image lies in the image.
fn scaled(i: u32, scale: f32) -> f32 {
  return rounded((f32(i) + parameters.shift) * scale);
}
