// `place_of` is written by strided_copy.cc for the number of dimensions.
fn element(i: u32) -> E {
  return load_x(place_of(i));
}
