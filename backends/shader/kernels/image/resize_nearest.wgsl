fn element(i: u32) -> E {
  let channel: u32 = i % parameters.channels;
  let pixel: u32 = i / parameters.channels;
  let col: u32 = nearest(pixel % parameters.new_width, parameters.width_scale, parameters.width);
  let new_row: u32 = (pixel / parameters.new_width) % parameters.new_height;
  let row: u32 = nearest(new_row, parameters.height_scale, parameters.height);
  let image: u32 = pixel / parameters.new_width / parameters.new_height;
  return load_x(((image * parameters.height + row) * parameters.width + col) * parameters.channels + channel);
}
