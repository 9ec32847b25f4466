// Each element of the image adds up what the pixels of the resized image that come from it give, in their order: of the
// nearest pixel its copies, else what the pixels were computed from it with.
#if BILINEAR
// The pixel before a place of the resized image, which it was computed from and the one behind it.
fn source_of(i: u32, scale: f32, size: u32) -> u32 {
  return clamped(floor(scaled(i, scale) - parameters.shift), size);
}

// How much of row or column `place` is in one of the resized image.
fn share_of(place: u32, i: u32, scale: f32, size: u32) -> f32 {
  let at: f32 = scaled(i, scale) - parameters.shift;
  let lerp: f32 = at - floor(at);
  return select(0.0, 1.0 - lerp, clamped(floor(at), size) == place) +
         select(0.0, lerp, clamped(ceil(at), size) == place);
}

fn first_source(place: u32) -> u32 {
  return max(place, 1u) - 1u;
}
#else
fn source_of(i: u32, scale: f32, size: u32) -> u32 {
  return nearest(i, scale, size);
}

fn first_source(place: u32) -> u32 {
  return place;
}
#end

// The first of `count` rows or columns of the resized image whose source is `place` or one behind it.
fn first_from(place: u32, count: u32, scale: f32, size: u32) -> u32 {
  var low: u32 = 0u;
  var high: u32 = count;
  while (low < high) {
    let middle: u32 = (low + high) / 2u;
    if (source_of(middle, scale, size) < place) {
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
    let first_row: u32 = first_from(first_source(row), parameters.new_height, parameters.height_scale, parameters.height);
    let last_row: u32 = first_from(row + 1u, parameters.new_height, parameters.height_scale, parameters.height);
    let first_col: u32 = first_from(first_source(col), parameters.new_width, parameters.width_scale, parameters.width);
    let last_col: u32 = first_from(col + 1u, parameters.new_width, parameters.width_scale, parameters.width);
    var sum: S = S(0);
    for (var y_row: u32 = first_row; y_row < last_row; y_row++) {
#if BILINEAR
      let share: f32 = share_of(row, y_row, parameters.height_scale, parameters.height);
#end
      let line: u32 = (image * parameters.new_height + y_row) * parameters.new_width;
      for (var y_col: u32 = first_col; y_col < last_col; y_col++) {
        let gradient: S = S(grads[(line + y_col) * parameters.channels + channel]);
#if BILINEAR
        sum += share * share_of(col, y_col, parameters.width_scale, parameters.width) * gradient;
#else
        sum += gradient;
#end
      }
    }
    y[i] = T(sum);
  }
}
