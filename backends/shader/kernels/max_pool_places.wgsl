// For each window the number, row by row, of its first element that is its largest, or NOWHERE.
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
    let largest: B = bits_of(A(pooled[i]));
    var place: B = B(NOWHERE);
    for (var row: u32 = row_begin; row < row_end; row++) {
      var at: u32 = ((image * parameters.rows + row) * parameters.cols + col_begin) * parameters.channels + channel;
      var number: u32 = (row + parameters.row_pad - out_row * parameters.row_stride) * parameters.window_cols
          + col_begin + parameters.col_pad - out_col * parameters.col_stride;
      for (var col: u32 = col_begin; col < col_end; col++) {
        place = min(place, number_if_same(bits_of(A(x[at])), largest, number));
        at += parameters.channels;
        number += 1u;
      }
    }
    y[i] = place;
  }
}
