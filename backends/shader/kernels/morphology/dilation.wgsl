// Grey-scale dilation and the gradients of it: the largest sum of an element of the image and one of the filter. An
// invocation computes an element of the result. `is_above` and `lowest` are written by morphology.cc.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.count) {
    return;
  }
  let channel: u32 = i % parameters.channels;
#if GRADIENT
  // What the gradient belongs to gets those of the windows whose largest sum it is in, in their order. `taps` has, for
  // each window, the number of the filter's element in it, or more than there are.
  let pixel: u32 = i / parameters.channels;
  var sum: B = B(0);
#if FILTER
  for (var window: u32 = 0u; window < parameters.windows; window++) {
    let at: u32 = window * parameters.channels + channel;
    if (taps[at] == pixel) {
      sum = sum + B(A(grad[at]));
    }
  }
#else
  let col: u32 = pixel % parameters.cols_input;
  let row: u32 = (pixel / parameters.cols_input) % parameters.rows_input;
  let image: u32 = pixel / parameters.cols_input / parameters.rows_input;
  // The furthest tap sees the element from the first window.
  for (var a: u32 = 0u; a < parameters.rows_window; a++) {
    let tap_row: u32 = parameters.rows_window - 1u - a;
    let down: u32 = row + parameters.rows_pad;
    if (down >= tap_row * parameters.rows_rate) {
      let from_top: u32 = down - tap_row * parameters.rows_rate;
      let window_row: u32 = from_top / parameters.rows_stride;
      if (from_top % parameters.rows_stride == 0u && window_row < parameters.rows_output) {
        for (var b: u32 = 0u; b < parameters.cols_window; b++) {
          let tap_col: u32 = parameters.cols_window - 1u - b;
          let right: u32 = col + parameters.cols_pad;
          if (right >= tap_col * parameters.cols_rate) {
            let from_left: u32 = right - tap_col * parameters.cols_rate;
            let window_col: u32 = from_left / parameters.cols_stride;
            if (from_left % parameters.cols_stride == 0u && window_col < parameters.cols_output) {
              let at: u32 = ((image * parameters.rows_output + window_row) * parameters.cols_output + window_col) *
                                parameters.channels + channel;
              if (taps[at] == tap_row * parameters.cols_window + tap_col) {
                sum = sum + B(A(grad[at]));
              }
            }
          }
        }
      }
    }
  }
#end
  y[i] = T(sum);
#else
  let window: u32 = i / parameters.channels;
  let col: u32 = window % parameters.cols_output * parameters.cols_stride;
  let row: u32 = (window / parameters.cols_output) % parameters.rows_output * parameters.rows_stride;
  let image: u32 = window / parameters.cols_output / parameters.rows_output;
  var largest: B = lowest();
  var tap: u32 = 0xffffffffu;
  for (var a: u32 = 0u; a < parameters.rows_window; a++) {
    let down: u32 = row + a * parameters.rows_rate;
    if (down >= parameters.rows_pad && down - parameters.rows_pad < parameters.rows_input) {
      for (var b: u32 = 0u; b < parameters.cols_window; b++) {
        let right: u32 = col + b * parameters.cols_rate;
        if (right >= parameters.cols_pad && right - parameters.cols_pad < parameters.cols_input) {
          let pixel: u32 = (image * parameters.rows_input + down - parameters.rows_pad) * parameters.cols_input + right -
                           parameters.cols_pad;
          let own: u32 = a * parameters.cols_window + b;
          let sum: B = B(A(x[pixel * parameters.channels + channel])) +
                       B(A(weight[own * parameters.channels + channel]));
          if (tap == 0xffffffffu || is_above(sum, largest)) {
            largest = sum;
            tap = own;
          }
        }
      }
    }
  }
#if TAPS
  y[i] = tap;
#else
  y[i] = T(largest);
#end
#end
}
