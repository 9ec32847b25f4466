// For each window the number, row by row, of its first element that is its largest, or NOWHERE.
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
    let largest: B = bits_of(A(pooled[i]));
    var place: PLACE = PLACE(NOWHERE);
    for (var row: u32 = first_row; row < last_row; row++) {
      var at: u32 = element_at(image, row, first_col, channel);
      var number: u32 = number_in_window(row, first_col, out_row, out_col);
      for (var col: u32 = first_col; col < last_col; col++) {
        place = min(place, number_if_same(bits_of(A(x[at])), largest, number));
        at += parameters.channels;
        number += 1u;
      }
    }
    y[i] = place;
  }
}
