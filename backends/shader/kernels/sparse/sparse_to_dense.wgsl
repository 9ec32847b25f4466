// Each element of the result is that of the last index that names it, or the default.
fn element(i: u32) -> E {
  let winner: u32 = winners[i];
  if (winner == 0u) {
    return load_filling(0u);
  }
  return load_values((winner - 1u) * parameters.step);
}
