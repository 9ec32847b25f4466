// The row or column of an image that one of the resized image is a copy of.
fn nearest(i: u32, scale: f32, size: u32) -> u32 {
  let place: f32 = scaled(i, scale);
  let lower: f32 = floor(place);
  return clamped(select(lower, lower + 1.0, place - lower >= parameters.round_at), size);
}
