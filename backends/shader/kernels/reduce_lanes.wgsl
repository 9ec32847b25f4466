// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Two steps of few reads each, where a tree would take many barriers.
var<workgroup> reduce_lanes_parts: array<A, WORKGROUP>;

fn reduce_lanes(value: A, lidx: u32) -> A {
  let lane: u32 = lidx % LANES;
  let first: u32 = lidx - lane;
  reduce_lanes_parts[lidx] = value;
  workgroupBarrier();
  var result: A = value;
  if (FOLDED < LANES) {
    if (lane < FOLDED) {
      for (var i: u32 = FOLDED; i < LANES; i += FOLDED) {
        result = reduce_lanes_join(result, reduce_lanes_parts[lidx + i]);
      }
      reduce_lanes_parts[lidx] = result;
    }
    workgroupBarrier();
  }
  result = reduce_lanes_parts[first];
  for (var i: u32 = 1u; i < FOLDED; i++) {
    result = reduce_lanes_join(result, reduce_lanes_parts[first + i]);
  }
  return result;
}
