// Of each row the sums of the exponentials of its logits up to each, relative to the largest; those that are not finite
// add nothing.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let row: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (row >= parameters.rows) {
    return;
  }
  let first: u32 = row * parameters.classes;
  var largest: D = double_of(logits[first]);
  var has_largest: bool = false;
  for (var i: u32 = first; i < first + parameters.classes; i++) {
    let logit: D = double_of(logits[i]);
    if (double_is_finite(logit) && (!has_largest || double_less(largest, logit))) {
      largest = logit;
      has_largest = true;
    }
  }
  var sum: D = double_of_u32(0u);
  for (var i: u32 = first; i < first + parameters.classes; i++) {
    let logit: D = double_of(logits[i]);
    if (double_is_finite(logit)) {
      sum = double_sum(sum, double_exp(double_difference(logit, largest)));
    }
    sums[i] = sum;
  }
}
