// Depthwise convolutions, and their gradients with regard to the input (GRADIENT), which are the same with the images
// exchanged. Each invocation computes LINES x PIXELS pixels of one channel, or of four neighbours (V and S are then
// four numbers and elements, STEP is 4). Where the window's size and steps are written into the text (KNOWN), what
// windows share is read once.

fn element(batch_at: u32, y: i32, x: i32) -> V {
  // As u32 what is negative is too large, too; and `&&` would be a branch, of which there would be many.
  let is_line: bool = bitcast<u32>(y) < bitcast<u32>(parameters.a_height);
  let is_inside: bool = select(false, bitcast<u32>(x) < bitcast<u32>(parameters.a_width), is_line);
  let at: u32 = batch_at + select(0u, u32(y) * parameters.a_row + u32(x) * parameters.a_col, is_inside);
  return select(V(A(0)), V(a[at / ${STEP}u]), is_inside);
}

#if GRADIENT
// The output pixel whose window has an input pixel at this place, or a negative number; `place` counts from the window's
// start.
fn output_of(place: i32, stride: i32) -> i32 {
  let output: i32 = place / stride;
  return select(-1, output, output * stride == place);
}
#end

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (item >= parameters.items) { return; }
#if CHANNELS_LAST
  let channel: u32 = item % parameters.channel_parts * ${STEP}u;
  var rest: u32 = item / parameters.channel_parts;
  let part_x: u32 = rest % parameters.parts_x;
  rest = rest / parameters.parts_x;
  let part_y: u32 = rest % parameters.parts_y;
  let batch: u32 = rest / parameters.parts_y;
#else
  let part_x: u32 = item % parameters.parts_x;
  var rest: u32 = item / parameters.parts_x;
  let part_y: u32 = rest % parameters.parts_y;
  rest = rest / parameters.parts_y;
  let channel: u32 = rest % parameters.channel_parts * ${STEP}u;
  let batch: u32 = rest / parameters.channel_parts;
#end
  let c_x: i32 = i32(part_x) * ${PIXELS};
  let c_y: i32 = i32(part_y) * ${LINES};
#for l LINES
#for p PIXELS
  var c${l}_${p}: V = V(A(0));
#end
#end
#if KNOWN
  let a_at: u32 = batch * parameters.a_batch + channel * parameters.a_channel;
  let a_y: i32 = c_y * ${STRIDE_Y} - parameters.pad_y;
  let a_x: i32 = c_x * ${STRIDE_X} - parameters.pad_x;
#for y WINDOW_Y
#for x WINDOW_X
  let b${y}_${x}: V = V(b[(${y*WINDOW_X+x}u * parameters.b_tap + channel) / ${STEP}u]);
#end
#end
#for y SPAN_Y
#for x SPAN_X
  let a${y}_${x}: V = element(a_at, a_y + ${y}, a_x + ${x});
#end
#end
#for l LINES
#for p PIXELS
#for y WINDOW_Y
#for x WINDOW_X
  c${l}_${p} = fma(a${l*STRIDE_Y+y}_${p*STRIDE_X+x}, b${y}_${x}, c${l}_${p});
#end
#end
#end
#end
#else
#if GRADIENT
  for (var m: u32 = 0u; m < parameters.multiplier; m++) {
    let b_channel: u32 = channel * parameters.multiplier + m;
    let a_at: u32 = batch * parameters.a_batch + b_channel * parameters.a_channel;
#else
  {
    let b_channel: u32 = channel;
    let a_at: u32 = batch * parameters.a_batch + channel / parameters.multiplier * parameters.a_channel;
#end
    for (var y: i32 = 0; y < parameters.window_y; y++) {
      for (var x: i32 = 0; x < parameters.window_x; x++) {
        let filter_value: V = V(b[(u32(y * parameters.window_x + x) * parameters.b_tap + b_channel) / ${STEP}u]);
#for l LINES
#if GRADIENT
        let a_y${l}: i32 = output_of(c_y + ${l} + parameters.pad_y - y * parameters.dilation_y, parameters.stride_y);
#else
        let a_y${l}: i32 = (c_y + ${l}) * parameters.stride_y - parameters.pad_y + y * parameters.dilation_y;
#end
#for p PIXELS
#if GRADIENT
        let a_x${l}_${p}: i32 = output_of(c_x + ${p} + parameters.pad_x - x * parameters.dilation_x, parameters.stride_x);
#else
        let a_x${l}_${p}: i32 = (c_x + ${p}) * parameters.stride_x - parameters.pad_x + x * parameters.dilation_x;
#end
        c${l}_${p} = fma(element(a_at, a_y${l}, a_x${l}_${p}), filter_value, c${l}_${p});
#end
#end
      }
    }
  }
#end
  let c_at: u32 = batch * parameters.c_batch + channel * parameters.c_channel;
#for l LINES
#for p PIXELS
  if (c_y + ${l} < parameters.c_height && c_x + ${p} < parameters.c_width) {
#if FUSED
    let c_value${l}_${p}: V = finished(c${l}_${p}, channel);
#else
    let c_value${l}_${p}: V = c${l}_${p};
#end
    c[(c_at + u32(c_y + ${l}) * parameters.c_row + u32(c_x + ${p}) * parameters.c_col) / ${STEP}u] = S(c_value${l}_${p});
  }
#end
#end
}
