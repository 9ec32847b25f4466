fn element(i: u32) -> E {
  return E(0u);
}
