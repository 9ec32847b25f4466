// Convolutions of volumes and the gradients of them, an element of the result an invocation. Of a volume, pixels lie
// `..._pixel` elements apart and channels `..._channel`. What filters are multiplied by is `other`: the input or, for
// INPUT, the gradient of the output.

// Along one dimension: whether tap `tap` of window `own` is on an element of the input, and on which; for INPUT, whether
// tap `tap` of some window is on element `own`, and of which.
#if INPUT
fn is_joined(own: u32, tap: u32, stride: u32, dilation: u32, pad: u32, size: u32) -> bool {
  let at: u32 = own + pad;
  let before: u32 = tap * dilation;
  return at >= before && (at - before) % stride == 0u && (at - before) / stride < size;
}

fn place_of(own: u32, tap: u32, stride: u32, dilation: u32, pad: u32) -> u32 {
  return (own + pad - tap * dilation) / stride;
}
#else
fn is_joined(own: u32, tap: u32, stride: u32, dilation: u32, pad: u32, size: u32) -> bool {
  let at: u32 = own * stride + tap * dilation;
  return at >= pad && at - pad < size;
}

fn place_of(own: u32, tap: u32, stride: u32, dilation: u32, pad: u32) -> u32 {
  return own * stride + tap * dilation - pad;
}
#end

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let input_pixels: u32 = parameters.depth_input * parameters.rows_input * parameters.columns_input;
  let output_pixels: u32 = parameters.depth_output * parameters.rows_output * parameters.columns_output;
  var sum: A = A(0);
#if FILTER
  let filter_number: u32 = i % parameters.filters;
  let channel: u32 = (i / parameters.filters) % parameters.channels;
  let tap: u32 = i / parameters.filters / parameters.channels;
  let tap_column: u32 = tap % parameters.columns_window;
  let tap_row: u32 = (tap / parameters.columns_window) % parameters.rows_window;
  let tap_depth: u32 = tap / parameters.columns_window / parameters.rows_window;
  for (var volume: u32 = 0u; volume < parameters.batch; volume++) {
    let x_base: u32 = volume * input_pixels * parameters.channels + channel * parameters.x_channel;
    let dy_base: u32 = volume * output_pixels * parameters.filters + filter_number * parameters.y_channel;
    for (var d: u32 = 0u; d < parameters.depth_output; d++) {
      if (is_joined(d, tap_depth, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad,
                    parameters.depth_input)) {
        let x_depth: u32 =
            place_of(d, tap_depth, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad);
        for (var r: u32 = 0u; r < parameters.rows_output; r++) {
          if (is_joined(r, tap_row, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad,
                        parameters.rows_input)) {
            let x_row: u32 = x_depth * parameters.rows_input +
                             place_of(r, tap_row, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad);
            let dy_row: u32 = (d * parameters.rows_output + r) * parameters.columns_output;
            // Rows by themselves, so that errors stay small.
            var part: A = A(0);
            for (var c: u32 = 0u; c < parameters.columns_output; c++) {
              if (is_joined(c, tap_column, parameters.columns_stride, parameters.columns_dilation,
                            parameters.columns_pad, parameters.columns_input)) {
                let x_pixel: u32 = x_row * parameters.columns_input +
                                   place_of(c, tap_column, parameters.columns_stride, parameters.columns_dilation,
                                            parameters.columns_pad);
                part = part + A(x[x_base + x_pixel * parameters.x_pixel]) *
                              A(dy[dy_base + (dy_row + c) * parameters.y_pixel]);
              }
            }
            sum = sum + part;
          }
        }
      }
    }
  }
#else
#if INPUT
  let pixels: u32 = input_pixels;
  let channels: u32 = parameters.channels;
  let rows: u32 = parameters.rows_input;
  let columns: u32 = parameters.columns_input;
  let other_pixels: u32 = output_pixels;
  let other_channels: u32 = parameters.filters;
  let other_depth: u32 = parameters.depth_output;
  let other_rows: u32 = parameters.rows_output;
  let other_columns: u32 = parameters.columns_output;
  let pixel_step: u32 = parameters.y_pixel;
  let channel_step: u32 = parameters.y_channel;
#else
  let pixels: u32 = output_pixels;
  let channels: u32 = parameters.filters;
  let rows: u32 = parameters.rows_output;
  let columns: u32 = parameters.columns_output;
  let other_pixels: u32 = input_pixels;
  let other_channels: u32 = parameters.channels;
  let other_depth: u32 = parameters.depth_input;
  let other_rows: u32 = parameters.rows_input;
  let other_columns: u32 = parameters.columns_input;
  let pixel_step: u32 = parameters.x_pixel;
  let channel_step: u32 = parameters.x_channel;
#end
#if FIRST
  let channel: u32 = (i / pixels) % channels;
  let pixel: u32 = i % pixels;
#else
  let channel: u32 = i % channels;
  let pixel: u32 = (i / channels) % pixels;
#end
#if INPUT
  let weight_first: u32 = channel * parameters.filters;
  let weight_step: u32 = 1u;
#else
  let weight_first: u32 = channel;
  let weight_step: u32 = parameters.filters;
#end
  let volume: u32 = i / channels / pixels;
  let base: u32 = volume * other_pixels * other_channels;
  let column: u32 = pixel % columns;
  let row: u32 = (pixel / columns) % rows;
  let depth: u32 = pixel / columns / rows;
  var tap: u32 = 0u;
  for (var d: u32 = 0u; d < parameters.depth_window; d++) {
    for (var r: u32 = 0u; r < parameters.rows_window; r++) {
      for (var c: u32 = 0u; c < parameters.columns_window; c++) {
        var part: A = A(0);
        if (is_joined(depth, d, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad, other_depth) &&
            is_joined(row, r, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad, other_rows) &&
            is_joined(column, c, parameters.columns_stride, parameters.columns_dilation, parameters.columns_pad,
                      other_columns)) {
          let place: u32 =
              (place_of(depth, d, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad) * other_rows +
               place_of(row, r, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad)) * other_columns +
              place_of(column, c, parameters.columns_stride, parameters.columns_dilation, parameters.columns_pad);
          let first: u32 = base + place * pixel_step;
          let weights: u32 = tap * parameters.channels * parameters.filters + weight_first;
          for (var k: u32 = 0u; k < other_channels; k++) {
            part = part + A(other[first + k * channel_step]) * A(weight[weights + k * weight_step]);
          }
        }
        sum = sum + part;
        tap = tap + 1u;
      }
    }
  }
#end
  y[i] = T(sum);
}
