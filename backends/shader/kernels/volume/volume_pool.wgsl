// Pooling of volumes and the gradients of it, an element of the result an invocation. Windows leave out what is in the
// padding; they have no dilation.

// Along one dimension: the elements that window `output` sees.
fn seen_begin(output: u32, stride: u32, pad: u32) -> u32 {
  return max(output * stride, pad) - pad;
}

fn seen_end(output: u32, stride: u32, pad: u32, window: u32, input: u32) -> u32 {
  return min(max(output * stride + window, pad) - pad, input);
}

// The windows that see element `input`.
fn seeing_begin(input: u32, stride: u32, pad: u32, window: u32) -> u32 {
  return select((max(input + pad, window) - window) / stride + 1u, 0u, input + pad < window);
}

fn seeing_end(input: u32, stride: u32, pad: u32, output: u32) -> u32 {
  return min((input + pad) / stride + 1u, output);
}

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let channel: u32 = i % parameters.channels;
  let pixel: u32 = i / parameters.channels;
#if GRADIENT
  let column: u32 = pixel % parameters.columns_input;
  let row: u32 = (pixel / parameters.columns_input) % parameters.rows_input;
  let slice: u32 = pixel / parameters.columns_input / parameters.rows_input;
  let depth: u32 = slice % parameters.depth_input;
  let volume: u32 = slice / parameters.depth_input * parameters.depth_output;
  let row_begin: u32 = seeing_begin(row, parameters.rows_stride, parameters.rows_pad, parameters.rows_window);
  let row_end: u32 = seeing_end(row, parameters.rows_stride, parameters.rows_pad, parameters.rows_output);
  let column_begin: u32 =
      seeing_begin(column, parameters.columns_stride, parameters.columns_pad, parameters.columns_window);
  let column_end: u32 = seeing_end(column, parameters.columns_stride, parameters.columns_pad, parameters.columns_output);
  let depth_end: u32 = seeing_end(depth, parameters.depth_stride, parameters.depth_pad, parameters.depth_output);
  var sum: A = A(0);
  for (var d: u32 = seeing_begin(depth, parameters.depth_stride, parameters.depth_pad, parameters.depth_window);
       d < depth_end; d++) {
    for (var r: u32 = row_begin; r < row_end; r++) {
      for (var c: u32 = column_begin; c < column_end; c++) {
        let at: u32 = (((volume + d) * parameters.rows_output + r) * parameters.columns_output + c) * parameters.channels +
                      channel;
#if MAXIMUM
        if (places[at] == i) {
          sum = sum + A(grad[at]);
        }
#else
        let depths: u32 = seen_end(d, parameters.depth_stride, parameters.depth_pad, parameters.depth_window,
                                   parameters.depth_input) -
                          seen_begin(d, parameters.depth_stride, parameters.depth_pad);
        let rows: u32 = seen_end(r, parameters.rows_stride, parameters.rows_pad, parameters.rows_window,
                                 parameters.rows_input) -
                        seen_begin(r, parameters.rows_stride, parameters.rows_pad);
        let columns: u32 = seen_end(c, parameters.columns_stride, parameters.columns_pad, parameters.columns_window,
                                    parameters.columns_input) -
                           seen_begin(c, parameters.columns_stride, parameters.columns_pad);
        sum = sum + A(grad[at]) / A(depths * rows * columns);
#end
      }
    }
  }
  y[i] = T(sum);
#else
  let column: u32 = pixel % parameters.columns_output;
  let row: u32 = (pixel / parameters.columns_output) % parameters.rows_output;
  let slice: u32 = pixel / parameters.columns_output / parameters.rows_output;
  let depth: u32 = slice % parameters.depth_output;
  let volume: u32 = slice / parameters.depth_output * parameters.depth_input;
  let depth_begin: u32 = seen_begin(depth, parameters.depth_stride, parameters.depth_pad);
  let depth_end: u32 =
      seen_end(depth, parameters.depth_stride, parameters.depth_pad, parameters.depth_window, parameters.depth_input);
  let row_begin: u32 = seen_begin(row, parameters.rows_stride, parameters.rows_pad);
  let row_end: u32 =
      seen_end(row, parameters.rows_stride, parameters.rows_pad, parameters.rows_window, parameters.rows_input);
  let column_begin: u32 = seen_begin(column, parameters.columns_stride, parameters.columns_pad);
  let column_end: u32 = seen_end(column, parameters.columns_stride, parameters.columns_pad, parameters.columns_window,
                                 parameters.columns_input);
  let first: u32 = (((volume + depth_begin) * parameters.rows_input + row_begin) * parameters.columns_input +
                    column_begin) * parameters.channels + channel;
#if MAXIMUM
  var largest: A = A(x[first]);
  var place: u32 = first;
#else
  var sum: A = A(0);
#end
  for (var d: u32 = depth_begin; d < depth_end; d++) {
    for (var r: u32 = row_begin; r < row_end; r++) {
      for (var c: u32 = column_begin; c < column_end; c++) {
        let at: u32 = (((volume + d) * parameters.rows_input + r) * parameters.columns_input + c) * parameters.channels +
                      channel;
        let value: A = A(x[at]);
#if MAXIMUM
        // NaN wins, and the first one stays.
        if (!is_nan(largest) && (value > largest || is_nan(value))) {
          largest = value;
          place = at;
        }
#else
        sum = sum + value;
#end
      }
    }
  }
#if PLACES
  y[i] = place;
#else
#if MAXIMUM
  y[i] = T(largest);
#else
  y[i] = T(sum / A((depth_end - depth_begin) * (row_end - row_begin) * (column_end - column_begin)));
#end
#end
#end
}
