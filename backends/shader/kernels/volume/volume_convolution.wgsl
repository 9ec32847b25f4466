// Convolutions of volumes and the gradients of them, an element of the result an invocation. Of a volume, pixels lie
// `..._pixel` elements apart and channels `..._channel`.

// Along one dimension: whether tap `tap` of window `output` is on an element, which is `place_of` then.
fn is_inside(output: u32, tap: u32, stride: u32, dilation: u32, pad: u32, input: u32) -> bool {
  let at: u32 = output * stride + tap * dilation;
  return at >= pad && at - pad < input;
}

fn place_of(output: u32, tap: u32, stride: u32, dilation: u32, pad: u32) -> u32 {
  return output * stride + tap * dilation - pad;
}

// The other way round: whether tap `tap` of some window is on element `input`, and of which.
fn has_window(input: u32, tap: u32, stride: u32, dilation: u32, pad: u32, output: u32) -> bool {
  let at: u32 = input + pad;
  let before: u32 = tap * dilation;
  return at >= before && (at - before) % stride == 0u && (at - before) / stride < output;
}

fn window_of(input: u32, tap: u32, stride: u32, dilation: u32, pad: u32) -> u32 {
  return (input + pad - tap * dilation) / stride;
}

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
      if (is_inside(d, tap_depth, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad,
                    parameters.depth_input)) {
        let x_depth: u32 =
            place_of(d, tap_depth, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad);
        for (var r: u32 = 0u; r < parameters.rows_output; r++) {
          if (is_inside(r, tap_row, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad,
                        parameters.rows_input)) {
            let x_row: u32 = x_depth * parameters.rows_input +
                             place_of(r, tap_row, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad);
            let dy_row: u32 = (d * parameters.rows_output + r) * parameters.columns_output;
            // Rows by themselves, so that errors stay small.
            var part: A = A(0);
            for (var c: u32 = 0u; c < parameters.columns_output; c++) {
              if (is_inside(c, tap_column, parameters.columns_stride, parameters.columns_dilation,
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
#else
  let pixels: u32 = output_pixels;
  let channels: u32 = parameters.filters;
#end
#if FIRST
  let own_channel: u32 = (i / pixels) % channels;
  let pixel: u32 = i % pixels;
#else
  let own_channel: u32 = i % channels;
  let pixel: u32 = (i / channels) % pixels;
#end
  let volume: u32 = i / channels / pixels;
  var tap: u32 = 0u;
#if INPUT
  let base: u32 = volume * output_pixels * parameters.filters;
  let column: u32 = pixel % parameters.columns_input;
  let row: u32 = (pixel / parameters.columns_input) % parameters.rows_input;
  let depth: u32 = pixel / parameters.columns_input / parameters.rows_input;
#else
  let base: u32 = volume * input_pixels * parameters.channels;
  let column: u32 = pixel % parameters.columns_output;
  let row: u32 = (pixel / parameters.columns_output) % parameters.rows_output;
  let depth: u32 = pixel / parameters.columns_output / parameters.rows_output;
#end
  for (var d: u32 = 0u; d < parameters.depth_window; d++) {
    for (var r: u32 = 0u; r < parameters.rows_window; r++) {
      for (var c: u32 = 0u; c < parameters.columns_window; c++) {
        var part: A = A(0);
#if INPUT
        if (has_window(depth, d, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad,
                       parameters.depth_output) &&
            has_window(row, r, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad,
                       parameters.rows_output) &&
            has_window(column, c, parameters.columns_stride, parameters.columns_dilation, parameters.columns_pad,
                       parameters.columns_output)) {
          let other: u32 =
              (window_of(depth, d, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad) *
                   parameters.rows_output +
               window_of(row, r, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad)) *
                  parameters.columns_output +
              window_of(column, c, parameters.columns_stride, parameters.columns_dilation, parameters.columns_pad);
          let pixel: u32 = base + other * parameters.y_pixel;
          let weights: u32 = (tap * parameters.channels + own_channel) * parameters.filters;
          for (var f: u32 = 0u; f < parameters.filters; f++) {
            part = part + A(dy[pixel + f * parameters.y_channel]) * A(weight[weights + f]);
          }
        }
#else
        if (is_inside(depth, d, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad,
                      parameters.depth_input) &&
            is_inside(row, r, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad,
                      parameters.rows_input) &&
            is_inside(column, c, parameters.columns_stride, parameters.columns_dilation, parameters.columns_pad,
                      parameters.columns_input)) {
          let other: u32 =
              (place_of(depth, d, parameters.depth_stride, parameters.depth_dilation, parameters.depth_pad) *
                   parameters.rows_input +
               place_of(row, r, parameters.rows_stride, parameters.rows_dilation, parameters.rows_pad)) *
                  parameters.columns_input +
              place_of(column, c, parameters.columns_stride, parameters.columns_dilation, parameters.columns_pad);
          let pixel: u32 = base + other * parameters.x_pixel;
          let weights: u32 = tap * parameters.channels * parameters.filters + own_channel;
          for (var channel: u32 = 0u; channel < parameters.channels; channel++) {
            part = part + A(x[pixel + channel * parameters.x_channel]) * A(weight[weights + channel * parameters.filters]);
          }
        }
#end
        sum = sum + part;
        tap = tap + 1u;
      }
    }
  }
#end
  y[i] = T(sum);
}
