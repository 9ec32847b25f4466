fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let channel: u32 = i % parameters.channels;
    let pixel: u32 = i / parameters.channels;
    let col: f32 = scaled(pixel % parameters.new_width, parameters.width_scale) - parameters.shift;
    let new_row: u32 = (pixel / parameters.new_width) % parameters.new_height;
    let row: f32 = scaled(new_row, parameters.height_scale) - parameters.shift;
    let image: u32 = pixel / parameters.new_width / parameters.new_height;
    y[i] = pixel_between(image, row, col, channel);
  }
}
