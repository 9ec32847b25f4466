// Each element of the image gets its part of the gradients of its windows, in their order.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let channel: u32 = i % parameters.channels;
    let pixel: u32 = i / parameters.channels;
    let col: u32 = pixel % parameters.cols;
    let row: u32 = (pixel / parameters.cols) % parameters.rows;
    let image: u32 = pixel / parameters.cols / parameters.rows;
    let first_col: u32 = first_window_col(col);
    let last_col: u32 = last_window_col(col);
    let last_row: u32 = last_window_row(row);
    var sum: A = A(0);
    for (var out_row: u32 = first_window_row(row); out_row < last_row; out_row++) {
      let rows: u32 = row_end(out_row) - row_begin(out_row);
      for (var out_col: u32 = first_col; out_col < last_col; out_col++) {
        let size: u32 = rows * (col_end(out_col) - col_begin(out_col));
        sum = sum + A(grad[window_at(image, out_row, out_col, channel)]) / f32(size);
      }
    }
    y[i] = T(sum);
  }
}
