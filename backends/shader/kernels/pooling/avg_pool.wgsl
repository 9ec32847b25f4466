// One element of the result, or four neighbouring channels.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let channel: u32 = i % parameters.channels;
    let pixel: u32 = i / parameters.channels;
    let out_col: u32 = pixel % parameters.out_cols;
    let out_row: u32 = (pixel / parameters.out_cols) % parameters.out_rows;
    let image: u32 = pixel / parameters.out_cols / parameters.out_rows;
    let first_col: u32 = col_begin(out_col);
    let last_col: u32 = col_end(out_col);
    let first_row: u32 = row_begin(out_row);
    let last_row: u32 = row_end(out_row);
    var sum: A = A(0);
    for (var row: u32 = first_row; row < last_row; row++) {
      var at: u32 = element_at(image, row, first_col, channel);
      for (var col: u32 = first_col; col < last_col; col++) {
        sum = sum + A(x[at]);
        at += parameters.channels;
      }
    }
    y[i] = T(sum / f32((last_row - first_row) * (last_col - first_col)));
  }
}
