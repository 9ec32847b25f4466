// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Of [outer, rows, inner] each invocation goes along one chunk of adjacent rows of one column. TOTALS: it leaves what
// the chunk comes to, in the order of scanning; otherwise what comes before each element or includes it.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (item >= parameters.items) {
    return;
  }
  let chunk: u32 = item / parameters.inner % parameters.chunks;
  let outer: u32 = item / parameters.inner / parameters.chunks;
  let base: u32 = outer * parameters.rows * parameters.inner + item % parameters.inner;
  let begin: u32 = chunk * parameters.chunk;
  let end: u32 = min(begin + parameters.chunk, parameters.rows);
  var total: A = start(item);
  for (var i: u32 = begin; i < end; i++) {
    var row: u32 = i;
    if (REVERSE) {
      row = parameters.rows - 1u - i;
    }
    let at: u32 = base + row * parameters.inner;
    let before: A = total;
    total = combine(total, A(x[at]));
    if (!TOTALS) {
      if (EXCLUSIVE) {
        y[at] = R(before);
      } else {
        y[at] = R(total);
      }
    }
  }
  if (TOTALS) {
    y[item] = R(total);
  }
}
