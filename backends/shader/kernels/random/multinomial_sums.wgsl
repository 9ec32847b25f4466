// Of each row the sums of the exponentials of its logits up to each, relative to the largest; those that are not finite
// add nothing.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let row: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (row >= parameters.rows) {
    return;
  }
  let first: u32 = row * parameters.classes;
  var largest: f64 = -infinity_of_f64();
  for (var i: u32 = first; i < first + parameters.classes; i++) {
    let logit: f64 = f64(logits[i]);
    if (is_finite(logit)) {
      largest = max(largest, logit);
    }
  }
  var sum: f64 = 0.0lf;
  for (var i: u32 = first; i < first + parameters.classes; i++) {
    let logit: f64 = f64(logits[i]);
    if (is_finite(logit)) {
      sum += exp(logit - largest);
    }
    sums[i] = sum;
  }
}
