// Gradients of convolutions with regard to the filter: for each of its elements a sum over the output's pixels of
// products of an input channel `a` and an output channel `b`. Each invocation sums over `slice_lines` lines of the
// output's images; slices lie one after the other in `c`. It computes one element; or four input channels by four
// output channels (BLOCK); or, of a filter with one input channel for each output channel, four elements (DIAGONAL).
// Lines are summed up for themselves, so that sums of many numbers stay exact.

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (item >= parameters.items) { return; }
  let width: u32 = item % parameters.width_parts * ${STEP}u;
  var rest: u32 = item / parameters.width_parts;
  let depth: u32 = rest % parameters.depth_parts * ${DEPTH_STEP}u;
  rest = rest / parameters.depth_parts;
  let window_x: i32 = i32(rest % parameters.window_x);
  rest = rest / parameters.window_x;
  let window_y: i32 = i32(rest % parameters.window_y);
  let slice: u32 = rest / parameters.window_y;
  let a_at: u32 = (width / parameters.group_width * parameters.depth + depth) * parameters.a_channel;
  let b_at: u32 = width * parameters.b_channel;
#for i ROWS
  var sum${i}: V = V(A(0));
#end
  let last_line: u32 = min((slice + 1u) * parameters.slice_lines, parameters.lines);
  for (var line: u32 = slice * parameters.slice_lines; line < last_line; line++) {
    let batch: u32 = line / parameters.b_height;
    let b_y: u32 = line % parameters.b_height;
    let a_y: i32 = i32(b_y) * parameters.stride_y + window_y * parameters.dilation_y - parameters.pad_y;
    if (a_y >= 0 && a_y < parameters.a_height) {
      let a_line: u32 = a_at + batch * parameters.a_batch + u32(a_y) * parameters.a_row;
      let b_line: u32 = b_at + batch * parameters.b_batch + b_y * parameters.b_row;
#for i ROWS
      var part${i}: V = V(A(0));
#end
      for (var b_x: u32 = 0u; b_x < parameters.b_width; b_x++) {
        let a_x: i32 = i32(b_x) * parameters.stride_x + window_x * parameters.dilation_x - parameters.pad_x;
        if (a_x >= 0 && a_x < parameters.a_width) {
          let a_value: V = V(a[(a_line + u32(a_x) * parameters.a_col) / ${STEP}u]);
          let b_value: V = V(b[(b_line + b_x * parameters.b_col) / ${STEP}u]);
#if BLOCK
#for i ROWS
          part${i} = fma(V(a_value[${i}]), b_value, part${i});
#end
#else
          part0 = fma(a_value, b_value, part0);
#end
        }
      }
#for i ROWS
      sum${i} += part${i};
#end
    }
  }
  let tap: u32 = u32(window_y) * parameters.window_x + u32(window_x);
  let c_at: u32 = slice * parameters.elements + (tap * parameters.depth + depth) * parameters.width + width;
#for i ROWS
  c[(c_at + ${i}u * parameters.width) / ${STEP}u] = R(sum${i});
#end
}
