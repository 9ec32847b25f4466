// The epilogue of products that somebody else has computed, in place: four neighbours of a row for each invocation.

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let quad: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (quad >= parameters.size) { return; }
  let row: u32 = quad / parameters.row_quads;
  let col: u32 = 4u * (quad - row * parameters.row_quads);
  let at: u32 = row * parameters.cols;
#if C_QUADS
  store(at, col, col, A4(c[(at + col) / 4u]));
#else
  var sums: A4 = A4(0.0, 0.0, 0.0, 0.0);
#for n 4
  if (col + ${n}u < parameters.cols) { sums[${n}] = A(c[at + col + ${n}u]); }
#end
  store(at, col, col, sums);
#end
}
