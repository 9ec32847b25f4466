// The way of four neighbours of a result out of a kernel of products.

// The columns from `col`, which may be beyond the last, of the row that begins at `at`. The epilogue knows the first of
// them by the number `column`.
fn store(at: u32, col: u32, column: u32, sums: A4) {
#if ADDED
#if C_QUADS
  if (col >= parameters.cols) { return; }
  let more: A4 = A4(added[(at + col) / 4u]);
#else
  var more: A4 = A4(0.0, 0.0, 0.0, 0.0);
#for n 4
  if (col + ${n}u < parameters.cols) { more[${n}] = A(added[at + (col + ${n}u) * parameters.c_col]); }
#end
#end
  let values: A4 = finish(sums, column, more);
#else
  let values: A4 = finish(sums, column);
#end
#if C_QUADS
  if (col < parameters.cols) { c[(at + col) / 4u] = T4(values); }
#else
#for n 4
  if (col + ${n}u < parameters.cols) { c[at + (col + ${n}u) * parameters.c_col] = T(values[${n}]); }
#end
#end
}
