fn lerp(a: f32, b: f32, t: f32) -> f32 {
  return a + rounded((b - a) * t);
}

// A channel of an image at a place between its pixels. `load_pixel` is written by resize.cc for the dtype.
fn pixel_between(image: u32, row: f32, col: f32, channel: u32) -> f32 {
  let top: u32 = (image * parameters.height + clamped(floor(row), parameters.height)) * parameters.width;
  let bottom: u32 = (image * parameters.height + clamped(ceil(row), parameters.height)) * parameters.width;
  let left: u32 = clamped(floor(col), parameters.width);
  let right: u32 = clamped(ceil(col), parameters.width);
  let x: f32 = col - floor(col);
  let above: f32 = lerp(load_pixel((top + left) * parameters.channels + channel),
                        load_pixel((top + right) * parameters.channels + channel), x);
  let below: f32 = lerp(load_pixel((bottom + left) * parameters.channels + channel),
                        load_pixel((bottom + right) * parameters.channels + channel), x);
  return lerp(above, below, row - floor(row));
}
