// Bands and diagonals of matrices: each invocation writes one element of the result.

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (i >= parameters.elements) { return; }
#if DIAGONAL_OF
  let diagonal: u32 = min(parameters.rows, parameters.cols);
  y[i] = x[i / diagonal * parameters.rows * parameters.cols + i % diagonal * (parameters.cols + 1u)];
#else
  let col: i32 = i32(i % parameters.cols);
  let row: i32 = i32(i / parameters.cols % parameters.rows);
#if BAND
  y[i] = select(T(0), x[i], row - col <= parameters.lower && col - row <= parameters.upper);
#else
  y[i] = select(T(0), x[i / parameters.cols], row == col);
#end
#end
}
