// Each element of the image gets the gradients of the windows that it is the largest of, in their order.
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
      for (var out_col: u32 = first_col; out_col < last_col; out_col++) {
        let at: u32 = window_at(image, out_row, out_col, channel);
        sum = sum + value_if_same(A(grad[at]), places[at], number_in_window(row, col, out_row, out_col));
      }
    }
    y[i] = T(sum);
  }
}
