// Each of `outer` groups in a batch takes `indices_in_batch` slices of its own part of x, which has `limit` of them.
fn element(i: u32) -> E {
  let slot: u32 = i / parameters.slice;
  let group: u32 = slot / parameters.indices_in_batch;
  let first_index: u32 = (group / parameters.outer) * parameters.indices_in_batch;
  let index: u32 = load_index(first_index + slot % parameters.indices_in_batch);
  if (index >= parameters.limit) {
    return E(0u);
  }
  return load_x((group * parameters.limit + index) * parameters.slice + i % parameters.slice);
}
