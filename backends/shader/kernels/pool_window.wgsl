// Where windows lie: rows or columns [window_begin, window_end) of an image; and the windows [first_window, last_window)
// that an element is in.
fn window_begin(o: u32, stride: u32, pad: u32) -> u32 {
  return select(o * stride - pad, 0u, o * stride < pad);
}

fn window_end(o: u32, stride: u32, pad: u32, window: u32, size: u32) -> u32 {
  return min(o * stride + window - pad, size);
}

fn first_window(i: u32, stride: u32, pad: u32, window: u32) -> u32 {
  return select((i + pad - window) / stride + 1u, 0u, i + pad < window);
}

fn last_window(i: u32, stride: u32, pad: u32, count: u32) -> u32 {
  return min((i + pad) / stride + 1u, count);
}
