// What kernels of products have in common: four products added to sums, and the way of a result's four neighbours out.

#if FLOAT
fn multiply_add(x: A4, y0: A4, y1: A4, y2: A4, y3: A4, sum: A4) -> A4 {
  return fma(A4(x[3]), y3, fma(A4(x[2]), y2, fma(A4(x[1]), y1, fma(A4(x[0]), y0, sum))));
}
#else
fn multiply_add(x: A4, y0: A4, y1: A4, y2: A4, y3: A4, sum: A4) -> A4 {
  return sum + A4(x[0]) * y0 + A4(x[1]) * y1 + A4(x[2]) * y2 + A4(x[3]) * y3;
}
#end

// The columns from `col`, which may be beyond the last, of the row that begins at `at`.
fn store(at: u32, col: u32, sums: A4) {
  let values: A4 = finish(sums, col);
#if C_QUADS
  if (col < parameters.cols) { c[(at + col) / 4u] = T4(values); }
#else
#for n 4
  if (col + ${n}u < parameters.cols) { c[at + (col + ${n}u) * parameters.c_col] = T(values[${n}]); }
#end
#end
}
