// Each element of the image gets the gradients of the windows that it is the largest of, in their order.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let channel: u32 = i % parameters.channels;
    let pixel: u32 = i / parameters.channels;
    let col: u32 = pixel % parameters.cols;
    let row: u32 = (pixel / parameters.cols) % parameters.rows;
    let image: u32 = pixel / parameters.cols / parameters.rows;
    let col_first: u32 = first_window(col, parameters.col_stride, parameters.col_pad, parameters.window_cols);
    let col_last: u32 = last_window(col, parameters.col_stride, parameters.col_pad, parameters.out_cols);
    let row_first: u32 = first_window(row, parameters.row_stride, parameters.row_pad, parameters.window_rows);
    let row_last: u32 = last_window(row, parameters.row_stride, parameters.row_pad, parameters.out_rows);
    var sum: A = A(0);
    for (var out_row: u32 = row_first; out_row < row_last; out_row++) {
      let row_in_window: u32 = row + parameters.row_pad - out_row * parameters.row_stride;
      for (var out_col: u32 = col_first; out_col < col_last; out_col++) {
        let number: u32 = row_in_window * parameters.window_cols + col + parameters.col_pad - out_col * parameters.col_stride;
        let at: u32 = ((image * parameters.out_rows + out_row) * parameters.out_cols + out_col) * parameters.channels + channel;
        sum = sum + value_if_same(A(grad[at]), places[at], number);
      }
    }
    y[i] = T(sum);
  }
}
