fn element(i: u32) -> E {
  let number: u32 = slice_of(i / parameters.slice);
  if (number == 0xffffffffu) {
    return E(0u);
  }
  return load_x(number * parameters.slice + i % parameters.slice);
}
