// Each element of the image adds up the pixels of the resized image that are copies of it, in their order.

// The first of `count` rows or columns of the resized image that are copies of `place` or one behind it.
fn first_from(place: u32, count: u32, scale: f32, size: u32) -> u32 {
  var low: u32 = 0u;
  var high: u32 = count;
  while (low < high) {
    let middle: u32 = (low + high) / 2u;
    if (nearest(middle, scale, size) < place) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let channel: u32 = i % parameters.channels;
    let pixel: u32 = i / parameters.channels;
    let col: u32 = pixel % parameters.width;
    let row: u32 = (pixel / parameters.width) % parameters.height;
    let image: u32 = pixel / parameters.width / parameters.height;
    let first_row: u32 = first_from(row, parameters.new_height, parameters.height_scale, parameters.height);
    let last_row: u32 = first_from(row + 1u, parameters.new_height, parameters.height_scale, parameters.height);
    let first_col: u32 = first_from(col, parameters.new_width, parameters.width_scale, parameters.width);
    let last_col: u32 = first_from(col + 1u, parameters.new_width, parameters.width_scale, parameters.width);
    var sum: A = A(0);
    for (var y_row: u32 = first_row; y_row < last_row; y_row++) {
      let line: u32 = (image * parameters.new_height + y_row) * parameters.new_width;
      for (var y_col: u32 = first_col; y_col < last_col; y_col++) {
        sum += A(grads[(line + y_col) * parameters.channels + channel]);
      }
    }
    y[i] = T(sum);
  }
}
