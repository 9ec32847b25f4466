// Products of matrices, c = a * b, of which each invocation computes a tile of ROWS x 4 * QUADS elements in registers,
// from elements that it reads from the buffers: what is fastest on adapters for which shared memory is dear.
//
// Of `a` four neighbours are read at once along its inner dimension (A_INNER) or its rows (A_ROWS), of `b` along its
// columns (B_COLS) or its inner dimension (B_INNER), or else each by itself. Where four of the inner dimension do not
// divide it (RAGGED), what is beyond is taken as 0; rows and columns beyond the last are computed from the last one,
// and not stored.

#if RAGGED
fn is_inner(k: u32) -> bool { return k < parameters.inner; }
fn inner_at(k: u32) -> u32 { return min(k, parameters.inner - 1u); }
#end

#if A_SCALARS
fn a_value(row_at: u32, k: u32) -> A {
#if RAGGED
  return select(A(0), A(a[row_at + inner_at(k) * parameters.a_inner]), is_inner(k));
#else
  return A(a[row_at + k * parameters.a_inner]);
#end
}
#end

#if B_SCALARS
fn b_value(k: u32, col_at: u32) -> A {
#if RAGGED
  return select(A(0), A(b[inner_at(k) * parameters.b_inner + col_at]), is_inner(k));
#else
  return A(b[k * parameters.b_inner + col_at]);
#end
}
#end

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let tile: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (tile >= parameters.tiles) { return; }
  let col: u32 = tile % parameters.col_tiles * ${QUADS}u * 4u;
  var rest: u32 = tile / parameters.col_tiles;
  let row: u32 = rest % parameters.row_tiles * ${ROWS}u;
  rest = rest / parameters.row_tiles;
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
#for t ROW_GROUPS
#if A_ROWS
  let a_at${t}: u32 = a_at + min(row + ${t}u * 4u, parameters.rows - 4u);
#else
#for m GROUP
  let a_at${t}_${m}: u32 = a_at + min(row + ${t}u * 4u + ${m}u, parameters.rows - 1u) * parameters.a_row;
#end
#end
#end
#for j QUADS
#if B_COLS
  let b_at${j}: u32 = b_at + min(col + ${j}u * 4u, parameters.cols - 4u);
#else
#for n 4
  let b_at${j}_${n}: u32 = b_at + min(col + ${j}u * 4u + ${n}u, parameters.cols - 1u) * parameters.b_col;
#end
#end
#for t ROW_GROUPS
#for m GROUP
  var c${t}_${m}_${j}: A4 = A4(A(0));
#end
#end
#end
  for (var k: u32 = 0u; k < parameters.inner; k += 4u) {
#for j QUADS
#if B_COLS
#for q 4
#if RAGGED
    let b${j}_${q}: A4 = select(A4(A(0)), A4(b[(inner_at(k + ${q}u) * parameters.b_inner + b_at${j}) / 4u]), is_inner(k + ${q}u));
#else
    let b${j}_${q}: A4 = A4(b[((k + ${q}u) * parameters.b_inner + b_at${j}) / 4u]);
#end
#end
#end
#if B_INNER
#for n 4
    let t${j}_${n}: A4 = A4(b[(b_at${j}_${n} + k) / 4u]);
#end
#for q 4
    let b${j}_${q}: A4 = A4(t${j}_0[${q}], t${j}_1[${q}], t${j}_2[${q}], t${j}_3[${q}]);
#end
#end
#if B_SCALARS
#for q 4
    let b${j}_${q}: A4 = A4(b_value(k + ${q}u, b_at${j}_0), b_value(k + ${q}u, b_at${j}_1), b_value(k + ${q}u, b_at${j}_2), b_value(k + ${q}u, b_at${j}_3));
#end
#end
#end
#for t ROW_GROUPS
#if A_ROWS
#for q 4
#if RAGGED
    let s${t}_${q}: A4 = select(A4(A(0)), A4(a[(a_at${t} + inner_at(k + ${q}u) * parameters.a_inner) / 4u]), is_inner(k + ${q}u));
#else
    let s${t}_${q}: A4 = A4(a[(a_at${t} + (k + ${q}u) * parameters.a_inner) / 4u]);
#end
#end
#end
#for m GROUP
#if A_INNER
    let a${t}_${m}: A4 = A4(a[(a_at${t}_${m} + k) / 4u]);
#end
#if A_ROWS
    let a${t}_${m}: A4 = A4(s${t}_0[${m}], s${t}_1[${m}], s${t}_2[${m}], s${t}_3[${m}]);
#end
#if A_SCALARS
    let a${t}_${m}: A4 = A4(a_value(a_at${t}_${m}, k), a_value(a_at${t}_${m}, k + 1u), a_value(a_at${t}_${m}, k + 2u), a_value(a_at${t}_${m}, k + 3u));
#end
#for j QUADS
#if FLOAT
    c${t}_${m}_${j} += fma(A4(a${t}_${m}[3]), b${j}_3, fma(A4(a${t}_${m}[2]), b${j}_2, fma(A4(a${t}_${m}[1]), b${j}_1, A4(a${t}_${m}[0]) * b${j}_0)));
#else
    c${t}_${m}_${j} += a${t}_${m}[0] * b${j}_0 + a${t}_${m}[1] * b${j}_1 + a${t}_${m}[2] * b${j}_2 + a${t}_${m}[3] * b${j}_3;
#end
#end
#end
#end
  }
  var sums: array<A4, ${NUM_QUADS}>;
#for t ROW_GROUPS
#for m GROUP
#for j QUADS
  sums[(${t}u * 4u + ${m}u) * ${QUADS}u + ${j}u] = c${t}_${m}_${j};
#end
#end
#end
  // A loop, since this written out for each would be most of the text.
  for (var i: u32 = 0u; i < ${NUM_QUADS}u; i++) {
    let sum_row: u32 = row + i / ${QUADS}u;
    let sum_col: u32 = col + i % ${QUADS}u * 4u;
    if (sum_row < parameters.rows) { store(c_at + sum_row * parameters.c_row, sum_col, sum_col, sums[i]); }
  }
}
