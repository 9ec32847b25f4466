// `load_pixel` is written by resize.cc for the dtype.
fn lerp(a: f32, b: f32, t: f32) -> f32 {
  return a + rounded((b - a) * t);
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let channel: u32 = i % parameters.channels;
    let pixel: u32 = i / parameters.channels;
    let col: f32 = scaled(pixel % parameters.new_width, parameters.width_scale) - parameters.shift;
    let new_row: u32 = (pixel / parameters.new_width) % parameters.new_height;
    let row: f32 = scaled(new_row, parameters.height_scale) - parameters.shift;
    let image: u32 = pixel / parameters.new_width / parameters.new_height;
    let top: u32 = (image * parameters.height + clamped(floor(row), parameters.height)) * parameters.width;
    let bottom: u32 = (image * parameters.height + clamped(ceil(row), parameters.height)) * parameters.width;
    let left: u32 = clamped(floor(col), parameters.width);
    let right: u32 = clamped(ceil(col), parameters.width);
    let x: f32 = col - floor(col);
    let above: f32 = lerp(load_pixel((top + left) * parameters.channels + channel),
                          load_pixel((top + right) * parameters.channels + channel), x);
    let below: f32 = lerp(load_pixel((bottom + left) * parameters.channels + channel),
                          load_pixel((bottom + right) * parameters.channels + channel), x);
    y[i] = lerp(above, below, row - floor(row));
  }
}
