// Images transformed by a projection of the plane: each invocation computes an element of the result.

// `place` may lie beyond `size` pixels in rows or columns; it is among them then, but for constant filling.
fn mapped(place: f32, size: u32) -> f32 {
#if CONSTANT
  return place;
#else
  let last: f32 = f32(size - 1u);
#if MOVES
  if (place < 0.0 || place > last) {
    // What is not finite is not below every number.
    if (size <= 1u || !(abs(place) < 3.4e38)) {
      return 0.0;
    }
    let pixels: f32 = f32(size);
#if REFLECT
    let period: f32 = 2.0 * pixels;
    if (place < 0.0) {
      let rest: f32 = place + rounded(trunc(-place / period) * period);
      return clamp(select(-rest - 1.0, rest + period, rest < -pixels), 0.0, last);
    }
    let rest: f32 = place - rounded(trunc(place / period) * period);
    return clamp(select(rest, period - rest - 1.0, rest >= pixels), 0.0, last);
#else
    if (place < 0.0) {
      return clamp(place + rounded(rounded(trunc(-place / last) * pixels) + pixels), 0.0, last);
    }
    return clamp(place - rounded(trunc(place / last) * pixels), 0.0, last);
#end
  }
#end
  return clamp(place, 0.0, last);
#end
}

// Whether there is a pixel at the whole numbers x and y.
fn is_pixel(x: f32, y: f32) -> bool {
  return y >= 0.0 && y < f32(parameters.height) && x >= 0.0 && x < f32(parameters.width);
}

fn place_of(image: u32, x: f32, y: f32, channel: u32) -> u32 {
  return ((image * parameters.height + u32(y)) * parameters.width + u32(x)) * parameters.channels + channel;
}

#if NEAREST
// The nearest integer, halves away from 0.
fn nearest_to(x: f32) -> f32 {
  let whole: f32 = trunc(x);
  return select(whole, whole + select(1.0, -1.0, x < 0.0), abs(x - whole) >= 0.5);
}
#else
fn pixel_at(image: u32, x: f32, y: f32, channel: u32, filling: f32) -> f32 {
  if (is_pixel(x, y)) {
    return f32(A(x_data[place_of(image, x, y, channel)]));
  }
  return filling;
}
#end

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let channel: u32 = i % parameters.channels;
  let pixel: u32 = i / parameters.channels;
  let column: f32 = f32(pixel % parameters.new_width);
  let row: f32 = f32((pixel / parameters.new_width) % parameters.new_height);
  let image: u32 = pixel / parameters.new_width / parameters.new_height;
  let t: u32 = image * parameters.transform_step;
  let divisor: f32 =
      rounded(rounded(transforms[t + 6u] * column) + rounded(transforms[t + 7u] * row)) + 1.0;
  let x_sum: f32 = rounded(rounded(transforms[t] * column) + rounded(transforms[t + 1u] * row));
  let y_sum: f32 = rounded(rounded(transforms[t + 3u] * column) + rounded(transforms[t + 4u] * row));
  let projected_x: f32 = rounded(x_sum + transforms[t + 2u]) / divisor;
  let projected_y: f32 = rounded(y_sum + transforms[t + 5u]) / divisor;
  if (divisor == 0.0 || is_nan(projected_x) || is_nan(projected_y)) {
    y_data[i] = T(converted(fill[0]));
    return;
  }
  let x: f32 = mapped(projected_x, parameters.width);
  let y: f32 = mapped(projected_y, parameters.height);
#if NEAREST
  let near_x: f32 = nearest_to(x);
  let near_y: f32 = nearest_to(y);
  if (is_pixel(near_x, near_y)) {
    y_data[i] = x_data[place_of(image, near_x, near_y, channel)];
  } else {
    y_data[i] = T(converted(fill[0]));
  }
#else
  let filling: f32 = fill[0];
  let left: f32 = floor(x);
  let top: f32 = floor(y);
  let upper: f32 = rounded((left + 1.0 - x) * pixel_at(image, left, top, channel, filling)) +
                   rounded((x - left) * pixel_at(image, left + 1.0, top, channel, filling));
  let lower: f32 = rounded((left + 1.0 - x) * pixel_at(image, left, top + 1.0, channel, filling)) +
                   rounded((x - left) * pixel_at(image, left + 1.0, top + 1.0, channel, filling));
  y_data[i] = T(converted(rounded((top + 1.0 - y) * upper) + rounded((y - top) * lower)));
#end
}
