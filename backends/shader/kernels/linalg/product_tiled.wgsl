// Products of matrices, c = a * b, of which each workgroup of 16 x 16 computes a tile of 64 * ROW_QUADS rows x 64 *
// COL_QUADS columns: parts of both matrices, 16 of the inner dimension deep, are brought to shared memory by all
// invocations, four by four elements each, and each invocation multiplies ROW_QUADS x COL_QUADS blocks of four by four.
// What is beyond the matrices is 0 there. The variants are those of product_direct.wgsl.

var<workgroup> a_tile: array<A4, ${ROW_QUADS*256}>;
var<workgroup> b_tile: array<A4, ${COL_QUADS*256}>;

#if A_INNER
#else
fn a_quad(a_at: u32, row: u32, k: u32) -> A4 {
  if (k >= parameters.inner) { return A4(A(0)); }
  let at: u32 = a_at + k * parameters.a_inner;
#if A_ROWS
  if (row >= parameters.rows) { return A4(A(0)); }
  return A4(a[(at + row) / 4u]);
#else
  let last: u32 = parameters.rows - 1u;
  return A4(A(a[at + min(row, last) * parameters.a_row]), A(a[at + min(row + 1u, last) * parameters.a_row]), A(a[at + min(row + 2u, last) * parameters.a_row]), A(a[at + min(row + 3u, last) * parameters.a_row]));
#end
}
#end
#if B_INNER
#else
fn b_quad(b_at: u32, col: u32, k: u32) -> A4 {
  if (k >= parameters.inner) { return A4(A(0)); }
  let at: u32 = b_at + k * parameters.b_inner;
#if B_COLS
  if (col >= parameters.cols) { return A4(A(0)); }
  return A4(b[(at + col) / 4u]);
#else
  let last: u32 = parameters.cols - 1u;
  return A4(A(b[at + min(col, last) * parameters.b_col]), A(b[at + min(col + 1u, last) * parameters.b_col]), A(b[at + min(col + 2u, last) * parameters.b_col]), A(b[at + min(col + 3u, last) * parameters.b_col]));
#end
}
#end

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first_row: u32 = wid.y * ${ROW_QUADS*64}u;
  let first_col: u32 = wid.x * ${COL_QUADS*64}u;
  var rest: u32 = wid.z;
  var a_at: u32 = 0u;
  var b_at: u32 = 0u;
  var c_at: u32 = 0u;
#for d BATCH_DIMS
  let batch${d}: u32 = rest % parameters.batch_size${d};
  rest = rest / parameters.batch_size${d};
  a_at += batch${d} * parameters.a_batch${d};
  b_at += batch${d} * parameters.b_batch${d};
  c_at += batch${d} * parameters.c_batch${d};
#end
#for i ROW_QUADS
#for m 4
#for j COL_QUADS
  var c${i}_${m}_${j}: A4 = A4(A(0));
#end
#end
#end
  for (var k0: u32 = 0u; k0 < parameters.inner; k0 += 16u) {
    if (lidx < ${ROW_QUADS*64}u) {
#if A_INNER
      let quad: u32 = lidx / 4u;
      let k: u32 = lidx % 4u * 4u;
      let row: u32 = first_row + quad * 4u;
#for m 4
      var s${m}: A4 = A4(A(0));
      if (k0 + k < parameters.inner && row + ${m}u < parameters.rows) {
        s${m} = A4(a[(a_at + (row + ${m}u) * parameters.a_row + k0 + k) / 4u]);
      }
#end
#for q 4
      a_tile[(k + ${q}u) * ${ROW_QUADS*16}u + quad] = A4(s0[${q}], s1[${q}], s2[${q}], s3[${q}]);
#end
#else
      let quad: u32 = lidx % ${ROW_QUADS*16}u;
      let k: u32 = lidx / ${ROW_QUADS*16}u * 4u;
#for q 4
      a_tile[(k + ${q}u) * ${ROW_QUADS*16}u + quad] = a_quad(a_at, first_row + quad * 4u, k0 + k + ${q}u);
#end
#end
    }
    if (lidx >= ${FIRST_OF_B}u) {
      let item: u32 = lidx - ${FIRST_OF_B}u;
#if B_INNER
      let quad: u32 = item / 4u;
      let k: u32 = item % 4u * 4u;
      let col: u32 = first_col + quad * 4u;
#for n 4
      var s${n}: A4 = A4(A(0));
      if (k0 + k < parameters.inner && col + ${n}u < parameters.cols) {
        s${n} = A4(b[(b_at + (col + ${n}u) * parameters.b_col + k0 + k) / 4u]);
      }
#end
#for q 4
      b_tile[(k + ${q}u) * ${COL_QUADS*16}u + quad] = A4(s0[${q}], s1[${q}], s2[${q}], s3[${q}]);
#end
#else
      let quad: u32 = item % ${COL_QUADS*16}u;
      let k: u32 = item / ${COL_QUADS*16}u * 4u;
#for q 4
      b_tile[(k + ${q}u) * ${COL_QUADS*16}u + quad] = b_quad(b_at, first_col + quad * 4u, k0 + k + ${q}u);
#end
#end
    }
    workgroupBarrier();
    for (var k: u32 = 0u; k < 16u; k++) {
#for j COL_QUADS
      let b${j}: A4 = b_tile[k * ${COL_QUADS*16}u + ${j*16}u + lid.x];
#end
#for i ROW_QUADS
      let a${i}: A4 = a_tile[k * ${ROW_QUADS*16}u + ${i*16}u + lid.y];
#for m 4
#for j COL_QUADS
#if FLOAT
      c${i}_${m}_${j} = fma(A4(a${i}[${m}]), b${j}, c${i}_${m}_${j});
#else
      c${i}_${m}_${j} += a${i}[${m}] * b${j};
#end
#end
#end
#end
    }
    workgroupBarrier();
  }
#for i ROW_QUADS
#for m 4
  {
    let row: u32 = first_row + (${i*16}u + lid.y) * 4u + ${m}u;
    if (row < parameters.rows) {
#for j COL_QUADS
      let col${j}: u32 = first_col + (${j*16}u + lid.x) * 4u;
      store(c_at + row * parameters.c_row, col${j}, col${j}, c${i}_${m}_${j});
#end
    }
  }
#end
#end
}
