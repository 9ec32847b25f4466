// `filling` is what surrounds the input; `element` is written by pad.cc for the number of dimensions.

// The position in the input's dimension of size `size` that position `at` of the result mirrors.
fn mirrored(at: u32, before: u32, size: u32) -> u32 {
  if (at < before) {
    return before - at - 1u + parameters.edge;
  }
  let position: u32 = at - before;
  if (position < size) {
    return position;
  }
  return 2u * size - 1u - parameters.edge - position;
}
