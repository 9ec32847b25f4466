// Convolutions, and their gradients with regard to the input (GRADIENT), which are the same with the images exchanged:
// products of matrices whose rows are the pixels of the result `c`, whose columns are its channels, and whose inner
// dimension are the window's elements and the channels of the image `a`. Nothing of the first matrix is in memory but
// the image. Each invocation computes a tile of ROWS pixels x 4 * QUADS channels in registers.
//
// Four channels of `a` are read at once (A_INNER) or one (A_SCALARS); of the filter `b` four of the columns (B_COLS),
// four of the inner dimension (B_INNER), or one. Where four does not divide the channels of `a` (RAGGED), what is
// beyond is taken as 0, as is what is outside of the image; pixels and columns beyond the last are not stored.

// As `&&`, but without a branch, of which there would be many.
fn both(x: bool, y: bool) -> bool { return select(false, y, x); }
// As u32 what is negative is too large, too.
fn is_below(i: i32, size: i32) -> bool { return bitcast<u32>(i) < bitcast<u32>(size); }

#if RAGGED
fn is_inner(k: u32) -> bool { return k < parameters.inner; }
fn inner_at(k: u32) -> u32 { return min(k, parameters.inner - 1u); }
#else
fn is_inner(k: u32) -> bool { return true; }
fn inner_at(k: u32) -> u32 { return k; }
#end

#if A_SCALARS
fn a_value(at: u32, k: u32, is_inside: bool) -> A {
  return select(A(0), A(a[at + inner_at(k) * parameters.a_inner]), both(is_inside, is_inner(k)));
}
#end
#if B_SCALARS
fn b_value(k: u32, col_at: u32) -> A {
  return select(A(0), A(b[inner_at(k) * parameters.b_inner + col_at]), is_inner(k));
}
#end

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let tile: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (tile >= parameters.tiles) { return; }
  let col: u32 = tile % parameters.col_tiles * ${QUADS}u * 4u;
  let rest: u32 = tile / parameters.col_tiles;
  let row: u32 = rest % parameters.row_tiles * ${ROWS}u;
  let group: u32 = rest / parameters.row_tiles;
  let a_at: u32 = group * parameters.inner * parameters.a_inner;
  let b_at: u32 = group * parameters.b_group;
#for i ROWS
  let pixel${i}: u32 = min(row + ${i}u, parameters.rows - 1u);
  let line${i}: u32 = pixel${i} / parameters.c_width;
  let a_at${i}: u32 = a_at + line${i} / parameters.c_height * parameters.a_batch;
#if GRADIENT
  let y${i}: i32 = i32(line${i} % parameters.c_height) + parameters.pad_y;
  let x${i}: i32 = i32(pixel${i} % parameters.c_width) + parameters.pad_x;
#else
  let y${i}: i32 = i32(line${i} % parameters.c_height) * parameters.stride_y - parameters.pad_y;
  let x${i}: i32 = i32(pixel${i} % parameters.c_width) * parameters.stride_x - parameters.pad_x;
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
#for i ROWS
  var c${i}_${j}: A4 = A4(A(0));
#end
#end
  // One loop, of which the innermost part of three would be: some compilers take very long for nested loops around this
  // many variables.
  var window_y: i32 = 0;
  var window_x: i32 = 0;
  var b_tap: u32 = 0u;
  var k: u32 = 0u;
  while (window_y < parameters.window_y) {
#for i ROWS
#if GRADIENT
    let down${i}: i32 = y${i} - window_y * parameters.dilation_y;
    let right${i}: i32 = x${i} - window_x * parameters.dilation_x;
    let a_y${i}: i32 = down${i} / parameters.stride_y;
    let a_x${i}: i32 = right${i} / parameters.stride_x;
    let has${i}: bool = both(both(down${i} == a_y${i} * parameters.stride_y, right${i} == a_x${i} * parameters.stride_x), both(is_below(a_y${i}, parameters.a_height), is_below(a_x${i}, parameters.a_width)));
#else
    let a_y${i}: i32 = y${i} + window_y * parameters.dilation_y;
    let a_x${i}: i32 = x${i} + window_x * parameters.dilation_x;
    let has${i}: bool = both(is_below(a_y${i}, parameters.a_height), is_below(a_x${i}, parameters.a_width));
#end
    let at${i}: u32 = a_at${i} + select(0u, u32(a_y${i}) * parameters.a_row + u32(a_x${i}) * parameters.a_col, has${i});
#end
#for j QUADS
#if B_COLS
#for q 4
#if RAGGED
    let b${j}_${q}: A4 = select(A4(A(0)), A4(b[(b_tap + inner_at(k + ${q}u) * parameters.b_inner + b_at${j}) / 4u]), is_inner(k + ${q}u));
#else
    let b${j}_${q}: A4 = A4(b[(b_tap + (k + ${q}u) * parameters.b_inner + b_at${j}) / 4u]);
#end
#end
#end
#if B_INNER
#for n 4
    let t${j}_${n}: A4 = A4(b[(b_tap + b_at${j}_${n} + k) / 4u]);
#end
#for q 4
    let b${j}_${q}: A4 = A4(t${j}_0[${q}], t${j}_1[${q}], t${j}_2[${q}], t${j}_3[${q}]);
#end
#end
#if B_SCALARS
#for q 4
    let b${j}_${q}: A4 = A4(b_value(k + ${q}u, b_tap + b_at${j}_0), b_value(k + ${q}u, b_tap + b_at${j}_1), b_value(k + ${q}u, b_tap + b_at${j}_2), b_value(k + ${q}u, b_tap + b_at${j}_3));
#end
#end
#end
#for i ROWS
#if A_INNER
    let a${i}: A4 = select(A4(A(0)), A4(a[(at${i} + k) / 4u]), has${i});
#else
    let a${i}: A4 = A4(a_value(at${i}, k, has${i}), a_value(at${i}, k + 1u, has${i}), a_value(at${i}, k + 2u, has${i}), a_value(at${i}, k + 3u, has${i}));
#end
#for j QUADS
#if FLOAT
    c${i}_${j} += fma(A4(a${i}[3]), b${j}_3, fma(A4(a${i}[2]), b${j}_2, fma(A4(a${i}[1]), b${j}_1, A4(a${i}[0]) * b${j}_0)));
#else
    c${i}_${j} += a${i}[0] * b${j}_0 + a${i}[1] * b${j}_1 + a${i}[2] * b${j}_2 + a${i}[3] * b${j}_3;
#end
#end
#end
    k += 4u;
    if (k >= parameters.inner) {
      k = 0u;
      b_tap += parameters.b_tap;
      window_x++;
      if (window_x == parameters.window_x) {
        window_x = 0;
        window_y++;
      }
    }
  }
  var sums: array<A4, ${NUM_QUADS}>;
#for i ROWS
#for j QUADS
  sums[${i}u * ${QUADS}u + ${j}u] = c${i}_${j};
#end
#end
  // A loop, since this written out for each would be most of the text.
  for (var i: u32 = 0u; i < ${NUM_QUADS}u; i++) {
    let pixel: u32 = row + i / ${QUADS}u;
    if (pixel < parameters.rows) {
      let line: u32 = pixel / parameters.c_width;
      let at: u32 = line / parameters.c_height * parameters.c_batch + line % parameters.c_height * parameters.c_row + pixel % parameters.c_width * parameters.c_pixel + group * parameters.cols * parameters.c_col;
      let sum_col: u32 = col + i % ${QUADS}u * 4u;
      store(at, sum_col, group * parameters.cols + sum_col, sums[i]);
    }
  }
}
