// One element of the result, or four neighbouring channels. NaN is kept by its bits, since `max` may lose it.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let channel: u32 = i % parameters.channels;
    let pixel: u32 = i / parameters.channels;
    let out_col: u32 = pixel % parameters.out_cols;
    let out_row: u32 = (pixel / parameters.out_cols) % parameters.out_rows;
    let image: u32 = pixel / parameters.out_cols / parameters.out_rows;
    let col_begin: u32 = window_begin(out_col, parameters.col_stride, parameters.col_pad);
    let col_end: u32 = window_end(out_col, parameters.col_stride, parameters.col_pad, parameters.window_cols, parameters.cols);
    let row_begin: u32 = window_begin(out_row, parameters.row_stride, parameters.row_pad);
    let row_end: u32 = window_end(out_row, parameters.row_stride, parameters.row_pad, parameters.window_rows, parameters.rows);
    let place: u32 = ((image * parameters.rows + row_begin) * parameters.cols + col_begin) * parameters.channels + channel;
    var largest: A = A(x[place]);
    var nan: B = B(0u);
    for (var row: u32 = row_begin; row < row_end; row++) {
      var at: u32 = ((image * parameters.rows + row) * parameters.cols + col_begin) * parameters.channels + channel;
      for (var col: u32 = col_begin; col < col_end; col++) {
        let value: A = A(x[at]);
        largest = max(largest, value);
        nan = max(nan, magnitude_bits(value));
        at += parameters.channels;
      }
    }
    y[i] = T(or_nan(largest, nan));
  }
}
