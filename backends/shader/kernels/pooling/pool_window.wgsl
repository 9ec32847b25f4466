// Where windows lie on images. A window has the rows [row_begin, row_end) and columns [col_begin, col_end); an element
// is in the windows [first_window_row, last_window_row) x [first_window_col, last_window_col).
fn window_begin(o: u32, stride: u32, pad: u32) -> u32 {
  return select(o * stride - pad, 0u, o * stride < pad);
}

fn first_window(i: u32, stride: u32, pad: u32, window: u32) -> u32 {
  return select((i + pad - window) / stride + 1u, 0u, i + pad < window);
}

fn row_begin(out_row: u32) -> u32 {
  return window_begin(out_row, parameters.row_stride, parameters.row_pad);
}

fn row_end(out_row: u32) -> u32 {
  return min(out_row * parameters.row_stride + parameters.window_rows - parameters.row_pad, parameters.rows);
}

fn col_begin(out_col: u32) -> u32 {
  return window_begin(out_col, parameters.col_stride, parameters.col_pad);
}

fn col_end(out_col: u32) -> u32 {
  return min(out_col * parameters.col_stride + parameters.window_cols - parameters.col_pad, parameters.cols);
}

fn first_window_row(row: u32) -> u32 {
  return first_window(row, parameters.row_stride, parameters.row_pad, parameters.window_rows);
}

fn last_window_row(row: u32) -> u32 {
  return min((row + parameters.row_pad) / parameters.row_stride + 1u, parameters.out_rows);
}

fn first_window_col(col: u32) -> u32 {
  return first_window(col, parameters.col_stride, parameters.col_pad, parameters.window_cols);
}

fn last_window_col(col: u32) -> u32 {
  return min((col + parameters.col_pad) / parameters.col_stride + 1u, parameters.out_cols);
}

// The number of an element in a window, row by row, padding included.
fn number_in_window(row: u32, col: u32, out_row: u32, out_col: u32) -> u32 {
  let window_row: u32 = row + parameters.row_pad - out_row * parameters.row_stride;
  return window_row * parameters.window_cols + col + parameters.col_pad - out_col * parameters.col_stride;
}

// Where an element, or the result of a window, is in its buffer.
fn element_at(image: u32, row: u32, col: u32, channel: u32) -> u32 {
  return ((image * parameters.rows + row) * parameters.cols + col) * parameters.channels + channel;
}

fn window_at(image: u32, out_row: u32, out_col: u32, channel: u32) -> u32 {
  return ((image * parameters.out_rows + out_row) * parameters.out_cols + out_col) * parameters.channels + channel;
}
