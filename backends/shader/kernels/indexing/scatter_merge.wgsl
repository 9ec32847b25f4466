// Elements smaller than a word: each of the result is that of its slice's winner, or the tensor's own.
fn element(i: u32) -> E {
  let winner: u32 = winners[i / parameters.slice];
  if (winner == 0u) {
    return load_x(i);
  }
  return load_updates((winner - 1u) * parameters.slice + i % parameters.slice);
}
