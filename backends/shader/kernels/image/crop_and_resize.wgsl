// Boxes of images, resized: each invocation computes an element of a crop.

// Where row or column `i` of a crop lies between `first` and `end`, in pixels of an image whose last one is `last`.
fn place_of(i: u32, first: f32, end: f32, last: f32, crop_size: u32) -> f32 {
  if (crop_size > 1u) {
    let step: f32 = rounded(rounded(end - first) * last) / f32(crop_size - 1u);
    return rounded(first * last) + rounded(f32(i) * rounded(step));
  }
  return rounded(rounded(0.5 * rounded(first + end)) * last);
}

// The nearest integer, halves away from 0; x is not negative.
fn nearest_to(x: f32) -> u32 {
  let whole: f32 = floor(x);
  return u32(whole) + u32(x - whole >= 0.5);
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let channel: u32 = i % parameters.channels;
  let pixel: u32 = i / parameters.channels;
  let col: u32 = pixel % parameters.new_width;
  let row: u32 = (pixel / parameters.new_width) % parameters.new_height;
  let box: u32 = pixel / parameters.new_width / parameters.new_height;
  let last_row: f32 = f32(parameters.height - 1u);
  let last_col: f32 = f32(parameters.width - 1u);
  let y_place: f32 = place_of(row, boxes[4u * box], boxes[4u * box + 2u], last_row, parameters.new_height);
  let x_place: f32 = place_of(col, boxes[4u * box + 1u], boxes[4u * box + 3u], last_col, parameters.new_width);
  let image: u32 = numbers[box];
  let is_inside: bool = y_place >= 0.0 && y_place <= last_row && x_place >= 0.0 && x_place <= last_col;
  if (!is_inside || image >= parameters.images) {
    y[i] = parameters.outside;
    return;
  }
#if NEAREST
  let pixel_row: u32 = image * parameters.height + nearest_to(y_place);
  y[i] = load_pixel((pixel_row * parameters.width + nearest_to(x_place)) * parameters.channels + channel);
#else
  y[i] = pixel_between(image, y_place, x_place, channel);
#end
}
